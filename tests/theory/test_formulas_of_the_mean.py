"""Bounds on the mean of V against bounds on a run's hitting time, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nht_theory.errors import DomainError
from nht_theory.formulas import bounds, floors, regimes, theorems, times

LAW = {
    "learning_rate": 1e-3,
    "weight_decay": 1.0,
    "squared_norm_shortcut": 3900.0,
    "squared_norm_structured": 1150.0,
}
PREMISE = {**LAW, "contraction_factor": 2.0}


def _falls_at_once(
    runs: int, probability: float, decay: float, start: float, end: float, seed: int
) -> np.ndarray:
    """Hitting times of V' = 0 with a probability, else V (1 - 2 decay)/(1 - probability)."""
    generator = np.random.default_rng(seed)
    norms, hit = np.full(runs, start), np.zeros(runs, dtype=int)
    for step in range(1, 400):
        falls = generator.random(runs) < probability
        norms = np.where(falls, 0.0, norms * (1 - 2 * decay) / (1 - probability))
        hit[(norms <= end) & (hit == 0)] = step
    return hit


def test_the_premise_of_the_mean_does_not_bound_a_run() -> None:
    """The issue's counter-example: bound 610, mean hitting time 9.8 (10 with all runs)."""
    bound = theorems.premise_lower_bound.value(**PREMISE)
    assert bound == pytest.approx(610, abs=0.5)
    hit = _falls_at_once(20_000, 0.1, 1e-3, 3900.0, 1150.0, seed=0)
    assert (hit > 0).all()
    assert hit.mean() == pytest.approx(10.0, abs=0.3)
    # The mean itself, in closed form at every step, is not at V_st before the bound.
    mean = 3900.0 * (1 - 2e-3) ** np.arange(1000)
    assert np.flatnonzero(mean <= 1150.0)[0] == math.ceil(bound)
    assert theorems.premise_lower_bound.gives.name == "steps_of_mean"


@pytest.mark.parametrize("seed", range(3))
def test_no_run_that_meets_the_premise_itself_is_earlier(seed: int) -> None:
    """V' at least (1 - 2 eta lambda) V at every step, at random above it."""
    generator = np.random.default_rng(seed)
    decay, runs = 0.02, 400
    bound = theorems.pathwise_lower_bound.value(
        **{**PREMISE, "learning_rate": decay, "squared_norm_structured": 2000.0}
    )
    norms, hit = np.full(runs, 3900.0), np.zeros(runs, dtype=int)
    for step in range(1, 400):
        above = generator.exponential(0.01, runs) * (generator.random(runs) < 0.3)
        norms *= 1 - 2 * decay + above
        hit[(norms <= 2000.0) & (hit == 0)] = step
    assert (hit[hit > 0] >= bound).all()
    assert hit[hit > 0].min() <= math.ceil(bound) + 2


def test_the_probability_of_an_early_hit_is_bounded_and_the_bound_attained() -> None:
    """V' = 0 with probability k eta lambda, else V: the norm never exceeds its start."""
    step, x = 50, 2e-3
    generator = np.random.default_rng(5)
    first = generator.geometric(x, 200_000)
    made = theorems.premise_hitting_probability(
        **{**PREMISE, "squared_norm_structured": np.array([1e-9, 1150.0]), "step": step}
    )
    share = (first <= step).mean()
    assert share == pytest.approx(made[0], abs=3 * math.sqrt(made[0] / 200_000))
    assert share < made[1]
    late = theorems.premise_hitting_probability.value(**PREMISE, step=5000)
    assert late == 1.0


@pytest.mark.parametrize("decay", [0.01, 0.3, 0.7])
def test_the_trajectory_bound_holds_for_the_papers_update_in_its_range(decay: float) -> None:
    """The exact mean of theta' = (1 - 2 eta lambda) theta - eta u, step by step."""
    eta, sigma2, norm = 0.1, 5.0, 40.0
    lam = decay / eta
    floor = eta * sigma2 / lam
    for step in range(200):
        bound = theorems.paper_trajectory_bound.value(
            learning_rate=eta,
            weight_decay=lam,
            squared_norm_initial=40.0,
            squared_norm_floor=floor,
            step=step,
        )
        assert norm <= bound * (1 + 1e-12)
        norm = (1 - 2 * decay) ** 2 * norm + eta**2 * sigma2


def test_beyond_three_quarters_the_papers_bounds_fail_and_are_refused() -> None:
    """eta lambda 0.9: the exact mean after one step is above (1 - eta lambda) V_0."""
    decay = 0.9
    assert (1 - 2 * decay) ** 2 * 40.0 > (1 - decay) * 40.0
    with pytest.raises(DomainError, match="fails"):
        theorems.paper_trajectory_bound(
            learning_rate=decay,
            weight_decay=1.0,
            squared_norm_initial=40.0,
            squared_norm_floor=0.0,
            step=1,
        )
    exact = decay**2 * 5.0 / (1 - (1 - 2 * decay) ** 2)
    assert exact > decay * 5.0
    with pytest.raises(DomainError, match="fails"):
        floors.paper_noise_floor(learning_rate=decay, weight_decay=1.0, gradient_noise=5.0)


