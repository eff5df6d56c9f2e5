"""Hitting times against direct simulation of their recursions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nht_theory.formulas import bounds, floors, times

log_decay = st.floats(-10.0, math.log10(0.99))
log_ratio = st.floats(-10.0, 10.0)
learning_rates = st.floats(1e-5, 1.0)


def _first_step_at_or_below(v_sc: float, v_st: float, eta: float, lam: float, most: int) -> int:
    """The recursion V' = a^2 V itself, in 60 digits from the exact doubles."""
    with localcontext(prec=60):
        v, threshold = Decimal(v_sc), Decimal(v_st)
        shrink = (1 - Decimal(eta) * Decimal(lam)) ** 2
        for step in range(most + 1):
            if v <= threshold:
                return step
            v *= shrink
    raise AssertionError(f"not reached within {most} steps")


@settings(max_examples=150, deadline=None)
@given(log_decay, learning_rates, st.integers(1, 3000), st.floats(-0.999, 0.999))
def test_exact_hitting_time_equals_the_recursion(
    log_x: float, eta: float, steps: int, part: float
) -> None:
    """Ten orders of eta*lambda; the ratio follows from the number of steps simulated."""
    lam = 10.0**log_x / eta
    v_sc = 3900.0
    v_st = v_sc * math.exp(2.0 * (steps + part) * math.log1p(-eta * lam))
    assume(v_st > 1e-290)
    expected = _first_step_at_or_below(v_sc, v_st, eta, lam, steps + 2)
    assert times.exact_hitting_time.value(
        learning_rate=eta,
        weight_decay=lam,
        squared_norm_shortcut=v_sc,
        squared_norm_structured=v_st,
    ) == float(expected)


@settings(max_examples=200, deadline=None)
@given(log_decay, log_ratio, learning_rates)
def test_exact_hitting_time_is_the_first_step_over_ten_orders_of_both(
    log_x: float, log_y: float, eta: float
) -> None:
    """Where T steps are too many to walk, a^(2T) is taken by repeated squaring, in 120 digits."""
    lam = 10.0**log_x / eta
    v_st = 1150.0
    v_sc = v_st * (1.0 + 10.0**log_y)
    assume(v_sc > v_st)
    made = times.exact_hitting_time.value(
        learning_rate=eta,
        weight_decay=lam,
        squared_norm_shortcut=v_sc,
        squared_norm_structured=v_st,
    )
    steps = int(made)
    with localcontext(prec=120):
        shrink = 1 - Decimal(eta) * Decimal(lam)
        assert Decimal(v_sc) * shrink ** (2 * steps) <= Decimal(v_st)
        assert Decimal(v_sc) * shrink ** (2 * steps - 2) > Decimal(v_st)


@settings(deadline=None)
@given(st.integers(1, 150), st.sampled_from([0.5, 0.75, 0.875]))
def test_exact_ties_are_not_rounded_up(steps: int, decay: float) -> None:
    """V_st is a^(2T) V_sc exactly in doubles: the step that lands on it counts."""
    shrink = Fraction(1) - Fraction(decay)
    ratio = 1 / shrink ** (2 * steps)
    assume(ratio < 2**1000)
    made = times.exact_hitting_time.value(
        learning_rate=1.0,
        weight_decay=decay,
        squared_norm_shortcut=float(ratio),
        squared_norm_structured=1.0,
    )
    assert made == steps


@settings(max_examples=60, deadline=None)
@given(st.floats(-4, -0.5), st.floats(0.01, 3.0), st.floats(0.0, 0.99), st.integers(0, 2**31))
def test_the_time_above_a_floor_equals_its_recursion(
    log_x: float, log_fall: float, floor: float, seed: int
) -> None:
    x = 10.0**log_x
    v_st = 1.0
    v_0 = v_st * math.exp(log_fall)
    made = times.hitting_time_with_floor.value(
        learning_rate=x,
        weight_decay=1.0,
        squared_norm_initial=v_0,
        squared_norm_structured=v_st,
        squared_norm_floor=floor,
    )
    nearest = round(made)
    assume(abs(made - nearest) > 1e-6)
    shrink, v, step = (1.0 - x) ** 2, v_0, 0
    while v > v_st:
        v = shrink * v + (1.0 - shrink) * floor
        step += 1
    assert math.ceil(made) == step


def test_a_floor_at_or_above_the_target_blocks() -> None:
    blocked = times.hitting_time_with_floor(
        learning_rate=1e-3,
        weight_decay=1.0,
        squared_norm_initial=3900.0,
        squared_norm_structured=1150.0,
        squared_norm_floor=np.array([0.0, 1149.0, 1150.0, 2000.0]),
    )
    assert np.isfinite(blocked[:2]).all()
    assert np.isposinf(blocked[2:]).all()


