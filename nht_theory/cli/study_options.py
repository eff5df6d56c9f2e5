"""Options that every command on a study shares: how to read it, and thresholds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.errors import InputError

if TYPE_CHECKING:
    from nht_theory.runs.options import ReadOptions

ColumnMap = Annotated[
    list[str] | None, typer.Option("--map", metavar="OURS=THEIRS", help="Name a column.")
]
Pattern = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="How file names tell settings: 'wd{weight_decay}_s{seed}'."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting that the logs do not tell."),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Sum the weights of checkpoints in float64 throughout.")
]
Weights = Annotated[
    str | None, typer.Option(metavar="KEY", help="Which weights of a checkpoint: live, ema, a key.")
]
Threshold = Annotated[
    float | None, typer.Option(help="Level of both accuracies that counts as reached.")
]
Persistence = Annotated[int, typer.Option(min=1, help="Evaluations for which it must hold.")]


def read_options(
    column_map: Iterable[str] | None,
    pattern: str | None,
    settings: Iterable[str] | None,
    *,
    exact: bool,
    weights: str | None,
) -> ReadOptions:
    """What the shared options say about reading.

    Raises:
        InputError: an argument that is not NAME=VALUE.

    Example:
        >>> read_options(None, None, ["optimizer=adamw"], exact=False, weights=None).hyperparameters
        {'optimizer': 'adamw'}
    """
    from nht_theory.checkpoints.tensor_names import LIVE
    from nht_theory.runs.options import ReadOptions, parse_map

    values: dict[str, object] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not (name and equals and value):
            raise InputError(f"{setting!r} is not NAME=VALUE", source="--set")
        values[name] = value
    return ReadOptions(
        column_map=parse_map(column_map or ()),
        hyperparameters=values,
        pattern=pattern,
        exact=exact,
        weights=weights or LIVE,
    )


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
