"""The contraction rate gamma_V of a run, and the mean slope of ln V over a window."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nht_theory.conventions import CONFIDENCE
from nht_theory.estimators.autocorrelation import FEWEST, Spread, spread_of
from nht_theory.estimators.floored_decay import FlooredDecay, decay_to_floor
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

    Over it the mean slope of ln V is read (:func:`signed_rate`): what the delay itself spans.

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


def descent_window(
    run: Run, memorization: Crossing | None, collapse: int | None = None
) -> Window | Missing:
    """The window over which the excess of V over its floor is read: from memorisation on.

    It runs to the last evaluation (before a collapse), past the switch, because the floor shows
    only late; and it does not depend on when or whether the run generalises. A run that never
    memorises is read from its largest V on.
    """
    if not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, columns.SQUARED_NORM)
    last = run.steps.size if collapse is None else int(np.searchsorted(run.steps, collapse))
    keep = usable(run.squared_norm[:last])
    steps, series = run.steps[:last][keep], run.squared_norm[:last][keep]
    if steps.size < 2:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{steps.size} usable evaluations of V")
    if memorization is not None and memorization.step is not None:
        return Window(memorization.step, int(steps[-1]), "from memorisation on")
    top = int(np.argmax(series))
    if top == series.size - 1:
        return Missing(Unavailable.GROWING, f"V is largest at its last evaluation, {steps[-1]}")
    return Window(int(steps[top]), int(steps[-1]), "from the peak of V on")


def contraction_rate(run: Run, window: Window, switch: int | None = None) -> Estimate | Missing:
    """gamma_V: the rate at which the excess of V over its floor falls, over a window.

    V = floor + excess exp(-gamma_V t) is fitted to ln V with the floor free (zero or above), so
    that a norm near its floor is not taken for one that hardly contracts. A run that switches
    within the window has one floor before and another after it (:mod:`.floored_decay`).

    Where the data do not tell the floor (fewer than 12 evaluations, or a rate whose interval
    reaches zero) the rate is that of V itself: the excess falls at least as fast, so it is a lower
    bound and has no interval. A norm that moves by no more than the range of its scatter stands at
    its floor and has no rate.

    Args:
        run: the run.
        window: over which to read; it goes on past the switch.
        switch: first evaluation at which the run generalises; None where it does not.

    Returns:
        The rate; or Missing: GROWING with what was measured in the detail, FLAT (constant, or
        still within its noise: it stands at its floor), or TOO_FEW_POINTS.

    Source: THEORY.md section 8 and "Corrections after the first version".

    Example:
        >>> steps = np.arange(0, 2001, 100)
        >>> V = 300 + 4700 * np.exp(-0.002 * steps)
        >>> run = Run("r", None, steps, {"squared_norm": V})
        >>> round(contraction_rate(run, Window(0, 2000, "whole run")).value, 9)
        0.002
    """
    rate = signed_rate(run, window)
    if isinstance(rate, Missing):
        return rate
    steps, log_norm = _inside(run, window)
    where = f"{window.reason}, steps {window.first_step} to {window.last_step}"
    floored = decay_to_floor(steps, log_norm, switch=switch)
    if isinstance(floored, FlooredDecay) and floored.told:
        return Estimate(
            value=floored.rate,
            unit=UNIT,
            method=f"{_described(floored)}, {where}; R^2 {floored.r_squared:.4f}",
            n=rate.n,
            interval=floored.interval,
            standard_error=floored.standard_error,
            left_out=rate.left_out,
        )
    if rate.value < 0 and levels_off(run, window):
        return Missing(Unavailable.GROWING, f"V rises to a level: it lies below its floor {where}")
    if _stands_still(rate, steps, log_norm):
        return Missing(Unavailable.FLAT, f"V moves by no more than its scatter {where}")
    if rate.value <= 0:
        return Missing(Unavailable.GROWING, f"ln V changes by {-rate.value:+.3g} a step {where}")
    return replace(
        rate,
        method=f"{rate.method}; a floor cannot be told from none, so the excess over it falls at "
        "least as fast: no interval",
        interval=None,
        standard_error=None,
    )


def _described(decay: FlooredDecay) -> str:
    if decay.floor == 0 and decay.later_floor == 0:
        return "exponential of V itself, for no floor shows"
    later = f", {decay.later_floor:.5g} after the switch"
    return f"exponential towards a floor of V = {decay.floor:.5g}" + (
        later if decay.later_floor != decay.floor else ""
    )


def _stands_still(rate: Estimate, steps: Series, log_norm: Series) -> bool:
    """Whether V moves by no more than its scatter about a straight line in ln V."""
    if rate.interval is None:
        return False
    line = -rate.value * (steps - steps.mean())
    residuals = log_norm - log_norm.mean() - line
    return 0 in rate.interval or bool(np.ptp(line) <= np.ptp(residuals))


def levels_off(run: Run, window: Window) -> bool:
    """Whether a growing norm is seen to approach a level: it then lies below its floor.

    Example:
        >>> steps = np.arange(0, 2001, 100)
        >>> V = 900 - 600 * np.exp(-0.002 * steps)
        >>> levels_off(Run("r", None, steps, {"squared_norm": V}), Window(0, 2000, "whole run"))
        True
    """
    steps, log_norm = _inside(run, window)
    floored = decay_to_floor(steps, log_norm, rising=True)
    return isinstance(floored, FlooredDecay) and floored.told


def signed_rate(run: Run, window: Window) -> Estimate | Missing:
    """Minus the least-squares slope of ln V over a window, per step of V, of either sign.

    Neighbouring evaluations of one run are not independent, and the interval allows for it
    (:func:`spread_of`); below 12 evaluations there is none.

    Returns:
        The rate (negative where V grows), or Missing where V is constant over the window or
        fewer than two usable evaluations lie in it.

    Source: THEORY.md section 8.

    Example:
        >>> steps = np.arange(0, 1001, 100)
        >>> run = Run("r", None, steps, {"squared_norm": 5.0 * np.exp(-0.002 * steps)})
        >>> round(signed_rate(run, Window(0, 1000, "whole run")).value, 12)
        0.002
    """
    inside = (run.steps >= window.first_step) & (run.steps <= window.last_step)
    steps, log_norm = _inside(run, window)
    dropped = int(inside.sum()) - steps.size
    where = f"{window.reason}, steps {window.first_step} to {window.last_step}"
    if steps.size < 2:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{steps.size} usable evaluations {where}")
    if float(np.ptp(log_norm)) < FLAT_RANGE:
        return Missing(Unavailable.FLAT, f"V is constant {where}")
    slope, r_squared, spread = log_linear_slope(steps, log_norm)
    method = f"least squares of ln V on the step, {where}; R^2 {r_squared:.4f}"
    if spread is None:
        method += f"; no interval from {steps.size} evaluations (below {FEWEST})"
    return Estimate(
        value=-slope,
        unit=UNIT,
        method=method,
        n=int(steps.size),
        interval=None
        if spread is None
        else Interval(
            -slope - spread.half_width, -slope + spread.half_width, CONFIDENCE, spread.method
        ),
        standard_error=None if spread is None else spread.standard_error,
        left_out=(f"{dropped} evaluations without finite, positive V",) if dropped else (),
    )


def log_linear_slope(steps: Series, log_norm: Series) -> tuple[float, float, Spread | None]:
    """Least-squares slope of ln V, R^2, and the slope's spread (None below 12 evaluations).

    Args:
        steps: shape [n], n >= 2.
        log_norm: ln V, shape [n].
    """
    centred = steps - steps.mean()
    slope = float(centred @ log_norm) / float(centred @ centred)
    residuals = log_norm - log_norm.mean() - slope * centred
    total = float(((log_norm - log_norm.mean()) ** 2).sum())
    r_squared = 1.0 - float(residuals @ residuals) / total if total > 0 else float("nan")
    design = np.column_stack([np.ones_like(centred), centred])
    return slope, r_squared, spread_of(design, residuals, steps, 1)


def _inside(run: Run, window: Window) -> tuple[Series, Series]:
    """Steps and ln V of the usable evaluations in a window, each of shape [n]."""
    keep = usable(run.squared_norm)
    keep &= (run.steps >= window.first_step) & (run.steps <= window.last_step)
    return run.steps[keep].astype(np.float64), np.log(run.squared_norm[keep])
