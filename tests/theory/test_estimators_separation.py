"""S on constructed extremes, against AUC, and the coverage of its interval; W; the head's lead."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.estimators.results import Estimate, Missing, Unavailable
from nht_theory.estimators.separation import (
    Separation,
    fall_width,
    separation,
    shortcut_reliance,
)
from nht_theory.estimators.summary import estimate_run
from nht_theory.inference.concordance import area_under_curve
from nht_theory.runs.run import Run


def run_with(name: str, reliance: np.ndarray, squared_norm: np.ndarray) -> Run:
    """A run that has memorised from the start and whose phi is ``reliance``."""
    return Run(
        name,
        Path(name),
        np.arange(reliance.size) * 100,
        {
            "train_accuracy": np.ones(reliance.size),
            "heldout_accuracy": 1 - reliance,
            "squared_norm": squared_norm,
        },
    )


def separated(runs: list[Run]) -> Separation:
    return separation([(run, estimate_run(run)) for run in runs])


PHI = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("squared_norm", "expected"),
    [
        (np.array([9.0, 8, 7, 3, 2, 1]), 1.0),
        (np.array([5.0, 5, 5, 5, 5, 5]), 0.0),
        (np.array([9.0, 1, 5, 9, 1, 5]), 0.0),
        (np.array([1.0, 2, 3, 7, 8, 9]), -1.0),
    ],
)
def test_constructed_extremes(squared_norm: np.ndarray, expected: float) -> None:
    score = separated([run_with(f"r{i}", PHI, squared_norm) for i in range(4)]).score
    assert isinstance(score, Estimate)
    assert score.value == expected
    assert score.interval is not None
    assert score.interval.low <= expected <= score.interval.high
    # Four runs that agree leave room, and no more than for order where there is order.
    assert 0.2 < score.interval.high - score.interval.low < 1
    assert (score.interval.high == 1.0) is (expected == 1.0)
    assert score.n == 4


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=4, max_size=30).filter(
        lambda rows: len({side for side, _ in rows}) == 2
    )
)
def test_for_binary_reliance_it_is_twice_the_area_less_one(rows: list[tuple[bool, int]]) -> None:
    side = np.array([row[0] for row in rows])
    norm = np.array([float(row[1]) for row in rows])
    score = separated([run_with("r", side.astype(float), norm)]).score
    assert isinstance(score, Estimate)
    assert score.value == pytest.approx(2 * area_under_curve(norm, side) - 1, abs=1e-12)


def test_one_side_is_undefined_with_its_reason() -> None:
    score = separated([run_with("r", np.ones(4), np.arange(1.0, 5.0))]).score
    assert isinstance(score, Missing)
    assert score.reason is Unavailable.ONE_SIDED
    assert "shortcut" in score.detail


def noisy_run(name: str, generator: np.random.Generator) -> Run:
    """Ten checkpoints, five a side; V shifts by a run's own offset, so checkpoints correlate."""
    side = np.repeat([1.0, 0.0], 5)
    log_norm = 0.5 * generator.normal() + 1.2 * side + generator.normal(size=10)
    return run_with(name, side, np.exp(log_norm))


def test_interval_covers_the_population_value() -> None:
    """True S: V of a shortcut checkpoint beats that of an independent structured one, less the
    reverse; ln V differs by N(1.2, 2 (1 + 0.25))."""
    from scipy import stats

    truth = 2 * stats.norm.cdf(1.2 / np.sqrt(2.5)) - 1
    covered = 0
    for simulation in range(80):
        generator = np.random.default_rng(simulation)
        runs = [noisy_run(f"r{i}", generator) for i in range(25)]
        score = separated(runs).score
        assert isinstance(score, Estimate)
        assert score.interval is not None
        covered += truth in score.interval
    assert covered / 80 >= 0.87  # 95 % less three standard errors


COVERAGE = Path(__file__).resolve().parents[2] / "validation/statistics/separation_coverage.py"


def test_the_simulation_of_coverage_in_small() -> None:
    rows = runpy.run_path(str(COVERAGE))["table"](40, scores=(0.98,), runs=(5,))
    (binary, continuous, few, many) = rows
    assert binary["no_run_disagrees"] > 0.2  # where the jackknife alone knows no variance
    assert min(binary["coverage"], continuous["coverage"], few["coverage"]) > 0.84
    assert binary["mean_width"] > 0.3
    assert many["score"] == pytest.approx(0.75**2 - 0.25**2)


def test_the_committed_coverage_is_at_least_nominal() -> None:
    rows = json.loads(COVERAGE.with_suffix(".json").read_text())
    grid = [row for row in rows if "inverted" not in row["phi"]]
    assert len(grid) == 2 * 5 * 4
    assert min(row["coverage"] for row in grid) >= 0.93
    for row in grid:
        wide = [r for r in grid if (r["phi"], r["score"]) == (row["phi"], row["score"])]
        assert [r["mean_width"] for r in wide] == sorted(r["mean_width"] for r in wide)[::-1]


def test_the_order_of_runs_changes_nothing() -> None:
    generator = np.random.default_rng(0)
    runs = [noisy_run(f"r{i}", generator) for i in range(6)]
    score, other = separated(runs).score, separated(runs[::-1]).score
    assert isinstance(score, Estimate)
    assert isinstance(other, Estimate)
    assert score.interval is not None
    assert other.interval is not None
    assert other.value == score.value
    assert other.interval.low == pytest.approx(score.interval.low, abs=1e-12)


def test_a_side_that_one_run_alone_shows_gives_no_interval() -> None:
    waiting = [run_with(f"w{i}", np.ones(4), np.arange(6.0, 10.0)) for i in range(4)]
    score = separated([*waiting, run_with("r", PHI, np.array([9.0, 8, 7, 3, 2, 1]))]).score
    assert isinstance(score, Estimate)
    assert score.value == 1.0
    assert score.interval is None
    assert "nothing is left to compare" in score.method


def test_a_shortcut_test_set_defines_reliance() -> None:
    run = Run(
        "r",
        Path("r"),
        np.arange(2),
        {"heldout_accuracy": np.array([0.1, 0.9]), "shortcut_accuracy": np.array([0.9, 0.1])},
    )
    reliance = shortcut_reliance(run)
    assert not isinstance(reliance, Missing)
    assert reliance[0] == pytest.approx([0.9, 0.1])


def test_width_of_a_linear_fall_is_four_fifths_of_it() -> None:
    steps = np.arange(0.0, 1001, 10)
    assert fall_width(steps, np.clip(1 - steps / 1000, 0, 1)) == pytest.approx(800)
    assert fall_width(steps, np.clip(1.5 - steps / 500, 0, 1)) == pytest.approx(400)


@pytest.mark.parametrize("phi", [np.ones(5), np.linspace(0, 1, 5), np.array([1.0])])
def test_no_fall_has_no_width(phi: np.ndarray) -> None:
    assert fall_width(np.arange(phi.size) * 1.0, phi) is None
