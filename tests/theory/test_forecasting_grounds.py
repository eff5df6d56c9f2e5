"""What a forecast, a refusal and an advice stand on: kinds that decide, and one text of each."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nht_theory.cli import follow
from nht_theory.conventions import Regime
from nht_theory.forecasting.advice import advise_run
from nht_theory.forecasting.calibration import observe_all
from nht_theory.forecasting.decay_advice import Expectation, advise_decay
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.forecasting.grounds import _SENTENCES, Ground, GroundKind, Side
from nht_theory.forecasting.lawfulness import Lawfulness, Outcome, outcome_of
from nht_theory.forecasting.plan import plan_training
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

RATE = 1e-3
CHOSEN = Hyperparameters("adamw", RATE, 1.0, task="mod", total_steps=4000, batch_size=512)


def run_at(decay: float, seed: int, *, rate: float = RATE, **settings: object) -> Run:
    """Memorises at step 200; V falls from 4,000 as the law says, and below 1,000 it switches."""
    steps = np.arange(0, 2001, 50)
    norm = 4000 * np.exp(-2 * rate * decay * np.maximum(steps - 200, 0))
    values = {
        "train_accuracy": np.where(steps >= 200, 1.0, 0.1),
        "heldout_accuracy": np.where(norm <= 1000, 1.0, 0.1),
        "squared_norm": np.maximum(norm, 900.0),
    }
    name = f"wd{decay}_lr{rate}_s{seed}"
    chosen = replace(CHOSEN, weight_decay=decay, learning_rate=rate, seed=seed, extra=settings)
    return Run(name, Path(name), steps, values, chosen)


def unmemorized(decay: float, seed: int, *, rate: float = RATE, **settings: object) -> Run:
    """Never memorises within its budget."""
    run = run_at(decay, seed, rate=rate, **settings)
    values = {
        **run.values,
        "train_accuracy": 0 * run.steps + 0.5,
        "heldout_accuracy": 0 * run.steps + 0.1,
        "squared_norm": 4000 + 0.2 * run.steps,
    }
    return Run(run.name, run.source, run.steps, values, run.hyperparameters)


def study(*runs: Run) -> Study:
    return Study(Path("earlier"), runs, runs)


LAWFUL = tuple(run_at(decay, seed) for decay in (0.5, 1.0, 2.0) for seed in (0, 1))
TOO_WEAK = tuple(unmemorized(0.01, seed) for seed in (0, 1))
TOO_STRONG = tuple(unmemorized(8.0, seed) for seed in (0, 1))


def test_runs_too_weak_to_memorise_in_time_make_no_strong_regime() -> None:
    plan = plan_training(replace(CHOSEN, weight_decay=0.02), study(*LAWFUL, *TOO_WEAK))
    assert plan.regime is Regime.UNKNOWN
    ground = plan.forecast.grounds[0]
    assert (ground.kind, ground.setting, ground.side) == (
        GroundKind.UNMEMORIZED_SIDE,
        "weight_decay",
        Side.BELOW,
    )
    assert (ground.value, ground.low, ground.high, ground.count) == (0.02, 0.5, 2.0, 2)
    assert (
        "2 earlier runs (at 0.01) had not memorised within their budget, which under weak decay "
        "is not suppression" in plan.regime_reason
    )


def test_the_very_configuration_that_was_too_weak_is_no_strong_regime_either() -> None:
    plan = plan_training(replace(CHOSEN, weight_decay=0.01), study(*LAWFUL, *TOO_WEAK))
    assert plan.regime is Regime.UNKNOWN
    assert plan.forecast.grounds[0].kind is GroundKind.UNMEMORIZED_CONFIGURATION


@pytest.mark.parametrize("decay", [4.0, 8.0])
def test_decay_beyond_which_runs_never_memorised_is_the_strong_regime(decay: float) -> None:
    earlier = study(*LAWFUL, *TOO_WEAK, *TOO_STRONG)
    plan = plan_training(replace(CHOSEN, weight_decay=decay), earlier)
    assert plan.regime is Regime.STRONG
    assert plan.forecast.basis is not Basis.LAW


def test_another_setting_that_broke_the_law_is_no_strong_decay() -> None:
    """Models of 512 never memorised: that says nothing of how strong the decay is."""
    small = [run_at(decay, seed, width=128) for decay in (0.5, 1.0, 2.0) for seed in (0, 1)]
    large = [unmemorized(1.0, seed, width=512) for seed in (0, 1)]
    chosen = replace(CHOSEN, extra={"width": 400})
    plan = plan_training(chosen, study(*small, *large))
    assert plan.forecast.grounds[0].kind is GroundKind.LAWLESS_SIDE
    assert plan.forecast.grounds[0].setting == "width"
    assert plan.regime is Regime.UNKNOWN
    # Nor does decay that is too strong decide where the other setting stands in the way.
    stronger = replace(chosen, weight_decay=4.0)
    plan = plan_training(stronger, study(*small, *large, unmemorized(8.0, 3, width=128)))
    assert plan.regime is Regime.UNKNOWN


def test_without_a_lawful_run_no_regime_is_told() -> None:
    plan = plan_training(replace(CHOSEN, weight_decay=2.0), study(*TOO_WEAK, *TOO_STRONG))
    assert plan.regime is Regime.UNKNOWN
    assert plan.forecast.grounds[0] == Ground(GroundKind.FEW_LAWFUL, total=2, lawless=4)


def test_a_low_learning_rate_that_never_memorised_is_told_as_such() -> None:
    slow = [unmemorized(1.0, seed, rate=1e-5) for seed in (0, 1)]
    split = Lawfulness.of(observe_all([*LAWFUL, *slow]))
    ground = split.objection({"learning_rate": 1e-4, "weight_decay": 1.0})
    assert ground is not None
    assert ground.kind is GroundKind.UNMEMORIZED_SIDE
    assert "at a low learning rate is not suppression" in str(ground)


def test_stronger_decay_is_not_spoken_against_where_earlier_runs_at_it_switched_sooner() -> None:
    """Runs at 0.5 switch near 1,600, this one at 0.1 near 7,100."""
    new = run_at(0.1, 7)
    made = advise_run(new, study(*LAWFUL, *TOO_WEAK))
    assert made.decay is not None
    assert made.decay.stronger == pytest.approx(0.3)
    assert made.decay.expectation is Expectation.HELPS
    assert made.decay.ground.kind is GroundKind.FALLS_AT_WEAKER
    assert made.decay.reason == str(made.decay.ground)
    assert math.log(4) / (2 * RATE * 0.5) + 200 == pytest.approx(1586, abs=1)


def test_decay_that_is_too_strong_is_spoken_against() -> None:
    weak = observe_all([run_at(1.0, seed) for seed in (0, 1, 2)])
    advice = advise_decay(weak, 4.0, observe_all([*LAWFUL, *TOO_WEAK, *TOO_STRONG]))
    assert advice.expectation is Expectation.DOES_NOT
    assert advice.ground.decay_too_strong
    assert "broke it" in advice.reason


def test_outcomes_of_finished_runs() -> None:
    def outcome(run: Run) -> Outcome | None:
        return outcome_of(observe_all([run])[0])

    assert outcome(LAWFUL[0]) is Outcome.OBEYED
    assert outcome(TOO_WEAK[0]) is Outcome.NOT_MEMORIZED
    assert outcome(replace(TOO_WEAK[0], settled=False)) is None
    assert outcome(run_at(0.1, 0)) is None
    at_once = {**LAWFUL[0].values, "heldout_accuracy": LAWFUL[0].values["train_accuracy"]}
    assert outcome(replace(LAWFUL[0], values=at_once)) is Outcome.NO_DELAY
    flat = {**LAWFUL[0].values, "squared_norm": 0 * LAWFUL[0].steps + 4000.0}
    assert outcome(replace(LAWFUL[0], values=flat)) is Outcome.OTHER_PACE


def test_a_run_that_has_generalised_says_so_by_its_kind() -> None:
    """As --follow asks: whatever the words, and whatever the run is called."""
    made = forecast_run(replace(LAWFUL[0], name="not generalised at step 3"), study(*LAWFUL))
    assert [ground.kind for ground in made.grounds] == [GroundKind.GENERALIZED]
    assert made.grounds[0].count == 1600
    assert made.reason == "the run generalised at step 1600"


def test_every_kind_has_its_sentence() -> None:
    assert set(_SENTENCES) == set(GroundKind)
    for kind in GroundKind:
        ground = Ground(kind, "p", Side.ABOVE, 3.0, 1.0, 2.0, 5.0, 4, 9, 2, ("a",), "why")
        assert str(ground)
        assert "None" not in str(ground)


def test_following_ends_with_the_switch_and_not_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that grows has no status: the kind of ground ends it, and no wait comes before."""

    def waits(_: float) -> None:
        raise AssertionError("it goes on after the switch")

    monkeypatch.setattr(follow.time, "sleep", waits)
    run = LAWFUL[0]
    log = tmp_path / "new.csv"
    columns = ("train_accuracy", "heldout_accuracy", "squared_norm")
    rows = zip(run.steps, *(run.values[name] for name in columns), strict=True)
    written = [",".join(map(str, row)) for row in rows]
    log.write_text("\n".join([f"step,{','.join(columns)}", *written]) + "\n")
    (made,) = follow.follow(log, study(*LAWFUL), every=0.1)
    assert made.grounds[0].kind is GroundKind.GENERALIZED
