"""Forecast of a run from what is known at a step: not begun, memorised, or under way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, FORECAST_COVERAGE, Thresholds
from nht_theory.dynamics.clock import Clock
from nht_theory.estimators.results import Interval
from nht_theory.estimators.transitions import generalization, memorization
from nht_theory.forecasting.calibration import ObservedRun, observe, observe_all
from nht_theory.forecasting.calibration_set import CalibrationSet, earlier_runs
from nht_theory.forecasting.comparable import comparable
from nht_theory.forecasting.forecast import Basis, Forecast, Stage, in_words
from nht_theory.forecasting.grounds import Ground, GroundKind
from nht_theory.forecasting.memorization_chance import memorization_chance
from nht_theory.forecasting.model_forecast import ModelForecast, empirical_outlook, law_outlook
from nht_theory.forecasting.remaining_steps import RemainingSteps
from nht_theory.forecasting.scheduled_clock import clock_of, in_peak_steps, steps_ahead
from nht_theory.runs import columns
from nht_theory.runs.configurations import REMEDY
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

CENTRAL_COVERAGE = 0.5
"""Coverage of the narrow interval of a forecast."""


def forecast_run(
    run: Run,
    calibration: Study,
    *,
    at: int | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> Forecast:
    """When a run will generalise, from what is known of it at a step and from earlier runs.

    V_star, the efficiency c and everything else that lies in a run's future come from
    ``calibration``, whose runs are compared first: the run itself, repeats of it, runs of
    another optimiser or task, and runs without weight decay (where the run has some) are left
    out. Nothing of the run after ``at`` is used, whatever it holds.

    Args:
        run: a run, still training or not.
        calibration: earlier runs.
        at: the step at which the forecast is made; all that is known where None.
        thresholds: what counts as memorised and as generalised.

    Returns:
        The forecast; its basis is ``refused`` (with reason and remedy) when nothing stands, when
        the run has generalised already, when it does not log whether it has, and when the earlier
        runs do not say which of them share a configuration.

    Source: arXiv 2603.07323, theorem 3.1, in the exact form of THEORY.md section 3; the models
    are those of docs/explanation/forecasts.md.
    """
    known = run if at is None else run.until(at)
    target = observe(known.until(_last_step(known)), thresholds)
    if not calibration.configurations.known:
        unknown = Ground(GroundKind.CONFIGURATIONS_UNKNOWN, detail=str(calibration.configurations))
        return _refused(target, _last_step(known), (unknown,), REMEDY)
    return forecast_observation(target, observe_all(calibration.runs, thresholds))


def forecast_known(
    run: Run,
    calibration: Study,
    *,
    at: int | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> Forecast:
    """:func:`forecast_run` at the most useful moment: ``at`` where it is given, else now; of a
    run that has generalised already, its memorisation, as if the rest were unknown."""
    memorized, generalized = memorization(run, thresholds), generalization(run, thresholds)
    over = generalized is not None and generalized.step is not None
    if at is None and over and memorized is not None:
        at = memorized.step
    return forecast_run(run, calibration, at=at, thresholds=thresholds)


def forecast_observation(target: ObservedRun, calibration: Sequence[ObservedRun]) -> Forecast:
    """:func:`forecast_run` once the runs have been read.

    Args:
        target: the run, cut at the step at which the forecast is made.
        calibration: earlier runs; those that are not comparable are left out.
    """
    now = _last_step(target.run)
    unlogged = _unlogged(target)
    if unlogged:
        return _refused(
            target,
            now,
            (Ground(GroundKind.UNLOGGED, count=now, names=tuple(unlogged)),),
            " ".join(f"--map {name}=COLUMN" for name in unlogged),
        )
    if target.generalization_step is not None:
        return _refused(
            target,
            now,
            (Ground(GroundKind.GENERALIZED, count=target.generalization_step),),
            "forecast an earlier moment with --at STEP",
        )
    alike = tuple(comparable(calibration, target))
    earlier = earlier_runs(alike, target.stated)
    return forecast_with(target, earlier)


def _unlogged(target: ObservedRun) -> list[str]:
    """The accuracies that a run under way does not log; none before training."""
    if _last_step(target.run) <= 0:
        return []
    events = {
        columns.TRAIN_ACCURACY: target.memorization,
        columns.HELDOUT_ACCURACY: target.generalization,
    }
    return [name for name, event in events.items() if event is None]


def forecast_with(target: ObservedRun, earlier: CalibrationSet) -> Forecast:
    """:func:`forecast_run` from earlier runs that have been compared and prepared.

    Under a schedule that bends, the steps ahead are found in its clock and brought back.
    """
    now, (even, clock) = _last_step(target.run), on_its_clock(target, earlier)
    peak_now = _last_step(even.run)
    law = law_outlook(even, peak_now, earlier)
    if isinstance(law, ModelForecast) and math.isfinite(law.steps.median):
        made = _forecast(target, now, Basis.LAW, _in_steps(law, clock, target, now))
        return _if_it_memorizes(made, even, earlier, clock)
    objection = law if isinstance(law, Ground) else Ground(GroundKind.MAY_NOT_FALL_TO_STAR)
    regression = empirical_outlook(even, peak_now, earlier)
    if isinstance(regression, ModelForecast):
        regardless = _law_regardless(even, peak_now, earlier)
        if regardless is not None and clock is not None:
            regardless = float(clock.steps_to(regardless))
        made = replace(
            _forecast(target, now, Basis.EMPIRICAL, _in_steps(regression, clock, target, now)),
            reason=f"the law does not apply: {objection}",
            grounds=(objection,),
            law_median=regardless,
        )
        return _if_it_memorizes(made, even, earlier, clock)
    return _refused(
        target,
        now,
        (objection, regression),
        "add finished runs with the same optimiser and task, and with settings near this run's",
    )


def _if_it_memorizes(
    made: Forecast, target: ObservedRun, earlier: CalibrationSet, clock: Clock | None
) -> Forecast:
    """A forecast before training, with the chance that the run never memorises counted in the
    probability of a switch; median and interval are those of a run that does.

    Earlier runs, like ``target``, are counted in peak steps, and so must the budget be.
    """
    within, budget = made.probability_within_budget, target.run.hyperparameters.total_steps
    if made.stage is not Stage.BEFORE_TRAINING or within is None or budget is None:
        return made
    watched = budget if clock is None else int(clock.at(budget))
    chance = memorization_chance(target, earlier.observations, earlier.names, watched)
    if chance is None:
        return made
    return replace(
        made,
        probability_within_budget=within * chance.probability,
        reason=f"{made.reason}; {chance.ground}",
        grounds=(*made.grounds, chance.ground),
    )


def outlook_of(target: ObservedRun, earlier: CalibrationSet) -> ModelForecast | None:
    """The steps ahead behind :func:`forecast_with`, None where it refuses."""
    now, (even, clock) = _last_step(target.run), on_its_clock(target, earlier)
    peak_now = _last_step(even.run)
    law = law_outlook(even, peak_now, earlier)
    if isinstance(law, ModelForecast) and math.isfinite(law.steps.median):
        return _in_steps(law, clock, target, now)
    made = empirical_outlook(even, peak_now, earlier)
    return _in_steps(made, clock, target, now) if isinstance(made, ModelForecast) else None


def on_its_clock(target: ObservedRun, earlier: CalibrationSet) -> tuple[ObservedRun, Clock | None]:
    """A run in peak steps, and these as a function of steps; None where the two agree."""
    if clock_of(target) is None:
        return target, None
    exponent = earlier.rate_exponent(in_peak_steps(target))
    return in_peak_steps(target, exponent), clock_of(target, exponent)


def _in_steps(
    outlook: ModelForecast, clock: Clock | None, target: ObservedRun, now: int
) -> ModelForecast:
    """An outlook in peak steps, brought back to steps."""
    if clock is None:
        return outlook
    delay = outlook.delay
    if delay is not None:
        # It begins when the run is expected to memorise.
        waiting = max(outlook.steps.median - delay.median, 0.0)
        start = float(steps_ahead(clock, now, np.array(waiting)))
        begins = now + int(start) if math.isfinite(start) else now
        delay = RemainingSteps(steps_ahead(clock, begins, delay.values))
    return replace(
        outlook,
        steps=RemainingSteps(steps_ahead(clock, now, outlook.steps.values)),
        delay=delay,
        method=f"{outlook.method}; steps counted by the clock of the {target.schedule} schedule",
    )


def _last_step(run: Run) -> int:
    return int(run.steps[-1]) if len(run) else 0


def _stage(target: ObservedRun, now: int) -> Stage:
    if target.memorization_step is None:
        return Stage.BEFORE_TRAINING
    return Stage.MEMORIZATION if now == target.memorization_step else Stage.RUNNING


def _law_regardless(target: ObservedRun, now: int, earlier: CalibrationSet) -> float | None:
    """The step that the law would say if its conditions held; None where it says none."""
    model = earlier.delay_model
    if model is None or target.decay_rate is None:
        return None
    expected = model.predict(target.settings, target.decay_rate, target.configuration)
    start = target.memorization_time
    if start is None:
        waiting = earlier.memorization(target)
        start = None if waiting is None else math.exp(waiting.location)
    return None if start is None else max(start + math.exp(expected.location), float(now))


def _forecast(target: ObservedRun, now: int, basis: Basis, outlook: ModelForecast) -> Forecast:
    steps, delay, elapsed = outlook.steps, outlook.delay, 0
    if target.memorization_step is not None:
        steps = steps.seen_on_grid(target.evaluation_interval)
        delay, elapsed = steps, now - target.memorization_step
    total = target.run.hyperparameters.total_steps
    return Forecast(
        run=target.run.name,
        stage=_stage(target, now),
        made_at=now,
        basis=basis,
        median=now + steps.median,
        interval=_from(now, steps.interval(FORECAST_COVERAGE, outlook.method)),
        probability_within_budget=None if total is None else steps.probability_by(total - now),
        reason="" if outlook.ground is None else str(outlook.ground),
        remedy="",
        calibration=outlook.runs,
        method=outlook.method,
        central_interval=_from(now, steps.interval(CENTRAL_COVERAGE, outlook.method)),
        delay=None if delay is None else elapsed + delay.median,
        delay_interval=None
        if delay is None
        else _from(elapsed, delay.interval(FORECAST_COVERAGE, outlook.method)),
        parameters=outlook.parameters,
        grounds=() if outlook.ground is None else (outlook.ground,),
    )


def _from(now: int, ahead: Interval) -> Interval:
    return replace(ahead, low=now + ahead.low, high=now + ahead.high)


def _refused(target: ObservedRun, now: int, grounds: tuple[Ground, ...], remedy: str) -> Forecast:
    return Forecast(
        run=target.run.name,
        stage=_stage(target, now),
        made_at=now,
        basis=Basis.REFUSED,
        median=None,
        interval=None,
        probability_within_budget=None,
        reason=in_words(grounds),
        remedy=remedy,
        calibration=(),
        method="",
        grounds=grounds,
    )
