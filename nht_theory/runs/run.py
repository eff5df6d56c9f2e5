"""What a run is: its trajectory, its hyper-parameters and what was noticed while reading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nht_theory.checkpoints.groups import ParameterGroup
from nht_theory.conventions import DecayForm
from nht_theory.errors import InputError
from nht_theory.runs import columns
from nht_theory.runs.notes import Note

__all__ = ["Hyperparameters", "ParameterGroup", "RecordedEvents", "Run", "Series"]

if TYPE_CHECKING:
    import pandas as pd

Series = NDArray[np.float64]


@dataclass(frozen=True)
class Hyperparameters:
    """What was chosen before training; None where the log does not say.

    Attributes:
        optimizer: lower-case name as in :class:`nht_theory.conventions.OptimizerKind`, or the
            foreign name where it is none of these.
        learning_rate: eta, per step (the peak of the schedule).
        weight_decay: lambda, in the form that ``decay_form`` names.
        decay_form: how the coefficient enters the update.
        beta_1, beta_2, momentum: of the optimiser.
        schedule: name as in :class:`nht_theory.conventions.ScheduleKind`.
        total_steps: training budget in steps.
        batch_size: examples per step.
        parameter_count: number of trained parameters, d in the noise floor.
        seed: excluded from the configuration.
        task: name of the task, with its size (``modular_addition``).
        extra: every other setting, by its name in the source (p, train_fraction, rho ...).
    """

    optimizer: str | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    decay_form: DecayForm | None = None
    beta_1: float | None = None
    beta_2: float | None = None
    momentum: float | None = None
    schedule: str | None = None
    total_steps: int | None = None
    batch_size: int | None = None
    parameter_count: int | None = None
    seed: int | None = None
    task: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    def configuration(self) -> tuple[tuple[str, str], ...]:
        """Everything but the seed and the budget, as sorted (name, value) pairs: runs that share
        it are replicates. The budget is left out because it says when one stopped looking."""
        own = {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if entry.name not in ("seed", "total_steps", "extra")
        }
        everything = {**own, **self.extra}
        return tuple(sorted((k, str(v)) for k, v in everything.items() if v is not None))


@dataclass(frozen=True)
class RecordedEvents:
    """Transition steps that the source itself stored, kept only to compare with our own.

    None means that the source says the event did not happen (or does not mention it).
    """

    memorization_step: int | None = None
    generalization_step: int | None = None
    squared_norm_memorization: float | None = None
    squared_norm_generalization: float | None = None
    squared_norm_final: float | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """One training run: evaluations in order of step, and where they came from.

    Attributes:
        name: unique within its study.
        source: the file or directory it was read from.
        steps: evaluated steps, strictly increasing, int64, shape [n]; empty when the source
            stored only events.
        values: canonical column name -> float64 array of shape [n], NaN where not logged.
        hyperparameters: what was chosen before training.
        recorded: events that the source stored itself, or None.
        groups: parameter groups whose norms are among ``values``.
        notes: what reading changed or noticed (norms squared, overlap resolved, NaN found).
        settled: True when training has ended (so an event not seen is censored, not pending).
    """

    name: str
    source: Path
    steps: NDArray[np.int64]
    values: Mapping[str, Series] = field(default_factory=dict)
    hyperparameters: Hyperparameters = field(default_factory=Hyperparameters)
    recorded: RecordedEvents | None = None
    groups: tuple[ParameterGroup, ...] = ()
    notes: tuple[Note, ...] = ()
    settled: bool = True

    def __post_init__(self) -> None:
        if len(self.steps) > 1 and not bool(np.all(np.diff(self.steps) > 0)):
            raise InputError("steps are not strictly increasing", source=self.name)
        for name, series in self.values.items():
            if series.shape != self.steps.shape:
                raise InputError(
                    f"column {name} has {series.size} values for {self.steps.size} steps",
                    source=self.name,
                )
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def __getstate__(self) -> dict[str, object]:
        """What pickle and copy carry: a read-only view cannot be pickled itself."""
        return {**self.__dict__, "values": dict(self.values)}

    def __setstate__(self, state: dict[str, object]) -> None:
        values: Mapping[str, Series] = state["values"]  # type: ignore[assignment]
        self.__dict__.update(state, values=MappingProxyType(values))

    def __len__(self) -> int:
        return int(self.steps.size)

    def has(self, *names: str) -> bool:
        """Whether each column is logged with at least one finite value."""
        return all(
            name in self.values and bool(np.isfinite(self.values[name]).any()) for name in names
        )

    def column(self, name: str) -> Series:
        """The values of a canonical column, float64, shape [n].

        Raises:
            InputError: the run does not log it; the message lists what it does log.
        """
        try:
            return self.values[name]
        except KeyError:
            raise InputError(
                f"run logs no {name}",
                source=self.source,
                remedy=f"it logs {', '.join(self.values) or 'nothing'}; map a column with "
                f"--map {name}=COLUMN",
            ) from None

    @property
    def squared_norm(self) -> Series:
        """V at each step."""
        return self.column(columns.SQUARED_NORM)

    def norm_groups(self) -> tuple[str, ...]:
        """Groups whose squared norm is logged."""
        return columns.groups_of(columns.SQUARED_NORM, self.values)

    def until(self, step: int) -> Run:
        """The run as it was known at ``step`` (inclusive): nothing later survives.

        The recorded events and the notes are dropped too, since they know the future.
        """
        known = self.steps <= step
        return Run(
            name=self.name,
            source=self.source,
            steps=self.steps[known],
            values={name: series[known] for name, series in self.values.items()},
            hyperparameters=self.hyperparameters,
            groups=self.groups,
            settled=False,
        )

    def to_frame(self) -> pd.DataFrame:
        """The trajectory as a table with a ``step`` column."""
        import pandas as pd

        return pd.DataFrame({columns.STEP: self.steps, **self.values})
