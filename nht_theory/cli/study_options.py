"""Options that every command on a study shares: column names and thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.errors import InputError

ColumnMap = Annotated[
    list[str] | None, typer.Option("--map", metavar="OURS=THEIRS", help="Name a column.")
]
Threshold = Annotated[
    float | None, typer.Option(help="Level of both accuracies that counts as reached.")
]
Persistence = Annotated[int, typer.Option(min=1, help="Evaluations for which it must hold.")]


def thresholds_of(level: float | None, persistence: int) -> Thresholds:
    """The default thresholds, or one level for both accuracies.

    Raises:
        InputError: the level is not an accuracy.

    Example:
        >>> thresholds_of(0.9, 3)
        Thresholds(train_accuracy=0.9, heldout_accuracy=0.9, persistence=3)
    """
    if level is None:
        return replace(DEFAULT_THRESHOLDS, persistence=persistence)
    if not 0 < level <= 1:
        raise InputError(
            f"{level:g} is not an accuracy", source="--threshold", remedy="give one in (0, 1]"
        )
    return Thresholds(level, level, persistence)
