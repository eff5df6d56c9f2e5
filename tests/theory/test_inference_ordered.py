"""Trend tests and concordance against enumeration, scipy and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from nht_theory.errors import DomainError
from nht_theory.inference import trend
from nht_theory.inference.concordance import area_under_curve, clustered_somers_d, somers_d
from nht_theory.inference.results import Alternative
from nht_theory.inference.trend import jonckheere_terpstra, page_l


def enumerated_jonckheere(x: list[int], g: list[int]) -> float:
    """P(J >= observed) by brute force over all permutations."""

    def j(values: tuple[int, ...]) -> float:
        pairs = [(a, b) for a in range(len(g)) for b in range(len(g)) if g[a] < g[b]]
        return sum((values[a] < values[b]) + 0.5 * (values[a] == values[b]) for a, b in pairs)

    observed = j(tuple(x))
    return float(np.mean([j(p) >= observed for p in itertools.permutations(x)]))


@given(st.lists(st.integers(0, 3), min_size=6, max_size=6))
@settings(max_examples=25, deadline=None)
def test_jonckheere_is_exact_with_ties(x: list[int]) -> None:
    g = [0, 0, 1, 1, 1, 2]
    test = jonckheere_terpstra(x, g, alternative=Alternative.GREATER)
    assert "exact" in test.method
    assert test.p_value == pytest.approx(enumerated_jonckheere(x, g))


def test_two_groups_are_the_mann_whitney_test() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=9), generator.normal(0.8, 1, size=8)
    expected = stats.mannwhitneyu(b, a, alternative="greater", method="exact")
    test = jonckheere_terpstra(
        np.concatenate([a, b]), [0] * 9 + [1] * 8, alternative=Alternative.GREATER
    )
    assert test.statistic == expected.statistic
    assert test.p_value == pytest.approx(expected.pvalue)


def test_one_value_per_group_is_kendall_exact() -> None:
    y = [2.0, 1.0, 4.0, 3.0, 6.0, 5.0, 7.0]
    test = jonckheere_terpstra(y, np.arange(7))
    assert test.p_value == pytest.approx(stats.kendalltau(np.arange(7), y, method="exact").pvalue)


def test_blocks_add_up_and_levels_between_blocks_do_not_count() -> None:
    x, g, block = [1, 2, 11, 12, 21, 22], [0, 1, 0, 1, 0, 1], list("aabbcc")
    test = jonckheere_terpstra(x, g, blocks=block, alternative=Alternative.GREATER)
    assert test.statistic == 3.0
    assert test.p_value == pytest.approx(1 / 8)
    with pytest.raises(DomainError, match="no block"):
        jonckheere_terpstra([1, 2], [0, 1], blocks=["a", "b"])


def test_normal_approximation_agrees_with_the_exact_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    g = np.repeat([0, 1, 2], 8)
    x = np.round(generator.normal(size=24) + 0.5 * g, 1)
    block = np.tile([0, 1], 12)
    exact = jonckheere_terpstra(x, g, blocks=block, alternative=Alternative.GREATER)
    monkeypatch.setattr(trend, "EXACT_STATES", 0)
    normal = jonckheere_terpstra(x, g, blocks=block, alternative=Alternative.GREATER)
    assert "exact" in exact.method
    assert "normal" in normal.method
    assert normal.p_value == pytest.approx(exact.p_value, abs=0.01)


def test_page_equals_scipy_without_ties() -> None:
    table = np.argsort(np.random.default_rng(2).normal(size=(5, 4)), axis=1).astype(float)
    expected = stats.page_trend_test(table, method="exact")
    test = page_l(table)
    assert test.statistic == expected.statistic
    assert test.p_value == pytest.approx(expected.pvalue)


@given(st.lists(st.integers(0, 2), min_size=4, max_size=4))
@settings(max_examples=20, deadline=None)
def test_page_is_exact_with_ties(row: list[int]) -> None:
    ranks = stats.rankdata(row)
    weights = np.arange(1, 5)
    null = [np.array(p) @ weights for p in itertools.permutations(ranks)]
    test = page_l([row])
    assert test.statistic == ranks @ weights
    assert test.p_value == pytest.approx(np.mean(np.array(null) >= test.statistic - 1e-9))


def test_page_beyond_ten_treatments_is_close_to_scipy() -> None:
    table = np.argsort(np.random.default_rng(3).normal(size=(6, 12)), axis=1).astype(float)
    expected = stats.page_trend_test(table, method="asymptotic")
    assert page_l(table).p_value == pytest.approx(expected.pvalue, abs=1e-9)


def test_censored_times_rank_after_events_and_tie_among_themselves() -> None:
    censored = page_l([[100, 300, 300, 300]], observed=[[True, True, False, False]])
    tied = page_l([[100, 300, 400, 400]])
    assert censored.statistic == tied.statistic
    assert censored.p_value == pytest.approx(tied.p_value)
    # A time censored before another event decides nothing about that pair.
    early = page_l([[50, 100]], observed=[[False, True]])
    assert early.p_value == 1.0


def test_auc_equals_the_pair_count() -> None:
    generator = np.random.default_rng(5)
    x, y = generator.integers(0, 5, 40), generator.random(40) < 0.4
    pairs = [(a > b) + 0.5 * (a == b) for a in x[y] for b in x[~y]]
    assert area_under_curve(x, y) == pytest.approx(np.mean(pairs))
    with pytest.raises(DomainError, match="one class"):
        area_under_curve([1, 2], [True, True])


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=25).filter(
        lambda pairs: len({g for _, g in pairs}) > 1
    )
)
@settings(max_examples=60, deadline=None)
def test_somers_d_equals_scipy(pairs: list[tuple[int, int]]) -> None:
    value, given_ = (list(column) for column in zip(*pairs, strict=True))
    expected = stats.somersd(given_, value).statistic if len(set(value)) > 1 else 0.0
    assert somers_d(value, given_) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_somers_d_of_a_binary_is_twice_auc_minus_one(seed: int) -> None:
    generator = np.random.default_rng(seed)
    v, label = np.round(generator.normal(size=30), 1), np.arange(30) % 3 == 0
    assert somers_d(v, label) == pytest.approx(2 * area_under_curve(v, label) - 1)


def test_extremes_are_exact() -> None:
    assert somers_d([3, 4, 1, 2], [1, 1, 0, 0]) == 1.0
    assert somers_d([1, 2, 3, 4], [1, 1, 0, 0]) == -1.0
    assert somers_d([5, 5, 5, 5], [1, 1, 0, 0]) == 0.0
    with pytest.raises(DomainError, match="the same"):
        somers_d([1, 2], [1, 1])


def test_the_interval_rests_on_the_jackknife_of_d_between_runs() -> None:
    generator = np.random.default_rng(6)
    runs = np.repeat(np.arange(8), 12)
    phi = generator.random(96)
    v = phi + generator.normal(0, 0.6, size=96) + 0.5 * generator.normal(size=8)[runs]

    def between(kept: list[int]) -> float:
        """D over pairs of observations of two different runs, one by one."""
        balance = comparable = 0.0
        for i, j in itertools.permutations(np.flatnonzero(np.isin(runs, kept)), 2):
            if runs[i] != runs[j] and phi[i] != phi[j]:
                comparable += 1
                balance += np.sign(v[i] - v[j]) * np.sign(phi[i] - phi[j])
        return balance / comparable

    share = (1 - between(list(range(8)))) / 2
    without = [between([run for run in range(8) if run != out]) for out in range(8)]
    jackknife = 7 / 8 * np.sum((np.array(without) - np.mean(without)) ** 2) / 4
    n = (share * (1 - share) + 1 / 64) / (jackknife + 1 / 64 / 32)  # half a pair among 4 x 8
    t = stats.t.ppf(0.975, 7)
    estimate = clustered_somers_d(v, phi, runs)
    assert estimate.value == somers_d(v, phi)
    for limit in (estimate.interval.low, estimate.interval.high):
        p = (1 - limit) / 2  # Wilson: at a limit the score statistic is the quantile
        assert (share - p) ** 2 == pytest.approx(t**2 * p * (1 - p) / n)
    width = estimate.interval.high - estimate.interval.low
    assert estimate.standard_error == pytest.approx(width / 2 / t)


@pytest.mark.parametrize("strength", [1.6, 4.0])
def test_interval_of_few_runs_covers_where_percentiles_do_not(strength: float) -> None:
    phi, runs = np.tile(np.repeat([1.0, 0.0], 7), 8), np.repeat(np.arange(8), 14)
    truth = 2 * stats.norm.cdf(strength / np.sqrt(2 * (0.7**2 + 0.6**2))) - 1  # pairs of two runs
    inside, percentile = 0, 0
    for seed in range(150):
        generator = np.random.default_rng(seed)
        v = strength * phi + 0.7 * generator.normal(size=8)[runs] + 0.6 * generator.normal(size=112)
        inside += truth in clustered_somers_d(v, phi, runs).interval
        slow = percentile_limits(v, phi, runs, seed)
        percentile += slow[0] <= truth <= slow[1]
    assert inside / 150 > 0.9  # 95 % less three standard errors
    assert percentile / 150 < 0.85


def percentile_limits(
    v: np.ndarray, phi: np.ndarray, runs: np.ndarray, seed: int
) -> tuple[float, float]:
    """Percentiles of the plain cluster bootstrap, from the pair counts."""
    from nht_theory.inference.bootstrap import resampled_counts
    from nht_theory.inference.concordance import _pair_counts

    balance, comparable = _pair_counts(v, phi, runs, 8)
    w = resampled_counts(np.zeros(8, dtype=np.int64), resamples=200, seed=seed)
    draws = ((w @ balance) * w).sum(axis=1) / ((w @ comparable) * w).sum(axis=1)
    return float(np.quantile(draws, 0.025)), float(np.quantile(draws, 0.975))