def test_the_mean_norm_of_noisy_steps_is_within_three_standard_errors() -> None:
    """theta' = a theta - eta u with white u of trace S: the mean over runs against E V_t."""
    eta, lam, dimension, steps, runs = 0.05, 0.4, 8, 60, 4000
    generator = np.random.default_rng(7)
    theta = np.full((runs, dimension), 2.0)
    for _ in range(steps):
        theta = (1 - eta * lam) * theta - eta * generator.normal(size=theta.shape) * 1.5
    norms = (theta**2).sum(axis=1)
    floor = floors.noise_floor.value(
        learning_rate=eta, weight_decay=lam, noise_trace=1.5**2 * dimension
    )
    expected = floors.expected_squared_norm.value(
        learning_rate=eta,
        weight_decay=lam,
        squared_norm_initial=4.0 * dimension,
        squared_norm_floor=floor,
        step=steps,
    )
    assert abs(norms.mean() - expected) < 3 * norms.std(ddof=1) / math.sqrt(runs)


def test_markov_time_keeps_its_promise() -> None:
    eta, lam, dimension, runs, delta = 0.02, 1.0, 4, 3000, 0.3
    floor = floors.noise_floor.value(learning_rate=eta, weight_decay=lam, noise_trace=dimension)
    v_0, v_st = 50.0, 1.0
    promised = bounds.high_probability_time.value(
        learning_rate=eta,
        weight_decay=lam,
        squared_norm_initial=v_0,
        squared_norm_structured=v_st,
        squared_norm_floor=floor,
        failure_probability=delta,
    )
    generator = np.random.default_rng(3)
    theta = np.full((runs, dimension), math.sqrt(v_0 / dimension))
    for _ in range(math.ceil(promised)):
        theta = (1 - eta * lam) * theta - eta * generator.normal(size=theta.shape)
    above = ((theta**2).sum(axis=1) > v_st).mean()
    assert above <= delta + 3 * math.sqrt(delta / runs)


@settings(max_examples=60, deadline=None)
@given(st.floats(-4, -1), st.floats(0.1, 3.0), st.floats(0.0, 20.0), st.integers(0, 10**6))
def test_no_bounded_update_beats_the_rigorous_lower_bound(
    log_x: float, log_fall: float, bound: float, seed: int
) -> None:
    """The worst admissible update, straight at the origin, and random ones."""
    x = 10.0**log_x
    eta, lam = x, 1.0
    n_st = 1.0
    n_sc = math.exp(log_fall / 2)
    least = times.bounded_update_lower_bound.value(
        learning_rate=eta,
        weight_decay=lam,
        squared_norm_shortcut=n_sc**2,
        squared_norm_structured=n_st**2,
        update_norm_bound=bound,
    )
    generator = np.random.default_rng(seed)
    for scale in (1.0, generator.uniform(-1, 1)):
        n, step = n_sc, 0
        while n > n_st and step < 20_000:
            n = (1 - eta * lam) * n - eta * bound * scale
            step += 1
        assert step >= least - 1e-9


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-6, 0.499), st.floats(1e-3, 20.0))
def test_the_papers_bound_holds_for_its_own_update(x: float, log_fall: float) -> None:
    v_sc = math.exp(log_fall)
    upper = times.paper_upper_bound.value(
        learning_rate=x,
        weight_decay=1.0,
        squared_norm_shortcut=v_sc,
        squared_norm_structured=1.0,
    )
    steps = math.ceil(upper)
    assert v_sc * math.exp(2 * steps * math.log1p(-2 * x)) <= 1.0 + 1e-12


def test_figures_of_the_theory() -> None:
    """Numbers quoted in THEORY.md section 3 and in issue 2, to their last digit."""
    norms = {"squared_norm_shortcut": 3900.0, "squared_norm_structured": 1150.0}
    decay = {"learning_rate": 1e-3, "weight_decay": 1.0}
    assert times.exact_hitting_time.value(**decay, **norms) == math.ceil(
        math.log(3900 / 1150) / (-2 * math.log(1 - 0.001))
    )
    assert times.paper_upper_bound.value(**decay, **norms) == pytest.approx(
        math.log(3900 / 1150) / 0.001, rel=1e-14
    )
    assert round(floors.adam_update_bound.value(beta_1=0.9, beta_2=0.999), 2) == 7.27
    assert round(floors.adam_update_bound.value(beta_1=0.9, beta_2=0.98), 2) == 1.70
    assert floors.adamw_noise_floor.value(parameter_count=4000, **decay) == pytest.approx(2.0, 1e-3)
