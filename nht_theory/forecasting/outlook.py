"""Steps ahead of a run from what is known now: by the law, by regression, or why neither."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nht_theory.conventions import OptimizerKind, ScheduleKind
from nht_theory.dynamics import OptimizerDynamics
from nht_theory.estimators.norms import usable
from nht_theory.forecasting.calibration import Observation
from nht_theory.forecasting.earlier_runs import MINIMUM_EMPIRICAL, MINIMUM_LAW, EarlierRuns
from nht_theory.forecasting.lawfulness import EXTRAPOLATION
from nht_theory.forecasting.log_delay_model import LogDelayModel
from nht_theory.forecasting.small_sample import SmallSampleLaw
from nht_theory.forecasting.steps_ahead import StepsAhead
from nht_theory.runs import columns
from nht_theory.runs.run import Run

SCALE_INVARIANT = "scale_invariant"
"""Name of the group of weights before a normalisation layer, where it is logged."""


STEADY_SCHEDULES = (None, ScheduleKind.CONSTANT, ScheduleKind.LINEAR_WARMUP)
"""Schedules under which steps measure the regularisation clock, once warm-up is over."""
GROWTH = 0.05
"""Rise of ln V since memorisation beyond which a run is not one whose norm falls."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """Steps from now to generalisation, and on what they stand.

    Attributes:
        steps: their distribution.
        runs: names of the earlier runs used.
        method: the model with its numbers and its number of free parameters.
        reason: why it applies.
        parameters: how many were fitted (effective ones, where they are shrunken).
        delay: distribution of the steps from memorisation to generalisation, where the run has
            not memorised yet.
    """

    steps: StepsAhead
    runs: tuple[str, ...]
    method: str
    reason: str
    parameters: float
    delay: StepsAhead | None = None


def law_outlook(target: Observation, now: int, earlier: EarlierRuns) -> Outlook | str:
    """What the law says, or the reason why it does not apply.

    Args:
        target: the run, cut at ``now``.
        now: the last step known; 0 before training.
        earlier: comparable earlier runs.
    """
    objection = law_objection(target, earlier)
    if objection:
        return objection
    model = earlier.law_model
    if model is None:
        return few_runs_outlook(target, now, earlier)
    above, log_star = target.squared_norm_memorization, model.log_star(target.settings)
    log_above = model.log_memorization(target.settings) if above is None else float(np.log(above))
    objection = _norm_objection(target, log_above, log_star)
    if objection:
        return objection
    reason = _norm_reason(log_above, log_star)
    if target.memorization_time is None:
        return _before_memorization(target, now, earlier, model.delays, reason)
    left = _with_state(target, now, earlier, model.delays)
    if left is None:
        return few_runs_outlook(target, now, earlier)
    steps, said, parameters = left
    method = f"{model.delays.method}{said}"
    return Outlook(steps, model.delays.runs, method, reason, parameters)


def law_objection(target: Observation, earlier: EarlierRuns) -> str:
    """Why the law may not be claimed for a run before anything is fitted; empty when it may."""
    own = _own_objection(target)
    if own:
        return own
    lawful, lawless = earlier.lawfulness.lawful, earlier.lawfulness.lawless
    if len(lawful) < MINIMUM_LAW:
        broke = f"; {len(lawless)} are of configurations that broke it" if lawless else ""
        return f"{len(lawful)} earlier runs obeyed the law, {MINIMUM_LAW} are needed{broke}"
    return _too_unfamiliar(target, earlier) or earlier.lawfulness.objection(
        target.settings, target.configuration
    )


def _own_objection(target: Observation) -> str:
    """What the run itself holds against the law; empty when nothing."""
    schedule = target.run.hyperparameters.schedule
    if target.memorization_time is not None and target.squared_norm_memorization is None:
        return "the run logs no squared norm at memorisation"
    if target.decay_rate is None:
        return "the run's settings give no pure-decay rate (learning rate, weight decay, form)"
    if schedule not in STEADY_SCHEDULES:
        return (
            f"the learning rate follows a {schedule} schedule, under which the clock does not run "
            "evenly"
        )
    share = _scale_invariant_share(target.run)
    if share > 0.5:
        return (
            f"weights before a normalisation layer carry {share:.0%} of V: their norm does not "
            "bear on the function"
        )
    return ""


def empirical_outlook(target: Observation, now: int, earlier: EarlierRuns) -> Outlook | str:
    """What a regression on earlier runs says without the law, or why it cannot."""
    strayed = earlier.lawfulness.objection(target.settings, target.configuration)
    model = earlier.empirical_model(target, strayed=bool(strayed))
    if model is None:
        shown = sum(one.delay is not None for one in earlier.observations)
        return (
            f"{shown} comparable earlier runs show a delayed switch; a regression without the "
            f"law needs {MINIMUM_EMPIRICAL}"
        )
    outside = _too_unfamiliar(target, earlier) or _outside(target, earlier)
    if outside:
        return outside
    if target.memorization_time is None:
        return _before_memorization(target, now, earlier, model, "")
    # What a state means is not carried from one study to another unless the law ties them.
    left = None if earlier.unstated else _with_state(target, now, earlier, model)
    if left is None:
        left = _elapsed(target, now, earlier, model)
    if left is None:
        return "the run has outlasted everything that earlier runs make likely"
    steps, said, parameters = left
    return Outlook(steps, model.runs, f"{model.method}{said}", "", parameters)


def _with_state(
    target: Observation, now: int, earlier: EarlierRuns, model: LogDelayModel
) -> tuple[StepsAhead, str, float] | None:
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
    steps = StepsAhead.of_log(earlier.widened(made.log_steps, target))
    return steps, said, model.parameters + made.parameters


def _elapsed(
    target: Observation, now: int, earlier: EarlierRuns, model: LogDelayModel
) -> tuple[StepsAhead, str, float] | None:
    """The delay expected from the settings, given that it has not ended yet."""
    delay = earlier.widened(
        model.predict(target.settings, target.decay_rate, target.configuration), target
    )
    left = StepsAhead.of_log(delay).beyond(now - (target.memorization_time or 0.0))
    said = f" ({model.parameters} parameters), given the time already passed"
    return None if left is None else (left, said, float(model.parameters))


def _before_memorization(
    target: Observation, now: int, earlier: EarlierRuns, model: LogDelayModel, reason: str
) -> Outlook | str:
    expected = model.predict(target.settings, target.decay_rate, target.configuration)
    waiting = _memorization(target, now, earlier)
    if isinstance(waiting, str):
        return waiting
    delay = StepsAhead.of_log(earlier.widened(expected, target))
    said = f"{model.method}, {model.parameters} parameters; T_mem regressed on the settings"
    return Outlook(waiting + delay, model.runs, said, reason, float(model.parameters), delay)


def few_runs_outlook(target: Observation, now: int, earlier: EarlierRuns) -> Outlook | str:
    """The law from a handful of runs, with the run's own V once it has memorised."""
    names = tuple(sorted({*earlier.names, *earlier.unfamiliar(target)}))
    law = SmallSampleLaw.fit(earlier.lawfulness.lawful, target, names)
    above, log_star = target.squared_norm_memorization, law.log_star.location
    log_above = law.log_memorization.location if above is None else float(np.log(above))
    objection = _norm_objection(target, log_above, log_star)
    if objection or target.decay_rate is None:
        return objection
    law = replace(
        law,
        log_efficiency=earlier.widened(law.log_efficiency, target),
        log_clock=earlier.widened(law.log_clock, target),
    )
    method, reason = law.describe(log_above), _norm_reason(log_above, log_star)
    if target.memorization_time is None:
        delay = law.delay(target.decay_rate)
        waiting = _memorization(target, now, earlier)
        if isinstance(waiting, str):
            return waiting
        return Outlook(waiting + delay, law.runs, method, reason, law.parameters, delay)
    elapsed = now - target.memorization_time
    left = law.left(target.decay_rate, elapsed, log_above, _log_now(target))
    if left is None:
        return "the run has outlasted everything that earlier runs make likely"
    return Outlook(left, law.runs, method, reason, law.parameters)


