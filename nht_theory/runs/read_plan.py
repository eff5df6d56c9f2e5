"""What would be read from a path: each file with the reader it goes to, or why it is left out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from nht_theory.checkpoints.notes import LeftOut

if TYPE_CHECKING:
    from nht_theory.checkpoints import CheckpointSeries


class Reader(StrEnum):
    """The formats of logs."""

    RUN_DIRECTORY = "run directory"
    JSON_LINES = "JSONL log"
    TABLE = "table"
    PARQUET = "Parquet table"
    JSON_STUDY = "JSON study"
    TRAINER_STATE = "Transformers trainer state"
    TENSORBOARD = "TensorBoard events"
    CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class PlannedFile:
    """A file and how it will be read.

    Attributes:
        file: path from the root of the study.
        path: where it is; the directory, for a run that is one.
        reader: its format.
        name: name of the run, or of the study within the study.
        beside: files with its settings, the nearest first.
        parts: the files it consists of, where they are several.
        series: the checkpoints in order, for a run that is read from these.
    """

    file: str
    path: Path
    reader: Reader
    name: str
    beside: tuple[Path, ...] = ()
    parts: tuple[Path, ...] = ()
    series: CheckpointSeries | None = None


@dataclass(frozen=True)
class ReadPlan:
    """Everything found below a path, before any log is read.

    Attributes:
        source: the path.
        files: what will be read, in order.
        left_out: what will not, each with the reason.
    """

    source: Path
    files: tuple[PlannedFile, ...]
    left_out: tuple[LeftOut, ...]
