"""Other models of ours, scored beside the one the tool uses: the choice rests on these scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import FORECAST_COVERAGE
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.calibration_set import CalibrationSet
from nht_theory.forecasting.candidate_models import (
    EXCESS,
    OFFSET,
    SURVIVAL,
    TOTAL,
    candidate_models,
    stacked,
)
from nht_theory.forecasting.empirical_model import survival_regression
from nht_theory.forecasting.grounds import Ground
from nht_theory.forecasting.log_delay_model import LogDelayModel
from nht_theory.forecasting.model_forecast import few_runs_outlook
from nht_theory.forecasting.remaining_steps import RemainingSteps
from nht_theory.forecasting.score import DelayForecast

REFUSED = DelayForecast(None, None, "refused")
Answer = tuple[DelayForecast, float | None]
"""What was said, and the number of fitted parameters behind it."""


@dataclass(frozen=True)
class Rival:
    """A model that is not the default.

    Attributes:
        name: in words.
        before, after: whether it forecasts before memorisation, and from then on.
        forecast: from a run as it is known now and earlier runs.
    """

    name: str
    before: bool
    after: bool
    forecast: Callable[[ObservedRun, CalibrationSet], Answer]


def _said(target: ObservedRun, left: RemainingSteps | None, elapsed: float) -> DelayForecast:
    if left is None or not np.isfinite(left.median):
        return REFUSED
    if target.memorization_time is not None:
        left = left.seen_on_grid(target.evaluation_interval)
    shifted = RemainingSteps(left.values + elapsed)
    return DelayForecast(shifted.median, shifted.interval(FORECAST_COVERAGE, ""), "rival")


def _elapsed(target: ObservedRun) -> float:
    """Steps since the evaluation that saw the run memorise."""
    if target.memorization_step is None:
        return 0.0
    return float(target.run.steps[-1] - target.memorization_step)


def _from_settings(target: ObservedRun, model: LogDelayModel | None) -> Answer:
    """The delay that the settings say, given the time that has passed."""
    if model is None:
        return REFUSED, None
    made = model.predict(target.settings, target.decay_rate, target.configuration)
    elapsed = _elapsed(target)
    since = 0.0
    if target.memorization_time is not None:
        since = float(target.run.steps[-1]) - target.memorization_time
    return _said(target, RemainingSteps.of_log(made).beyond(since), elapsed), float(
        model.parameters
    )


def _law_from_settings(target: ObservedRun, earlier: CalibrationSet) -> Answer:
    if earlier.delay_model is None or target.decay_rate is None:
        return REFUSED, None
    return _from_settings(target, earlier.delay_model)


def _survival_regression(target: ObservedRun, earlier: CalibrationSet) -> Answer:
    lawful = earlier.lawfulness.lawful
    if not lawful or target.decay_rate is None:
        return REFUSED, None
    return _from_settings(target, survival_regression(lawful, earlier.names, clock=True))


def _candidate(name: str) -> Callable[[ObservedRun, CalibrationSet], Answer]:
    """A candidate by its name, from the settings alone."""

    def forecast(target: ObservedRun, earlier: CalibrationSet) -> Answer:
        return _from_settings(target, _candidates(target, earlier).get(name))

    return forecast


def _candidates(target: ObservedRun, earlier: CalibrationSet) -> Mapping[str, LogDelayModel]:
    """The models that compete before training; none without the law."""
    if earlier.law_model is None or target.decay_rate is None:
        return {}
    return candidate_models(earlier.lawfulness.lawful, earlier.names)


def _stacking(target: ObservedRun, earlier: CalibrationSet) -> Answer:
    models = tuple(_candidates(target, earlier).values())
    return _from_settings(target, stacked(models) if models else None)


def _own_norm(target: ObservedRun, earlier: CalibrationSet) -> Answer:
    if target.decay_rate is None or len(earlier.lawfulness.lawful) == 0:
        return REFUSED, None
    made = few_runs_outlook(target, int(target.run.steps[-1]) if len(target.run) else 0, earlier)
    if isinstance(made, Ground):
        return REFUSED, None
    left = made.steps if made.delay is None else made.delay
    return _said(target, left, _elapsed(target)), made.parameters


RIVALS = (
    Rival(TOTAL, True, False, _candidate(TOTAL)),
    Rival(EXCESS, True, False, _candidate(EXCESS)),
    Rival(OFFSET, True, False, _candidate(OFFSET)),
    Rival("stacking of the candidates", True, False, _stacking),
    Rival("law from the settings alone", False, True, _law_from_settings),
    Rival("law with the run's own V, as for a handful of runs", True, True, _own_norm),
    Rival(SURVIVAL, True, True, _survival_regression),
)
