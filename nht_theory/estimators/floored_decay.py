"""The exponential towards a floor: the rate at which the excess of V over its floor falls.

What the gradients do changes when a run switches, and with it the floor. So a run that switches
has two floors, one before and one after, and one rate: with a single floor a norm that falls at
0.95 of pure decay, towards 600 before the switch and 150 after it, would seem to fall at 0.64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import CONFIDENCE
from nht_theory.estimators.autocorrelation import FEWEST, spread_of
from nht_theory.estimators.nonlinear import Model, NonlinearFit, Start, fit_nonlinear
from nht_theory.estimators.results import Interval, Missing, Unavailable
from nht_theory.runs.run import Series

FLOORS = ("share", "later")
"""Floor before and after the switch, each as a share of V at the start."""
NO_FLOOR = 1e-4
"""Share of the smallest V seen below which a floor is none."""
_FASTEST = 100.0
"""Rate per length of the window above which a search without a floor would underflow."""
_LARGEST_EXPONENT = 709.0
"""Of e, above which floating point has no number."""
_LARGEST_CHANGE = 300.0
"""Change of ln V above which its square would leave the range of floating point."""
_START_RATES = np.geomspace(0.1, _FASTEST, 25)
"""Rates, per length of the window, among which the search starts at the best."""


@dataclass(frozen=True)
class FlooredDecay:
    """V_t = floor + (start - floor) exp(-rate t), fitted to ln V.

    Attributes:
        rate: of the excess over the floor, per step.
        standard_error: of the rate, for autocorrelated residuals.
        interval: of the rate.
        floor: V that the fit tends to from the window's start, 0 where no floor shows.
        later_floor: the same after the switch; ``floor`` where there is none in the window.
        moved: how far the fitted ln V moves over the window.
        scatter: range of the residuals of ln V.
        r_squared: of ln V.
    """

    rate: float
    standard_error: float
    interval: Interval
    floor: float
    later_floor: float
    moved: float
    scatter: float
    r_squared: float

    @property
    def told(self) -> bool:
        """Whether the data tell the rate: its interval lies above zero, and V moves by more than
        the range of its scatter (an excess within the noise has no rate)."""
        return self.interval.low > 0 and self.moved > self.scatter


def decay_to_floor(
    steps: Series, log_norm: Series, *, switch: float | None = None, rising: bool = False
) -> FlooredDecay | Missing:
    """The exponential towards a floor, by least squares of ln V.

    The floor is not a choice between two models: it is always fitted, at zero or above, and what
    it leaves unknown of the rate is in the rate's interval, also where the best floor is zero.

    Args:
        steps: shape [n].
        log_norm: ln V, shape [n].
        switch: step after which V tends to another floor, at the same rate; None where there is
            no such step, and without effect unless evaluations lie on both sides of it.
        rising: whether V rises to its floor from below instead of falling to it.

    Returns:
        The fit; or Missing: TOO_FEW_POINTS (n < 12), NOT_CONVERGED or AT_BOUND (V does not move
        to a floor).

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
    turn = np.inf if switch is None else (switch - steps[0]) / length
    turns = bool(elapsed[0] < turn < elapsed[-1])
    curve = _Curve(turn if turns else np.inf, FLOORS if turns else FLOORS[:1])
    fit = _fitted(curve, elapsed, log_norm, rising=rising)
    if isinstance(fit, Missing):
        return fit
    rate, share = fit.values["rate"], fit.values.get("share", 0.0)
    later = fit.values.get("later", 0.0) if turns else share
    if not (rate > 0 and (share > 1 if rising else share < 1)):
        return Missing(Unavailable.AT_BOUND, "V does not move to a floor")
    # Also a floor that sits at zero is unknown, and with it the rate.
    with np.errstate(all="ignore"):
        free = curve.gradient(elapsed, rate, share, later)
    spread = spread_of(free, fit.residuals, elapsed, 1)
    if spread is None:
        return Missing(Unavailable.NOT_CONVERGED, "the rate cannot be told from the floor")
    start = float(np.exp(min(fit.values["log_start"], _LARGEST_EXPONENT)))
    return FlooredDecay(
        rate=rate / length,
        standard_error=spread.standard_error / length,
        interval=Interval(
            (rate - spread.half_width) / length,
            (rate + spread.half_width) / length,
            CONFIDENCE,
            spread.method,
        ),
        floor=share * start,
        later_floor=later * start,
        moved=float(np.ptp(log_norm - fit.residuals)),
        scatter=float(np.ptp(fit.residuals)),
        r_squared=fit.r_squared,
    )


