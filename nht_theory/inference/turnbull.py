"""Turnbull's survival curve of interval-censored times: no distribution assumed."""

from __future__ import annotations

import itertools

import numpy as np

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import ConvergenceError
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.samples import Vector
from nht_theory.inference.survival import SurvivalCurve

TOLERANCE = 1e-9
MAX_ITERATIONS = 100_000


def turnbull(times: CensoredTimes) -> SurvivalCurve:
    """Nonparametric maximum-likelihood survival curve of interval-censored times.

    The likelihood puts mass only on the innermost intervals (q, p], where a left end is followed
    at once by a right end; inside one the curve is not determined, and ``time`` holds their right
    ends. Mass that may lie anywhere beyond the last moment seen belongs to no time. The curve has
    no pointwise interval (NaN): the bootstrap is not valid for it and Greenwood does not apply.

    Args:
        times: shape [n].

    Raises:
        ConvergenceError: the self-consistent iteration did not settle.

    References:
        Turnbull (1976), Journal of the Royal Statistical Society B 38, 290-295.

    Example:
        >>> curve = turnbull(CensoredTimes.of([0, 1, 1], [1, 2, float("inf")]))
        >>> curve.time, curve.survival.round(4)
        (array([1., 2.]), array([0.6667, 0.    ]))
    """
    left, right = _innermost(times)
    # Row i may have had its event in innermost interval j when it contains it; a single moment
    # lies outside an interval that is open there.
    low, high, moment = times.lower[:, None], times.upper[:, None], (left == right)[None, :]
    inside = np.where(moment & ~times.is_exact[:, None], left > low, left >= low) & (right <= high)
    mass = _self_consistent(inside.astype(np.float64))
    finite = np.isfinite(right)
    survival = 1 - np.cumsum(mass[finite])
    unknown = np.full(int(finite.sum()), np.nan)
    return SurvivalCurve(
        time=right[finite],
        survival=np.where(survival < TOLERANCE, 0.0, survival),
        low=unknown,
        high=unknown.copy(),
        n=times.n,
        n_censored=times.n_right_censored,
        coverage=CONFIDENCE,
        method=f"Turnbull, {times.n_interval_censored} interval-censored",
        references=("turnbull1976",),
    )


def _innermost(times: CensoredTimes) -> tuple[Vector, Vector]:
    """Left and right ends of the intervals that can carry mass, in order."""
    # Intervals are open on the left: at one moment a right end comes before a left end. An exact
    # time is the closed interval [t, t]: its left end comes before its right end.
    order_of_left = np.where(times.is_exact, -1, 1).tolist()
    ends = [
        *(
            (low, order, True)
            for low, order in zip(times.lower.tolist(), order_of_left, strict=True)
        ),
        *((high, 0, False) for high in times.upper.tolist()),
    ]
    ends.sort(key=lambda end: (end[0], end[1]))
    pairs = [
        (this[0], following[0])
        for this, following in itertools.pairwise(ends)
        if this[2] and not following[2]
    ]
    left, right = zip(*pairs, strict=True)
    return np.array(left), np.array(right)


def _self_consistent(inside: Vector) -> Vector:
    """Masses that equal the average of their conditional expectations (an EM iteration)."""
    n = len(inside)
    mass = np.full(inside.shape[1], 1 / inside.shape[1])
    for _ in range(MAX_ITERATIONS):
        gain = inside.T @ (1 / (inside @ mass)) / n
        mass = mass * gain
        # At the maximum no interval would gain, and those with mass neither gain nor lose.
        if gain.max() - 1 < TOLERANCE and np.abs(mass * (gain - 1)).max() < TOLERANCE:
            return np.asarray(mass / mass.sum())
    raise ConvergenceError(
        f"self-consistency not reached in {MAX_ITERATIONS} iterations",
        source="Turnbull curve",
        remedies=("merge evaluation intervals that nearly coincide", "use the Kaplan-Meier curve"),
    )
