"""Exact tests of labels within blocks: do they come in order, and do two of them go together?

The null hypothesis of both permutes the labels within each block, so that nothing is assumed of
how often a label occurs, and a label that every member has decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from nht_theory.errors import DomainError
from nht_theory.inference.lattice import convolved, lattice_tail
from nht_theory.inference.results import Alternative, HypothesisTest
from nht_theory.inference.samples import Vector, finite_vector


def ordered_labels(
    labels: Sequence[str],
    levels: ArrayLike,
    blocks: Sequence[str],
    order: Collection[tuple[str, str]],
    *,
    alternative: Alternative = Alternative.GREATER,
) -> HypothesisTest:
    """Do labels follow each other as ``order`` says, along the levels of a setting?

    Args:
        labels: of each member, n of them.
        levels: of the setting, shape [n]; no two members of a block share one.
        blocks: label of each member's block; only members of one block are compared.
        order: pairs (a, b): a is predicted to stand at lower levels than b.
        alternative: ``greater`` for the predicted order, ``less`` for the opposite.

    The statistic counts the pairs of one block that stand in a predicted order. Its distribution
    over all orders of each block's labels is exact, by recursion over how many of each label
    have been placed.

    Raises:
        DomainError: lengths differ, or two members of a block share a level.

    Source: derived here; for two labels it is Mann and Whitney's U, for pairs of all labels in
    turn Jonckheere's J, within blocks.

    Example:
        >>> test = ordered_labels(["a", "a", "b", "b", "c", "c"], range(6), ["x"] * 6,
        ...                       {("a", "b"), ("b", "c")})
        >>> test.statistic, round(test.p_value * 90, 9)
        (8.0, 1.0)
    """
    at = finite_vector(levels, "levels")
    members = _members(blocks, len(labels), at.size)
    observed, nulls = 0, []
    for inside in members:
        if np.unique(at[inside]).size < len(inside):
            raise DomainError("two members of a block share a level", source="levels")
        own = [labels[place] for place in sorted(inside, key=lambda place: float(at[place]))]
        observed += _pairs_in_order(own, order)
        nulls.append(_pairs_distribution(own, order))
    return HypothesisTest(
        statistic=float(observed),
        statistic_name="pairs in the predicted order",
        p_value=lattice_tail(convolved(nulls), observed, alternative),
        n=len(labels),
        alternative=alternative,
        method=f"exact permutation of labels within {len(members)} blocks",
        references=("mann1947", "jonckheere1954"),
    )


def shared_labels(
    first: Sequence[bool],
    second: Sequence[bool],
    blocks: Sequence[str],
    *,
    alternative: Alternative = Alternative.GREATER,
) -> HypothesisTest:
    """Do two labels fall on the same members more often than by chance, within blocks?

    The statistic counts the members that have both; its distribution, with the first label
    permuted within each block, is a sum of hypergeometric ones (Fisher's exact test within
    blocks).

    Raises:
        DomainError: lengths differ.

    Example:
        >>> test = shared_labels([True, True, False, False], [True, True, False, False], ["x"] * 4)
        >>> test.statistic, round(test.p_value * 6, 9)
        (2.0, 1.0)
    """
    members = _members(blocks, len(first), len(second))
    observed = sum(a and b for a, b in zip(first, second, strict=True))
    nulls = []
    for inside in members:
        n = len(inside)
        one, other = (sum(label[place] for place in inside) for label in (first, second))
        nulls.append(np.asarray(stats.hypergeom(n, one, other).pmf(np.arange(n + 1))))
    return HypothesisTest(
        statistic=float(observed),
        statistic_name="members with both labels",
        p_value=lattice_tail(convolved(nulls), observed, alternative),
        n=len(first),
        alternative=alternative,
        method=f"Fisher's exact test within {len(members)} blocks",
        references=("fisher1922",),
    )


def _members(blocks: Sequence[str], *lengths: int) -> list[list[int]]:
    """Places of the members of each block."""
    if {len(blocks), *lengths} != {len(blocks)}:
        raise DomainError(f"lengths differ ({len(blocks)}, {lengths})", source="labels")
    return [
        [place for place, own in enumerate(blocks) if own == block]
        for block in dict.fromkeys(blocks)
    ]


def _pairs_in_order(labels: Sequence[str], order: Collection[tuple[str, str]]) -> int:
    return sum(
        (earlier, later) in order
        for place, later in enumerate(labels)
        for earlier in labels[:place]
    )


def _pairs_distribution(labels: Sequence[str], order: Collection[tuple[str, str]]) -> Vector:
    """Probabilities of 0, 1, 2 ... pairs in order over all orders of the labels."""
    kinds = sorted(set(labels))
    available = [list(labels).count(kind) for kind in kinds]
    follows = [[(a, b) in order for a in kinds] for b in kinds]
    top = len(labels) * (len(labels) - 1) // 2
    start = np.zeros(top + 1)
    start[0] = 1.0
    reached: dict[tuple[int, ...], Vector] = {(0,) * len(kinds): start}
    for _ in labels:
        following: dict[tuple[int, ...], Vector] = {}
        for used, ways in reached.items():
            for kind, before in enumerate(follows):
                if used[kind] == available[kind]:
                    continue
                gain = sum(n for n, counts in zip(used, before, strict=True) if counts)
                state = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                total = following.setdefault(state, np.zeros(top + 1))
                total[gain:] += ways[: top + 1 - gain]
        reached = following
    (counted,) = reached.values()
    return np.asarray(counted / counted.sum())
