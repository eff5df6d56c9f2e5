"""What a forecast may learn from earlier runs: their settings, transitions and norms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Crossing
from nht_theory.estimators.transitions import generalization, memorization
from nht_theory.forecasting.crossing_time import crossing_time
from nht_theory.runs import columns
from nht_theory.runs.run import Hyperparameters, Run

Configuration = tuple[tuple[str, str], ...]

_NUMERIC_FIELDS = (
    "learning_rate",
    "weight_decay",
    "beta_1",
    "beta_2",
    "momentum",
    "batch_size",
    "parameter_count",
)


@dataclass(frozen=True, eq=False)
class Observation:
    """One run as far as a forecast may know it.

    Attributes:
        run: the trajectory, cut at the moment of the forecast when it is the run forecast.
        settings: every positive numeric hyper-parameter, by name.
        memorization: crossing of training accuracy.
        generalization: crossing of held-out accuracy; None where it is not logged.
        memorization_time, generalization_time: the same two as real numbers, finer than the
            evaluation grid (:func:`crossing_time`); None where not seen.
        squared_norm_memorization: V at ``memorization_time``; None where unknown.
        squared_norm_generalization: V_star, at ``generalization_time``; None where unknown.
        decay_rate: pure-decay rate of V per step (2 eta lambda when decay is decoupled); None
            where the settings do not give one.
    """

    run: Run
    settings: Mapping[str, float]
    memorization: Crossing | None
    generalization: Crossing | None
    memorization_time: float | None
    generalization_time: float | None
    squared_norm_memorization: float | None
    squared_norm_generalization: float | None
    decay_rate: float | None
    configuration: Configuration

    @property
    def memorization_step(self) -> int | None:
        """First evaluation at which the run has memorised."""
        return None if self.memorization is None else self.memorization.step

    @property
    def generalization_step(self) -> int | None:
        """First evaluation at which the run generalises."""
        return None if self.generalization is None else self.generalization.step

    @property
    def delay(self) -> float | None:
        """Steps from memorisation to generalisation, finer than the evaluation grid; None where
        either was not seen, or where generalisation did not come after memorisation."""
        start, end = self.memorization_time, self.generalization_time
        if start is None or end is None or self.recorded_delay in (None, 0):
            return None
        return end - start if end > start else None

    @property
    def recorded_delay(self) -> int | None:
        """Evaluations between the two events, in steps: what scores are measured against."""
        if self.memorization_step is None or self.generalization_step is None:
            return None
        return self.generalization_step - self.memorization_step

    @property
    def evaluation_interval(self) -> int:
        """Steps between the last two evaluations that are known."""
        steps = self.run.steps
        return int(steps[-1] - steps[-2]) if len(steps) > 1 else 0

    @property
    def ratio(self) -> float | None:
        """V at memorisation over V at generalisation."""
        above, below = self.squared_norm_memorization, self.squared_norm_generalization
        return None if above is None or below is None else above / below


def numeric_settings(chosen: Hyperparameters) -> dict[str, float]:
    """Every positive, finite numeric hyper-parameter, by name; seed and budget excluded.

    Example:
        >>> numeric_settings(Hyperparameters(weight_decay=0.3, seed=4, extra={"p": 97}))
        {'weight_decay': 0.3, 'p': 97.0}
    """
    named = {name: getattr(chosen, name) for name in _NUMERIC_FIELDS} | dict(chosen.extra)
    return {
        name: float(value)
        for name, value in named.items()
        if isinstance(value, (int, float))
        and not isinstance(value, bool)
        and np.isfinite(value)
        and value > 0
    }


def observe(run: Run, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> Observation:
    """Read from a run what a forecast needs; what it does not hold is None."""
    memorized, generalized = memorization(run, thresholds), generalization(run, thresholds)
    first, last = (int(run.steps[0]), int(run.steps[-1])) if len(run) else (0, 0)
    rate = pure_decay_rate(run, Window(first, last, "all that is known"))
    start, end = crossing_time(run, memorized), crossing_time(run, generalized)
    return Observation(
        run=run,
        settings=numeric_settings(run.hyperparameters),
        memorization=memorized,
        generalization=generalized,
        memorization_time=start,
        generalization_time=end,
        squared_norm_memorization=squared_norm_at(run, start),
        squared_norm_generalization=squared_norm_at(run, end),
        decay_rate=rate if isinstance(rate, float) else None,
        configuration=run.hyperparameters.configuration(),
    )


def squared_norm_at(run: Run, time: float | None) -> float | None:
    """V at a time between evaluations, ln V interpolated; None where V or the time is unknown."""
    if time is None or not run.has(columns.SQUARED_NORM):
        return None
    keep = usable(run.squared_norm)
    if not keep.any():
        return None
    return float(np.exp(np.interp(time, run.steps[keep], np.log(run.squared_norm[keep]))))


def observe_all(
    runs: Iterable[Run], thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> tuple[Observation, ...]:
    """:func:`observe` of each run."""
    return tuple(observe(run, thresholds) for run in runs)
