"""A forecast before training, and what it means for the choice of weight decay and budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, Regime, Thresholds
from nht_theory.forecasting.calibration import ObservedRun, observe, observe_all, setting_of
from nht_theory.forecasting.calibration_set import CalibrationSet, earlier_runs
from nht_theory.forecasting.comparable import comparable
from nht_theory.forecasting.forecast import Basis, Forecast
from nht_theory.forecasting.forecast_run import forecast_with, outlook_of
from nht_theory.forecasting.grounds import Ground
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study, require_configurations

RELIABLE = 0.9
"""Probability at which a budget or a weight decay counts as reliable."""
_TRIED = 33
"""Weight decays tried between the weakest and the strongest that earlier runs bear on."""
_WEAKER = 3.0
"""Factor below the weakest decay of earlier runs down to which weaker ones are tried."""
_NAME = "planned run"


@dataclass(frozen=True)
class WeightDecayChoice:
    """A weight decay that may be chosen.

    Attributes:
        weight_decay: lambda.
        median: step by which the run is expected to generalise.
        probability_within_budget: None without a budget.
    """

    weight_decay: float
    median: float
    probability_within_budget: float | None


@dataclass(frozen=True)
class TrainingPlan:
    """What earlier runs say about a run that has not begun.

    Attributes:
        forecast: when it will generalise.
        regime: weak (not within the budget), intermediate, strong (earlier runs broke the law
            at weight decays beyond those that obeyed it, where this one lies too) or unknown.
        regime_reason: the comparison that decided.
        weak_boundary: weight decay below which the switch is not expected within the budget;
            None without a budget, or where every decay tried switches in time or none does.
        lawful_range: weight decays at which earlier runs obeyed the law.
        broken_above: the weakest decay above these at which earlier runs broke it.
        reliable_budget: steps within which the switch comes with probability 0.9.
        soonest: the weight decay expected to switch soonest, among those at which the law is
            claimed; its risk is one minus its probability.
        unstated: settings that earlier runs state and the plan does not (or the reverse): the law
            is then not claimed.
        assumed: settings that the plan leaves unsaid and every earlier run shares, with the value
            taken from them.
    """

    forecast: Forecast
    regime: Regime
    regime_reason: str
    weak_boundary: float | None
    lawful_range: tuple[float, float] | None
    broken_above: float | None
    reliable_budget: float | None
    soonest: WeightDecayChoice | None
    unstated: tuple[str, ...]
    assumed: Mapping[str, object] = field(default_factory=dict)


def plan_training(
    chosen: Hyperparameters, calibration: Study, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> TrainingPlan:
    """Forecast a run from its hyper-parameters and earlier runs, before any training.

    Args:
        chosen: hyper-parameters; ``total_steps`` is the budget.
        calibration: earlier runs.
        thresholds: what counts as memorised and as generalised.

    Source: THEORY.md section 4 (regimes) and section 10, with V_sc, V_st and c from runs.
    """
    require_configurations(calibration)
    return plan_from_observations(chosen, observe_all(calibration.runs, thresholds))


def plan_from_observations(
    chosen: Hyperparameters, calibration: Sequence[ObservedRun]
) -> TrainingPlan:
    """:func:`plan_training` once the runs have been read."""
    assumed = shared_settings(chosen, calibration)
    chosen = _completed(chosen, assumed)
    target = planned(chosen)
    earlier = earlier_runs(tuple(comparable(calibration, target)), target.stated)
    forecast = forecast_with(target, earlier)
    lawful = _decays(earlier.lawfulness.lawful)
    broken = [
        value for value in _decays(earlier.lawfulness.lawless) if value > max(lawful, default=0)
    ]
    tried = _choices(chosen, earlier, lawful)
    too_strong = earlier.lawfulness.decay_too_strong(target.settings, target.configuration)
    regime, reason = _regime(forecast, chosen, too_strong)
    outlook = outlook_of(target, earlier)
    return TrainingPlan(
        forecast=forecast,
        regime=regime,
        regime_reason=reason,
        weak_boundary=_weak_boundary(tried),
        lawful_range=(min(lawful), max(lawful)) if lawful else None,
        broken_above=min(broken, default=None),
        reliable_budget=None if outlook is None else _finite(outlook.steps.quantile(RELIABLE)),
        soonest=min(tried, key=lambda one: one.median, default=None),
        unstated=tuple(setting_of(name) for name in earlier.unstated),
        assumed=assumed,
    )


def shared_settings(
    chosen: Hyperparameters, calibration: Sequence[ObservedRun]
) -> dict[str, object]:
    """Settings that a plan leaves unsaid and that all comparable earlier runs share.

    A plan says what is to differ from the earlier runs; a log, on the other hand, that says less
    than theirs may come from anywhere, and nothing is filled in for it.
    """
    target = planned(chosen)
    alike = comparable(calibration, target)
    if not alike:
        return {}
    names = set.intersection(*(set(one.stated) for one in alike)) - target.stated
    found: dict[str, object] = {}
    for name in sorted(setting_of(name) for name in names):
        values = [_value(one.run.hyperparameters, name) for one in alike]
        if all(value == values[0] for value in values):
            found[name] = values[0]
    return found


def _value(chosen: Hyperparameters, name: str) -> object:
    return chosen.extra[name] if name in chosen.extra else getattr(chosen, name, None)


def _completed(chosen: Hyperparameters, more: Mapping[str, object]) -> Hyperparameters:
    own = {entry.name for entry in fields(Hyperparameters)}
    known = {name: value for name, value in more.items() if name in own}
    extra = {name: value for name, value in more.items() if name not in own}
    return replace(chosen, **known, extra={**chosen.extra, **extra})  # type: ignore[arg-type]


def planned(chosen: Hyperparameters) -> ObservedRun:
    """A run that has not begun, as a forecast sees it."""
    return observe(Run(_NAME, Path(_NAME), np.array([], dtype=np.int64), {}, chosen))


def _decays(observations: Sequence[ObservedRun]) -> list[float]:
    return [one.settings["weight_decay"] for one in observations if "weight_decay" in one.settings]


def _choices(
    chosen: Hyperparameters, earlier: CalibrationSet, lawful: Sequence[float]
) -> list[WeightDecayChoice]:
    """Weight decays at which the law is claimed, with their forecasts."""
    if not lawful:
        return []
    made = []
    for decay in np.geomspace(min(lawful) / _WEAKER, max(lawful), _TRIED):
        target = planned(replace(chosen, weight_decay=float(decay)))
        forecast = forecast_with(target, earlier)
        if forecast.basis is Basis.LAW and forecast.median is not None:
            made.append(
                WeightDecayChoice(float(decay), forecast.median, forecast.probability_within_budget)
            )
    return made


def _weak_boundary(tried: Sequence[WeightDecayChoice]) -> float | None:
    """Where the probability of a switch within the budget passes one half."""
    known = [
        (one.weight_decay, one.probability_within_budget)
        for one in tried
        if one.probability_within_budget is not None
    ]
    for (weaker, before), (stronger, after) in pairwise(known):
        if before < 0.5 <= after:
            share = (0.5 - before) / (after - before)
            return float(weaker * (stronger / weaker) ** share)
    return None


def _regime(
    forecast: Forecast, chosen: Hyperparameters, too_strong: Ground | None
) -> tuple[Regime, str]:
    """The regime, and what decided. Only decay that is too strong by earlier runs is strong: a
    side on which they were too weak, or another setting, says nothing of suppression."""
    if forecast.basis is not Basis.LAW:
        decided = any(ground.of_lawfulness for ground in forecast.grounds)
        strong = decided and too_strong is not None
        return (Regime.STRONG if strong else Regime.UNKNOWN), forecast.reason
    within = forecast.probability_within_budget
    if within is None or chosen.total_steps is None:
        return Regime.INTERMEDIATE, f"{forecast.reason}; no budget is given"
    compared = f"the switch comes within {chosen.total_steps} steps with probability {within:.2f}"
    return (Regime.INTERMEDIATE if within >= 0.5 else Regime.WEAK), compared


def _finite(steps: float) -> float | None:
    return steps if np.isfinite(steps) else None
