"""The exponential towards a floor: the rate at which the excess of V over its floor falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import CONFIDENCE
from nht_theory.estimators.autocorrelation import FEWEST, Spread, spread_of
from nht_theory.estimators.nonlinear import Start, fit_nonlinear
from nht_theory.estimators.results import Interval, Missing, Unavailable
from nht_theory.runs.run import Series

_START_RATES = np.geomspace(0.1, 100.0, 25)
"""Rates, per length of the window, among which the search starts at the best."""
_LARGEST_SEARCH = 60
"""Evaluations of the curve; a straight fall of V, whose floor runs away, never converges."""
_LARGEST_FALL = 700.0
"""Fall of ln V above which its exponential overflows."""
_RATE = 2
"""Place of the rate among the coefficients."""


@dataclass(frozen=True)
class FlooredDecay:
    """V_t = floor + (start - floor) exp(-rate t), fitted to ln V.

    Attributes:
        rate: of the excess over the floor, per step.
        standard_error: of the rate, for autocorrelated residuals.
        interval: of the rate.
        floor: V that the fit tends to; above every V seen where V rises to it, 0 where none shows.
        moved: how far the fitted ln V moves over the window.
        scatter: range of the residuals of ln V.
        r_squared: of ln V.
    """

    rate: float
    standard_error: float
    interval: Interval
    floor: float
    moved: float
    scatter: float
    r_squared: float

    @property
    def told(self) -> bool:
        """Whether the data tell the rate: its interval lies above zero, and V moves by more than
        the range of its scatter (an excess within the noise has no rate)."""
        return self.interval.low > 0 and self.moved > self.scatter


def decay_to_floor(
    steps: Series, log_norm: Series, *, rising: bool = False
) -> FlooredDecay | Missing:
    """The exponential towards a floor, by least squares of ln V.

    The floor is not a choice between two models: it is always fitted, and what it leaves unknown
    of the rate is in the rate's interval. Where the best floor is zero, ln V falls in a straight
    line or faster; the rate is then its slope, and the interval reaches up to what a floor that
    the data do not rule out would give.

    Args:
        steps: shape [n].
        log_norm: ln V, shape [n].
        rising: whether V rises to its floor from below instead of falling to it.

    Returns:
        The fit; or Missing: TOO_FEW_POINTS (n < 12), NOT_CONVERGED or AT_BOUND (nothing but a
        floor).

    Source: THEORY.md sections 3 and 8, and "Corrections after the first version".

    Example:
        >>> steps = np.arange(0, 3001, 100.0)
        >>> fit = decay_to_floor(steps, np.log(200 + 3800 * np.exp(-0.002 * steps)))
        >>> round(fit.rate, 9), round(fit.floor, 3)
        (0.002, 200.0)
    """
    if steps.size < FEWEST:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{steps.size} evaluations for a floor")
    length = float(np.ptp(steps))
    elapsed = (steps - steps[0]) / length
    share, rate = _start(elapsed, log_norm, rising=rising)
    starts = {"log_start": Start(float(log_norm[0])), "share": Start(share), "rate": Start(rate)}
    fit = fit_nonlinear(_curve, elapsed, log_norm, starts, _curve_gradient, _LARGEST_SEARCH)
    if not rising and (isinstance(fit, Missing) or fit.values["share"] <= 0):
        line = _without_floor(elapsed, log_norm, length)
        if line is not None:
            return line
    if isinstance(fit, Missing):
        return fit
    share, rate = fit.values["share"], fit.values["rate"]
    if not (rate > 0 and (share > 1 if rising else 0 < share < 1)):
        return Missing(Unavailable.AT_BOUND, "V does not move to a floor")
    spread = spread_of(fit.jacobian, fit.residuals, elapsed, _RATE)
    if spread is None:
        return Missing(Unavailable.NOT_CONVERGED, "the rate cannot be told from the floor")
    return FlooredDecay(
        rate=rate / length,
        standard_error=spread.standard_error / length,
        interval=_interval(rate - spread.half_width, rate + spread.half_width, spread, length),
        floor=share * float(np.exp(fit.values["log_start"])),
        moved=float(abs(np.ptp(log_norm - fit.residuals))),
        scatter=float(np.ptp(fit.residuals)),
        r_squared=fit.r_squared,
    )


def _curve(elapsed: Series, log_start: float, share: float, rate: float) -> Series:
    """ln V with the floor as a share of V at the start."""
    return np.asarray(log_start + np.log(share + (1 - share) * np.exp(-rate * elapsed)))


def _curve_gradient(elapsed: Series, _: float, share: float, rate: float) -> Series:
    left = np.exp(-rate * elapsed)
    norm = share + (1 - share) * left
    return np.column_stack(
        [np.ones_like(elapsed), (1 - left) / norm, -(1 - share) * elapsed * left / norm]
    )


def _without_floor(elapsed: Series, log_norm: Series, length: float) -> FlooredDecay | None:
    """The straight line in ln V, as uncertain as a floor near zero makes it; None where V does
    not fall, or where a floor above zero would fit better."""
    design = np.column_stack([np.ones_like(elapsed), -elapsed])
    coefficients = np.linalg.lstsq(design, log_norm, rcond=None)[0]
    rate = float(coefficients[1])
    if not rate > 0:
        return None
    residuals = log_norm - design @ coefficients
    # The curve with a floor, to first order in the floor's share of the start.
    bent = np.expm1(np.minimum(rate * elapsed, _LARGEST_FALL))
    curved = np.column_stack([design[:, 0], bent, design[:, 1]])
    step = np.linalg.lstsq(curved, residuals, rcond=None)[0]
    line = spread_of(design, residuals, elapsed, 1)
    free = spread_of(curved, residuals - curved @ step, elapsed, _RATE)
    if line is None or free is None or step[1] > 0:
        return None
    # A floor below zero does not exist, so that one would fit better is no knowledge of the rate.
    high = rate + max(line.half_width, free.half_width)
    total = float(((log_norm - log_norm.mean()) ** 2).sum())
    return FlooredDecay(
        rate=rate / length,
        standard_error=line.standard_error / length,
        interval=_interval(rate - line.half_width, high, line, length),
        floor=0.0,
        moved=rate,
        scatter=float(np.ptp(residuals)),
        r_squared=1 - float(residuals @ residuals) / total,
    )


def _interval(low: float, high: float, spread: Spread, length: float) -> Interval:
    return Interval(float(low) / length, float(high) / length, CONFIDENCE, spread.method)


def _start(elapsed: Series, log_norm: Series, *, rising: bool) -> tuple[float, float]:
    """Share of the floor in the start, and rate, of the best curve on a grid of rates.

    For each rate V = floor + excess exp(-rate t) is linear in the other two; weights 1/V^2 make
    the errors those of ln V.
    """
    norm = np.exp(log_norm - log_norm[0])
    best, found = np.inf, (1.5 * float(norm.max()) if rising else 0.5 * float(norm.min()), 1.0)
    for rate in _START_RATES:
        weighted = np.column_stack([np.ones_like(elapsed), np.exp(-rate * elapsed)])
        weighted /= norm[:, None]
        (floor, excess), *_ = np.linalg.lstsq(weighted, np.ones_like(norm), rcond=None)
        left = float(((1 - weighted @ np.array([floor, excess])) ** 2).sum())
        share = floor / (floor + excess) if floor + excess > 0 else np.nan
        inside = share > 1 if rising else 0 < share < 1
        if inside and left < best:
            best, found = left, (float(share), float(rate))
    return found
