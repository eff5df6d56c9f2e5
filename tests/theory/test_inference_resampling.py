"""Bootstrap, permutation and survival curves: known answers, determinism, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from lifelines import KaplanMeierFitter

from nht_theory.errors import DomainError
from nht_theory.inference.bootstrap import cluster_bootstrap, resampled_counts
from nht_theory.inference.permutation import part_whole_null, r_squared
from nht_theory.inference.survival import kaplan_meier


def test_bootstrap_error_of_a_mean_of_clusters_is_its_closed_form() -> None:
    generator = np.random.default_rng(0)
    level = generator.normal(size=30)
    x = np.repeat(level, 10)  # ten copies of each run: pseudo-replication
    estimate = cluster_bootstrap(
        lambda rows: float(x[rows].mean()), np.repeat(np.arange(30), 10), unit="1", resamples=4000
    )
    assert estimate.n == 30
    assert estimate.standard_error == pytest.approx(level.std() / np.sqrt(30), rel=0.05)


def test_bootstrap_is_deterministic_and_moves_with_its_seed() -> None:
    x = np.arange(12.0)

    def mean(rows: np.ndarray) -> float:
        return float(x[rows].mean())

    runs = np.arange(12) // 2
    once, twice = (cluster_bootstrap(mean, runs, unit="1", seed=5) for _ in range(2))
    assert once == twice
    assert once != cluster_bootstrap(mean, runs, unit="1", seed=6)


def test_strata_keep_the_design() -> None:
    counts = resampled_counts(np.array([0, 0, 0, 1, 1]), resamples=50, seed=0)
    assert (counts[:, :3].sum(axis=1) == 3).all()
    assert (counts[:, 3:].sum(axis=1) == 2).all()
    with pytest.raises(DomainError, match="lies in strata"):
        cluster_bootstrap(lambda rows: 0.0, ["a", "a"], unit="1", strata=["u", "v"])


def test_bootstrap_says_why_there_is_no_interval() -> None:
    few = cluster_bootstrap(lambda rows: 1.0, [0, 1], unit="1")
    assert few.interval is None
    assert "too few clusters" in few.method
    undefined = cluster_bootstrap(
        lambda rows: float("nan") if rows.size > 1 else 1.0, [0, 1, 2], unit="1"
    )
    assert undefined.interval is None
    assert undefined.left_out == ("2000 of 2000 resamples, undefined",)


def test_cluster_interval_covers_where_the_naive_one_does_not() -> None:
    generator = np.random.default_rng(1)
    runs = np.repeat(np.arange(25), 8)
    inside, naive = 0, 0
    for seed in range(200):
        x = generator.normal(size=25)[runs] + 0.3 * generator.normal(size=200)
        clustered = cluster_bootstrap(
            lambda rows, x=x: float(x[rows].mean()), runs, unit="1", resamples=200, seed=seed
        )
        inside += 0.0 in clustered.interval
        naive += abs(x.mean()) < 1.96 * x.std() / np.sqrt(200)
    assert inside / 200 > 0.89
    assert naive / 200 < 0.70


def test_r_squared_is_the_squared_correlation() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 40))
    assert r_squared(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert np.isnan(r_squared([1, 1, 1], [1, 2, 3]))


def test_part_whole_null_of_independent_parts_is_the_variance_share() -> None:
    # y = a regressed on a + b, independent: R^2 tends to var(a)/(var(a) + var(b)).
    generator = np.random.default_rng(3)
    a, b = generator.normal(size=2000), 2 * generator.normal(size=2000)
    null = part_whole_null(a, a[None, :] + b[:, None], permutations=200)
    assert null.null_median == pytest.approx(1 / 5, abs=0.03)
    assert null.p_value > 0.01


def test_part_whole_null_finds_a_real_relation() -> None:
    generator = np.random.default_rng(4)
    a = generator.lognormal(size=40)
    null = part_whole_null(a, a[None, :] + 3 * a[:, None], permutations=500)
    assert null.r_squared == pytest.approx(1.0)
    assert null.p_value == pytest.approx(1 / 501)
    assert null.null_upper < 0.95


def test_blocks_restrict_the_permutation() -> None:
    a, b = np.arange(6.0), np.array([5.0, 1, 4, 2, 3, 0])
    alone = part_whole_null(a, a[None, :] + b[:, None], blocks=range(6), permutations=20)
    assert alone.null_median == pytest.approx(alone.r_squared)
    assert alone.p_value == 1.0


def test_kaplan_meier_equals_lifelines_with_ties_and_censoring() -> None:
    generator = np.random.default_rng(5)
    time = np.ceil(generator.exponential(10, size=80))
    seen = generator.random(80) < 0.6
    curve = kaplan_meier(time, seen)
    oracle = KaplanMeierFitter().fit(time, seen)
    np.testing.assert_allclose(
        curve.survival, oracle.survival_function_at_times(curve.time), rtol=1e-12
    )
    limits = oracle.confidence_interval_.loc[curve.time].to_numpy()
    inside = np.isfinite(curve.low)
    np.testing.assert_allclose(curve.low[inside], limits[inside, 0], rtol=1e-6)
    np.testing.assert_allclose(curve.high[inside], limits[inside, 1], rtol=1e-6)
    assert curve.quantile(0.5) == oracle.median_survival_time_
    assert curve.n_censored == int((~seen).sum())


def test_kaplan_meier_without_events_stays_at_one() -> None:
    curve = kaplan_meier([5.0, 6.0], [False, False])
    assert curve.time.size == 0
    assert curve.at(100.0) == 1.0
    assert curve.quantile(0.5) is None
