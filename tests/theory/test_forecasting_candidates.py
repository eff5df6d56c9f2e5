"""The models that compete before training, each on runs that it describes exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nht_theory.forecasting.calibration import ObservedRun, observe
from nht_theory.forecasting.calibration_set import earlier_runs
from nht_theory.forecasting.candidate_models import (
    EXCESS,
    OFFSET,
    SURVIVAL,
    TOTAL,
    candidate_models,
    held_out_error,
    stacked,
)
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_observation
from nht_theory.forecasting.plan import planned
from nht_theory.runs.run import Hyperparameters, Run

NAMES = ("learning_rate", "p", "weight_decay")
MEMORIZED, EFFICIENCY = 300.0, 0.6
Delay = Callable[[float, float, float, float], float]
"""(V_mem, V_star, floor, efficient rate) -> delay in steps."""


def by_excess(above: float, star: float, floor: float, rate: float) -> float:
    return float(np.log((above - floor) / (star - floor)) / rate)


def by_total(above: float, star: float, floor: float, rate: float) -> float:
    return float(np.log(above / star) / rate)


def by_offset(above: float, star: float, floor: float, rate: float) -> float:
    return 400.0 + by_total(above, star, floor, rate)


def by_clock_alone(above: float, star: float, floor: float, rate: float) -> float:
    return 1.8 / rate


def made_up(eta: float, decay: float, size: float, seed: int, law: Delay) -> ObservedRun:
    """A run whose delay follows ``law``; V falls from V_mem through V_star to the floor."""
    rng = np.random.default_rng([seed, round(1e6 * eta), round(1e4 * decay), round(size)])
    above = 6000 * decay**-0.4 * np.exp(0.05 * rng.normal())
    star = 1100 * (size / 97) ** 1.5 * np.exp(0.05 * rng.normal())
    floor = 0.8 * 1100 * (size / 97) ** 1.5
    rate = 2 * EFFICIENCY * eta * decay
    delay = law(above, star, floor, rate) * np.exp(0.03 * rng.normal())
    end = MEMORIZED + delay
    steps = np.unique(np.round(np.linspace(0, MEMORIZED + 3 * delay, 300))).astype(np.int64)
    after = np.maximum(steps - MEMORIZED, 0) / delay
    norm = floor + (above - floor) * ((star - floor) / (above - floor)) ** after
    width = 0.01 * delay
    return observe(
        Run(
            name=f"{eta:g}-{decay:g}-{size:g}-{seed}",
            source=Path("made-up"),
            steps=steps,
            values={
                "squared_norm": norm,
                "train_accuracy": 1 / (1 + np.exp(-(steps - MEMORIZED) / 10 - np.log(99))),
                "heldout_accuracy": 1 / (1 + np.exp(-(steps - end) / width - np.log(99))),
            },
            hyperparameters=Hyperparameters("adamw", eta, decay, seed=seed, extra={"p": size}),
        )
    )


def sweep(law: Delay) -> tuple[ObservedRun, ...]:
    return tuple(
        made_up(eta, decay, size, seed, law)
        for eta in (5e-4, 1e-3, 2e-3)
        for decay in (0.1, 0.4, 1.0)
        for size in (60.0, 97.0, 150.0)
        for seed in range(2)
    )


@pytest.mark.parametrize(
    ("law", "winner"), [(by_total, TOTAL), (by_excess, EXCESS), (by_offset, OFFSET)]
)
def test_each_form_of_the_law_wins_on_runs_that_follow_it(law: Delay, winner: str) -> None:
    models = candidate_models(sweep(law), NAMES)
    assert set(models) == {TOTAL, EXCESS, OFFSET, SURVIVAL}
    assert min(models, key=lambda name: held_out_error(models[name])) == winner
    new = planned(Hyperparameters("adamw", 1.4e-3, 0.2, extra={"p": 120.0}))
    made = models[winner].predict(new.settings, new.decay_rate, new.configuration)
    above, star = 6000 * 0.2**-0.4, 1100 * (120 / 97) ** 1.5
    truth = law(above, star, 0.8 * star, 2 * EFFICIENCY * 1.4e-3 * 0.2)
    assert np.exp(made.location) == pytest.approx(truth, rel=0.1)


def test_the_chosen_form_is_the_one_that_forecasts() -> None:
    kept = earlier_runs(sweep(by_offset), frozenset({*NAMES, "optimizer", "decay_form"}))
    assert kept.delay_model is not None
    assert kept.delay_model.method.split(" + ")[0].replace(".", "").isdigit()
    assert not kept.law_scores_worse


def test_a_law_that_scores_worse_is_not_the_basis() -> None:
    runs = sweep(by_clock_alone)
    target = planned(Hyperparameters("adamw", 1e-3, 0.2, extra={"p": 97.0}))
    made = forecast_observation(target, runs)
    assert made.basis is Basis.EMPIRICAL
    assert "errs less on configurations left out" in made.reason
    assert made.law_median is not None
    assert made.delay == pytest.approx(1.8 / (2 * EFFICIENCY * 1e-3 * 0.2), rel=0.1)


def test_stacking_is_convex_and_no_worse_than_its_parts() -> None:
    models = tuple(candidate_models(sweep(by_excess), NAMES).values())
    made = stacked(models)
    squares = [float(model.errors @ model.errors) for model in models]
    assert float(made.errors @ made.errors) <= min(squares) * (1 + 1e-6)
    low = np.min([model.held_out for model in models], axis=0)
    high = np.max([model.held_out for model in models], axis=0)
    assert (low - 1e-6 <= made.held_out).all()
    assert (made.held_out <= high + 1e-6).all()


def test_a_floor_that_no_run_shows_is_not_made_up() -> None:
    ended = tuple(observe(one.run.until(one.generalization_step or 0)) for one in sweep(by_total))
    ended = tuple(replace(one, run=replace(one.run, settled=True)) for one in ended)
    assert EXCESS not in candidate_models(ended, NAMES)
