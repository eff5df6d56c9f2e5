"""What a forecast may learn from earlier runs: their settings, transitions and norms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.norms import squared_norm_at
from nht_theory.estimators.results import Crossing, Missing
from nht_theory.estimators.transitions import generalization, memorization
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
        squared_norm_memorization: V at memorisation, interpolated; None where unknown.
        squared_norm_generalization: V_star; None where unknown.
        decay_rate: pure-decay rate of V per step (2 eta lambda when decay is decoupled); None
            where the settings do not give one.
    """

    run: Run
    settings: Mapping[str, float]
    memorization: Crossing | None
    generalization: Crossing | None
    squared_norm_memorization: float | None
    squared_norm_generalization: float | None
    decay_rate: float | None
    configuration: Configuration = field(default=())

    @property
    def memorization_step(self) -> int | None:
        """First evaluation at which the run has memorised."""
        return None if self.memorization is None else self.memorization.step

    @property
    def generalization_step(self) -> int | None:
        """First evaluation at which the run generalises."""
        return None if self.generalization is None else self.generalization.step

    @property
    def delay(self) -> int | None:
        """Steps from memorisation to generalisation, None where either was not seen."""
        if self.memorization_step is None or self.generalization_step is None:
            return None
        return self.generalization_step - self.memorization_step

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
    rate = pure_decay_rate(run, Window(first, last, "everything known")) if len(run) else 0.0
    return Observation(
        run=run,
        settings=numeric_settings(run.hyperparameters),
        memorization=memorized,
        generalization=generalized,
        squared_norm_memorization=_value(squared_norm_at(run, memorized)),
        squared_norm_generalization=_value(squared_norm_at(run, generalized)),
        decay_rate=None if isinstance(rate, Missing) else rate,
        configuration=run.hyperparameters.configuration(),
    )


def observe_all(
    runs: Iterable[Run], thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> tuple[Observation, ...]:
    """:func:`observe` of each run."""
    return tuple(observe(run, thresholds) for run in runs)


def _value(estimate: object) -> float | None:
    return None if isinstance(estimate, Missing) else float(estimate.value)  # type: ignore[attr-defined]
