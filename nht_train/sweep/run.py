"""``nht sweep``: expand a study, train what is left of it, say how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from nht_theory.errors import InputError
from nht_train.sweep.board import counts, for_this_output
from nht_train.sweep.local import LocalSweep, available_cores
from nht_train.sweep.registration import register
from nht_train.sweep.slurm import SlurmSweep
from nht_train.sweep.state import RunView, Standing, views
from nht_train.sweep.study_file import read_study

Executor = Literal["local", "slurm"]


def sweep(
    study_file: Path,
    directory: Path | None = None,
    *,
    overrides: tuple[str, ...] = (),
    workers: int | None = None,
    executor: Executor = "local",
    retry_failed: bool = False,
    registered: tuple[Path, ...] = (),
) -> tuple[bool, list[RunView], Path]:
    """Train every run of a study that is not finished.

    Args:
        study_file: see :mod:`nht_train.sweep.study_file`.
        directory: of the study; ``studies/NAME`` when None.
        overrides: ``key=value`` for every run.
        workers: processes at the same time; one a core when None.
        executor: this machine or Slurm.
        retry_failed: start failed runs once more.
        registered: files (forecasts) whose hash and time are recorded before the first run.

    Returns:
        Whether it went to its end, how each run stands, and the study directory.

    Raises:
        InputError: the study file or one of its runs is refused, or a file is to be registered
            after a run began.
    """
    study, planned = read_study(study_file, overrides)
    directory = directory or Path("studies") / study.name
    directory.mkdir(parents=True, exist_ok=True)
    register(registered, views(planned, directory), directory)
    if executor == "slurm":
        runner: LocalSweep | SlurmSweep = SlurmSweep(
            planned, directory, study.slurm, retry_failed=retry_failed
        )
    else:
        if workers is not None and workers < 1:
            raise InputError(f"{workers} workers train nothing", source="--workers")
        runner = LocalSweep(planned, directory, workers or available_cores(), retry_failed)
    with for_this_output() as board:
        complete = runner.run(board.show)
    return complete, views(planned, directory), directory


def outcome(runs: list[RunView], directory: Path) -> str:
    """What is printed at the end: counts, and each failure with its reason."""
    failed = [run for run in runs if run.standing is Standing.FAILED]
    lines = [f"{counts(runs)}: {directory}"]
    lines += [f"  failed: {run.name} at step {run.step}: {run.error}" for run in failed]
    if failed:
        lines.append("  start them again with --retry-failed")
    return "\n".join(lines)