def _fitted(
    curve: _Curve, elapsed: Series, log_norm: Series, *, rising: bool
) -> NonlinearFit | Missing:
    """The curve's least squares. The search only creeps up to a bound: floors that end near zero
    are fixed there and the rest is fitted again; and without any floor, where that is no worse."""
    share, rate = _start(elapsed, log_norm, rising=rising)
    lowest = 1.0 if rising else 0.0
    starts = {
        "log_start": Start(float(log_norm[0])),
        "rate": Start(rate, low=0.0),
        **{floor: Start(share, low=lowest) for floor in curve.floors},
    }
    fit = _search(curve, elapsed, log_norm, starts)
    if isinstance(fit, Missing) or rising:
        return fit
    smallest = NO_FLOOR * float(
        np.exp(min(log_norm.min() - fit.values["log_start"], _LARGEST_EXPONENT))
    )
    at_zero = {floor for floor in curve.floors if fit.values[floor] <= smallest}
    for fixed in filter(None, (at_zero, {*curve.floors})):
        values = {**fit.values, "rate": min(fit.values["rate"], _FASTEST)}
        kept = {
            name: Start(values[name], start.low)
            for name, start in starts.items()
            if name not in fixed
        }
        again = _search(curve, elapsed, log_norm, kept)
        better = isinstance(again, NonlinearFit) and again.sum_of_squares <= fit.sum_of_squares
        if isinstance(again, NonlinearFit) and (fixed is at_zero or better):
            fit = again
    return fit


def _search(
    curve: _Curve, elapsed: Series, log_norm: Series, starts: dict[str, Start]
) -> NonlinearFit | Missing:
    names = tuple(starts)
    return fit_nonlinear(
        curve.model(names), elapsed, log_norm, starts, curve.slopes(names), at_bounds=True
    )


@dataclass(frozen=True)
class _Curve:
    """ln V over elapsed time, the floors as shares of V at the start.

    Attributes:
        turn: elapsed time after which the later floor holds; infinite where there is none.
        floors: names of the floors.
    """

    turn: float
    floors: tuple[str, ...]

    def model(self, names: tuple[str, ...]) -> Model:
        """ln V, shape [n], as a function of the named parameters; floors not named are zero."""

        def log_norm(elapsed: Series, *values: float) -> Series:
            log_start, rate, share, later = self._all(names, values)
            return np.asarray(log_start + np.log(self._parts(elapsed, rate, share, later)[-1]))

        return log_norm

    def slopes(self, names: tuple[str, ...]) -> Model:
        """Its derivatives in the named parameters, shape [n, k]."""
        places = [("log_start", "rate", *self.floors).index(name) for name in names]

        def chosen(elapsed: Series, *values: float) -> Series:
            _, rate, share, later = self._all(names, values)
            return self.gradient(elapsed, rate, share, later)[:, places]

        return chosen

    def gradient(self, elapsed: Series, rate: float, share: float, later: float) -> Series:
        """Derivatives in the logarithm of the start, the rate and every floor."""
        before, after, left, left_after, at_turn, norm = self._parts(elapsed, rate, share, later)
        slope = (1 - share) * before * left + (at_turn - later) * after
        columns = [
            np.ones_like(elapsed),
            -slope * left_after / norm,
            (1 - left) * left_after / norm,
            (1 - left_after) / norm,
        ]
        return np.column_stack(columns[: 2 + len(self.floors)])

    def _all(
        self, names: tuple[str, ...], values: tuple[float, ...]
    ) -> tuple[float, float, float, float]:
        given = dict(zip(names, values, strict=True))
        share = given.get("share", 0.0)
        return given["log_start"], given["rate"], share, given.get("later", 0.0)

    def _parts(
        self, elapsed: Series, rate: float, share: float, later: float
    ) -> tuple[Series, ...]:
        """Time before and after the turn, the shares of the excess left by each, V at the turn
        and V, as shares of the start."""
        before, after = np.minimum(elapsed, self.turn), np.maximum(elapsed - self.turn, 0.0)
        left, left_after = np.exp(-rate * before), np.exp(-rate * after)
        at_turn = share + (1 - share) * left
        return before, after, left, left_after, at_turn, later + (at_turn - later) * left_after


def _start(elapsed: Series, log_norm: Series, *, rising: bool) -> tuple[float, float]:
    """Share of the floor in the start, and rate, of the best curve on a grid of rates.

    For each rate V = floor + excess exp(-rate t) is linear in the other two; weights 1/V^2 make
    the errors those of ln V.
    """
    norm = np.exp(np.clip(log_norm - log_norm[0], -_LARGEST_CHANGE, _LARGEST_CHANGE))
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