def _norm_reason(log_above: float, log_star: float) -> str:
    return f"the norm falls and V_mem/V_star is {np.exp(log_above - log_star):.3g}"


def _log_now(target: Observation) -> float:
    """ln V at the last evaluation that logs it."""
    return float(np.log(target.run.squared_norm[usable(target.run.squared_norm)][-1]))


def _norm_objection(target: Observation, log_above: float, log_star: float) -> str:
    """What the norms themselves hold against the law; empty when nothing."""
    star = float(np.exp(log_star))
    if log_above <= log_star:
        return (
            f"V at memorisation, {np.exp(log_above):.4g}, is not above V_star of earlier runs, "
            f"{star:.4g}"
        )
    if target.squared_norm_memorization is not None:
        growth = _log_now(target) - log_above
        if growth > GROWTH:
            return f"the norm has grown since memorisation, by {np.expm1(growth):.0%}"
    return _blocked(target, star)


def _memorization(target: Observation, now: int, earlier: EarlierRuns) -> StepsAhead | str:
    """Steps until memorisation, given that it has not come yet."""
    expected = earlier.memorization(target)
    if expected is None:
        return "no earlier run memorised"
    left = StepsAhead.of_log(earlier.widened(expected, target)).beyond(now)
    if left is None:
        return f"the run has not memorised by step {now}, later than earlier runs make likely"
    return left


