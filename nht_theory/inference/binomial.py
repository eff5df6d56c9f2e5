"""Exact inference on counts and signs: binomial test, sign test, Wilson interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import DomainError
from nht_theory.inference.results import Alternative, Estimate, HypothesisTest, Interval
from nht_theory.inference.samples import finite_vector


def binomial_test(
    successes: int,
    n: int,
    *,
    probability: float = 0.5,
    alternative: Alternative = Alternative.TWO_SIDED,
    coverage: float = CONFIDENCE,
) -> HypothesisTest:
    """Exact test that ``successes`` of ``n`` come from a binomial with ``probability``.

    The interval is the Clopper-Pearson interval of the proportion; it is two-sided whatever
    the alternative, because a reader wants to know how large the proportion may be.

    Raises:
        DomainError: n < 1 or successes outside [0, n].

    References:
        Clopper and Pearson (1934), Biometrika 26, 404-413.

    Example:
        >>> test = binomial_test(9, 10)
        >>> round(test.p_value, 6), round(test.interval.low, 4)
        (0.021484, 0.555)
    """
    _check_counts(successes, n)
    exact = stats.binomtest(successes, n, probability, alternative=alternative.value)
    limits = stats.binomtest(successes, n).proportion_ci(coverage, method="exact")
    return HypothesisTest(
        statistic=successes / n,
        statistic_name="proportion",
        p_value=float(exact.pvalue),
        n=n,
        alternative=alternative,
        method=f"exact binomial test against {probability:g}",
        interval=Interval(float(limits.low), float(limits.high), coverage, "Clopper-Pearson"),
        references=("clopper1934",),
    )


def wilson_interval(successes: int, n: int, *, coverage: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a proportion: near nominal coverage even for small groups.

    Raises:
        DomainError: n < 1 or successes outside [0, n].

    References:
        Wilson (1927), Journal of the American Statistical Association 22, 209-212.

    Example:
        >>> interval = wilson_interval(81, 263)
        >>> round(interval.low, 4), round(interval.high, 4)
        (0.2553, 0.3662)
    """
    _check_counts(successes, n)
    limits = stats.binomtest(successes, n).proportion_ci(coverage, method="wilson")
    return Interval(float(limits.low), float(limits.high), coverage, "Wilson score")


def sign_test(
    differences: ArrayLike,
    *,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> HypothesisTest:
    """Exact sign test that the median of ``differences`` (shape [n]) is zero; zeros are left out.

    The statistic is the proportion of positive differences among those that are not zero.
    With only zeros nothing can be decided: the p-value is 1.

    Example:
        >>> sign_test([1.0, 2.0, 0.0, 3.0, 5.0]).p_value
        0.125
    """
    values = finite_vector(differences, "differences")
    positive = int(np.count_nonzero(values > 0))
    negative = int(np.count_nonzero(values < 0))
    if positive + negative == 0:
        return HypothesisTest(
            0.5, "proportion positive", 1.0, 0, alternative, "sign test without any sign"
        )
    counted = binomial_test(positive, positive + negative, alternative=alternative)
    return HypothesisTest(
        statistic=counted.statistic,
        statistic_name="proportion positive",
        p_value=counted.p_value,
        n=counted.n,
        alternative=alternative,
        method=f"exact sign test ({values.size - counted.n} zeros left out)",
        interval=counted.interval,
        references=counted.references,
    )


def median_estimate(values: ArrayLike, *, unit: str, coverage: float = CONFIDENCE) -> Estimate:
    """Median of ``values`` (shape [n]) with the distribution-free interval of order statistics.

    The interval is [x_(k), x_(n+1-k)] with the largest k whose coverage under any continuous
    distribution reaches ``coverage``; with fewer than six values at 95 % there is none.
    ``interval.coverage`` is the coverage attained, which is at least the one asked for.

    References:
        Conover (1999), Practical Nonparametric Statistics, section 3.2.

    Example:
        >>> estimate = median_estimate([1, 2, 3, 4, 5, 6], unit="step")
        >>> estimate.value, estimate.interval.low, estimate.interval.coverage
        (3.5, 1.0, 0.96875)
    """
    ordered = np.sort(finite_vector(values, "values"))
    n = ordered.size
    tail = stats.binom.cdf(np.arange(n), n, 0.5)
    k = int(np.count_nonzero(2 * tail <= 1 - coverage))
    interval = None
    if k > 0:
        attained = float(1 - 2 * tail[k - 1])
        interval = Interval(
            float(ordered[k - 1]), float(ordered[n - k]), attained, "order statistics"
        )
    method = "median" if interval else f"median; {n} values are too few for an interval"
    return Estimate(float(np.median(ordered)), unit, method, n, interval)


def _check_counts(successes: int, n: int) -> None:
    if n < 1 or not 0 <= successes <= n:
        raise DomainError(
            f"{successes} successes of {n}", source="successes", remedy="give 0 <= successes <= n"
        )
