"""The models behind forecasts, on made-up studies whose law is known exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.conventions import DecayForm, Regime
from nht_theory.estimators.crossing_time import crossing_time
from nht_theory.estimators.results import Crossing
from nht_theory.forecasting.calibration import ObservedRun, observe, observe_all
from nht_theory.forecasting.calibration_set import earlier_runs
from nht_theory.forecasting.decay_advice import Expectation, advise_decay, score_decay_advice
from nht_theory.forecasting.early_stop import cure_share, stop_advice
from nht_theory.forecasting.empirical_model import fit_empirical_model
from nht_theory.forecasting.forecast import Basis, Stage
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.forecasting.group_folds import GroupFolds, ridge
from nht_theory.forecasting.law_model import fit_law_model
from nht_theory.forecasting.lawfulness import Lawfulness, obeyed_the_law
from nht_theory.forecasting.pilot import next_pilot
from nht_theory.forecasting.plan import plan_training, planned
from nht_theory.forecasting.remaining_steps import RemainingSteps
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

PLACE = Path("made-up")


def power_run(
    weight_decay: float,
    learning_rate: float = 1e-3,
    seed: int = 0,
    *,
    noise: float = 0.0,
    switches: bool = True,
    total_steps: int | None = None,
) -> Run:
    """A run that obeys the law with V_mem = 4000 lambda^-0.5, V_star = 1000 lambda^-0.25 and
    c = 0.6; the grid is fine against the delay."""
    rng = np.random.default_rng([seed, round(1e6 * weight_decay), round(1e6 * learning_rate)])
    above, star = 4000 * weight_decay**-0.5, 1000 * weight_decay**-0.25
    star *= np.exp(noise * rng.normal())
    rate = 0.6 * 2 * learning_rate * weight_decay
    start, delay = 300.0, np.log(above / star) / rate
    end = start + 1.3 * delay
    steps = np.unique(np.round(np.linspace(0, end, 120))).astype(np.int64)
    memorized = 1 / (1 + np.exp(-(steps - start) / 10 - np.log(99)))
    switched = 1 / (1 + np.exp(-(steps - start - delay) / (0.02 * delay) - np.log(99)))
    return Run(
        name=f"wd{weight_decay:g}-lr{learning_rate:g}-seed{seed}",
        source=PLACE,
        steps=steps,
        values={
            "squared_norm": above * np.exp(-rate * (steps - start)),
            "train_accuracy": memorized,
            "heldout_accuracy": switched if switches else 0 * switched,
        },
        hyperparameters=Hyperparameters(
            optimizer="adamw",
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            seed=seed,
            total_steps=total_steps,
        ),
    )


def exact_delay(weight_decay: float, learning_rate: float = 1e-3) -> float:
    return np.log(4 * weight_decay**-0.25) / (1.2 * learning_rate * weight_decay)


def family(seeds: int = 3, noise: float = 0.0) -> list[Run]:
    return [
        power_run(decay, rate, seed, noise=noise)
        for decay in (0.1, 0.2, 0.5, 1.0)
        for rate in (5e-4, 1e-3, 2e-3)
        for seed in range(seeds)
    ]


def study(runs: list[Run]) -> Study:
    return Study(PLACE, tuple(runs), tuple(runs))


def test_the_crossing_time_of_a_logistic_rise_is_exact() -> None:
    steps = np.array([0, 40, 100])
    run = Run("r", PLACE, steps, {"train_accuracy": 1 / (1 + np.exp(-(steps - 60) / 10))})
    # The softening of the odds by 1e-3 moves the crossing by less than a step.
    event = Crossing("train_accuracy", 0.9, 1, 100, 40)
    assert crossing_time(run, event) == pytest.approx(60 + 10 * np.log(9), abs=1.5)


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=2, max_size=5),
    seed=st.integers(0, 2**32 - 1),
)
def test_folds_equal_refitting_without_each_configuration(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    folds = GroupFolds.of(np.repeat(np.arange(len(sizes)), sizes).tolist())
    n = sum(sizes)
    design, target = rng.normal(size=(n, 2)), rng.normal(size=n)
    penalty = np.array([0.3, 0.7])
    by_hand = np.empty(n)
    for fold in range(folds.count):
        kept = folds.fold != fold
        by_hand[~kept] = design[~kept] @ ridge(design[kept], target[kept], penalty)
    assert np.allclose(folds.held_out(design, target, penalty), by_hand)


def test_the_law_model_recovers_a_law_that_is_a_power_of_the_settings() -> None:
    model = fit_law_model(observe_all(family()), ("learning_rate", "weight_decay"))
    new = planned(Hyperparameters("adamw", 1.5e-3, 0.3))
    made = model.delays.predict(new.settings, new.decay_rate, new.configuration)
    assert np.exp(made.location) == pytest.approx(exact_delay(0.3, 1.5e-3), rel=0.03)
    assert np.exp(model.log_star(new.settings)) == pytest.approx(1000 * 0.3**-0.25, rel=0.03)
    assert np.exp(model.log_memorization(new.settings)) == pytest.approx(4000 * 0.3**-0.5, rel=0.03)


def test_a_known_configuration_is_drawn_towards_its_own_runs() -> None:
    odd = [power_run(0.5, 1e-3, seed) for seed in range(10, 16)]
    slow = [
        Run(
            run.name,
            run.source,
            run.steps * 2,
            run.values,
            run.hyperparameters,
        )
        for run in odd
    ]
    others = [
        run
        for run in family()
        if run.hyperparameters.configuration() != odd[0].hyperparameters.configuration()
    ]
    model = fit_law_model(observe_all([*others, *slow]), ("learning_rate", "weight_decay"))
    target = planned(odd[0].hyperparameters)
    known = model.delays.predict(target.settings, target.decay_rate, target.configuration)
    unknown = model.delays.predict(target.settings, target.decay_rate, ())
    truth = np.log(2 * exact_delay(0.5))
    assert abs(known.location - truth) < 0.5 * abs(unknown.location - truth)
    assert known.scale <= unknown.scale


def test_the_survival_regression_keeps_runs_that_had_not_switched() -> None:
    """Dropping the censored half, or counting its budget as a delay, gives shorter delays."""
    rng = np.random.default_rng(0)
    runs, truth = [], np.log(2000.0)
    for seed in range(400):
        delay, followed = np.exp(truth + 0.5 * rng.normal()), 2000.0
        steps = np.array([0, 100, 100 + min(delay, followed) // 1 - 1, 100 + min(delay, followed)])
        runs.append(
            Run(
                f"s{seed}",
                PLACE,
                steps.astype(np.int64),
                {
                    "train_accuracy": np.array([0.0, 1, 1, 1]),
                    "heldout_accuracy": np.array([0.0, 0, 0, float(delay < followed)]),
                },
                Hyperparameters(seed=seed),
            )
        )
    model = fit_empirical_model(observe_all(runs), (), clock=False)
    assert model is not None
    target = planned(Hyperparameters())
    made = model.predict(target.settings, None, ("new",))
    assert made.location == pytest.approx(truth, abs=0.08)


def test_what_obeys_the_law() -> None:
    def verdict(run: Run) -> bool | None:
        return obeyed_the_law(observe(run))

    assert verdict(power_run(0.5)) is True
    assert verdict(power_run(0.5, switches=False)) is None
    never = power_run(0.5)
    assert (
        verdict(
            Run(**{**_parts(never), "values": {**never.values, "train_accuracy": 0 * never.steps}})
        )
        is False
    )
    grows = {**never.values, "squared_norm": never.squared_norm[::-1].copy()}
    assert verdict(Run(**{**_parts(never), "values": grows})) is False


def _parts(run: Run) -> dict[str, object]:
    return {
        "name": run.name,
        "source": run.source,
        "steps": run.steps,
        "values": run.values,
        "hyperparameters": run.hyperparameters,
    }


def broken(weight_decay: float, seed: int = 0) -> Run:
    """A run that never memorises, as under too strong a decay."""
    run = power_run(weight_decay, seed=seed)
    return Run(**{**_parts(run), "values": {**run.values, "train_accuracy": 0 * run.steps}})


def test_the_law_is_not_claimed_on_a_side_where_it_broke() -> None:
    split = Lawfulness.of(observe_all([*family(1), broken(4.0)]))
    assert split.objection({"weight_decay": 0.7}) is None
    assert split.objection({"weight_decay": 0.05}) is None
    assert "factor 10" in str(split.objection({"weight_decay": 0.005}))
    assert "broke it" in str(split.objection({"weight_decay": 1.5}))


def test_a_plan_says_regime_budget_and_the_best_weight_decay() -> None:
    earlier = study([*family(2, noise=0.05), broken(4.0)])
    chosen = Hyperparameters("adamw", 1e-3, 0.1, total_steps=5000)
    plan = plan_training(chosen, earlier)
    assert plan.forecast.stage is Stage.BEFORE_TRAINING
    assert plan.forecast.basis is Basis.LAW
    assert plan.forecast.median == pytest.approx(300 + exact_delay(0.1), rel=0.1)
    assert plan.regime is Regime.WEAK
    # The exact law crosses 5000 steps where delay(lambda) = 4700.
    grid = np.geomspace(0.05, 1, 4000)
    exact = grid[np.argmin(np.abs(exact_delay(grid) - 4700))]
    assert plan.weak_boundary == pytest.approx(exact, rel=0.1)
    assert plan.lawful_range == (0.1, 1.0)
    assert plan.broken_above == 4.0
    assert plan.reliable_budget > plan.forecast.median
    assert plan.soonest.weight_decay == pytest.approx(1.0)
    strong = plan_training(Hyperparameters("adamw", 1e-3, 4.0), earlier)
    assert strong.regime is Regime.STRONG


def test_runs_that_never_memorised_count_against_a_switch_within_the_budget() -> None:
    failed = [power_run(4.0, seed=seed, switches=False) for seed in range(4)]
    failed = [
        Run(
            **{
                **_parts(run),
                "steps": 10 * run.steps,
                "values": {**run.values, "train_accuracy": 0 * run.steps},
            }
        )
        for run in failed
    ]
    budget = int(failed[0].steps[-1])
    chosen = Hyperparameters("adamw", 1e-3, 4.0, total_steps=budget)
    hopeful = [*family(2, noise=0.05), power_run(4.0, 2e-3, seed=9)]
    alone = plan_training(chosen, study(hopeful)).forecast
    beside = plan_training(chosen, study([*hopeful, *failed])).forecast
    assert alone.probability_within_budget > 0.5
    # 1 of 5 memorised, under Jeffreys' prior.
    assert beside.probability_within_budget <= 1.5 / 6 + 1e-9
    assert "4 of 5 earlier runs near these settings never memorised" in beside.reason
    longer = replace(chosen, total_steps=2 * budget)
    assert (
        "never memorised" not in plan_training(longer, study([*hopeful, *failed])).forecast.reason
    )


def objections(run: Run, earlier: Study) -> str:
    made = forecast_run(run, earlier)
    assert made.basis is not Basis.LAW
    return made.reason


def test_what_keeps_the_law_from_being_claimed() -> None:
    earlier = study(family(2, noise=0.05))
    known = power_run(0.3, seed=40)
    known = known.until(int(known.steps[known.steps >= 500][0]))

    def changed(chosen: Hyperparameters, **columns: np.ndarray) -> Run:
        parts = {**_parts(known), "values": {**known.values, **columns}, "hyperparameters": chosen}
        return Run(**parts)

    plain = Hyperparameters("adamw", 1e-3, 0.3)
    assert forecast_run(changed(plain), earlier).basis is Basis.LAW
    cosine = Hyperparameters("adamw", 1e-3, 0.3, schedule="cosine")
    rate = {"learning_rate": np.full(len(known), 1e-3)}
    assert "cosine schedule has no length" in objections(changed(cosine, **rate), earlier)
    huge = Hyperparameters("adamw", 1e-3, 0.3, parameter_count=10**7)
    assert "blocked by the noise floor" in objections(changed(huge), earlier)
    carried = {"squared_norm/scale_invariant": 0.9 * known.squared_norm}
    assert "carry 90% of V" in objections(changed(plain, **carried), earlier)
    growing = known.squared_norm * np.where(known.steps > 400, 1.3, 1.0)
    assert "has grown since memorisation" in objections(
        changed(plain, squared_norm=growing), earlier
    )
    low = {"squared_norm": np.where(known.steps > 0, 0.1, 1.0) * known.squared_norm}
    assert "is not above V_star" in objections(changed(plain, **low), earlier)
    foreign = {"squared_norm": 0.1 * known.squared_norm}
    assert "another network or initialisation" in objections(changed(plain, **foreign), earlier)
    slower = Hyperparameters("adamw", 1e-3, 0.3, beta_2=0.98)
    assert forecast_run(changed(slower), earlier, at=-1).basis is not Basis.LAW
    penalty = Hyperparameters("adamw", 1e-3, 0.3, decay_form=DecayForm.L2_PENALTY)
    assert "0 earlier runs obeyed the law" in objections(changed(penalty), earlier)
    falling = {"learning_rate": np.linspace(1e-3, 1e-4, len(known))}
    assert "no schedule says how it goes on" in objections(changed(plain, **falling), earlier)
    lifted = {"weight_decay": np.linspace(0.1, 0.3, len(known))}
    assert "weight decay changes" in objections(changed(plain, **lifted), earlier)


def stating(run: Run, **extra: object) -> Run:
    """The run with more settings in its log."""
    return replace(run, hyperparameters=replace(run.hyperparameters, extra=extra))


def test_a_plan_takes_what_all_earlier_runs_share_and_a_log_does_not() -> None:
    runs = [stating(run, p=97, operation="add") for run in family(2, noise=0.05)]
    plan = plan_training(Hyperparameters("adamw", 1e-3, 0.3), study(runs))
    assert plan.assumed == {"p": 97, "operation": "add"}
    assert plan.forecast.basis is Basis.LAW
    bare = plan_training(Hyperparameters("adamw", 1e-3, 0.3), study(family(2, noise=0.05)))
    assert plan.forecast.median == bare.forecast.median
    log = power_run(0.3, seed=40).until(700)
    # Its V at step 0 shows the same network; without it nothing does.
    assert forecast_run(log, study(runs)).basis is Basis.LAW
    late = Run(**{**_parts(log), "steps": log.steps + 1})
    assert "operation, p: stated on one side only" in objections(late, study(runs))


def test_what_only_one_side_states_is_no_ground_for_the_law_and_widens_the_interval() -> None:
    sizes = [stating(run, p=97 if i % 2 else 113) for i, run in enumerate(family(4, noise=0.05))]
    chosen = Hyperparameters("adamw", 1e-3, 0.3)
    plan = plan_training(chosen, study(sizes))
    assert plan.unstated == ("p",)
    assert plan.forecast.basis is Basis.EMPIRICAL
    assert "p: stated on one side only" in plan.forecast.reason
    stated = plan_training(replace(chosen, extra={"p": 97}), study(sizes))
    assert stated.forecast.basis is Basis.LAW
    widths = [
        np.log(one.forecast.delay_interval.high / one.forecast.delay_interval.low)
        for one in (stated, plan)
    ]
    assert widths[1] > 1.5 * widths[0]


def test_the_law_reaches_farther_in_the_settings_of_its_clock() -> None:
    runs = [stating(run, d_model=128) for run in family(2, noise=0.05)]
    wide = stating(power_run(0.3, seed=40).until(700), d_model=512)
    assert "d_model 512 against 128" in objections(wide, study(runs))
    double = stating(power_run(0.3, seed=40).until(700), d_model=256)
    assert forecast_run(double, study(runs)).basis is Basis.LAW


def test_runs_of_another_task_are_not_learned_from_and_labels_do_not_count() -> None:
    added = [stating(run, operation="add", note=run.name) for run in family(2, noise=0.05)]
    log = stating(power_run(0.3, seed=40).until(700), operation="multiply", note="mine")
    assert "0 earlier runs obeyed the law" in objections(log, study(added))
    same = stating(log, operation="add", note="mine")
    assert forecast_run(same, study(added)).basis is Basis.LAW


def test_a_forecast_narrows_as_the_run_goes_on() -> None:
    earlier = study(family(3, noise=0.2))
    run = power_run(0.3, seed=77, noise=0.2)
    own = observe(run)
    moments = [None, own.memorization_step, own.memorization_step + own.recorded_delay // 2]
    made = [forecast_run(run, earlier, at=-1 if at is None else at) for at in moments]
    assert [one.stage for one in made] == [Stage.BEFORE_TRAINING, Stage.MEMORIZATION, Stage.RUNNING]
    widths = [one.delay_interval.high - one.delay_interval.low for one in made]
    assert widths[2] < widths[1] <= 1.05 * widths[0]
    assert own.recorded_delay in made[2].delay_interval


def test_steps_ahead_are_conditioned_as_probability_says() -> None:
    ahead = RemainingSteps.of(np.arange(1.0, 402.0))
    assert ahead.median == 201.0
    assert ahead.probability_by(100.0) == pytest.approx(100 / 401)
    assert ahead.beyond(200.0).median == pytest.approx(101, abs=1)
    assert ahead.beyond(401.0) is None
    both = ahead + ahead
    assert both.median == pytest.approx(402, rel=0.02)
    assert ahead.seen_on_grid(50).interval(0.9, "").low == 50.0


def test_pilots_are_the_fastest_first_then_the_nearest_that_fit() -> None:
    first = next_pilot(1e-3, 0.1, [], 3000)
    assert (first.learning_rate, first.weight_decay) == (2e-3, 1.0)
    assert next_pilot(1e-3, 0.1, [], 100) is None
    done = [observe(power_run(1.0, 2e-3))]
    cost = done[0].generalization_time
    second = next_pilot(1e-3, 0.1, done, 3000)
    assert 1.3 * second.expected_steps <= 3000
    assert second.learning_rate * second.weight_decay < 2e-3
    again = next_pilot(1e-3, 0.1, done, 1.35 * cost)
    assert (again.learning_rate, again.weight_decay, again.seed_offset) == (2e-3, 1.0, 1)
    unswitched = [observe(power_run(1.0, 2e-3, switches=False))]
    assert next_pilot(1e-3, 0.1, unswitched, 3000).weight_decay == 0.5


def test_decay_advice() -> None:
    weak = observe_all([power_run(0.1, seed=seed) for seed in range(3)])
    others = observe_all([*family(1), broken(4.0)])
    assert advise_decay(weak, 0.5, others).expectation is Expectation.HELPS
    advice = advise_decay(weak, 3.0, others)
    assert advice.expectation is Expectation.DOES_NOT
    assert "broke it" in advice.reason
    assert advice.falling["squared_norm"] == 1.0
    assert advice.separation_score.value == 1.0


def test_decay_advice_is_scored_against_what_happened() -> None:
    scored = score_decay_advice(study(family(2)))
    assert scored.helped == (True,) * 9
    assert (scored.hits, scored.n, scored.always_yes) == (9, 9, 9)


def cured(seed: int, switches: bool) -> ObservedRun:
    run = power_run(0.5, seed=seed, noise=0.1)
    if switches:
        return observe(run)
    late = run.steps * 20
    values = {
        **run.values,
        "heldout_accuracy": 0 * run.steps,
        "train_accuracy": (late >= 300) * 1.0,
    }
    return observe(Run(**{**_parts(run), "steps": late, "values": values}))


def test_runs_that_never_switch_show_as_a_cure_fraction_and_as_advice_to_stop() -> None:
    earlier = tuple(cured(seed, seed % 2 == 0) for seed in range(20))
    share = cure_share(earlier, (), clock=True)
    assert share.never == pytest.approx(0.5, abs=0.1)
    kept = earlier_runs(earlier, earlier[0].stated)
    going = cured(101, False)
    early = observe(going.run.until(int(going.run.steps[going.run.steps >= 300][0])))
    assert not stop_advice(early, kept).stop
    late = stop_advice(going, kept)
    assert late.stop
    assert late.probability_never > 0.95


def test_a_budget_too_short_is_advice_to_stop() -> None:
    earlier = observe_all(family(2, noise=0.05))
    run = power_run(0.1, seed=50, total_steps=600)
    now = observe(run.until(int(run.steps[run.steps >= 400][0])))
    advice = stop_advice(now, earlier_runs(earlier, now.stated))
    assert advice.stop
    assert "by step 600" in advice.reason
