"""Turnbull's survival curve of interval-censored times: no distribution assumed."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import ConvergenceError
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.samples import Vector
from nht_theory.inference.survival import SurvivalCurve

TOLERANCE = 1e-9
RESAMPLED_TOLERANCE = 1e-4
"""Of a resampled curve, far below the scatter between them."""
MAX_ITERATIONS = 100_000


def turnbull(
    times: CensoredTimes, *, resamples: int = 500, seed: int = 0, coverage: float = CONFIDENCE
) -> SurvivalCurve:
    """Nonparametric maximum-likelihood survival curve of interval-censored times.

    The likelihood puts mass only on the innermost intervals (q, p], where a left end is followed
    at once by a right end; inside one the curve is not determined, and ``time`` holds their right
    ends. Mass that may lie anywhere beyond the last moment seen belongs to no time.

    The interval is pointwise: percentiles of the curves of resampled times, NaN where S is 0 or 1
    (as Kaplan-Meier's) or there is a single time. It is right for times that were looked at on a
    common grid, as runs evaluated at the same steps are: then the curve is a table of shares. On
    grids that differ from run to run the curve converges more slowly than a share does and the
    interval is a guide.

    Args:
        times: shape [n].
        resamples: 0 for no interval (NaN).
        seed: the same seed gives the same interval, bit for bit.

    Raises:
        ConvergenceError: the self-consistent iteration did not settle.

    References:
        Turnbull (1976), Journal of the Royal Statistical Society B 38, 290-295; Davison and Hinkley
        (1997), section 5.3, for the percentiles.

    Example:
        >>> curve = turnbull(CensoredTimes.of([0, 1, 1], [1, 2, float("inf")]))
        >>> curve.time, curve.survival.round(4)
        (array([1., 2.]), array([0.6667, 0.    ]))
        >>> bool(curve.low[0] < curve.survival[0] < curve.high[0])
        True
    """
    left, right = _innermost(times)
    # Row i may have had its event in innermost interval j when it contains it; a single moment
    # lies outside an interval that is open there.
    low, high, moment = times.lower[:, None], times.upper[:, None], (left == right)[None, :]
    inside = np.where(moment & ~times.is_exact[:, None], left > low, left >= low) & (right <= high)
    rows, counts = np.unique(inside, axis=0, return_counts=True)
    support = rows.astype(np.float64)
    finite = np.isfinite(right)
    mass = _self_consistent(support, counts[None, :].astype(np.float64), TOLERANCE)
    survival = _survival(mass, finite)[0]
    low, high = _limits(support, counts, survival, finite, resamples, seed, coverage)
    return SurvivalCurve(
        time=right[finite],
        survival=survival,
        low=low,
        high=high,
        n=times.n,
        n_censored=times.n_right_censored,
        coverage=coverage,
        method=f"Turnbull, {times.n_interval_censored} interval-censored"
        + (f"; percentiles of {resamples} resamples" if resamples else ""),
        references=("davison1997", "turnbull1976") if resamples else ("turnbull1976",),
    )


def _survival(mass: Vector, finite: NDArray[np.bool_]) -> Vector:
    """S just after each finite right end, shape [curves, times], from masses [curves, ends]."""
    survival = 1 - np.cumsum(mass[:, finite], axis=1)
    return np.where(survival < TOLERANCE, 0.0, survival)


def _limits(
    support: Vector,
    counts: NDArray[np.int64],
    survival: Vector,
    finite: NDArray[np.bool_],
    resamples: int,
    seed: int,
    coverage: float,
) -> tuple[Vector, Vector]:
    """Pointwise percentiles of S over resampled times; those of one row are exchangeable."""
    inside = (survival > 0) & (survival < 1 - TOLERANCE)
    n = int(counts.sum())
    if not resamples or n < 2:
        return np.full_like(survival, np.nan), np.full_like(survival, np.nan)
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(n, counts / n, size=resamples).astype(np.float64)
    curves = _survival(_self_consistent(support, drawn, RESAMPLED_TOLERANCE), finite)
    tail = (1 - coverage) / 2
    low, high = np.quantile(curves, [tail, 1 - tail], axis=0)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)


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


def _self_consistent(inside: Vector, counts: Vector, tolerance: float) -> Vector:
    """Masses that equal the average of their conditional expectations (an EM iteration).

    Args:
        inside: 1 where a kind of time may lie in an end's interval, shape [kinds, ends].
        counts: how many times of each kind each curve rests on, shape [curves, kinds].

    Returns:
        shape [curves, ends], each summing to one.
    """
    n = counts.sum(axis=1, keepdims=True)
    mass = np.full((len(counts), inside.shape[1]), 1 / inside.shape[1])
    left = np.arange(len(counts))
    for _ in range(MAX_ITERATIONS):
        own, seen = mass[left], counts[left]
        held = own @ inside.T
        share = np.divide(seen, held, out=np.zeros_like(held), where=seen > 0)
        gain = share @ inside / n[left]
        mass[left] = own * gain
        # At the maximum no interval would gain, and those with mass neither gain nor lose.
        moves = np.abs(mass[left] * (gain - 1)).max(axis=1) >= tolerance
        left = left[(gain.max(axis=1) - 1 >= tolerance) | moves]
        if not left.size:
            return np.asarray(mass / mass.sum(axis=1, keepdims=True))
    raise ConvergenceError(
        f"self-consistency not reached in {MAX_ITERATIONS} iterations",
        source="Turnbull curve",
        remedies=("merge evaluation intervals that nearly coincide", "use the Kaplan-Meier curve"),
    )
