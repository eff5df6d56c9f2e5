"""Steps ahead of a run from what is known now: by the law, by regression, or why neither."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.calibration_set import CalibrationSet
from nht_theory.forecasting.empirical_model import MINIMUM_EMPIRICAL
from nht_theory.forecasting.grounds import Ground, GroundKind
from nht_theory.forecasting.log_delay_model import LogDelayModel
from nht_theory.forecasting.objections import (
    law_objection,
    log_norm_now,
    norm_objection,
    outside,
    score_objection,
)
from nht_theory.forecasting.remaining_steps import RemainingSteps
from nht_theory.forecasting.small_sample import SmallSampleLaw


@dataclass(frozen=True, eq=False)
class ModelForecast:
    """Steps from now to generalisation, and on what they stand.

    Attributes:
        steps: their distribution.
        runs: names of the earlier runs used.
        method: the model with its numbers and its number of free parameters.
        ground: why it applies; None for a regression, which makes no claim.
        parameters: how many were fitted (effective ones, where they are shrunken).
        delay: distribution of the steps from memorisation to generalisation, where the run has
            not memorised yet.
    """

    steps: RemainingSteps
    runs: tuple[str, ...]
    method: str
    ground: Ground | None
    parameters: float
    delay: RemainingSteps | None = None


def law_outlook(target: ObservedRun, now: int, earlier: CalibrationSet) -> ModelForecast | Ground:
    """What the law says, or the reason why it does not apply.

    Args:
        target: the run, cut at ``now``.
        now: the last step known; 0 before training.
        earlier: comparable earlier runs.
    """
    objection = law_objection(target, earlier)
    if objection is not None:
        return objection
    model, delays = earlier.law_model, earlier.delay_model
    if model is None or delays is None:
        return few_runs_outlook(target, now, earlier)
    above, log_star = target.squared_norm_memorization, model.log_star(target.settings)
    log_above = model.log_memorization(target.settings) if above is None else float(np.log(above))
    objection = score_objection(earlier) or norm_objection(target, log_above, log_star)
    if objection is not None:
        return objection
    ground = _norm_ground(log_above, log_star)
    if target.memorization_time is None:
        return _before_memorization(target, now, earlier, delays, ground)
    left = _with_state(target, now, earlier, delays)
    if left is None:
        return few_runs_outlook(target, now, earlier)
    steps, said, parameters = left
    return ModelForecast(steps, delays.runs, f"{delays.method}{said}", ground, parameters)


def empirical_outlook(
    target: ObservedRun, now: int, earlier: CalibrationSet
) -> ModelForecast | Ground:
    """What a regression on earlier runs says without the law, or why it cannot."""
    strayed = earlier.lawfulness.objection(target.settings, target.configuration)
    model = earlier.empirical_model(target, strayed=strayed is not None)
    if model is None:
        shown = sum(one.delay is not None for one in earlier.observations)
        return Ground(GroundKind.FEW_DELAYS, count=shown, total=MINIMUM_EMPIRICAL)
    too_far = outside(target, earlier)
    if too_far is not None:
        return too_far
    if target.memorization_time is None:
        return _before_memorization(target, now, earlier, model, None)
    # What a state means is not carried from one study to another unless the law ties them.
    left = None if earlier.unstated else _with_state(target, now, earlier, model)
    if left is None:
        left = _elapsed(target, now, earlier, model)
    if left is None:
        return Ground(GroundKind.OUTLASTED)
    steps, said, parameters = left
    return ModelForecast(steps, model.runs, f"{model.method}{said}", None, parameters)


def _with_state(
    target: ObservedRun, now: int, earlier: CalibrationSet, model: LogDelayModel
) -> tuple[RemainingSteps, str, float] | None:
    """The delay expected from the settings, then the run's own state; None with too few runs."""
    landmark = earlier.landmark(model, target)
    if landmark is None:
        return None
    expected = model.predict(target.settings, target.decay_rate, target.configuration)
    made = landmark.remaining(target, now, expected.location)
    if made is None:
        return None
    said = (
        f" ({model.parameters} parameters), then the state of the run against {made.n} earlier "
        f"runs at the same point ({len(made.features)} features, {made.parameters:.1f} effective "
        "parameters)"
    )
    steps = RemainingSteps.of_log(earlier.widened(made.log_steps, target))
    return steps, said, model.parameters + made.parameters


def _elapsed(
    target: ObservedRun, now: int, earlier: CalibrationSet, model: LogDelayModel
) -> tuple[RemainingSteps, str, float] | None:
    """The delay expected from the settings, given that it has not ended yet."""
    delay = earlier.widened(
        model.predict(target.settings, target.decay_rate, target.configuration), target
    )
    left = RemainingSteps.of_log(delay).beyond(now - (target.memorization_time or 0.0))
    said = f" ({model.parameters} parameters), given the time already passed"
    return None if left is None else (left, said, float(model.parameters))


def _before_memorization(
    target: ObservedRun,
    now: int,
    earlier: CalibrationSet,
    model: LogDelayModel,
    ground: Ground | None,
) -> ModelForecast | Ground:
    expected = model.predict(target.settings, target.decay_rate, target.configuration)
    waiting = _memorization(target, now, earlier)
    if isinstance(waiting, Ground):
        return waiting
    delay = RemainingSteps.of_log(earlier.widened(expected, target))
    said = f"{model.method}, {model.parameters} parameters; T_mem regressed on the settings"
    return ModelForecast(waiting + delay, model.runs, said, ground, float(model.parameters), delay)


def few_runs_outlook(
    target: ObservedRun, now: int, earlier: CalibrationSet
) -> ModelForecast | Ground:
    """The law from a handful of runs, with the run's own V once it has memorised."""
    names = tuple(sorted({*earlier.names, *earlier.unfamiliar(target)}))
    law = SmallSampleLaw.fit(earlier.lawfulness.lawful, target, names)
    above, log_star = target.squared_norm_memorization, law.log_star.location
    log_above = law.log_memorization.location if above is None else float(np.log(above))
    objection = norm_objection(target, log_above, log_star)
    if objection is not None:
        return objection
    if target.decay_rate is None:
        return Ground(GroundKind.NO_DECAY_RATE)
    law = replace(
        law,
        log_efficiency=earlier.widened(law.log_efficiency, target),
        log_clock=earlier.widened(law.log_clock, target),
    )
    method, ground = law.describe(log_above), _norm_ground(log_above, log_star)
    if target.memorization_time is None:
        delay = law.delay(target.decay_rate)
        waiting = _memorization(target, now, earlier)
        if isinstance(waiting, Ground):
            return waiting
        return ModelForecast(waiting + delay, law.runs, method, ground, law.parameters, delay)
    elapsed = now - target.memorization_time
    left = law.left(target.decay_rate, elapsed, log_above, log_norm_now(target))
    if left is None:
        return Ground(GroundKind.OUTLASTED)
    return ModelForecast(left, law.runs, method, ground, law.parameters)


def _norm_ground(log_above: float, log_star: float) -> Ground:
    return Ground(GroundKind.NORM_FALLS, value=float(np.exp(log_above - log_star)))


def _memorization(
    target: ObservedRun, now: int, earlier: CalibrationSet
) -> RemainingSteps | Ground:
    """Steps until memorisation, given that it has not come yet."""
    expected = earlier.memorization(target)
    if expected is None:
        return Ground(GroundKind.NONE_MEMORIZED)
    left = RemainingSteps.of_log(earlier.widened(expected, target)).beyond(now)
    return Ground(GroundKind.LATE_TO_MEMORIZE, count=now) if left is None else left
