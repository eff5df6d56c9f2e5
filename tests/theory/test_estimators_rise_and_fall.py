"""A peak is a rise and a fall beyond the noise: against an independent fit, and on known truths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from nht_theory.estimators.norms import turning_step
from nht_theory.estimators.regime import rises_then_falls
from nht_theory.estimators.results import Missing, Unavailable
from nht_theory.estimators.rise_and_fall import RiseAndFall, rise_and_fall
from nht_theory.estimators.summary import estimate_study
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Run

Shape = Callable[[np.ndarray], np.ndarray]


def run_of(log_norm: np.ndarray, first_step: int = 1) -> Run:
    steps = np.arange(first_step, first_step + log_norm.size)
    return Run("r", Path("r"), steps, {"squared_norm": np.exp(log_norm)})


def noise(generator: np.random.Generator, n: int, correlation: float) -> np.ndarray:
    """AR(1), standard deviation one."""
    fresh = generator.normal(size=n)
    values = np.empty(n)
    values[0] = fresh[0]
    for place in range(1, n):
        values[place] = correlation * values[place - 1] + np.sqrt(1 - correlation**2) * fresh[place]
    return values


def falling(x: np.ndarray) -> np.ndarray:
    return 3 * np.exp(-8 * x)


def growing(x: np.ndarray) -> np.ndarray:
    return 2 * (1 - np.exp(-8 * x))


def flat(x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x)


def peaked(x: np.ndarray) -> np.ndarray:
    """Rises over a seventh of the run, then decays: height 1.5, fall 1.45."""
    return 1.5 * np.where(x < 0.15, x / 0.15, np.exp(-4 * (x - 0.15)))


def share_of_peaks(shape: Shape, n: int, correlation: float, studies: int = 200) -> float:
    generator = np.random.default_rng([n, round(10 * correlation)])
    x = np.linspace(0, 1, n)
    found = [
        turning_step(run_of(shape(x) + 0.1 * noise(generator, n, correlation)))
        for _ in range(studies)
    ]
    return float(np.mean([step is not None for step in found]))


def test_a_norm_that_falls_from_its_initialisation_has_no_peak() -> None:
    falls = run_of(falling(np.linspace(0, 1, 50)), first_step=0)
    assert turning_step(falls) is None
    assert rises_then_falls(falls) is False
    found = rise_and_fall(falls)
    assert isinstance(found, RiseAndFall)
    assert (found.rise, found.rises, found.falls) == (0.0, False, True)
    # nor does it peak at the evaluation after the first, unless V rose to there
    assert turning_step(run_of(np.array([3.0, *falling(np.linspace(0, 1, 50))]), 0)) is None
    assert turning_step(run_of(np.array([2.0, *falling(np.linspace(0, 1, 50))]), 0)) == 1


@pytest.mark.parametrize("shape", [falling, growing, flat])
@pytest.mark.parametrize("n", [6, 10, 20, 100])
@pytest.mark.parametrize(("correlation", "at_most"), [(0.0, 0.05), (0.5, 0.10)])
def test_noise_is_no_peak(shape: Shape, n: int, correlation: float, at_most: float) -> None:
    assert share_of_peaks(shape, n, correlation) <= at_most


@pytest.mark.parametrize("n", [10, 20, 100])
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_a_true_peak_is_found_under_noise(n: int, correlation: float) -> None:
    assert share_of_peaks(peaked, n, correlation) >= 0.9


def test_the_peak_is_where_the_norm_is_largest() -> None:
    generator = np.random.default_rng(0)
    x = np.linspace(0, 1, 200)
    steps = [turning_step(run_of(peaked(x) + 0.1 * generator.normal(size=200))) for _ in range(50)]
    found = np.array([step for step in steps if step is not None])
    assert found.size == 50
    assert np.median(found) == pytest.approx(1 + 0.15 * 199, abs=8)


def test_a_jump_in_a_descent_is_no_peak_while_other_jumps_are_as_large() -> None:
    """Loss spikes lift V by a tenth again and again; V is a falling one with that noise."""
    log_norm = -0.05 * np.arange(60.0)
    log_norm[[10, 20, 21, 35, 50]] += 0.15
    assert turning_step(run_of(log_norm)) is None


def test_a_fall_from_the_initialisation_hides_no_later_peak() -> None:
    later = np.array([0.0, 0.3, 0.6, 0.9, 0.6, 0.3, 0.0, -0.3])
    assert turning_step(run_of(np.array([2.0, *later]), 0)) == 4


def test_less_than_one_percent_is_no_rise() -> None:
    log_norm = np.concatenate([np.linspace(0, 0.009, 10), np.linspace(0, -1, 10)])
    assert turning_step(run_of(log_norm)) is None
    assert turning_step(run_of(log_norm + np.where(log_norm > 0, log_norm, 0))) == 10


def test_too_few_evaluations_are_refused() -> None:
    found = rise_and_fall(run_of(np.array([0, 1, 2, 1, 0.0])))
    assert isinstance(found, Missing)
    assert found.reason is Unavailable.TOO_FEW_POINTS
    assert isinstance(rises_then_falls(Run("r", Path("r"), np.arange(9), {})), Missing)


def test_a_long_series_keeps_its_peak() -> None:
    x = np.linspace(0, 1, 9001)
    generator = np.random.default_rng(1)
    step = turning_step(run_of(peaked(x) + 0.05 * generator.normal(size=x.size)))
    assert step == pytest.approx(1 + 0.15 * 9000, abs=250)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=6, max_size=25))
def test_the_fit_is_the_best_rise_and_fall(values: list[float]) -> None:
    """Against scipy's isotonic regression at every place of the turn."""
    log_norm = np.array(values)
    found = rise_and_fall(run_of(log_norm))
    assert isinstance(found, RiseAndFall)
    fits = []
    for turn in range(log_norm.size + 1):
        parts = [
            isotonic_regression(part, increasing=up).x
            for part, up in ((log_norm[:turn], True), (log_norm[turn:], False))
            if part.size
        ]
        fits.append(np.concatenate(parts))
    errors = [float(((fit - log_norm) ** 2).sum()) for fit in fits]
    best = [
        fit for fit, error in zip(fits, errors, strict=True) if error <= min(errors) * 1.0001 + 1e-9
    ]
    assert any(
        found.rise == pytest.approx(fit.max() - fit[0], abs=1e-6)
        and found.fall == pytest.approx(fit.max() - fit[-1], abs=1e-6)
        for fit in best
    )


def test_one_of_the_119_delayed_companion_runs_rises_and_falls(shared_data: Path) -> None:
    """Before, 119 of 119 peaked: at the first evaluation after the initialisation."""
    study = estimate_study(load_study(shared_data / "companion"))
    delayed = [run for run, own in study.pairs() if own.delay is not None and own.delay > 0]
    assert len(delayed) == 119
    assert sum(rises_then_falls(run) is True for run in delayed) == 1
