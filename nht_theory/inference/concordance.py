"""Concordance: AUC and Somers' D with ties, and their interval under resampling of runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import DomainError
from nht_theory.inference.bootstrap import (
    DEFAULT_RESAMPLES,
    percentile_estimate,
    resampled_counts,
    strata_of_clusters,
)
from nht_theory.inference.results import Estimate, Interval
from nht_theory.inference.samples import Vector, check_same_length, finite_vector, group_codes


def area_under_curve(score: ArrayLike, positive: ArrayLike) -> float:
    """Probability that a positive outscores a negative, ties a half (AUC, Mann-Whitney).

    Args:
        score: shape [n].
        positive: shape [n], true for the positives.

    Raises:
        DomainError: one class is absent.

    Example:
        >>> area_under_curve([1, 2, 2, 3], [False, False, True, True])
        0.875
    """
    x = finite_vector(score, "score", at_least=2)
    label = np.asarray(positive, dtype=bool)
    check_same_length(score=x, positive=label)
    n_positive = int(label.sum())
    n_negative = label.size - n_positive
    if n_positive == 0 or n_negative == 0:
        raise DomainError(
            "only one class is present", source="positive", remedy="give both, or report no AUC"
        )
    rank_sum = float(stats.rankdata(x)[label].sum())
    wins = rank_sum - n_positive * (n_positive + 1) / 2
    return wins / (n_positive * n_negative)


def somers_d(value: ArrayLike, given: ArrayLike) -> float:
    """Somers' D of ``value`` given ``given`` (shapes [n]), in [-1, 1].

    (concordant - discordant) / pairs not tied on ``given``; pairs tied on ``value`` alone count
    in the denominator. For binary ``given`` it is 2 AUC - 1.

    Raises:
        DomainError: ``given`` is constant, so no pair can be compared.

    References:
        Somers (1962), American Sociological Review 27, 799-811.

    Example:
        >>> somers_d([1, 2, 2, 3], [0, 0, 1, 1])
        0.75
    """
    v = finite_vector(value, "value", at_least=2)
    g = finite_vector(given, "given", at_least=2)
    check_same_length(value=v, given=g)
    n = v.size
    comparable = n * (n - 1) // 2 - _tied_pairs(g)
    if comparable == 0:
        raise DomainError(
            "every value of the conditioning variable is the same",
            source="given",
            remedy="give both sides, or report D as undefined",
        )
    untied_value = n * (n - 1) // 2 - _tied_pairs(v)
    if untied_value == 0:
        return 0.0
    tau = float(stats.kendalltau(v, g).statistic)
    balance = round(tau * float(np.sqrt(float(comparable) * float(untied_value))))
    return balance / comparable


def clustered_somers_d(
    value: ArrayLike,
    given: ArrayLike,
    clusters: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
    coverage: float = CONFIDENCE,
) -> Estimate:
    """Somers' D over pooled observations, with its bootstrap interval over clusters (runs).

    All shapes [n]. Pair counts are summed once per pair of clusters, [clusters, clusters], so a
    resample is a quadratic form in how often each cluster was drawn: the same numbers as
    resampling the observations themselves, at a fraction of the work.

    The interval is tanh(atanh(D) +- t s/(1 - D^2)), s the bootstrap standard error enlarged by
    sqrt(c/(c - 1)) and t Student's with c - 1 degrees of freedom, c the clusters. With five to
    twenty runs the percentiles of the same bootstrap cover only 60-88 % where this covers
    92-99 % (D up to 0.8; near 1 all intervals fall short). Where no cluster disagrees the
    interval is a point.

    Raises:
        DomainError: lengths differ, or ``given`` is constant.

    References:
        Newson (2006), Stata Journal 6, 309-334, for the transformation.

    Example:
        >>> e = clustered_somers_d([3, 1, 3, 1, 3, 1], [1, 0, 1, 0, 1, 0], list("aabbcc"))
        >>> e.value, e.interval.low, e.n
        (1.0, 1.0, 3)
    """
    point = somers_d(value, given)
    v, g = finite_vector(value, "value"), finite_vector(given, "given")
    codes, names = group_codes(clusters, "clusters")
    check_same_length(value=v, clusters=codes)
    balance, comparable = _pair_counts(v, g, codes, len(names))
    counts = resampled_counts(
        strata_of_clusters(codes, strata), resamples=resamples, seed=seed
    ).astype(np.float64)
    upper = np.einsum("rc,cd,rd->r", counts, balance, counts, optimize=True)
    lower = np.einsum("rc,cd,rd->r", counts, comparable, counts, optimize=True)
    draws = np.full(resamples, np.nan)
    np.divide(upper, lower, out=draws, where=lower > 0)
    estimate = percentile_estimate(point, draws, unit="1", n=len(names), coverage=coverage)
    method = f"Somers' D, {v.size} observations; {estimate.method}"
    if estimate.interval is None or estimate.standard_error is None:
        return replace(estimate, method=method)
    error = estimate.standard_error * math.sqrt(len(names) / (len(names) - 1))
    interval = _transformed_interval(point, error, len(names) - 1, coverage)
    return replace(estimate, method=method, interval=interval, standard_error=error)


def _transformed_interval(point: float, error: float, freedom: int, coverage: float) -> Interval:
    """Student's interval on the scale of atanh, where the distribution of D is symmetric."""
    name = "cluster bootstrap error, t on the scale of atanh"
    if abs(point) >= 1 or error == 0:
        return Interval(point, point, coverage, f"{name}: no cluster disagrees")
    half = float(stats.t.ppf(0.5 + coverage / 2, freedom)) * error / (1 - point**2)
    low, high = np.tanh([math.atanh(point) - half, math.atanh(point) + half])
    return Interval(float(low), float(high), coverage, name)


def _tied_pairs(values: Vector) -> int:
    counts = np.unique(values, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _pair_counts(v: Vector, g: Vector, codes: NDArray[np.int64], n: int) -> tuple[Vector, Vector]:
    """Concordant minus discordant, and comparable, ordered pairs between clusters, each [n, n]."""
    member = np.zeros((codes.size, n))
    member[np.arange(codes.size), codes] = 1.0
    balance, comparable = np.zeros((n, n)), np.zeros((n, n))
    chunk = max(1, 4_000_000 // codes.size)  # keeps the pair block near 32 MB
    for start in range(0, codes.size, chunk):
        rows = slice(start, start + chunk)
        sign_g = np.sign(g[rows, None] - g[None, :])
        sign_v = np.sign(v[rows, None] - v[None, :])
        balance += member[rows].T @ (sign_v * sign_g) @ member
        comparable += member[rows].T @ np.abs(sign_g) @ member
    return balance, comparable
