"""The solvable models: closed form against exact recursion, and the figures of THEORY.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nht_theory.errors import DomainError
from tests.solvable.diagonal_network import DiagonalNetwork
from tests.solvable.linear_teacher import LinearTeacher
from tests.solvable.logistic_bias import LogisticBias
from tests.solvable.pure_noise import PureNoise
from tests.solvable.ridge import NullSpaceRidge
from tests.solvable.two_weights import TwoWeights


def _ridge(null_space_norm: float) -> NullSpaceRidge:
    """100 examples of 200 features; the null-space part of theta is scaled to a given norm."""
    generator = np.random.default_rng(11)
    features = generator.standard_normal((100, 200))
    theta = generator.standard_normal(200)
    plain = NullSpaceRidge(features, theta, 1e-2, 0.1)
    scale = math.sqrt(null_space_norm / plain.null_space_norm())
    return NullSpaceRidge(features, theta * scale, 1e-2, 0.1)


def test_null_space_ridge_reproduces_2283_steps() -> None:
    """THEORY.md section 7: closed form 2282.8, simulated 2283 (eta*lambda = 1e-3; the norm over
    m*eps is the one whose closed form is the quoted number)."""
    eps = 1e-2
    model = _ridge(200 * eps * math.exp(2282.8 * -2 * math.log1p(-1e-3)))
    assert model.hitting_time(eps) == pytest.approx(2282.8, abs=1e-6)
    assert model.simulate(eps, most=3000) == 2283


def test_null_space_ridge_that_never_arrives() -> None:
    assert _ridge(150.0).simulate(1e-2, most=100) is None
    with pytest.raises(DomainError, match="fewer examples than parameters"):
        NullSpaceRidge(np.ones((3, 3)), np.ones(3), 0.1, 0.1)


def test_two_weights_reproduce_1324_steps_and_the_wrong_173() -> None:
    model = TwoWeights(2.0, 0.0, learning_rate=1e-2, weight_decay=0.1)
    assert model.hitting_time(0.01) == pytest.approx(1323.3, abs=0.05)
    assert model.simulate(0.01) == 1324
    assert model.hitting_time_by_total_norm() == pytest.approx(173.1, abs=0.05)
    assert not model.total_norm_is_the_coordinate
    assert "only the excess" in model.why_not


def test_adamw_on_noise_settles_within_five_per_cent_of_its_floor() -> None:
    """THEORY.md: eta 1e-3, lambda 1, d 4000 gives 1.96 against 2.0."""
    model = PureNoise(4000)
    norms = model.simulate(5000)
    assert model.floor() == pytest.approx(2.001, abs=1e-3)
    assert norms[3000:].mean() == pytest.approx(1.96, abs=0.02)


def test_adamw_on_noise_relaxes_as_the_closed_form() -> None:
    model = PureNoise(2000, initial=0.1)
    norms = model.simulate(1500)
    steps = np.arange(0, 1501, 100)
    assert norms[steps] == pytest.approx(model.expected(steps), rel=0.05)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_linear_teacher_integrals_equal_drawn_examples(weight_decay: float) -> None:
    """Gradient descent on drawn examples, eight draws, against the Marchenko-Pastur sums."""
    model = LinearTeacher(0.5, 0.05, weight_decay=weight_decay)
    draws = np.array([model.simulate(examples=600, steps=40, seed=s) for s in range(8)])
    for step in (0, 1, 5, 20, 40):
        mean = draws[:, :, step].mean(axis=0)
        error = draws[:, :, step].std(axis=0, ddof=1) / math.sqrt(8)
        # A finite number of inputs biases by 1/d = 1/300.
        assert np.all(np.abs(mean - model.losses(step)) < 4 * error + mean / 300)


def test_linear_teacher_is_delayed_without_any_norm_gap_and_decay_removes_the_switch() -> None:
    plain = LinearTeacher(0.8, 0.01)
    assert plain.delay(1e-3) == pytest.approx(3653, abs=2)
    assert LinearTeacher(0.8, 0.01, weight_decay=0.5).delay(1e-3) is None


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.5, 0.8])
def test_the_asymptotic_delay_is_off_by_a_factor(ratio: float) -> None:
    model = LinearTeacher(ratio, 1e-3)
    delay = model.delay(1e-3)
    assert delay is not None
    assert 0.36 < delay / model.asymptotic_delay() < 0.55


def test_linear_teacher_refuses_what_has_no_answer() -> None:
    with pytest.raises(DomainError, match="strictly between"):
        LinearTeacher(1.0, 0.01)
    with pytest.raises(DomainError, match="diverges"):
        LinearTeacher(0.5, 0.5)


def test_diagonal_network_has_slope_one() -> None:
    """lambda T - ln alpha is the same constant over a factor of thirty in alpha."""
    constants = []
    for scale in (10.0, 30.0, 100.0, 300.0):
        model = DiagonalNetwork(scale, weight_decay=0.05)
        times = np.linspace(0.0, model.time_to_scale(1.0) + 100.0, 800)
        errors, products = model.simulate(times)
        assert products == pytest.approx([model.product(t) for t in times], rel=1e-6)
        switch = times[np.flatnonzero(errors < 0.5 * errors[10])[0]]
        constants.append(model.weight_decay * switch - math.log(scale))
    slope = np.polyfit(np.log([10, 30, 100, 300]), constants, 1)[0]
    assert abs(slope) < 0.01


def test_the_negative_control_generalises_while_its_norm_grows() -> None:
    model = LogisticBias()
    memorised, generalised, norms = model.transition(most=2000)
    assert memorised < generalised
    assert norms[generalised] > norms[memorised]
    with pytest.raises(ValueError, match="no transition"):
        model.transition(most=10)
