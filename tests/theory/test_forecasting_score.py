"""Scores of forecasts on the companion's public logs, and the arithmetic of scores."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from nht_theory.errors import InputError
from nht_theory.estimators.results import Interval
from nht_theory.forecasting.advice import PUBLIC_RECORD
from nht_theory.forecasting.calibration import observe, observe_all
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_observation, forecast_run
from nht_theory.forecasting.score import DelayForecast, score_row
from nht_theory.forecasting.score_study import FLOOR, StudyScore, moment, score_study
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study


@pytest.fixture(scope="module")
def companion(shared_data: Path) -> Study:
    return load_study(shared_data / "companion")


@pytest.fixture(scope="module")
def scored(companion: Study) -> StudyScore:
    return score_study(companion)


def default(scored: StudyScore, stage: float | str):  # type: ignore[no-untyped-def]
    [row] = [row for row in scored.in_regime if row.default and row.stage == stage]
    return row


@pytest.mark.slow
def test_the_regime_found_by_outcome_is_the_one_known(companion: Study, scored: StudyScore) -> None:
    """Learning rate >= 5e-4 and weight decay 0.1 to 1: 102 runs of 14 configurations."""
    assert {(row.n_runs, row.n_configurations) for row in scored.in_regime} == {(102, 14)}
    assert {(row.n_runs, row.n_configurations) for row in scored.out_of_regime} == {(17, 5)}
    assert len(scored.unscored) + 102 + 17 == len(companion.runs)


@pytest.mark.slow
def test_baselines_score_as_measured_before(scored: StudyScore) -> None:
    """The figures of THEORY.md section 10, obtained with other programs."""
    before = {row.method: row for row in scored.in_regime if row.stage == 0}
    assert scored.floor == pytest.approx(0.190, abs=5e-4)
    assert before[FLOOR].run_error == scored.floor
    sized = before["A_0/eta + A/(eta lambda) + B ln size/(eta lambda)"]
    assert (sized.run_error, sized.configuration_error) == pytest.approx((0.193, 0.141), abs=5e-4)
    log_linear = before["log-linear regression"]
    assert (log_linear.run_error, log_linear.configuration_error) == pytest.approx(
        (0.260, 0.183), abs=5e-4
    )
    simple = before["A/(eta lambda)"]
    assert (simple.run_error, simple.configuration_error) == pytest.approx((0.377, 0.358), abs=5e-4)


@pytest.mark.slow
def test_before_training_the_floor_is_reached_and_every_baseline_beaten(
    scored: StudyScore,
) -> None:
    ours = default(scored, 0)
    assert ours.run_error <= 1.05 * scored.floor
    assert ours.configuration_error <= 0.12
    for row in scored.in_regime:
        if row.stage == 0 and not row.default and row.method != FLOOR:
            assert ours.run_error <= row.run_error
            assert ours.configuration_error <= row.configuration_error
    assert ours.parameters < 14


@pytest.mark.slow
def test_forecasts_narrow_as_the_run_goes_on(scored: StudyScore) -> None:
    assert default(scored, "memorisation").run_error <= 0.85 * scored.floor
    assert default(scored, 0.5).run_error <= 0.12
    scores = [
        default(scored, stage).interval_score for stage in (0, "memorisation", 0.25, 0.5, 0.75)
    ]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.slow
def test_intervals_cover_and_the_law_is_claimed_where_it_holds(scored: StudyScore) -> None:
    for row in scored.in_regime:
        if row.default:
            assert 0.85 <= row.coverage <= 0.95
            assert row.refused <= 0.05 * row.n_runs
            assert row.bases == {"law": 102}
    for row in scored.out_of_regime:
        if row.default:
            assert "law" not in row.bases


@pytest.mark.parametrize("stage", [0, "memorisation", 0.25, 0.5, 0.75])
def test_a_garbage_future_changes_nothing(companion: Study, stage: float | str) -> None:
    observed = observe_all(companion.runs)
    own = next(one for one in observed if one.recorded_delay == 5000)
    at = moment(own, stage)
    rng = np.random.default_rng(1)
    values = {}
    for name, series in own.run.values.items():
        values[name] = series.copy()
        values[name][own.run.steps > at] = rng.random((own.run.steps > at).sum())
    spoiled = Run(own.run.name, own.run.source, own.run.steps, values, own.run.hyperparameters)
    others = Study(companion.source, companion.runs, companion.runs)
    assert forecast_run(spoiled, others, at=at) == forecast_run(own.run, others, at=at)
    # Not even through the calibration runs, among which the spoiled run stands too.
    among = Study(companion.source, (), (*companion.runs, spoiled))
    assert forecast_run(own.run, among, at=at) == forecast_run(own.run, others, at=at)


def test_a_run_that_has_generalised_is_not_forecast(companion: Study) -> None:
    observed = observe_all(companion.runs)
    own = next(one for one in observed if one.recorded_delay == 5000)
    made = forecast_observation(observe(own.run), observed)
    assert made.basis is Basis.REFUSED
    assert "generalised at step" in made.reason


def scored_run(delay: int, seed: int) -> Run:
    steps = np.arange(0, 2000, 100)
    return Run(
        f"{delay}-{seed}",
        Path("made-up"),
        steps,
        {
            "train_accuracy": (steps >= 100).astype(float),
            "heldout_accuracy": (steps >= 100 + delay).astype(float),
        },
        Hyperparameters(weight_decay=1000.0 / delay, seed=seed),
    )


def test_the_record_of_the_advice_is_the_one_measured() -> None:
    place = Path(__file__).parents[2] / "validation" / "forecasting" / "scores.json"
    studies = json.loads(place.read_text())
    stop = [one["early_stop"] for one in studies.values() if "early_stop" in one]
    decay = [one["decay_advice"] for one in studies.values() if "decay_advice" in one]
    assert len(stop) == len(decay) == 3
    assert asdict(PUBLIC_RECORD) == {
        **{
            name: sum(one[name] for one in stop)
            for name in ("switched", "wrongly_stopped", "unswitched", "stopped")
        },
        "decay_pairs": sum(one["n"] for one in decay),
        "decay_hits": sum(one["hits"] for one in decay),
        "decay_always_yes": sum(one["always_yes"] for one in decay),
    }


def test_a_score_is_what_one_computes_by_hand() -> None:
    runs = observe_all([scored_run(400, 0), scored_run(400, 1), scored_run(1000, 0)])
    interval = Interval(300.0, 1000.0, 0.9, "")
    said = [
        DelayForecast(500.0, interval, "law"),
        DelayForecast(320.0, None, "law"),
        DelayForecast(None, None, "refused"),
    ]
    row = score_row(runs, said, stage=0, method="m", default=True, regime="in", parameters=2.0)
    assert row.run_error == pytest.approx((0.25 + 0.2) / 2)
    assert row.configuration_error == pytest.approx(abs(np.sqrt(500 * 320) / 400 - 1))
    assert row.coverage == 1.0
    assert row.interval_score == pytest.approx(np.log(1000 / 300))
    assert (row.refused, row.n_runs, row.n_configurations) == (1, 3, 2)
    assert row.bases == {"law": 2, "refused": 1}


def test_a_study_without_a_delay_cannot_be_scored() -> None:
    run = scored_run(400, 0).until(300)
    with pytest.raises(InputError, match="no run shows a delay"):
        score_study(Study(Path("made-up"), (run,), (run,)))
