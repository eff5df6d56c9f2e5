"""Permutation nulls for regressions of a quantity on another that contains it.

A delay T regressed on ln(V_sc/V_st)/gamma, where gamma was measured over that same delay, fits
well whatever the data: the predictor contains T. The null keeps that arithmetic link and breaks
the rest, so the R^2 that the link alone produces can be printed beside the R^2 observed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nht_theory.errors import DomainError
from nht_theory.inference.samples import Vector, check_same_length, finite_vector, group_codes

Relation = Callable[[Vector, Vector], tuple[Vector, Vector]]


@dataclass(frozen=True)
class PartWholeNull:
    """What R^2 an arithmetic link alone produces.

    Attributes:
        r_squared: of the regression as made.
        null_median, null_upper: median and 95 % quantile of R^2 under permutation.
        p_value: share of permutations (the data included) with an R^2 at least as large.
        n: observations.
        permutations: number drawn.
    """

    r_squared: float
    null_median: float
    null_upper: float
    p_value: float
    n: int
    permutations: int
    references: tuple[str, ...] = ("phipson2010",)


def r_squared(x: ArrayLike, y: ArrayLike) -> float:
    """R^2 of the least-squares line of ``y`` on ``x`` (shapes [n]): the squared correlation.

    NaN when either is constant.

    Example:
        >>> r_squared([1, 2, 3], [2, 4, 6])
        1.0
    """
    a = finite_vector(x, "x", at_least=2)
    b = finite_vector(y, "y", at_least=2)
    check_same_length(x=a, y=b)
    a, b = a - a.mean(), b - b.mean()
    scale = float((a @ a) * (b @ b))
    return float("nan") if scale == 0 else min(1.0, float(a @ b) ** 2 / scale)


def part_whole_null(
    part: ArrayLike,
    rest: ArrayLike,
    relation: Relation,
    *,
    blocks: ArrayLike | None = None,
    permutations: int = 2000,
    seed: int = 0,
) -> PartWholeNull:
    """The R^2 of a part-whole regression beside its distribution when only the link remains.

    Args:
        part: the quantity that stands on both sides (the delay), shape [n].
        rest: what the predictor holds besides it (ln(V_sc/V_st), or T_mem), shape [n].
        relation: builds (x, y) from (part, rest); called once on the data and once per
            permutation of ``rest``. Example: y = T, x = r/(r_obs/T) for a rate fitted on T.
        blocks: permute only within these labels (configurations).
        permutations, seed: the same seed gives the same answer.

    Raises:
        DomainError: fewer than four observations, or the regression is undefined.

    References:
        Phipson and Smyth (2010) for the p-value.

    Example:
        >>> delay = np.arange(1.0, 9.0); start = np.array([5.0, 1, 4, 2, 8, 3, 7, 6])
        >>> null = part_whole_null(delay, start, lambda part, rest: (part + rest, part))
        >>> 0 < null.null_median < 1, null.n
        (True, 8)
    """
    a = finite_vector(part, "part", at_least=4)
    b = finite_vector(rest, "rest", at_least=4)
    check_same_length(part=a, rest=b)
    codes = np.zeros(a.size, dtype=np.int64) if blocks is None else group_codes(blocks, "blocks")[0]
    check_same_length(part=a, blocks=codes)
    observed = r_squared(*relation(a, b))
    if not np.isfinite(observed):
        raise DomainError(
            "the regression is undefined: a side does not vary",
            source="relation",
            remedy="give observations that differ",
        )
    generator = np.random.default_rng(seed)
    places = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    null = np.empty(permutations)
    for draw in range(permutations):
        order = np.arange(a.size)
        for inside in places:
            order[inside] = generator.permutation(inside)
        null[draw] = r_squared(*relation(a, b[order]))
    null = np.where(np.isfinite(null), null, 0.0)
    at_least = int(np.count_nonzero(null >= observed * (1 - 1e-12)))
    return PartWholeNull(
        r_squared=observed,
        null_median=float(np.median(null)),
        null_upper=float(np.quantile(null, 0.95)),
        p_value=(at_least + 1) / (permutations + 1),
        n=a.size,
        permutations=permutations,
    )
