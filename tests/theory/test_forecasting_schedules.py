"""Forecasts under learning-rate schedules, against runs whose clock is known exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.cli.forecast_text import describe
from nht_theory.dynamics.schedules import Cosine, LinearWarmup, Schedule, StepDecay
from nht_theory.forecasting.calibration import observe
from nht_theory.forecasting.calibration_set import earlier_runs
from nht_theory.forecasting.comparable import comparable
from nht_theory.forecasting.early_stop import stop_advice
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.forecasting.plan import plan_training
from nht_theory.forecasting.scheduled_clock import (
    clock_of,
    in_peak_steps,
    schedule_from_settings,
    steps_ahead,
)
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

PLACE = Path("made-up")
ABOVE, STAR, EFFICIENCY, MEMORIZED = 8000.0, 1000.0, 0.6, 300
TOTAL = 9000
COSINE = Hyperparameters("adamw", 1e-3, 0.5, schedule="cosine", total_steps=TOTAL)
STEP = replace(COSINE, schedule="step", extra={"milestones": [2000], "factor": 0.25})
WARM = replace(COSINE, extra={"warmup_steps": 500, "final_multiple": 0.1})


def lawful(chosen: Hyperparameters, seed: int = 0, noise: float = 0.02, power: float = 0.0) -> Run:
    """A run that obeys the law in the clock of its schedule, computed step by step.

    With ``power`` its efficiency goes with that power of the learning rate.
    """
    schedule = schedule_from_settings(chosen)
    assert not isinstance(schedule, str)
    rng = np.random.default_rng([seed, round(1e6 * (chosen.weight_decay or 0))])
    star = STAR * np.exp(noise * rng.normal())
    last = TOTAL if chosen.schedule != "constant" else 20_000
    eta = (chosen.learning_rate or 0) * schedule.multiples(0, last)
    each = 2 * EFFICIENCY * (chosen.weight_decay or 0) * eta * (eta / 1e-3) ** power
    fallen = np.concatenate([[0.0], np.cumsum(each)])
    norm = ABOVE * np.exp(-np.maximum(fallen - fallen[MEMORIZED], 0.0))
    switch = int(np.argmax(norm <= star)) if norm.min() <= star else last + 1
    steps = np.arange(0, min(last, switch + 500) + 1, 20)
    return Run(
        name=f"{chosen.schedule}-{chosen.weight_decay}-{seed}",
        source=PLACE,
        steps=steps,
        values={
            "squared_norm": norm[steps],
            "train_accuracy": (steps >= MEMORIZED).astype(float),
            "heldout_accuracy": (steps >= switch).astype(float),
        },
        hyperparameters=replace(chosen, seed=seed),
    )


def constant_runs() -> Study:
    runs = tuple(
        lawful(Hyperparameters("adamw", 1e-3, decay, schedule="constant", total_steps=TOTAL), seed)
        for decay in (0.2, 0.4, 0.7, 1.0)
        for seed in range(6)
    )
    return Study(PLACE, runs, runs)


def switch_of(run: Run) -> int:
    step = observe(run).generalization_step
    assert step is not None
    return step


@pytest.mark.parametrize("chosen", [COSINE, STEP, WARM], ids=["cosine", "step", "warm cosine"])
@pytest.mark.parametrize("at", [-1, 300, 1500])
def test_the_law_is_forecast_in_the_clock_of_the_schedule(chosen: Hyperparameters, at: int) -> None:
    run = lawful(chosen, seed=9)
    made = forecast_run(run, constant_runs(), at=at)
    truth = switch_of(run)
    assert made.basis is Basis.LAW
    assert made.median == pytest.approx(truth, rel=0.12 if at < 0 else 0.05)
    assert made.interval is not None
    assert truth in made.interval
    assert "clock of the" in made.method
    # Steps alone would have said the delay of the constant rate, much too early.
    constant = switch_of(lawful(replace(chosen, schedule="constant", extra={}), seed=9))
    assert truth > 1.1 * constant


def test_delays_that_shorten_faster_than_the_rate_are_composed_along_the_schedule() -> None:
    power = 0.4
    runs = tuple(
        lawful(
            Hyperparameters("adamw", rate, decay, schedule="constant", total_steps=TOTAL),
            seed,
            power=power,
        )
        for rate in (5e-4, 1e-3, 2e-3)
        for decay in (0.3, 0.5, 0.9)
        for seed in range(4)
    )
    run = lawful(COSINE, seed=9, power=power)
    target = observe(run.until(400))
    known = comparable([observe(one) for one in runs], target)
    kept = earlier_runs(tuple(known), target.stated)
    assert kept.rate_exponent(in_peak_steps(target)) == pytest.approx(1 + power, abs=0.05)
    made = forecast_run(run, Study(PLACE, runs, runs), at=400)
    assert made.median == pytest.approx(switch_of(run), rel=0.05)
    # The law's own clock alone would have it earlier by a tenth of the delay or more.
    assert switch_of(run) > 1.1 * switch_of(lawful(COSINE, seed=9))


def test_a_schedule_that_ends_too_early_gives_no_switch_in_time() -> None:
    short = replace(COSINE, total_steps=2500, weight_decay=0.5)
    made = forecast_run(lawful(short, seed=9), constant_runs(), at=400)
    assert made.probability_within_budget is not None
    assert made.probability_within_budget < 0.05
    assert made.interval is not None
    assert made.interval.high == np.inf
    assert made.median == np.inf
    assert ": not expected to generalise (90% interval" in describe(made)


def test_runs_under_a_schedule_are_learned_from_in_their_clock() -> None:
    runs = tuple(
        lawful(replace(COSINE, weight_decay=decay), seed)
        for decay in (0.4, 0.7, 1.0, 1.4)
        for seed in range(6)
    )
    flat = Hyperparameters("adamw", 1e-3, 0.6, schedule="constant", total_steps=TOTAL)
    run = lawful(flat, seed=9)
    made = forecast_run(run, Study(PLACE, runs, runs), at=300)
    assert made.basis is Basis.LAW
    assert made.median == pytest.approx(switch_of(run), rel=0.05)


def test_an_untried_schedule_widens_the_interval() -> None:
    def width(run: Run, earlier: Study) -> float:
        interval = forecast_run(run, earlier, at=-1).delay_interval
        assert interval is not None
        return float(np.log(interval.high / interval.low))

    earlier = constant_runs()
    tried = (*earlier.runs, *(lawful(COSINE, seed) for seed in range(3)))
    run = lawful(replace(COSINE, weight_decay=0.6), seed=9)
    assert width(run, earlier) > 1.3 * width(run, Study(PLACE, tried, tried))


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (replace(COSINE, total_steps=None), "has no length (state total_steps)"),
        (replace(STEP, extra={}), "no milestones and factor (state both)"),
        (replace(STEP, extra={"milestones": [3, 2], "factor": 0.1}), "cannot be read"),
        (replace(COSINE, schedule="polynomial"), "polynomial schedule, whose course is not known"),
    ],
)
def test_a_schedule_that_is_not_known_is_no_ground_for_the_law(
    chosen: Hyperparameters, said: str
) -> None:
    plan = plan_training(chosen, constant_runs())
    assert plan.forecast.basis is not Basis.LAW
    assert said in plan.forecast.reason


def test_advice_to_stop_counts_the_clock_that_is_left() -> None:
    earlier = constant_runs()
    run = lawful(replace(COSINE, total_steps=2500), seed=9)
    target = observe(run.until(1000))
    known = comparable([observe(one) for one in earlier.runs], target)
    advice = stop_advice(target, earlier_runs(tuple(known), target.stated))
    assert advice is not None
    assert advice.stop
    same = observe(lawful(replace(COSINE, total_steps=TOTAL), seed=9).until(1000))
    going = stop_advice(same, earlier_runs(tuple(known), same.stated))
    assert going is not None
    assert not going.stop


@settings(max_examples=40, deadline=None)
@given(
    schedule=st.sampled_from(
        [Cosine(4000, 0.1), StepDecay((700, 1500), 0.3), LinearWarmup(200, Cosine(3800, 0.05))]
    ),
    now=st.integers(0, 3000),
    ahead=st.floats(0.5, 900),
)
def test_steps_ahead_are_the_first_at_which_the_sum_is_reached(
    schedule: Schedule, now: int, ahead: float
) -> None:
    kinds = {Cosine: "cosine", StepDecay: "step", LinearWarmup: "cosine"}
    chosen = {
        "cosine": Hyperparameters(
            schedule="cosine",
            total_steps=4000,
            extra={"final_multiple": 0.1}
            if isinstance(schedule, Cosine)
            else {"warmup_steps": 200, "final_multiple": 0.05},
        ),
        "step": Hyperparameters(schedule="step", extra={"milestones": [700, 1500], "factor": 0.3}),
    }[kinds[type(schedule)]]
    one = observe(Run("r", PLACE, np.array([], dtype=np.int64), {}, chosen))
    clock = clock_of(one)
    assert clock is not None
    found = float(steps_ahead(clock, now, np.array(ahead)))
    total, steps = 0.0, 0
    multiples = schedule.multiples(now, now + 20_000)
    while total < ahead * (1 - 1e-9) and steps < multiples.size:
        total += multiples[steps]
        steps += 1
    if steps < multiples.size:
        assert found == pytest.approx(steps, abs=1)


def test_a_run_in_peak_steps_keeps_its_norms_and_its_name() -> None:
    one = observe(lawful(COSINE, seed=3))
    even = in_peak_steps(one)
    assert even.configuration == one.configuration
    assert even.squared_norm_generalization == one.squared_norm_generalization
    assert even.delay is not None
    assert one.delay is not None
    assert even.decay_rate == pytest.approx(1e-3)
    # The law itself: ln ratio over the efficient rate, exactly, in the clock.
    assert even.ratio is not None
    assert even.delay == pytest.approx(np.log(even.ratio) / (EFFICIENCY * 1e-3), rel=0.02)
    flat = observe(lawful(Hyperparameters("adamw", 1e-3, 0.5)))
    assert in_peak_steps(flat) is flat
