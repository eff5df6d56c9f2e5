"""Tests of an ordered alternative: Jonckheere-Terpstra over groups, Page's L within blocks.

Both compare the order in the data with an order that was predicted beforehand, treat ties
exactly and add up over blocks (seeds), so that only comparisons within a block count.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from nht_theory.errors import DomainError
from nht_theory.inference.lattice import convolved, lattice_tail
from nht_theory.inference.results import Alternative, HypothesisTest
from nht_theory.inference.samples import Vector, check_same_length, finite_vector, group_codes

EXACT_STATES = 60_000
"""Size of the enumeration up to which a null distribution is computed exactly."""
EXACT_TREATMENTS = 10
"""Page's null distribution runs over all subsets of the treatments: exact up to this many."""


def jonckheere_terpstra(
    values: ArrayLike,
    groups: ArrayLike,
    *,
    blocks: ArrayLike | None = None,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> HypothesisTest:
    """Jonckheere-Terpstra test that ``values`` rise with the order of ``groups``.

    Args:
        values: shape [n].
        groups: numbers whose order is the predicted one (weight decay, say), shape [n].
        blocks: label of the block (seed) of each value; only values of one block are compared.
        alternative: ``greater`` when the values are predicted to rise with the groups.

    The statistic is J: pairs (i, j) with group_i < group_j and value_i < value_j, ties a half.
    The null distribution permutes the values within each block. It is exact, ties included,
    while the enumeration stays small, and normal with the tie-corrected variance beyond.

    Raises:
        DomainError: lengths differ, a value is not finite, or no block holds two groups.

    References:
        Jonckheere (1954), Biometrika 41, 133-145; tie correction: Hollander, Wolfe and
        Chicken (2014), Nonparametric Statistical Methods, equation 6.19.

    Example:
        >>> test = jonckheere_terpstra([1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2],
        ...                            alternative=Alternative.GREATER)
        >>> test.statistic, round(test.p_value * 90, 12)
        (12.0, 1.0)
    """
    x = finite_vector(values, "values", at_least=2)
    g = finite_vector(groups, "groups", at_least=2)
    block = np.zeros(x.size, dtype=np.int64) if blocks is None else group_codes(blocks, "blocks")[0]
    check_same_length(values=x, groups=g, blocks=block)
    members = [block == code for code in np.unique(block)]
    inside = [(x[rows], g[rows]) for rows in members if np.unique(g[rows]).size > 1]
    if not inside:
        raise DomainError(
            "no block holds values of two groups",
            source="groups",
            remedy="give at least two groups within one block",
        )
    observed = sum(_twice_j(*pair) for pair in inside)
    n = sum(pair[0].size for pair in inside)
    if all(_states(*pair) <= EXACT_STATES for pair in inside):
        null = convolved(_twice_j_distribution(*pair) for pair in inside)
        p_value = lattice_tail(null, observed, alternative)
        method = f"exact permutation distribution within {len(inside)} blocks, ties included"
    else:
        moments = [_j_moments(*pair) for pair in inside]
        mean, variance = np.sum(moments, axis=0)
        p_value = _normal_tail(observed / 2, float(mean), float(variance), alternative)
        method = f"normal approximation within {len(inside)} blocks, tie-corrected variance"
    return HypothesisTest(
        statistic=observed / 2,
        statistic_name="Jonckheere-Terpstra J",
        p_value=p_value,
        n=n,
        alternative=alternative,
        method=method,
        references=("jonckheere1954",),
    )


def page_l(
    table: ArrayLike,
    *,
    observed: ArrayLike | None = None,
    alternative: Alternative = Alternative.GREATER,
) -> HypothesisTest:
    """Page's L: do the columns of ``table`` rise from left to right within each row?

    Args:
        table: shape [blocks, treatments], columns in the predicted order.
        observed: same shape, False where the value is a right-censored time (the true one is
            larger). Ranks are then Gehan's: only pairs whose order is known count. Without
            censoring they are the usual mid-ranks.
        alternative: ``greater`` when values are predicted to rise along the columns.

    The null permutes each row. It is exact up to ten treatments, ties included, and normal
    beyond.

    Raises:
        DomainError: the table is not two-dimensional, has fewer than two columns, or holds NaN.

    References:
        Page (1963), Journal of the American Statistical Association 58, 216-230;
        Gehan (1965), Biometrika 52, 203-223, for the ranks under censoring.

    Example:
        >>> test = page_l([[1, 2, 3], [1, 2, 3]])
        >>> test.statistic, round(test.p_value * 36, 12)
        (28.0, 1.0)
    """
    rows = np.asarray(table, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] < 2 or rows.shape[0] < 1 or not np.isfinite(rows).all():
        raise DomainError(
            f"the table has shape {rows.shape} or values that are not finite",
            source="table",
            remedy="give one row per block, at least two columns, and mark censored times",
        )
    seen = np.ones(rows.shape, dtype=bool) if observed is None else np.asarray(observed, dtype=bool)
    check_same_length(table=rows.ravel(), observed=seen.ravel())
    twice_ranks = np.array([_twice_gehan_ranks(*row) for row in zip(rows, seen, strict=True)])
    treatments = rows.shape[1]
    weights = np.arange(1, treatments + 1)
    statistic = int((twice_ranks * weights).sum())
    if treatments <= EXACT_TREATMENTS:
        null = convolved(_twice_l_distribution(row) for row in twice_ranks)
        p_value = lattice_tail(null, statistic, alternative)
        method = "exact permutation distribution within rows, ties included"
    else:
        spread = weights.var() * twice_ranks.var(axis=1) * treatments**2 / (treatments - 1)
        mean = weights.mean() * twice_ranks.sum()
        p_value = _normal_tail(statistic, float(mean), float(spread.sum()), alternative)
        method = "normal approximation within rows, permutation variance"
    if not seen.all():
        method += f"; Gehan ranks, {int((~seen).sum())} censored"
    return HypothesisTest(
        statistic=statistic / 2,
        statistic_name="Page's L",
        p_value=p_value,
        n=rows.shape[0],
        alternative=alternative,
        method=method,
        references=("page1963",) if seen.all() else ("gehan1965", "page1963"),
    )


def _twice_j(x: Vector, g: Vector) -> int:
    """2 J, an integer even with ties."""
    below = g[:, None] < g[None, :]
    wins = np.count_nonzero(below & (x[:, None] < x[None, :]))
    ties = np.count_nonzero(below & (x[:, None] == x[None, :]))
    return int(2 * wins + ties)


def _states(x: Vector, g: Vector) -> int:
    """Work of the exact enumeration: states of the recursion times the ways to fill a tie."""
    sizes = np.unique(g, return_counts=True)[1]
    largest_tie = int(np.unique(x, return_counts=True)[1].max())
    ways = math.comb(largest_tie + sizes.size - 1, sizes.size - 1)
    return int(np.prod(sizes + 1.0)) * ways


def _twice_j_distribution(x: Vector, g: Vector) -> Vector:
    """Probabilities of 2 J = 0, 1, 2 ... over all assignments of the values to the groups.

    Values are placed in ascending order, one tie at a time; the state is how many members
    each group has received so far.
    """
    sizes = np.unique(g, return_counts=True)[1]
    top = 2 * (int(sizes.sum()) ** 2 - int((sizes**2).sum())) // 2
    start = np.zeros(top + 1)
    start[0] = 1.0
    reached: dict[tuple[int, ...], Vector] = {(0,) * sizes.size: start}
    for tie in np.unique(x, return_counts=True)[1]:
        following: dict[tuple[int, ...], Vector] = {}
        for used, weight in reached.items():
            free = sizes - np.array(used)
            for fill in _fillings(int(tie), free):
                gain = _twice_gain(np.array(used), np.array(fill))
                ways = math.prod(math.comb(int(f), m) for f, m in zip(free, fill, strict=True))
                state = tuple(u + m for u, m in zip(used, fill, strict=True))
                total = following.setdefault(state, np.zeros(top + 1))
                total[gain:] += ways * weight[: top + 1 - gain]
        reached = following
    (counts,) = reached.values()
    return np.asarray(counts / counts.sum())


def _fillings(tie: int, free: NDArray[np.int64]) -> Iterable[tuple[int, ...]]:
    """All ways to spread ``tie`` equal values over groups with ``free`` places."""
    if free.size == 1:
        return [(tie,)] if tie <= free[0] else []
    return [
        (first, *rest)
        for first in range(min(tie, int(free[0])) + 1)
        for rest in _fillings(tie - first, free[1:])
    ]


def _twice_gain(used: NDArray[np.int64], fill: NDArray[np.int64]) -> int:
    """What placing ``fill`` adds to 2 J, given ``used`` smaller values in each group."""
    smaller_before = np.concatenate(([0], np.cumsum(used)[:-1]))
    tied_before = np.concatenate(([0], np.cumsum(fill)[:-1]))
    return int((fill * (2 * smaller_before + tied_before)).sum())


def _j_moments(x: Vector, g: Vector) -> tuple[float, float]:
    """Mean and tie-corrected variance of J under the null (Hollander, Wolfe and Chicken)."""
    n = float(x.size)
    sizes = np.unique(g, return_counts=True)[1].astype(float)
    ties = np.unique(x, return_counts=True)[1].astype(float)

    def full(m: Vector) -> float:
        return float((m * (m - 1) * (2 * m + 5)).sum())

    def triple(m: Vector) -> float:
        return float((m * (m - 1) * (m - 2)).sum())

    def pair(m: Vector) -> float:
        return float((m * (m - 1)).sum())

    variance = (n * (n - 1) * (2 * n + 5) - full(sizes) - full(ties)) / 72
    if n > 2:
        variance += triple(sizes) * triple(ties) / (36 * n * (n - 1) * (n - 2))
    variance += pair(sizes) * pair(ties) / (8 * n * (n - 1))
    return (n**2 - float((sizes**2).sum())) / 4, variance


def _twice_gehan_ranks(time: Vector, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Twice the rank of each time: k + 1 plus the count known earlier minus known later.

    A censored time at t is later than every event at or before t.
    """
    earlier = seen[None, :] & (
        (time[None, :] < time[:, None]) | ((time[None, :] == time[:, None]) & ~seen[:, None])
    )
    score = earlier.sum(axis=1) - earlier.sum(axis=0)
    return np.asarray(score + time.size + 1, dtype=np.int64)


def _twice_l_distribution(twice_ranks: NDArray[np.int64]) -> Vector:
    """Probabilities of 2 L over all permutations of one row, by recursion over subsets."""
    k = twice_ranks.size
    top = int((np.sort(twice_ranks) * np.arange(1, k + 1)).sum())
    start = np.zeros(top + 1)
    start[0] = 1.0
    reached = {frozenset[int](): start}
    for place in range(1, k + 1):
        following: dict[frozenset[int], Vector] = {}
        for used, weight in reached.items():
            for treatment in itertools.filterfalse(used.__contains__, range(k)):
                gain = place * int(twice_ranks[treatment])
                total = following.setdefault(used | {treatment}, np.zeros(top + 1))
                total[gain:] += weight[: top + 1 - gain]
        reached = following
    (counts,) = reached.values()
    return np.asarray(counts / counts.sum())


def _normal_tail(observed: float, mean: float, variance: float, alternative: Alternative) -> float:
    """Tail of the normal approximation; a constant sample has no tail and decides nothing."""
    if variance <= 0:
        return 1.0
    z = (observed - mean) / math.sqrt(variance)
    if alternative is Alternative.GREATER:
        return float(stats.norm.sf(z))
    if alternative is Alternative.LESS:
        return float(stats.norm.cdf(z))
    return float(2 * stats.norm.sf(abs(z)))
