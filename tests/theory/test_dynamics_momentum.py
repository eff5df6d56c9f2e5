"""Momentum in the dynamics: dampening and Nesterov reach the clock and the edge of weak decay."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nht_theory.conventions import OptimizerKind
from nht_theory.dynamics import OptimizerDynamics
from nht_theory.dynamics.momentum import momentum_rate_at, nesterov_rate_at
from nht_theory.errors import DomainError
from nht_theory.forecasting.from_hyperparameters import predict_transition

SGD = OptimizerDynamics(OptimizerKind.SGD, 0.1, 0.02, momentum=0.9)


def _modulus(trace: float, determinant: float) -> float:
    """Largest modulus of the roots of z^2 - trace z + determinant, by numpy."""
    return float(np.abs(np.roots([1.0, -trace, determinant])).max())


@pytest.mark.parametrize("decay", [1e-6, 1e-3, 0.0026, 0.01, 0.3])
@pytest.mark.parametrize("dampening", [0.0, 0.5, 0.95, 1.0])
def test_the_rate_is_that_of_the_largest_root(decay: float, dampening: float) -> None:
    """Real roots and complex ones alike, at momentum 0.9."""
    expected = -2 * math.log(_modulus(1.9 - (1 - dampening) * decay, 0.9))
    made = momentum_rate_at(decay, 0.9, dampening)
    assert float(made) == pytest.approx(expected, rel=1e-8, abs=1e-13)


@pytest.mark.parametrize("decay", [1e-6, 1e-3, 0.0027, 0.01, 0.3, 0.9])
def test_nesterov_s_rate_is_that_of_the_largest_root(decay: float) -> None:
    expected = -2 * math.log(_modulus(1.9 * (1 - decay), 0.9 * (1 - decay)))
    assert float(nesterov_rate_at(decay, 0.9)) == pytest.approx(expected, rel=1e-8)


def test_many_decays_at_once_are_each_given_their_own_formula() -> None:
    decays = np.array([[1e-3, 0.01], [0.0026, 0.3]])
    made = momentum_rate_at(decays, 0.9, 0.5)
    assert made.shape == (2, 2)
    assert made[1, 1] == pytest.approx(-math.log(0.9))
    assert made[0, 0] == momentum_rate_at(1e-3, 0.9, 0.5)


def test_a_decay_that_diverges_is_refused() -> None:
    with pytest.raises(DomainError, match="diverges"):
        momentum_rate_at(4.0, 0.9)
    with pytest.raises(DomainError, match="whole weight"):
        nesterov_rate_at(1.0, 0.9)


@pytest.mark.parametrize("settings", [{}, {"dampening": 0.5}, {"nesterov": True}])
@pytest.mark.parametrize("log_ratio", [1.2, 20.0])
def test_the_edge_of_weak_decay_is_where_the_clock_covers_the_ratio(
    settings: dict[str, float], log_ratio: float
) -> None:
    """A ratio of e^20 takes a decay near the critical one, which dampening raises."""
    dynamics = replace(SGD, **settings)
    edge = dynamics.weak_boundary(log_ratio, total_steps=400)
    covered = float(replace(dynamics, weight_decay=edge).clock(400))
    assert covered == pytest.approx(log_ratio, rel=1e-9)


def test_full_dampening_never_decays() -> None:
    """The buffer takes nothing of the decay in after its first step."""
    dynamics = replace(SGD, dampening=1.0)
    assert float(dynamics.clock(1000)) == 0.0
    assert dynamics.weak_boundary(1.2, total_steps=400) == math.inf


def test_the_note_on_the_buffer_says_how_much_an_empty_one_costs() -> None:
    """The recursion from an empty buffer: later than the settled clock by about 1/(1 - mu)."""
    dynamics = replace(SGD, dampening=0.5)
    theta, buffer, step = 1.0, 0.0, 0
    while theta * theta > 1150.0 / 3900.0:
        gradient = 0.002 * theta
        buffer = gradient if step == 0 else 0.9 * buffer + 0.5 * gradient
        theta, step = theta - buffer, step + 1
    assert step - float(dynamics.hitting_time(3900.0, 1150.0)) == pytest.approx(10, abs=1)
    made = predict_transition(
        dynamics, squared_norm_shortcut=3900.0, squared_norm_structured=1150.0
    )
    assert any("settled momentum buffer" in note for note in made.notes)
    silent = predict_transition(
        replace(SGD, momentum=0.0), squared_norm_shortcut=3900.0, squared_norm_structured=1150.0
    )
    assert not any("buffer" in note for note in silent.notes)
