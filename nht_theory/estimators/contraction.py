"""The contraction rate gamma_V: minus the slope of ln V over a window of the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import CONFIDENCE
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Crossing, Estimate, Interval, Missing, Unavailable
from nht_theory.runs import columns
from nht_theory.runs.run import Run, Series

UNIT = "per step of V"
FLAT_RANGE = 1e-9
"""Range of ln V below which a series counts as constant."""


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


def contraction_rate(run: Run, window: Window) -> Estimate | Missing:
    """gamma_V over a window, refused where the norm does not contract.

    Returns:
        :func:`signed_rate` where it is positive; otherwise Missing(GROWING), with what was
        measured in the detail.

    Source: THEORY.md section 8.

    Example:
        >>> steps = np.arange(0, 1001, 100)
        >>> run = Run("r", None, steps, {"squared_norm": 5.0 * np.exp(0.002 * steps)})
        >>> contraction_rate(run, Window(0, 1000, "whole run")).reason.name
        'GROWING'
    """
    rate = signed_rate(run, window)
    if isinstance(rate, Missing) or rate.value > 0:
        return rate
    where = f"{window.reason}, steps {window.first_step} to {window.last_step}"
    return Missing(Unavailable.GROWING, f"ln V changes by {-rate.value:+.3g} a step {where}")


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

    The lag is floor(4 (n/100)^(2/9)) evaluations, at least one, with the n/(n-2) correction for
    few points; the error is None for two points.

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
    scores = centred * residuals
    lags = min(max(1, int(4 * (n / 100) ** (2 / 9))), n - 1)
    meat = float(scores @ scores) + 2 * sum(
        (1 - lag / (lags + 1)) * float(scores[lag:] @ scores[:-lag]) for lag in range(1, lags + 1)
    )
    variance = max(meat, 0.0) / spread**2 * n / (n - 2)
    return slope, float(np.sqrt(variance)), r_squared


def _student(value: float, error: float, freedom: int) -> Interval:
    from scipy import stats

    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * error
    return Interval(
        value - half,
        value + half,
        CONFIDENCE,
        f"Student, {freedom} degrees of freedom, Newey-West errors",
    )
