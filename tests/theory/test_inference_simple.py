"""Counts, corrections, equivalence and model choice against other libraries and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from nht_theory.errors import DomainError, InputError
from nht_theory.inference.binomial import binomial_test, median_estimate, sign_test, wilson_interval
from nht_theory.inference.equivalence import equivalence_test
from nht_theory.inference.holm import holm
from nht_theory.inference.information import (
    aicc,
    aicc_least_squares,
    akaike_weights,
    likelihood_ratio_test,
    vuong_test,
)
from nht_theory.inference.references import REFERENCES, bibtex
from nht_theory.inference.results import Alternative


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=20, deadline=None)
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1])


def test_holm_keeps_an_empty_family_and_refuses_a_bad_probability() -> None:
    assert holm([]).size == 0
    with pytest.raises(DomainError, match=r"outside \[0, 1\]"):
        holm([0.5, 1.5])


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (3, 11), (7, 7), (50, 52)])
def test_proportion_intervals_equal_statsmodels(successes: int, n: int) -> None:
    wilson = wilson_interval(successes, n)
    exact = binomial_test(successes, n).interval
    np.testing.assert_allclose(
        (wilson.low, wilson.high), proportion_confint(successes, n, method="wilson"), atol=1e-12
    )
    expected = proportion_confint(successes, n, method="beta")
    np.testing.assert_allclose((exact.low, exact.high), np.clip(expected, 0, 1), atol=1e-9)


def test_binomial_tail_is_the_sum_of_its_terms() -> None:
    tail = sum(math.comb(17, k) * 0.5**17 for k in range(12, 18))
    assert binomial_test(12, 17, alternative=Alternative.GREATER).p_value == pytest.approx(tail)
    with pytest.raises(DomainError, match="5 successes of 4"):
        binomial_test(5, 4)


def test_sign_test_leaves_zeros_out() -> None:
    test = sign_test([0, 0, 1, 1, 1, 1, -1], alternative=Alternative.GREATER)
    assert test.n == 5
    assert test.p_value == pytest.approx(6 / 32)
    assert sign_test([0.0, 0.0]).p_value == 1.0


def test_median_interval_covers_whatever_the_distribution() -> None:
    generator = np.random.default_rng(0)
    samples = generator.lognormal(0.0, 2.0, size=(2000, 15))
    inside = [1.0 in median_estimate(sample, unit="1").interval for sample in samples]
    attained = median_estimate(samples[0], unit="1").interval.coverage
    assert attained >= 0.95
    assert np.mean(inside) == pytest.approx(attained, abs=4 * math.sqrt(0.05 * 0.95 / 2000))
    assert median_estimate([1, 2, 3], unit="1").interval is None


@pytest.mark.parametrize(("low", "high"), [(-0.3, 0.5), (0.0, 0.2), (-2.0, 3.0)])
def test_equivalence_equals_statsmodels(low: float, high: float) -> None:
    sample = np.random.default_rng(1).normal(0.1, 1.0, size=30)
    expected = DescrStatsW(sample).ttost_mean(low, high)[0]
    test = equivalence_test(
        sample.mean(),
        sample.std(ddof=1) / math.sqrt(30),
        low,
        high,
        n=30,
        degrees_of_freedom=29,
    )
    assert test.p_value == pytest.approx(expected)
    assert test.interval.coverage == pytest.approx(0.90)
    assert (test.p_value < 0.05) == (low < test.interval.low and test.interval.high < high)


def test_equivalence_refuses_margins_out_of_order() -> None:
    with pytest.raises(DomainError, match="not in order"):
        equivalence_test(1.0, 0.1, 2.0, 1.0, n=3)
    assert equivalence_test(1.0, 0.0, 0.5, 2.0, n=3).p_value == 0.0


def test_aicc_of_least_squares_equals_the_likelihood_of_ols() -> None:
    import statsmodels.api as sm

    generator = np.random.default_rng(2)
    x = sm.add_constant(generator.normal(size=(25, 2)))
    fit = sm.OLS(generator.normal(size=25), x).fit()
    expected = fit.aic + 2 + 2 * 4 * 5 / (25 - 4 - 1)  # statsmodels does not count the variance
    assert aicc_least_squares(fit.resid, 3) == pytest.approx(expected)
    assert aicc(fit.llf, 4, 25) == pytest.approx(expected)
    assert aicc(-1.0, 4, 5) == math.inf
    assert aicc_least_squares([0.0, 0.0], 1) == -math.inf


def test_akaike_weights_ignore_a_common_shift() -> None:
    weights = akaike_weights([3.0, 5.0, 9.0])
    np.testing.assert_allclose(weights, akaike_weights([103.0, 105.0, 109.0]))
    assert weights[1] / weights[0] == pytest.approx(math.exp(-1))
    np.testing.assert_array_equal(akaike_weights([-math.inf, 1.0]), [1.0, 0.0])


def test_likelihood_ratio_is_calibrated_on_nested_gaussian_means() -> None:
    generator = np.random.default_rng(3)
    samples = generator.normal(size=(4000, 20))
    gain = 0.5 * 20 * samples.mean(axis=1) ** 2  # known variance: exactly chi-square
    p_values = [
        likelihood_ratio_test(g, 0.0, extra_parameters=1, n=20).p_value for g in gain.tolist()
    ]
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=0.014)
    with pytest.raises(DomainError, match="restricted"):
        likelihood_ratio_test(-12.0, -10.0, extra_parameters=1, n=20)


def test_vuong_is_antisymmetric_and_finds_the_better_model() -> None:
    from scipy import stats

    sample = np.random.default_rng(4).lognormal(0, 1, size=400)
    lognormal = stats.lognorm.logpdf(sample, 1.0)
    exponential = stats.expon.logpdf(sample, scale=sample.mean())
    forth = vuong_test(lognormal, exponential, first_parameters=2, second_parameters=1)
    back = vuong_test(exponential, lognormal, first_parameters=1, second_parameters=2)
    assert forth.statistic > 3
    assert forth.statistic == pytest.approx(-back.statistic)
    assert forth.p_value == pytest.approx(back.p_value)


def test_every_reference_is_an_entry_of_its_own_key() -> None:
    for key, entry in REFERENCES.items():
        assert entry.partition("{")[2].startswith(key + ",")
        assert entry.count("{") == entry.count("}")
    with pytest.raises(InputError, match="nobody1900"):
        bibtex(["nobody1900"])
