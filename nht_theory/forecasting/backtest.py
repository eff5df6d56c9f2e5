"""Forecasts of runs that have already ended, made as if their future were unknown."""

from __future__ import annotations

from dataclasses import dataclass

from nht_theory.estimators.results import StudyEstimates
from nht_theory.forecasting.calibration import observe, observe_all
from nht_theory.forecasting.forecast import Forecast
from nht_theory.forecasting.forecast_run import forecast_observation
from nht_theory.runs.configurations import REMEDY


@dataclass(frozen=True)
class ScoredForecast:
    """A forecast beside what happened.

    Attributes:
        forecast: as it was made.
        happened_at: generalisation step, None when it had not been seen.
        last_seen: last step of the run: where it is censored when nothing happened.
        memorization_step: from which the delay counts; None when not logged.
    """

    forecast: Forecast
    happened_at: int | None
    last_seen: int
    memorization_step: int | None = None

    @property
    def inside(self) -> bool | None:
        """Whether the step fell into the interval; None when that cannot be said (no interval,
        or censored before its upper end)."""
        interval = self.forecast.interval
        if interval is None:
            return None
        if self.happened_at is None:
            return False if self.last_seen > interval.high else None
        return self.happened_at in interval

    @property
    def relative_error(self) -> float | None:
        """(forecast - actual) / actual delay; None when either is missing."""
        if self.forecast.median is None or self.happened_at is None:
            return None
        delay = self.happened_at - (self.memorization_step or 0)
        return (self.forecast.median - self.happened_at) / delay if delay > 0 else None


def backtest(estimated: StudyEstimates) -> tuple[tuple[ScoredForecast, ...], str]:
    """Forecast each run of a study at its memorisation from the other runs.

    Runs of the same configuration are left out too, unless the study has no other: a forecast
    for a configuration that has been seen is easier, and is called so.

    Nothing is forecast where the runs do not say which of them share a configuration.

    Returns:
        The forecasts of every run that memorised and was not already generalising, and a
        sentence that says how they were made.
    """
    study, thresholds = estimated.study, estimated.thresholds
    if not study.configurations.known:
        return (), f"No forecasts in retrospect: {study.configurations}; {REMEDY}."
    observed = observe_all(study.runs, thresholds)
    single = len({one.configuration for one in observed}) == 1
    scored = []
    for run, estimate in estimated.pairs():
        made_at = estimate.memorization_step
        if made_at is None or estimate.generalization is None:
            continue
        if estimate.delay is not None and estimate.delay <= 0:
            continue
        target = observe(run.until(made_at), thresholds)
        others = [one for one in observed if single or one.configuration != target.configuration]
        scored.append(
            ScoredForecast(
                forecast_observation(target, others),
                happened_at=estimate.generalization_step,
                last_seen=int(run.steps[-1]),
                memorization_step=made_at,
            )
        )
    left = (
        "runs of the same configuration but other seeds, since the study has only one"
        if single
        else "runs of other configurations only"
    )
    note = f"Forecasts in retrospect, each at memorisation from {left}." if scored else ""
    return tuple(scored), note
