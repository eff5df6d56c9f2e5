"""A study: the distinct runs that were read, what was merged and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs.configurations import REMEDY, Configurations, configurations_of
from nht_theory.runs.notes import Note
from nht_theory.runs.run import Run

__all__ = ["LeftOut", "Merge", "Study", "require_configurations"]


@dataclass(frozen=True)
class Merge:
    """Several records of one run: the one kept (finest grid) and the repeats."""

    kept: str
    repeats: tuple[str, ...]
    reason: str


@dataclass(frozen=True, eq=False)
class Study:
    """Runs read from one place.

    Attributes:
        source: the path that was given.
        records: every record with a step or an event, repeats included.
        runs: the distinct runs that have a trajectory; every n is counted over these.
        merges: which records were found to be one run.
        left_out: files, records, tensors and lines not used, each with the reason.
        notes: what holds for the whole study (column mapping, units).
    """

    source: Path
    records: tuple[Run, ...]
    runs: tuple[Run, ...]
    merges: tuple[Merge, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def without_trajectory(self) -> tuple[Run, ...]:
        """Records that store events but no log."""
        return tuple(record for record in self.records if len(record) == 0)

    @cached_property
    def configurations(self) -> Configurations:
        """Whether the distinct runs say which of them share a configuration."""
        return configurations_of(self.runs)

    def run(self, name: str) -> Run:
        """The run of that name.

        Raises:
            InputError: there is none.
        """
        for run in self.runs:
            if run.name == name:
                return run
        raise InputError(
            f"no run named {name!r}",
            source=self.source,
            remedy=f"the {len(self.runs)} runs are {', '.join(r.name for r in self.runs[:5])} ...",
        )


def require_configurations(study: Study) -> None:
    """Refuse a study whose runs do not say which of them share a configuration.

    Raises:
        InputError: they do not.
    """
    if not study.configurations.known:
        raise InputError(str(study.configurations), source=study.source, remedy=REMEDY)
