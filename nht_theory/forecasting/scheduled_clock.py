"""Runs under a learning-rate schedule, seen in the regularisation clock.

The law counts the clock tau(t) = sum of -2 ln(1 - eta_s lambda) (THEORY.md sections 2 and 3), not
steps. While the schedule bends, a run is therefore seen on a step axis along which the clock runs
evenly: *peak steps*, the running sum of learning rate over peak learning rate. A delay of D peak
steps lasts D steps at the peak rate and longer wherever the schedule lies below it; how much
longer, the schedule tells beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from nht_theory.conventions import ScheduleKind
from nht_theory.dynamics.clock import Clock
from nht_theory.dynamics.schedules import (
    Constant,
    Cosine,
    LinearWarmup,
    Schedule,
    StepDecay,
)
from nht_theory.errors import DomainError
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.results import Crossing
from nht_theory.forecasting.bayesian_ridge import Array
from nht_theory.forecasting.calibration import SCHEDULE_OPTIONS, ObservedRun
from nht_theory.forecasting.grounds import Ground, GroundKind
from nht_theory.runs import columns
from nht_theory.runs.run import Hyperparameters, Run

UNEVEN = 0.01
"""Relative range of a logged coefficient beyond which it counts as changed during training."""
_WARMUP, _FINAL, _MILESTONES, _FACTOR = SCHEDULE_OPTIONS


def schedule_objection(run: Run) -> Ground | None:
    """Why the future of a run's clock is not known; None where it is."""
    chosen = run.hyperparameters
    made = schedule_from_settings(chosen)
    if isinstance(made, Ground):
        return made
    if run.has(columns.WEIGHT_DECAY) and _changes(run.column(columns.WEIGHT_DECAY)):
        return Ground(GroundKind.DECAY_CHANGES)
    logged = chosen.schedule is None and run.has(columns.LEARNING_RATE)
    if logged and _falls(run.column(columns.LEARNING_RATE)):
        return Ground(GroundKind.RATE_CHANGES)
    return None


def schedule_from_settings(chosen: Hyperparameters) -> Schedule | Ground:
    """The schedule that the settings name, or why they do not tell it, with the remedy.

    Example:
        >>> schedule_from_settings(Hyperparameters(schedule="cosine", total_steps=100))
        Cosine(total_steps=100, final_multiple=0.0)
        >>> print(schedule_from_settings(Hyperparameters(schedule="cosine")))
        the cosine schedule has no length (state total_steps)
    """
    named = chosen.schedule or ScheduleKind.CONSTANT.value
    if named == ScheduleKind.CONSTANT:
        return Constant()
    make = _MAKERS.get(named)
    if make is None:
        known = (ScheduleKind.CONSTANT.value, *_MAKERS)
        return Ground(GroundKind.SCHEDULE_UNKNOWN, named, names=known)
    try:
        return make(chosen)
    except (DomainError, ValueError, TypeError) as error:
        return Ground(GroundKind.SCHEDULE_UNREADABLE, named, detail=str(error))


def _linear_warmup(chosen: Hyperparameters) -> Schedule:
    warmup = _whole(chosen.extra, _WARMUP)
    return LinearWarmup(warmup) if warmup else Constant()


def _cosine(chosen: Hyperparameters) -> Schedule | Ground:
    if chosen.total_steps is None:
        return Ground(GroundKind.SCHEDULE_WITHOUT_LENGTH, ScheduleKind.COSINE.value)
    warmup = _whole(chosen.extra, _WARMUP)
    fall = Cosine(chosen.total_steps - warmup, _number(chosen.extra, _FINAL, 0.0))
    return LinearWarmup(warmup, fall) if warmup else fall


def _step(chosen: Hyperparameters) -> Schedule | Ground:
    milestones = chosen.extra.get(_MILESTONES)
    if not isinstance(milestones, list | tuple) or _FACTOR not in chosen.extra:
        return Ground(GroundKind.SCHEDULE_WITHOUT_MILESTONES, ScheduleKind.STEP.value)
    return StepDecay(tuple(int(one) for one in milestones), _number(chosen.extra, _FACTOR, 0.1))


