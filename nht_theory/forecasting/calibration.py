"""What a forecast may learn from earlier runs: their settings, transitions and norms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, DecayForm, ScheduleKind, Thresholds
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.crossing_time import crossing_time
from nht_theory.estimators.efficiency import decay_form_of, pure_decay_rate
from nht_theory.estimators.norms import squared_norm_at_time
from nht_theory.estimators.results import Crossing
from nht_theory.estimators.transitions import collapse_step, generalization, memorization
from nht_theory.runs import columns
from nht_theory.runs.run import Hyperparameters, Run

Configuration = tuple[tuple[str, str], ...]

_NUMERIC_FIELDS = ("learning_rate", "weight_decay", "batch_size", "parameter_count")
_HORIZONS = {name: f"1/(1-{name})" for name in ("beta_1", "beta_2", "momentum")}
"""Averaging constants are compared by the steps they average over: beta_2 of 0.98 and 0.999, two
percent apart, average over 50 and over 1000."""
SCHEDULE_OPTIONS = ("warmup_steps", "final_multiple", "milestones", "factor")
"""Settings of a schedule, which enter through the clock (:mod:`.scheduled_clock`)."""


@dataclass(frozen=True, eq=False)
class ObservedRun:
    """One run as far as a forecast may know it.

    Attributes:
        run: the trajectory, cut at the moment of the forecast when it is the run forecast.
        settings: every positive numeric hyper-parameter, by name (averaging constants as the
            number of steps they average over).
        conditions: every other stated setting as text, by name: optimiser, task, form of decay,
            and what the source names in words.
        memorization: crossing of training accuracy.
        generalization: crossing of held-out accuracy; None where it is not logged.
        memorization_time, generalization_time: the same two as real numbers, finer than the
            evaluation grid (:func:`crossing_time`); None where not seen.
        squared_norm_memorization: V at ``memorization_time``; None where unknown.
        squared_norm_generalization: V_star, at ``generalization_time``; None where unknown.
        decay_rate: pure-decay rate of V per step (2 eta lambda when decay is decoupled); None
            where the settings do not give one.
        configuration: everything but seed and budget.
        schedule: name of the learning-rate schedule; constant where none is named.
    """

    run: Run
    settings: Mapping[str, float]
    conditions: Mapping[str, str]
    memorization: Crossing | None
    generalization: Crossing | None
    memorization_time: float | None
    generalization_time: float | None
    squared_norm_memorization: float | None
    squared_norm_generalization: float | None
    decay_rate: float | None
    configuration: Configuration
    schedule: str

    @property
    def stated(self) -> frozenset[str]:
        """Names of everything that was chosen, as far as the source says."""
        return frozenset({*self.settings, *self.conditions})

    @property
    def initial_squared_norm(self) -> float | None:
        """V at step 0; None where that is not logged."""
        run = self.run
        if not len(run) or run.steps[0] != 0 or not run.has(columns.SQUARED_NORM):
            return None
        first = float(run.squared_norm[0])
        return first if np.isfinite(first) and first > 0 else None

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
    """Every positive, finite numeric hyper-parameter, by name; seed, budget and the options of a
    schedule excluded.

    Example:
        >>> numeric_settings(Hyperparameters(weight_decay=0.3, seed=4, extra={"p": 97}))
        {'weight_decay': 0.3, 'p': 97.0}
        >>> numeric_settings(Hyperparameters(beta_2=0.98))
        {'1/(1-beta_2)': 50.0}
    """
    scheduled = SCHEDULE_OPTIONS if chosen.schedule else ()
    averaged = {
        horizon: round(1.0 / (1.0 - value), 6)
        for name, horizon in _HORIZONS.items()
        if (value := getattr(chosen, name)) is not None and 0 <= value < 1
    }
    named = {
        **{name: getattr(chosen, name) for name in _NUMERIC_FIELDS},
        **averaged,
        **{name: value for name, value in chosen.extra.items() if name not in scheduled},
    }
    return {
        name: float(value)
        for name, value in named.items()
        if _is_number(value) and np.isfinite(value) and value > 0
    }


def conditions_of(chosen: Hyperparameters) -> dict[str, str]:
    """Every stated setting that is not a number, as text; the schedule and its options excluded.

    Example:
        >>> conditions_of(Hyperparameters("adamw", 1e-3, extra={"operation": "add", "p": 97}))
        {'optimizer': 'adamw', 'decay_form': 'decoupled', 'operation': 'add'}
    """
    form = decay_form_of(chosen)
    scheduled = SCHEDULE_OPTIONS if chosen.schedule else ()
    named = {
        "optimizer": chosen.optimizer,
        "task": chosen.task,
        "decay_form": form.value if isinstance(form, DecayForm) else None,
        **{name: value for name, value in chosen.extra.items() if name not in scheduled},
    }
    return {
        name: str(value)
        for name, value in named.items()
        if value is not None and not _is_number(value)
    }


def setting_of(name: str) -> str:
    """The hyper-parameter behind a name in ``settings`` or ``conditions``.

    Example:
        >>> setting_of("1/(1-beta_2)"), setting_of("p")
        ('beta_2', 'p')
    """
    return next((own for own, horizon in _HORIZONS.items() if horizon == name), name)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def observe(run: Run, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> ObservedRun:
    """Read from a run what a forecast needs; what it does not hold is None."""
    memorized, generalized = memorization(run, thresholds), generalization(run, thresholds)
    first, last = (int(run.steps[0]), int(run.steps[-1])) if len(run) else (0, 0)
    rate = pure_decay_rate(run, Window(first, last, "all that is known"))
    start, end = crossing_time(run, memorized), crossing_time(run, generalized)
    return ObservedRun(
        run=run,
        settings=numeric_settings(run.hyperparameters),
        conditions=conditions_of(run.hyperparameters),
        memorization=memorized,
        generalization=generalized,
        memorization_time=start,
        generalization_time=end,
        squared_norm_memorization=squared_norm_at_time(run, start),
        squared_norm_generalization=squared_norm_at_time(run, end),
        decay_rate=rate if isinstance(rate, float) else None,
        configuration=run.hyperparameters.configuration(),
        schedule=run.hyperparameters.schedule or ScheduleKind.CONSTANT.value,
    )


def observe_all(
    runs: Iterable[Run], thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> tuple[ObservedRun, ...]:
    """:func:`observe` of each run, up to where it lost what it had memorised, if it did.

    Example:
        >>> accuracy = {"train_accuracy": np.array([0.0, 1.0, 1.0, 0.1, 0.1])}
        >>> lost = Run("lost", None, np.arange(0, 50, 10), accuracy)
        >>> observe_all([lost])[0].run.steps
        array([ 0, 10, 20])
    """
    return tuple(_observe_before_collapse(run, thresholds) for run in runs)


def _observe_before_collapse(run: Run, thresholds: Thresholds) -> ObservedRun:
    one = observe(run, thresholds)
    collapse = collapse_step(run, one.memorization)
    return one if collapse is None else observe(run.until(collapse - 1), thresholds)
