"""Forecasts of a whole study, each configuration from the others, beside every rival."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, ProgressCallback, Thresholds
from nht_theory.errors import InputError
from nht_theory.forecasting.baselines import BASELINES
from nht_theory.forecasting.calibration import ObservedRun, observe, observe_all
from nht_theory.forecasting.calibration_set import CalibrationSet, earlier_runs
from nht_theory.forecasting.comparable import comparable
from nht_theory.forecasting.decay_advice import AdviceScore
from nht_theory.forecasting.early_stop import StopScore
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_with
from nht_theory.forecasting.lawfulness import lawful_configurations
from nht_theory.forecasting.other_norms import other_norms
from nht_theory.forecasting.rivals import REFUSED, RIVALS, Answer
from nht_theory.forecasting.scheduled_clock import clock_of
from nht_theory.forecasting.score import DelayForecast, ScoreRow, same_configuration, score_row
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study, require_configurations

Moment = float | str
BEFORE: Moment = 0
AT_MEMORIZATION: Moment = "memorisation"
STAGES: tuple[Moment, ...] = (BEFORE, AT_MEMORIZATION, 0.25, 0.5, 0.75)
FLOOR = "same-configuration mean"
DEFAULT = "nht"


@dataclass(frozen=True)
class StudyScore:
    """Every method's score.

    Attributes:
        floor: error a run of the same-configuration geometric mean, in regime.
        rows: those of ``in_regime``, then those of ``out_of_regime``.
        in_regime: configurations most of whose runs obeyed the law.
        out_of_regime: the other configurations that show a delay.
        unscored: runs without a delay to compare with, and why.
        calibration: where the forecasts came from.
        decay_advice, early_stop: how often the advice of these names was right, when asked for.
    """

    floor: float | None
    rows: tuple[ScoreRow, ...]
    in_regime: tuple[ScoreRow, ...]
    out_of_regime: tuple[ScoreRow, ...]
    unscored: tuple[str, ...]
    calibration: str
    decay_advice: AdviceScore | None = None
    early_stop: StopScore | None = None


def score_study(
    study: Study,
    calibration: Study | None = None,
    *,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    stages: Sequence[Moment] = STAGES,
    progress: ProgressCallback | None = None,
) -> StudyScore:
    """Forecast every run whose delay is known, and score what was said.

    Args:
        study: finished runs.
        calibration: where the forecasts learn from; None: the other configurations of ``study``.
        thresholds: what counts as memorised and as generalised.
        stages: moments of the forecasts.
        progress: told of each run.

    Raises:
        InputError: no run shows a delay, or the runs do not say which share a configuration.

    The configurations in regime are told by their own outcome, which no forecast sees: each
    forecast claims the law, or not, from its earlier runs alone.
    """
    for learnt in (study, calibration):
        if learnt is not None:
            require_configurations(learnt)
    observed = observe_all(study.runs, thresholds)
    shown = [one for one in observed if one.recorded_delay]
    if not shown:
        raise InputError(
            "no run shows a delay between memorisation and generalisation",
            source=study.source,
            remedy="score a study with finished, delayed runs",
        )
    learning = study.runs if calibration is None else calibration.runs
    norms = other_norms([*study.runs, *learning])
    views = {
        name: (change, observe_all(map(change, learning), thresholds))
        for name, change in {DEFAULT: _unchanged, **norms}.items()
    }
    regime = lawful_configurations(observed)
    answers: dict[ObservedRun, _Answers] = {}
    for done, own in enumerate(shown):
        if progress is not None:
            progress("forecasting", done, len(shown))
        answers[own] = {}
        for stage in stages:
            known = own.run.until(moment(own, stage))
            for view, (change, learn) in views.items():
                target = observe(change(known), thresholds)
                earlier = _earlier(target, learn, leave_out=calibration is None)
                for name, made in _say(target, earlier, stage, view):
                    answers[own][stage, name] = made
    parts = {
        name: _rows(
            [one for one in shown if regime.get(one.configuration, False) is told], answers, name
        )
        for name, told in (("in", True), ("out", False))
    }
    floor = [row.run_error for row in parts["in"] if row.method == FLOOR]
    source = "the other configurations" if calibration is None else str(calibration.source)
    return StudyScore(
        floor=floor[0] if floor else None,
        rows=(*parts["in"], *parts["out"]),
        in_regime=tuple(parts["in"]),
        out_of_regime=tuple(parts["out"]),
        unscored=tuple(_why_unscored(one) for one in observed if not one.recorded_delay),
        calibration=source,
    )


_Answers = dict[tuple[Moment, str], Answer]
"""What each method said at each stage."""


def moment(own: ObservedRun, stage: Moment) -> int:
    """The last evaluation at or before a stage of a finished run; -1 before training."""
    start, delay = own.memorization_step, own.recorded_delay
    if stage == BEFORE or start is None or delay is None:
        return -1
    share = 0.0 if stage == AT_MEMORIZATION else float(stage)
    steps = own.run.steps
    return int(steps[np.searchsorted(steps, start + share * delay, side="right") - 1])


def _unchanged(run: Run) -> Run:
    return run


def _earlier(
    target: ObservedRun, learn: Sequence[ObservedRun], *, leave_out: bool
) -> CalibrationSet:
    """Comparable earlier runs, without the target's configuration where that is left out."""
    kept = (
        one
        for one in comparable(learn, target)
        if not leave_out or one.configuration != target.configuration
    )
    return earlier_runs(tuple(kept), target.stated)


