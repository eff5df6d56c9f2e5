"""Crossings: values derived by hand, and properties that hold on any series."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nht_theory.conventions import Thresholds
from nht_theory.errors import DomainError
from nht_theory.estimators.results import Crossing, RunEstimate
from nht_theory.estimators.summary import estimate_run
from nht_theory.estimators.transitions import (
    crossing_of_series,
    delay_bounds,
    first_persistent,
    generalization,
    memorization,
)
from nht_theory.runs.run import Run


def cross(values: list[float], persistence: int = 1, step: int = 100) -> Crossing | None:
    return crossing_of_series(
        np.arange(len(values)) * step,
        np.array(values),
        column="heldout_accuracy",
        threshold=0.99,
        persistence=persistence,
    )


def test_first_evaluation_at_the_level_counts_even_when_it_falls_back() -> None:
    found = cross([0.1, 0.99, 0.5, 1.0])
    assert found is not None
    assert (found.step, found.earlier_step) == (100, 0)


def test_persistence_waits_for_evaluations_in_a_row() -> None:
    found = cross([0.1, 1.0, 0.5, 1.0, 1.0, 1.0], persistence=3)
    assert found is not None
    assert (found.step, found.earlier_step) == (300, 200)


def test_unconfirmed_last_evaluations_leave_the_run_censored_where_it_was_last_below() -> None:
    found = cross([0.1, 0.5, 1.0, 1.0], persistence=3)
    assert found is not None
    assert found.censored
    assert found.earlier_step == 100


def test_never_reached_is_censored_at_the_last_evaluation() -> None:
    found = cross([0.1, 0.5, 0.6])
    assert found is not None
    assert found.censored
    assert found.earlier_step == 200


def test_one_nan_widens_the_interval_instead_of_closing_it_on_a_guess() -> None:
    found = cross([0.1, float("nan"), 1.0])
    assert found is not None
    assert (found.step, found.earlier_step) == (200, 0)


def test_already_reached_at_the_first_evaluation() -> None:
    found = cross([1.0, 1.0])
    assert found is not None
    assert (found.step, found.earlier_step) == (0, -1)


def test_no_finite_value_is_no_metric() -> None:
    assert cross([float("nan")] * 3) is None


def test_persistence_below_one_is_refused() -> None:
    with pytest.raises(DomainError, match="at least 1"):
        first_persistent(np.array([True]), 0)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=40),
    st.integers(1, 4),
)
def test_agrees_with_a_plain_loop(values: list[float], persistence: int) -> None:
    expected = None
    for start in range(len(values) - persistence + 1):
        if all(value >= 0.99 for value in values[start : start + persistence]):
            expected = start * 100
            break
    found = cross(values, persistence)
    assert found is not None
    assert found.step == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 3))
def test_stricter_demands_never_come_earlier(values: list[float], persistence: int) -> None:
    loose, strict = cross(values, persistence), cross(values, persistence + 1)
    assert loose is not None
    assert strict is not None
    if strict.step is not None:
        assert loose.step is not None
        assert loose.step <= strict.step


@given(
    st.integers(1, 400),
    st.integers(0, 400),
    st.integers(1, 60),
)
def test_delay_bounds_hold_the_true_delay(first: int, further: int, grid: int) -> None:
    """Events at exact times, seen only at multiples of the grid: the bounds contain the truth."""
    steps = np.arange(0, 1000 + grid, grid)
    events = [
        crossing_of_series(steps, (steps >= time).astype(float), column="accuracy", threshold=1.0)
        for time in (first, first + further)
    ]
    assert events[0] is not None
    assert events[1] is not None
    bounds = delay_bounds(events[0], events[1])
    assert bounds is not None
    assert bounds[0] <= further <= bounds[1]


def test_a_run_that_loses_what_it_memorised_waits_no_longer() -> None:
    steps = np.arange(0, 700, 100)

    def estimated(train: list[float], heldout: list[float]) -> RunEstimate:
        values = {"train_accuracy": np.array(train), "heldout_accuracy": np.array(heldout)}
        return estimate_run(Run("r", Path("r"), steps, values))

    never = [0.0] * 7
    lost = estimated([0, 1, 1, 0.2, 0.9, 0.1, 0.1], never)
    assert lost.collapse_step == 500
    assert lost.generalization.censored
    assert lost.generalization.earlier_step == 400
    for kept in ([0, 1, 1, 0.2, 1, 1, 1], [0, 1, 1, 1, 1, 1, 0.6], never):
        own = estimated(kept, never)
        assert own.collapse_step is None
        assert own.generalization.earlier_step == 600
    switched = estimated([0, 1, 1, 1, 1, 0.1, 0.1], [0, 0, 0, 1, 1, 0, 0])
    assert switched.collapse_step == 500
    assert switched.generalization_step == 300


def test_thresholds_reach_both_metrics() -> None:
    run = Run(
        "r",
        Path("r"),
        np.array([0, 1, 2, 3]),
        {
            "train_accuracy": np.array([0.0, 0.8, 0.9, 1.0]),
            "heldout_accuracy": np.array([0.0, 0.0, 0.7, 0.9]),
        },
    )
    loose = Thresholds(train_accuracy=0.8, heldout_accuracy=0.7)
    first, second = memorization(run, loose), generalization(run, loose)
    assert first is not None
    assert second is not None
    assert (first.step, second.step) == (1, 2)
    strict = generalization(run, Thresholds())
    assert strict is not None
    assert strict.censored
