"""Permutation nulls for regressions of a quantity on another that contains it.

A delay T regressed on ln(V_sc/V_st)/gamma, where both were measured over that same delay, fits
well whatever the data: the predictor contains T. The null exchanges the delays between runs and
measures the predictor again over the delay that each run was given. It keeps the arithmetic and
breaks the rest, so the R^2 that arithmetic alone produces can be printed beside the R^2 observed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.errors import DomainError
from nht_theory.inference.samples import check_same_length, finite_vector, group_codes

FEWEST_PAIRS = 4
"""Observations below which no regression is made."""


@dataclass(frozen=True)
class PartWholeNull:
    """What R^2 an arithmetic link alone produces.

    Attributes:
        r_squared: of the regression as made.
        null_median, null_upper: median and 95 % quantile of R^2 under permutation.
        p_value: share of permutations (the data included) with an R^2 at least as large.
        n: observations, those without a predictor included.
        undefined: share of the exchanged observations whose predictor was undefined, mean over
            the permutations; these are left out of that permutation's R^2.
        permutations: number drawn.
    """

    r_squared: float
    null_median: float
    null_upper: float
    p_value: float
    n: int
    undefined: float
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
    predictor: ArrayLike,
    *,
    blocks: ArrayLike | None = None,
    permutations: int = 2000,
    seed: int = 0,
) -> PartWholeNull:
    """The R^2 of a part-whole regression beside its distribution when only the link remains.

    Exact where, within a block, the parts are exchangeable between the observations and
    independent of what else the predictor holds; nothing is assumed of the blocks.

    Args:
        part: what stands on both sides (the logarithm of the delay), shape [n].
        predictor: shape [n, n]. Entry (i, j) is the predictor of observation i measured with the
            part of observation j, NaN where it has none; the diagonal is what was observed.
        blocks: exchange only within these labels (configurations), shape [n].
        permutations, seed: the same seed gives the same answer.

    Raises:
        DomainError: shapes differ, or fewer than four observations have a predictor, or the
            regression is undefined because a side does not vary.

    References:
        Phipson and Smyth (2010) for the p-value.

    Example:
        >>> delay = np.arange(1.0, 9.0); start = np.array([5.0, 1, 4, 2, 8, 3, 7, 6])
        >>> null = part_whole_null(delay, start[:, None] + delay[None, :])
        >>> 0 < null.null_median < 1, null.n
        (True, 8)
    """
    own = finite_vector(part, "part", at_least=FEWEST_PAIRS)
    table = np.asarray(predictor, dtype=np.float64)
    if table.shape != (own.size, own.size):
        raise DomainError(
            f"predictor has shape {table.shape} for {own.size} observations",
            source="predictor",
            remedy="give one row an observation and one column a part",
        )
    codes = (
        np.zeros(own.size, dtype=np.int64) if blocks is None else group_codes(blocks, "blocks")[0]
    )
    check_same_length(part=own, blocks=codes)
    observed, _ = _explained(own, table, np.arange(own.size))
    if not np.isfinite(observed):
        raise DomainError(
            "the regression is undefined: a side does not vary, or too few have a predictor",
            source="predictor",
            remedy="give observations that differ",
        )
    generator = np.random.default_rng(seed)
    places = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    null, undefined = np.empty(permutations), np.empty(permutations)
    for draw in range(permutations):
        order = np.arange(own.size)
        for inside in places:
            order[inside] = generator.permutation(inside)
        null[draw], undefined[draw] = _explained(own, table, order)
    null = np.where(np.isfinite(null), null, 0.0)
    at_least = int(np.count_nonzero(null >= observed * (1 - 1e-12)))
    return PartWholeNull(
        r_squared=observed,
        null_median=float(np.median(null)),
        null_upper=float(np.quantile(null, 0.95)),
        p_value=(at_least + 1) / (permutations + 1),
        n=own.size,
        undefined=float(undefined.mean()),
        permutations=permutations,
    )


def _explained(
    part: NDArray[np.float64], table: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[float, float]:
    """R^2 when observation i has the part of ``order[i]``, and the share without a predictor."""
    x, y = table[np.arange(part.size), order], part[order]
    known = np.isfinite(x)
    if known.sum() < FEWEST_PAIRS:
        return math.nan, float(1 - known.mean())
    return r_squared(x[known], y[known]), float(1 - known.mean())


def exchanges(blocks: ArrayLike) -> float:
    """How many ways there are to exchange observations within their blocks; may be infinite.

    Example:
        >>> exchanges(["a", "a", "a", "b", "b", "c"])
        12.0
    """
    codes, _ = group_codes(blocks, "blocks")
    logarithm = sum(math.lgamma(count + 1) for count in np.bincount(codes))
    return float(round(math.exp(logarithm))) if logarithm < 30 else math.inf