def _too_unfamiliar(target: Observation, earlier: EarlierRuns) -> str:
    for name, factor in earlier.unfamiliar(target).items():
        if abs(factor) > np.log(EXTRAPOLATION) * (1 + 1e-12):
            known = dict(earlier.constant)[name]
            return (
                f"outside the calibration runs: {name} {target.settings[name]:g} against {known:g}"
            )
    return ""


def _outside(target: Observation, earlier: EarlierRuns) -> str:
    """A setting that lies too far outside the earlier runs; empty when none does."""
    for name in earlier.names:
        known = [one.settings[name] for one in earlier.observations]
        value, low, high = target.settings[name], min(known), max(known)
        if max(value / high, low / value) > EXTRAPOLATION * (1 + 1e-12):
            return f"outside the calibration runs: {name} {value:g} against {low:g} to {high:g}"
    return ""


def _scale_invariant_share(run: Run) -> float:
    """Share of V that weights before a normalisation layer carry; 0 where it is not logged."""
    column = columns.of_group(columns.SQUARED_NORM, SCALE_INVARIANT)
    if not run.has(column, columns.SQUARED_NORM):
        return 0.0
    share = run.column(column) / run.squared_norm
    known = share[np.isfinite(share)]
    return float(known[-1]) if known.size else 0.0


def _blocked(target: Observation, star: float) -> str:
    """Whether the noise floor lies above V_star; empty where it does not or is not known."""
    chosen = target.run.hyperparameters
    if (
        chosen.optimizer != OptimizerKind.ADAMW
        or chosen.parameter_count is None
        or chosen.learning_rate is None
        or not chosen.weight_decay
    ):
        return ""
    dynamics = OptimizerDynamics(OptimizerKind.ADAMW, chosen.learning_rate, chosen.weight_decay)
    floor = float(dynamics.noise_floor(float(chosen.parameter_count)))
    if floor < star:
        return ""
    return (
        f"blocked by the noise floor: V_inf = {floor:.4g} under pure gradient noise is not below "
        f"V_star = {star:.4g}"
    )