_MAKERS: Mapping[str, Callable[[Hyperparameters], Schedule | Ground]] = {
    ScheduleKind.LINEAR_WARMUP.value: _linear_warmup,
    ScheduleKind.COSINE.value: _cosine,
    ScheduleKind.STEP.value: _step,
}


def clock_of(one: ObservedRun, exponent: float = 1.0) -> Clock | None:
    """Peak steps as a function of steps; None where the two agree, or where the schedule is not
    known.

    Args:
        one: a run.
        exponent: power of the learning rate with which delays shorten. One is the law's own, with
            V_sc, V_st and c the same at every rate; where earlier runs show another, a step at a
            multiple m of the peak counts for m ** exponent peak steps.
    """
    made = schedule_from_settings(one.run.hyperparameters)
    if isinstance(made, Ground | Constant):
        return None
    return Clock(made, lambda multiple: np.asarray(multiple**exponent))


@lru_cache(maxsize=1024)
def in_peak_steps(one: ObservedRun, exponent: float = 1.0) -> ObservedRun:
    """A run on the step axis of its clock (:func:`clock_of`); the run itself where the two agree.

    Evaluations that fall on the same whole peak step, as at the end of a cosine, are one: the
    first. The number of parameters is left out, since the noise floor falls with the rate.
    """
    clock = clock_of(one, exponent)
    if clock is None:
        return one
    run, chosen = one.run, one.run.hyperparameters
    steps, first = np.unique(np.rint(clock.at(run.steps)).astype(np.int64), return_index=True)
    total = chosen.total_steps
    even = Run(
        name=run.name,
        source=run.source,
        steps=steps,
        values={
            name: series[first]
            for name, series in run.values.items()
            if name != columns.LEARNING_RATE
        },
        hyperparameters=replace(
            chosen,
            schedule=ScheduleKind.CONSTANT,
            parameter_count=None,
            total_steps=None if total is None else int(clock.at(total)),
        ),
        settled=run.settled,
    )
    rate = pure_decay_rate(even, Window(0, int(steps[-1]) if steps.size else 0, "all of it"))
    return replace(
        one,
        run=even,
        memorization=_crossing(clock, one.memorization),
        generalization=_crossing(clock, one.generalization),
        memorization_time=_time(clock, one.memorization_time),
        generalization_time=_time(clock, one.generalization_time),
        decay_rate=rate if isinstance(rate, float) else None,
    )


def _crossing(clock: Clock, event: Crossing | None) -> Crossing | None:
    if event is None:
        return None
    step = None if event.step is None else int(np.rint(clock.at(event.step)))
    return replace(event, step=step, earlier_step=int(np.rint(clock.at(event.earlier_step))))


def _time(clock: Clock, time: float | None) -> float | None:
    """Peak steps at a time between steps."""
    if time is None:
        return None
    before, after = clock.at([np.floor(time), np.ceil(time)])
    return float(before + (time - np.floor(time)) * (after - before))


def steps_ahead(clock: Clock, now: int, peak_steps: Array) -> Array:
    """Steps from ``now`` until that many peak steps have passed; infinite where the schedule ends
    before.

    Example:
        >>> fall = Clock(StepDecay((100,), 0.5), lambda multiple: multiple)
        >>> steps_ahead(fall, 50, np.array([50.0, 100.0]))
        array([ 50., 150.])
    """
    return np.asarray(clock.steps_to(clock.at(now) + peak_steps) - now)


def _changes(series: Array) -> bool:
    known = series[np.isfinite(series)]
    return bool(known.size and known.min() < (1.0 - UNEVEN) * known.max())


def _falls(series: Array) -> bool:
    """Whether a learning rate changes once its warm-up is over, that is from its peak on."""
    known = series[np.isfinite(series)]
    return bool(known.size) and _changes(known[int(np.argmax(known)) :])


def _whole(given: Mapping[str, object], name: str) -> int:
    value = given.get(name)
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def _number(given: Mapping[str, object], name: str, otherwise: float) -> float:
    value = given.get(name, otherwise)
    if not isinstance(value, int | float):
        raise ValueError(f"{name} is {value!r}, not a number")
    return float(value)
