"""How each run of a study stands, read from its own directory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nht_theory.errors import InputError
from nht_theory.runs.run_format import METRICS_FILE, RunState, read_status
from nht_train.lock import is_locked
from nht_train.sweep.study_file import PlannedRun

TAIL_BYTES = 65_536
"""Enough for the last whole line of a metrics file."""


class Standing(StrEnum):
    """A run as the sweep sees it."""

    WAITING = "waiting"
    TRAINING = "training"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True)
class RunView:
    """What the table shows of a run.

    Attributes:
        name: of the run.
        standing: how it stands.
        step, total_steps: how far it came.
        metrics: its last evaluation, empty before the first.
        error: why it failed.
    """

    name: str
    standing: Standing
    step: int
    total_steps: int
    metrics: dict[str, float]
    error: str | None = None


def view(planned: PlannedRun, study_directory: Path) -> RunView:
    """Read how a run stands; a damaged status file counts as not begun (resuming decides)."""
    directory = study_directory / planned.name
    metrics = last_metrics(directory)
    step = int(metrics.get("step", 0))
    standing, error = Standing.WAITING, None
    try:
        status = read_status(directory)
    except InputError:
        status = None
    if status is not None and status.state is RunState.FINISHED:
        standing, step = Standing.FINISHED, status.step
    elif is_locked(directory):
        standing = Standing.TRAINING
    elif status is not None and status.state is RunState.FAILED:
        standing, error, step = Standing.FAILED, status.error, status.step
    return RunView(planned.name, standing, step, planned.config.steps, metrics, error)


def views(runs: Sequence[PlannedRun], study_directory: Path) -> list[RunView]:
    """How every run stands, in order."""
    return [view(planned, study_directory) for planned in runs]


def last_metrics(directory: Path) -> dict[str, float]:
    """The last whole line of the run's metrics; empty when there is none yet."""
    try:
        with (directory / METRICS_FILE).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            lines = file.read().split(b"\n")[:-1]  # what follows the last newline is incomplete
    except OSError:
        return {}
    for line in reversed(lines):
        try:
            values = json.loads(line)
        except json.JSONDecodeError:
            continue
        return {key: value for key, value in values.items() if isinstance(value, int | float)}
    return {}
