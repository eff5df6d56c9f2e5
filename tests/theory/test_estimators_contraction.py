"""Rates, norms and efficiency on trajectories whose answer is known in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.conventions import DecayForm, Regime
from nht_theory.estimators import norms
from nht_theory.estimators.contraction import (
    Window,
    contraction_rate,
    rate_window,
    signed_rate,
)
from nht_theory.estimators.efficiency import efficiency
from nht_theory.estimators.regime import regime
from nht_theory.estimators.results import Crossing, Estimate, Missing, Unavailable
from nht_theory.estimators.summary import estimate_run
from nht_theory.runs.run import Hyperparameters, Run

ADAMW = Hyperparameters(
    optimizer="adamw", learning_rate=1e-3, weight_decay=0.5, decay_form=DecayForm.DECOUPLED
)


def run_of(
    squared_norm: np.ndarray,
    steps: np.ndarray | None = None,
    hyperparameters: Hyperparameters = ADAMW,
    **more: np.ndarray,
) -> Run:
    where = np.arange(len(squared_norm)) * 100 if steps is None else steps
    return Run("r", Path("r"), where, {"squared_norm": squared_norm, **more}, hyperparameters)


WHOLE = Window(0, 10**9, "whole run")


@settings(deadline=None)
@given(st.floats(1e-7, 1e-2), st.floats(1e-3, 1e6))
def test_pure_decay_gives_its_rate_exactly(gamma: float, start: float) -> None:
    run = run_of(start * np.exp(-gamma * np.arange(12) * 100))
    rate = contraction_rate(run, WHOLE)
    assert isinstance(rate, Estimate)
    assert rate.value == pytest.approx(gamma, rel=1e-6)
    assert rate.unit == "per step of V"


def test_decoupled_decay_alone_is_efficiency_one() -> None:
    """theta <- (1 - eta lambda) theta, iterated: V falls by (1 - eta lambda)^2 a step."""
    theta, norms_seen = np.array([3.0, -4.0]), []
    for _ in range(2001):
        norms_seen.append(float(theta @ theta))
        theta = theta * (1 - 1e-3 * 0.5)
    run = run_of(np.array(norms_seen)[::100])
    c = efficiency(run, WHOLE, contraction_rate(run, WHOLE))
    assert isinstance(c, Estimate)
    assert c.value == pytest.approx(1.0, rel=5e-4)  # to first order in eta lambda
    assert c.unit == "1"


@pytest.mark.parametrize(
    ("squared_norm", "reason"),
    [
        (np.full(6, 7.0), Unavailable.FLAT),
        (np.exp(0.1 * np.arange(6)), Unavailable.GROWING),
        (np.array([5.0]), Unavailable.TOO_FEW_POINTS),
        (np.array([np.nan, np.inf, 5.0, 0.0, -1.0]), Unavailable.TOO_FEW_POINTS),
    ],
)
def test_what_has_no_rate_says_why(squared_norm: np.ndarray, reason: Unavailable) -> None:
    rate = contraction_rate(run_of(squared_norm), WHOLE)
    assert isinstance(rate, Missing)
    assert rate.reason is reason
    assert rate.detail


def test_two_points_give_a_rate_without_an_interval() -> None:
    rate = contraction_rate(run_of(np.array([np.e, 1.0])), WHOLE)
    assert isinstance(rate, Estimate)
    assert rate.value == pytest.approx(0.01)
    assert rate.interval is None
    assert "no interval" in rate.method


def test_one_nan_is_left_out_and_counted() -> None:
    clean = np.exp(-0.1 * np.arange(8))
    broken = clean.copy()
    broken[3] = np.nan
    rate = contraction_rate(run_of(broken), WHOLE)
    assert isinstance(rate, Estimate)
    assert rate.value == pytest.approx(1e-3)
    assert rate.n == 7
    assert rate.left_out == ("1 evaluations without finite, positive V",)


def test_decay_to_a_floor_is_recovered_and_preferred() -> None:
    """V_inf + (V_0 - V_inf) a^(2t) of THEORY.md section 3, with 1 % of noise on V."""
    steps = np.arange(0, 4001, 100)
    noise = np.exp(np.random.default_rng(2).normal(0, 0.01, steps.size))
    run = run_of((200 + 3800 * (1 - 1e-3 * 0.5) ** (2 * steps)) * noise, steps)
    rate = contraction_rate(run, WHOLE)
    assert isinstance(rate, Estimate)
    assert "floor" in rate.method
    assert rate.interval is not None
    assert -2 * np.log(1 - 1e-3 * 0.5) in rate.interval
    assert rate.value == pytest.approx(1e-3, rel=0.05)


def test_no_floor_is_found_where_there_is_none() -> None:
    steps = np.arange(0, 2001, 100)
    noise = np.exp(np.random.default_rng(3).normal(0, 0.02, steps.size))
    rate = contraction_rate(run_of(4000 * np.exp(-1e-3 * steps) * noise, steps), WHOLE)
    assert isinstance(rate, Estimate)
    assert rate.interval is not None
    assert 1e-3 in rate.interval
    assert rate.value == pytest.approx(1e-3, rel=0.05)


def test_growing_norm_keeps_its_sign_for_the_tests_that_need_it() -> None:
    rate = signed_rate(run_of(np.exp(0.1 * np.arange(6))), WHOLE)
    assert isinstance(rate, Estimate)
    assert rate.value == pytest.approx(-1e-3)


def test_window_is_the_transition_or_the_descent() -> None:
    run = run_of(np.array([9.0, 5.0, 8.0, 6.0, 2.0, 3.0]))
    memorized = Crossing("train_accuracy", 0.99, 1, 100, 0)
    generalized = Crossing("heldout_accuracy", 0.99, 1, 400, 300)
    never = Crossing("heldout_accuracy", 0.99, 1, None, 500)
    assert rate_window(run, memorized, generalized) == Window(
        100, 400, "from memorisation to generalisation"
    )
    assert rate_window(run, memorized, never) == Window(200, 400, "descent after the peak")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Hyperparameters(optimizer="adamw", learning_rate=1e-3, weight_decay=0.0), "zero"),
        (Hyperparameters(optimizer="adamw", weight_decay=1.0), "learning_rate is not known"),
        (
            Hyperparameters(
                optimizer="adam",
                learning_rate=1e-3,
                weight_decay=1.0,
                decay_form=DecayForm.COUPLED,
            ),
            "preconditioner",
        ),
        (
            Hyperparameters(
                optimizer="adamw", learning_rate=1e-3, weight_decay=1.0, schedule="cosine"
            ),
            "schedule cosine",
        ),
        (Hyperparameters(learning_rate=1e-3, weight_decay=1.0), "unnamed optimiser"),
        (
            Hyperparameters(
                optimizer="muon", learning_rate=1e-3, weight_decay=1.0, extra={"muon_lr": 0.02}
            ),
            "two learning rates",
        ),
    ],
)
def test_no_efficiency_without_a_pure_decay_rate(settings: Hyperparameters, words: str) -> None:
    run = run_of(np.exp(-0.1 * np.arange(6)), hyperparameters=settings)
    c = efficiency(run, WHOLE, contraction_rate(run, WHOLE))
    assert isinstance(c, Missing)
    assert c.reason is Unavailable.NO_DECAY_RATE
    assert words in c.detail


def test_a_logged_schedule_is_used() -> None:
    """gamma is 2 lambda times the mean learning rate: c = 1 under any logged schedule."""
    eta = np.full(11, 1e-3)
    eta[5:] = 2e-3
    settings = Hyperparameters(
        optimizer="adamw", weight_decay=0.5, decay_form=DecayForm.DECOUPLED, schedule="step"
    )
    run = run_of(
        np.exp(-2 * 0.5 * eta.mean() * np.arange(11) * 100), None, settings, learning_rate=eta
    )
    c = efficiency(run, WHOLE, contraction_rate(run, WHOLE))
    assert isinstance(c, Estimate)
    assert c.value == pytest.approx(1.0)


@settings(deadline=None)
@given(st.integers(5, 200), st.floats(1e-4, 5e-3))
def test_interpolated_norm_brackets_the_truth_on_any_grid(grid: int, gamma: float) -> None:
    """V decays from 1; the accuracy is a logistic curve that passes 0.5 at step 333."""
    steps = np.arange(0, 1000, grid)
    accuracy = 1 / (1 + np.exp(-(steps - 333) / 100))
    run = run_of(np.exp(-gamma * steps), steps, train_accuracy=accuracy)
    event = Crossing(
        "train_accuracy",
        0.5,
        1,
        int(steps[accuracy >= 0.5][0]),
        int(steps[accuracy < 0.5][-1]),
    )
    value = norms.squared_norm_at(run, event)
    assert isinstance(value, Estimate)
    assert value.interval is not None
    truth = np.exp(-gamma * 333)
    assert value.interval.low * (1 - 1e-9) <= truth <= value.interval.high * (1 + 1e-9)
    # The softened odds bend by less than a twentieth of a step here.
    assert value.value == pytest.approx(truth, rel=max(1e-9, 0.5 * gamma))


def test_regime_labels() -> None:
    memorized = Crossing("train_accuracy", 0.99, 1, 100, 0)
    never = Crossing("train_accuracy", 0.99, 1, None, 400)
    assert regime(run_of(np.array([9.0, 5.0, 6.0, 7.0])), memorized) is Regime.WEAK
    assert regime(run_of(np.array([9.0, 5.0, 6.0, 2.0])), memorized) is Regime.INTERMEDIATE
    assert regime(run_of(np.array([9.0, 5.0, 2.0, 0.1])), never) is Regime.STRONG
    assert regime(run_of(np.array([9.0, 8.0, 8.0, 8.0])), never) is Regime.UNKNOWN
    assert regime(run_of(np.array([9.0, 8.0])), None) is Regime.UNKNOWN


def test_a_run_without_a_norm_names_the_column_everywhere() -> None:
    run = Run("r", Path("r"), np.arange(3), {"train_accuracy": np.array([0.0, 1.0, 1.0])})
    own = estimate_run(run)
    assert own.memorization_step == 1
    assert own.generalization is None
    for value in (own.contraction_rate, own.squared_norm_peak, own.squared_norm_memorization):
        assert isinstance(value, Missing)
        assert value.reason is Unavailable.NO_COLUMN
