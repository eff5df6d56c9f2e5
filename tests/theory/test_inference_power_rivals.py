"""Power against simulation, and rival laws on data made under one of them."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from nht_theory.errors import DomainError
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.likelihood_model import Link
from nht_theory.inference.power import (
    SlopeDesign,
    expected_covariance,
    interval_decision,
    seeds_needed,
)
from nht_theory.inference.rival_laws import RivalLaw, compare_rival_laws, leave_one_group_out
from nht_theory.inference.simulated_slopes import simulated_slope_limits

VALIDATION = Path(__file__).resolve().parents[2] / "validation" / "statistics"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, VALIDATION / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_interval_decision_without_a_second_margin_is_the_noncentral_t() -> None:
    # P(b - t s > low) is the power of a one-sided t test.
    free, error, low, true = 7, 0.3, 0.5, 1.2
    supported, _ = interval_decision(true, error, free, low, 1e6)
    expected = stats.nct.sf(stats.t.ppf(0.975, free), free, (true - low) / error)
    assert supported == pytest.approx(expected, abs=1e-3)


def test_expected_covariance_without_censoring_is_least_squares() -> None:
    x = np.column_stack([np.ones(12), np.linspace(-1, 1, 12)])
    covariance, censored = expected_covariance(x, x @ [2.0, 0.7], 0.4)
    np.testing.assert_allclose(
        covariance[:2, :2], 0.16 * np.linalg.inv(x.T @ x), rtol=1e-3, atol=1e-9
    )
    assert covariance[2, 2] == pytest.approx(1 / 24, rel=0.02)  # ln sigma: 1/(2 n)
    assert censored == 0.0


def test_expected_covariance_at_the_median_budget() -> None:
    # Half the runs censored at their own median, sigma known: Fisher information of the mean is
    # Phi(0) + phi(0)^2/(1/2) = 0.5 + 1/pi per run.
    _, censored = expected_covariance(np.ones((10, 1)), np.zeros(10), 1.0, budget=1.0)
    assert censored == pytest.approx(0.5)
    covariance, _ = expected_covariance(np.ones((10, 1)), np.zeros(10), 1.0, budget=1.0)
    information = np.linalg.inv(covariance)[0, 0] / 10
    assert information == pytest.approx(0.5 + 1 / math.pi, rel=5e-3)


def test_simulated_limits_are_those_of_the_censored_regression() -> None:
    level = np.repeat(np.linspace(-1, 1, 4), 3)
    setting = {"slope": 1.0, "scale": 0.25, "log_median": 7.0, "log_budget": 7.3}
    low, high = simulated_slope_limits(level, **setting, coverage=0.95, simulations=40, seed=3)
    noise = np.random.default_rng(3).normal(size=(40, 12))
    limits = [
        script("power_simulation").censored_limits(level, 7.0 + level + 0.25 * row, math.exp(7.3))
        for row in noise
    ]
    assert np.isfinite(low).sum() > 35
    np.testing.assert_allclose(np.column_stack([low, high]), limits, rtol=1e-5)


def test_seeds_needed_is_the_first_that_suffices() -> None:
    design = SlopeDesign(spread=6, levels=4, scale=0.3, low=0.8, high=1.25)
    needed = seeds_needed(design)
    assert design.decide(needed).decided >= 0.8 > design.decide(needed - 1).decided
    wide = SlopeDesign(spread=60, levels=4, scale=0.3, low=0.8, high=1.25)
    assert seeds_needed(wide) < needed
    on_the_margin = SlopeDesign(spread=6, levels=4, scale=0.3, low=0.8, high=1.25, slope=0.8)
    assert seeds_needed(on_the_margin) is None
    with pytest.raises(DomainError, match="spread"):
        SlopeDesign(spread=1.0, levels=4, scale=0.3, low=0.8, high=1.25)


def test_power_table_matches_simulation() -> None:
    plans = [(16.0, 3, 1.0, None), (16.0, 10, 1.0, 1500.0)]
    exact, censored = script("power_simulation").table(150, plans)
    # Three points, and three standard errors of 1,500 and 150 simulations.
    assert exact["supported_simulated"] == pytest.approx(exact["supported_computed"], abs=0.065)
    assert censored["supported_simulated"] == pytest.approx(
        censored["supported_computed"], abs=0.12
    )


def test_the_committed_power_table_is_within_three_points() -> None:
    rows = json.loads((VALIDATION / "power_simulation.json").read_text())
    assert len(rows) == 18
    for row in rows:
        for outcome in ("supported", "refuted"):
            gap = row[f"{outcome}_simulated"] - row[f"{outcome}_computed"]
            assert abs(gap) < 0.03


def test_censored_intervals_cover_and_dropping_or_filling_is_biased() -> None:
    rows = script("censoring_coverage").simulate(60, shares=(0.6,))
    found = {(row["treatment"], row["slope"]): row for row in rows}
    ours = found["censored likelihood", "ln(1/gamma)"]
    assert ours["coverage"] > 0.86
    assert abs(ours["bias"]) < 0.04
    assert found["censored runs dropped", "ln(1/gamma)"]["bias"] < -0.08
    assert found["budget in place of T", "ln(1/gamma)"]["bias"] < -0.5
    assert found["budget in place of T", "ln(1/gamma)"]["coverage"] < 0.05


def test_the_committed_coverage_is_nominal() -> None:
    rows = json.loads((VALIDATION / "censoring_coverage.json").read_text())
    ours = [row for row in rows if row["treatment"] == "censored likelihood"]
    assert [row["simulations"] for row in ours] == [1000] * 6
    assert all(0.93 <= row["coverage"] <= 0.97 for row in ours)
    others = [row for row in rows if row not in ours and row["censored"] > 0.1]
    assert all(abs(row["bias"]) > 0.02 for row in others)


def sweep() -> tuple[np.ndarray, CensoredTimes, list[RivalLaw]]:
    """Data made under T_0 + A/lambda, read every 100 steps and stopped at 15,000."""
    generator = np.random.default_rng(0)
    decay = np.repeat([0.05, 0.1, 0.2, 0.5, 1.0, 2.0], 6)
    time = (800 + 1200 / decay) * np.exp(0.08 * generator.normal(size=36))
    upper = 100 * np.ceil(time / 100)
    late = upper > 15_000
    times = CensoredTimes.of(np.where(late, 15_000, upper - 100), np.where(late, np.inf, upper))
    one = np.ones((36, 1))
    laws = [
        RivalLaw("A/lambda", one, ("ln A",), offset=-np.log(decay)),
        RivalLaw("T_0 + A/lambda", np.column_stack([one, 1 / decay]), ("T_0", "A"), Link.IDENTITY),
        RivalLaw("power law", np.column_stack([one, np.log(decay)]), ("ln A", "exponent")),
    ]
    return decay, times, laws


def test_the_law_that_made_the_data_wins() -> None:
    decay, times, laws = sweep()
    assert times.n_right_censored > 0
    best, *others = compare_rival_laws(times, laws, decay)
    assert best.law.name == "T_0 + A/lambda"
    assert best.weight > 0.99
    assert best.against_best is None
    assert best.held_out.percentage_error < 10
    assert best.held_out.percentage_error_by_group < 6
    for other in others:
        assert other.against_best.statistic < -2
        assert other.held_out.percentage_error > best.held_out.percentage_error
        assert other.held_out.log_score < best.held_out.log_score
    assert best.held_out.n == 36
    assert best.held_out.n_censored == times.n_right_censored


def test_held_out_error_equals_a_loop_over_least_squares() -> None:
    generator = np.random.default_rng(1)
    group = np.repeat(np.arange(5), 4)
    x = np.column_stack([np.ones(20), group])
    time = np.exp(7 + 0.5 * group + 0.2 * generator.normal(size=20))
    errors, by_group = [], []
    for g in range(5):
        beta = np.linalg.lstsq(x[group != g], np.log(time[group != g]), rcond=None)[0]
        ratio = np.exp(x[group == g] @ beta) / time[group == g]
        errors.extend(np.abs(ratio - 1))
        by_group.append(abs(stats.gmean(ratio) - 1))
    law = RivalLaw("log-linear", x, ("a", "b"))
    held_out = leave_one_group_out(CensoredTimes.of(time, time), law, group)
    assert held_out.percentage_error == pytest.approx(100 * np.mean(errors))
    assert held_out.percentage_error_by_group == pytest.approx(100 * np.mean(by_group))


def test_configurations_that_cannot_be_predicted_are_named() -> None:
    # Only one configuration differs in x: without it the slope is not identified.
    x = np.column_stack([np.ones(9), np.repeat([0.0, 0.0, 1.0], 3)])
    time = np.array([10.0, 11, 12, 10, 12, 14, 20, 22, 24])
    law = RivalLaw("two levels", x, ("a", "b"))
    held_out = leave_one_group_out(CensoredTimes.of(time, time), law, list("aaabbbccc"))
    assert held_out.failed == ("c",)
    assert held_out.n == 6
    with pytest.raises(DomainError, match="two configurations"):
        leave_one_group_out(CensoredTimes.of(time, time), law, ["a"] * 9)