def test_the_bound_without_a_floor_is_broken_by_noise_and_the_one_with_it_is_not() -> None:
    """The exact mean of the paper's own update with a floor near V_st."""
    eta, lam, start, end = 0.01, 1.0, 2.0, 1.0
    sigma2 = 3.8 * lam / eta  # exact floor 0.97: the mean creeps down to 1
    exact_floor = eta**2 * sigma2 / (1 - (1 - 2 * eta * lam) ** 2)
    norm, steps = start, 0
    while norm > end:
        norm = (1 - 2 * eta * lam) ** 2 * norm + eta**2 * sigma2
        steps += 1
    norms = {"squared_norm_shortcut": start, "squared_norm_structured": end}
    silent = times.paper_upper_bound.value(learning_rate=eta, weight_decay=lam, **norms)
    assert steps > silent
    assert exact_floor < end
    # The paper's own floor, four times the exact one, is above V_st: it promises nothing.
    noisy = theorems.paper_upper_bound_with_floor
    assert noisy.value(
        learning_rate=eta, weight_decay=lam, squared_norm_floor=eta * sigma2 / lam, **norms
    ) == float("inf")
    lower_noise = 0.2 * lam / eta
    norm, steps = start, 0
    while norm > end:
        norm = (1 - 2 * eta * lam) ** 2 * norm + eta**2 * lower_noise
        steps += 1
    assert steps <= noisy.value(
        learning_rate=eta, weight_decay=lam, squared_norm_floor=0.2, **norms
    )


def test_above_the_floor_of_few_coordinates_a_run_is_at_v_st_by_chance() -> None:
    """d = 2: the mean never falls to V_st < V_inf, and yet nearly every run has been there."""
    eta, lam, runs = 0.02, 1.0, 300
    generator = np.random.default_rng(1)
    shares = {}
    for dimension in (2, 2000):
        floor = floors.noise_floor.value(
            learning_rate=eta, weight_decay=lam, noise_trace=float(dimension)
        )
        v_st = floor / 1.5
        assert times.hitting_time_with_floor.value(
            learning_rate=eta,
            weight_decay=lam,
            squared_norm_initial=4 * floor,
            squared_norm_structured=v_st,
            squared_norm_floor=floor,
        ) == float("inf")
        count = runs if dimension == 2 else 20
        theta = np.full((count, dimension), math.sqrt(4 * floor / dimension))
        hit = np.zeros(count, dtype=bool)
        for _ in range(500):
            theta = (1 - eta * lam) * theta - eta * generator.normal(size=theta.shape)
            hit |= (theta**2).sum(axis=1) <= v_st
        shares[dimension] = hit.mean()
    assert shares[2] > 0.9
    assert shares[2000] == 0.0


def test_markov_bounds_the_hitting_time_of_a_run() -> None:
    """At least 1 - delta of the runs have been at V_st by the promised step."""
    eta, lam, delta, runs = 0.02, 1.0, 0.2, 500
    floor = floors.noise_floor.value(learning_rate=eta, weight_decay=lam, noise_trace=4.0)
    promised = bounds.high_probability_time.value(
        learning_rate=eta,
        weight_decay=lam,
        squared_norm_initial=50.0,
        squared_norm_structured=1.0,
        squared_norm_floor=floor,
        failure_probability=delta,
    )
    generator = np.random.default_rng(3)
    theta = np.full((runs, 4), math.sqrt(50.0 / 4))
    hit = np.zeros(runs, dtype=bool)
    for _ in range(math.ceil(promised)):
        theta = (1 - eta * lam) * theta - eta * generator.normal(size=theta.shape)
        hit |= (theta**2).sum(axis=1) <= 1.0
    assert hit.mean() >= 1 - delta


def test_strong_decay_binds_from_inside_the_box_only() -> None:
    """Updates of at most u_max: from outside the run holds V_sc for long, beyond the edge."""
    u_max, count, v_sc, eta = 1.0, 50, 200.0, 0.01
    edge = regimes.strong_boundary.value(
        update_bound=u_max, parameter_count=count, squared_norm_shortcut=v_sc
    )
    lam = 2 * edge
    generator = np.random.default_rng(0)
    inside = np.full(count, u_max / lam)
    outside = np.full(count, 6.0)
    seen_inside, seen_outside = [], []
    for step in range(400):
        seen_inside.append(float((inside**2).sum()))
        seen_outside.append(float((outside**2).sum()))
        bound = regimes.box_norm_from_outside.value(
            learning_rate=eta,
            weight_decay=lam,
            update_bound=u_max,
            parameter_count=count,
            largest_coordinate=6.0,
            step=step,
        )
        assert seen_outside[-1] <= bound * (1 + 1e-12)
        push = u_max * generator.choice([-1.0, 1.0], count)
        inside = (1 - eta * lam) * inside - eta * push
        outside = (1 - eta * lam) * outside + eta * u_max
    assert max(seen_inside) < v_sc
    assert sum(v >= v_sc for v in seen_outside) > 50
