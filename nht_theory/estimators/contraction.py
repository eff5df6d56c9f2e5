"""The contraction rate gamma_V: minus the slope of ln V over a window of the run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nht_theory.conventions import CONFIDENCE
from nht_theory.estimators.nonlinear import Start, fit_nonlinear, newey_west_covariance
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Crossing, Estimate, Interval, Missing, Unavailable
from nht_theory.inference.information import aicc_least_squares
from nht_theory.runs import columns
from nht_theory.runs.run import Run, Series

UNIT = "per step of V"
FLAT_RANGE = 1e-9
"""Range of ln V below which a series counts as constant."""

FEWEST_FOR_FLOOR = 6
"""Evaluations below which AICc of four parameters, the variance included, does not exist."""


@dataclass(frozen=True)
class Window:
    """Steps over which a rate is read, both ends included, and why these."""

    first_step: int
    last_step: int
    reason: str


def rate_window(
    run: Run, memorization: Crossing | None, generalization: Crossing | None
) -> Window | Missing:
    """The window of the transition: from memorisation to generalisation, else the descent.

    Where the run never generalises (or generalises before it memorises) the window is the
    descent after the peak: from the largest V since memorisation, or since the start when the
    run never memorises, down to the smallest V after it.
    """
    if not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, columns.SQUARED_NORM)
    start = None if memorization is None else memorization.step
    end = None if generalization is None else generalization.step
    if start is not None and end is not None and end > start:
        return Window(start, end, "from memorisation to generalisation")
    keep = usable(run.squared_norm) & (run.steps >= (start or 0))
    steps, series = run.steps[keep], run.squared_norm[keep]
    if steps.size < 2:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{steps.size} usable evaluations of V")
    top = int(np.argmax(series))
    if top == series.size - 1:
        return Missing(Unavailable.GROWING, f"V is largest at its last evaluation, {steps[-1]}")
    bottom = top + int(np.argmin(series[top:]))
    return Window(int(steps[top]), int(steps[bottom]), "descent after the peak")


def contraction_rate(run: Run, window: Window, *, floor: bool = True) -> Estimate | Missing:
    """gamma_V over a window, refused where the norm does not contract.

    An exponential and, where it is better by AICc, an exponential towards a floor (whose rate is
    that of the excess over the floor), both on ln V. Without ``floor`` only the first is fitted.

    Returns:
        The rate; or Missing: GROWING with what was measured in the detail, FLAT, or
        TOO_FEW_POINTS.

    Source: THEORY.md section 8.

    Example:
        >>> steps = np.arange(0, 1001, 100)
        >>> run = Run("r", None, steps, {"squared_norm": 5.0 * np.exp(0.002 * steps)})
        >>> contraction_rate(run, Window(0, 1000, "whole run")).reason.name
        'GROWING'
    """
    rate = signed_rate(run, window)
    if isinstance(rate, Missing):
        return rate
    where = f"{window.reason}, steps {window.first_step} to {window.last_step}"
    if rate.value <= 0:
        return Missing(Unavailable.GROWING, f"ln V changes by {-rate.value:+.3g} a step {where}")
    if not floor:
        return rate
    inside = (run.steps >= window.first_step) & (run.steps <= window.last_step)
    keep = inside & usable(run.squared_norm)
    floored = decay_to_floor(run.steps[keep].astype(np.float64), np.log(run.squared_norm[keep]))
    if isinstance(floored, Missing):
        return rate
    return Estimate(
        value=floored.rate,
        unit=UNIT,
        method=f"exponential towards a floor of V = {floored.floor:.5g}, {where}; better than "
        f"without a floor by AICc {floored.aicc_gain:.1f}; R^2 {floored.r_squared:.4f}",
        n=rate.n,
        interval=floored.interval,
        standard_error=floored.standard_error,
        left_out=rate.left_out,
    )


@dataclass(frozen=True)
class FlooredDecay:
    """V_t = floor + (start - floor) exp(-rate t), fitted to ln V.

    Attributes:
        rate: of the excess over the floor, per step.
        standard_error: of the rate, robust to autocorrelation.
        interval: of the rate, from its profile.
        floor: V that the fit tends to.
        aicc_gain: how much lower AICc is than that of the exponential without a floor.
        r_squared: of ln V.
    """

    rate: float
    standard_error: float
    interval: Interval | None
    floor: float
    aicc_gain: float
    r_squared: float


def decay_to_floor(
    steps: Series, log_norm: Series, *, profile: bool = True
) -> FlooredDecay | Missing:
    """The exponential with a floor, where AICc prefers it to the one without.

    Args:
        steps: shape [n].
        log_norm: ln V, shape [n].
        profile: whether the rate gets its profile interval, which takes most of the time.

    Returns:
        The fit; or Missing: TOO_FEW_POINTS for AICc (n < 6), NOT_CONVERGED, AT_BOUND (floor at
        zero: there is none; floor at the start: nothing but a floor), or NOT_PREFERRED.

    Source: THEORY.md sections 3 and 8.

    Example:
        >>> steps = np.arange(0, 3001, 100.0)
        >>> fit = decay_to_floor(steps, np.log(200 + 3800 * np.exp(-0.002 * steps)))
        >>> round(fit.rate, 9), round(fit.floor, 3)
        (0.002, 200.0)
    """
    if steps.size < FEWEST_FOR_FLOOR:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{steps.size} evaluations for a floor")
    origin, length = steps[0], float(np.ptp(steps))

    def log_floored(t: Series, log_start: float, share: float, rate: float) -> Series:
        return np.asarray(log_start + np.log(share + (1 - share) * np.exp(-rate * t)))

    slope, _, _ = log_linear_slope((steps - origin) / length, log_norm)
    fit = fit_nonlinear(
        log_floored,
        (steps - origin) / length,
        log_norm,
        {
            "log_start": Start(float(log_norm[0])),
            "share": Start(0.5 * float(np.exp(log_norm.min() - log_norm[0])), low=0.0, high=1.0),
            "rate": Start(max(-slope, 0.1), low=0.0),
        },
    )
    if isinstance(fit, Missing):
        return fit
    centred = steps - steps.mean()
    line = log_norm - log_norm.mean() - slope / length * centred
    gain = aicc_least_squares(line, 2) - fit.aicc
    if not gain > 0:
        return Missing(Unavailable.NOT_PREFERRED, f"AICc is higher by {-gain:.1f} with a floor")
    interval = fit.profile_interval("rate") if profile else None
    return FlooredDecay(
        rate=fit.values["rate"] / length,
        standard_error=fit.robust_errors["rate"] / length,
        interval=None
        if interval is None
        else replace(interval, low=interval.low / length, high=interval.high / length),
        floor=fit.values["share"] * float(np.exp(fit.values["log_start"])),
        aicc_gain=gain,
        r_squared=fit.r_squared,
    )


def signed_rate(run: Run, window: Window) -> Estimate | Missing:
    """Minus the least-squares slope of ln V over a window, per step of V, of either sign.

    The interval is Student's with Newey-West standard errors, because neighbouring evaluations
    of one run are not independent. Two evaluations give the slope between them and no interval.

    Returns:
        The rate (negative where V grows), or Missing where V is constant over the window or
        fewer than two usable evaluations lie in it.

    Source: THEORY.md section 8; Newey and West 1987 for the errors.

    Example:
        >>> steps = np.arange(0, 1001, 100)
        >>> run = Run("r", None, steps, {"squared_norm": 5.0 * np.exp(-0.002 * steps)})
        >>> round(signed_rate(run, Window(0, 1000, "whole run")).value, 12)
        0.002
    """
    inside = (run.steps >= window.first_step) & (run.steps <= window.last_step)
    keep = inside & usable(run.squared_norm)
    steps = run.steps[keep].astype(np.float64)
    dropped = int(inside.sum() - keep.sum())
    where = f"{window.reason}, steps {window.first_step} to {window.last_step}"
    if steps.size < 2:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{steps.size} usable evaluations {where}")
    log_norm = np.log(run.squared_norm[keep])
    if float(np.ptp(log_norm)) < FLAT_RANGE:
        return Missing(Unavailable.FLAT, f"V is constant {where}")
    slope, error, r_squared = log_linear_slope(steps, log_norm)
    method = f"least squares of ln V on the step, {where}; R^2 {r_squared:.4f}"
    if error is None:
        method = f"ln V at the two evaluations {where}: no interval"
    return Estimate(
        value=-slope,
        unit=UNIT,
        method=method,
        n=int(steps.size),
        interval=None if error is None else _student(-slope, error, int(steps.size) - 2),
        standard_error=error,
        left_out=(f"{dropped} evaluations without finite, positive V",) if dropped else (),
    )


def log_linear_slope(steps: Series, log_norm: Series) -> tuple[float, float | None, float]:
    """Least-squares slope of ln V, its Newey-West standard error, and R^2.

    The error is None for two points.

    Args:
        steps: shape [n], n >= 2.
        log_norm: ln V, shape [n].

    Source: Newey and West 1987, 1994 (lag rule).
    """
    n = steps.size
    centred = steps - steps.mean()
    spread = float(centred @ centred)
    slope = float(centred @ log_norm) / spread
    residuals = log_norm - log_norm.mean() - slope * centred
    total = float(((log_norm - log_norm.mean()) ** 2).sum())
    r_squared = 1.0 - float(residuals @ residuals) / total if total > 0 else float("nan")
    if n == 2:
        return slope, None, r_squared
    design = np.column_stack([np.ones(n), centred / np.sqrt(spread)])
    variance = float(newey_west_covariance(design, residuals)[1, 1]) / spread
    return slope, float(np.sqrt(max(variance, 0.0))), r_squared


def _student(value: float, error: float, freedom: int) -> Interval:
    from scipy import stats

    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * error
    return Interval(
        value - half,
        value + half,
        CONFIDENCE,
        f"Student, {freedom} degrees of freedom, Newey-West errors",
    )
