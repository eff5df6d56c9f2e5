"""What a person sees while a run is going: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from nht_theory.runs import columns

REFRESH_STEPS = 20


class Progress(Protocol):
    """Told about every step and every evaluation; entered around the loop."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def stepped(self, step: int) -> None:
        """A step is done."""
        ...

    def evaluated(self, row: Mapping[str, float | int]) -> None:
        """An evaluation is written."""
        ...


def summary(row: Mapping[str, float | int]) -> str:
    """An evaluation in one line.

    Example:
        >>> summary({"step": 200, "squared_norm": 9447.8, "train_accuracy": 0.137})
        'V 9447.8  train 0.137'
    """
    parts = []
    for label, column, digits in (
        ("V", columns.SQUARED_NORM, ".1f"),
        ("train", columns.TRAIN_ACCURACY, ".3f"),
        ("held out", columns.HELDOUT_ACCURACY, ".3f"),
        ("worst group", columns.WORST_GROUP_ACCURACY, ".3f"),
    ):
        if column in row:
            parts.append(f"{label} {row[column]:{digits}}")
    return "  ".join(parts)


class PlainLines:
    """One line per evaluation, flushed.

    Args:
        prefix: of each line, such as the run's name where several are training.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def stepped(self, step: int) -> None:
        """Nothing: steps are too many for lines."""

    def evaluated(self, row: Mapping[str, float | int]) -> None:
        """Print the evaluation."""
        print(f"{self.prefix}step {row[columns.STEP]}  {summary(row)}", flush=True)


class Silent(PlainLines):
    """Prints nothing."""

    def evaluated(self, row: Mapping[str, float | int]) -> None:
        """Nothing."""


class Bar:
    """A progress bar with the last V and accuracies."""

    def __init__(self, total_steps: int) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        self._task = self._bar.add_task("", total=total_steps)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def stepped(self, step: int) -> None:
        """Move the bar, though not at every step."""
        if step % REFRESH_STEPS == 0:
            self._bar.update(self._task, completed=step)

    def evaluated(self, row: Mapping[str, float | int]) -> None:
        """Show the evaluation beside the bar."""
        self._bar.update(self._task, completed=row[columns.STEP], description=summary(row))


def for_this_output(total_steps: int) -> Progress:
    """A bar when standard output is a terminal, else plain lines."""
    return Bar(total_steps) if sys.stdout.isatty() else PlainLines()