def _say(
    target: ObservedRun, earlier: CalibrationSet, stage: Moment, view: str
) -> Iterator[tuple[str, Answer]]:
    """Every method's answer for a run as it is known at a stage, seen through one norm."""
    made = forecast_with(target, earlier)
    said = DelayForecast(made.delay, made.delay_interval, made.basis.value)
    if view != DEFAULT:
        # Another norm is a rival only as far as the law can be claimed for it.
        claimed = made.basis is Basis.LAW
        yield view, (said if claimed else REFUSED, made.parameters if claimed else None)
        return
    yield DEFAULT, (said, made.parameters)
    even = clock_of(target) is None  # the rivals know nothing of schedules
    for rival in RIVALS:
        if rival.before if stage == BEFORE else rival.after:
            yield rival.name, rival.forecast(target, earlier) if even else (REFUSED, None)
    lawful = earlier.lawfulness.lawful if even else ()
    for baseline in BASELINES:
        if stage == (AT_MEMORIZATION if baseline.at_memorization else BEFORE):
            delay = baseline.forecast(lawful, earlier.names, target) if lawful else None
            said = DelayForecast(delay, None, "refused" if delay is None else "baseline")
            yield baseline.name, (said, float(baseline.parameters(len(earlier.names))))


def _rows(
    runs: Sequence[ObservedRun], answers: dict[ObservedRun, _Answers], regime: str
) -> list[ScoreRow]:
    """One row for each stage and method, the floor first."""
    if not runs:
        return []
    floor = same_configuration(runs)
    rows = [
        score_row(
            runs, floor, stage=BEFORE, method=FLOOR, default=False, regime=regime, parameters=None
        )
    ]
    for stage, method in answers[runs[0]]:
        given = [answers[one][stage, method] for one in runs]
        counts = [parameters for _, parameters in given if parameters is not None]
        rows.append(
            score_row(
                runs,
                [said for said, _ in given],
                stage=stage,
                method=method,
                default=method == DEFAULT,
                regime=regime,
                parameters=float(np.mean(counts)) if counts else None,
            )
        )
    return rows


def _why_unscored(one: ObservedRun) -> str:
    if one.memorization is None or one.generalization is None:
        return f"{one.run.name}: unknown, an accuracy is not logged"
    if one.memorization_step is None:
        return f"{one.run.name}: never memorised"
    if one.generalization_step is None:
        return f"{one.run.name}: had not generalised at step {int(one.run.steps[-1])}"
    return f"{one.run.name}: generalised at the evaluation that saw it memorise"
