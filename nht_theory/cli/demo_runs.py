"""The runs of the demonstration: training processes, started two at a time and watched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from nht_theory.errors import InputError
from nht_theory.runs.run_format import RunState, read_status

TRAINER = "nht_train"
"""Only ever named: it runs in processes of its own, so nothing here depends on it."""
LOG_DIRECTORY = "training-logs"
"""Beside the runs, not among them, since it is no part of a run."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Two threads beside another busy process are up to fifty times slower than one."""


@dataclass(frozen=True)
class DemoRun:
    """One run of the demonstration.

    Attributes:
        name: of its directory.
        overrides: ``key=value`` on top of the packaged configuration.
    """

    name: str
    overrides: tuple[str, ...]


@dataclass
class Training:
    """A run that is being trained in its own process."""

    run: DemoRun
    directory: Path
    log: Path
    process: subprocess.Popen[bytes]


@dataclass
class Workers:
    """Training processes, at most ``limit`` at once."""

    config: Path
    directory: Path
    limit: int
    training: list[Training] = field(default_factory=list)

    def start(self, run: DemoRun) -> Training:
        """Start a run, or continue it where it was interrupted."""
        place = self.directory / run.name
        status = read_status(place) if place.exists() else None
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [
            *(sys.executable, "-m", TRAINER, "train", str(self.config), *run.overrides),
            *("-o", str(place)),
            *(["--resume"] if status is not None else []),
        ]
        log = self.directory.parent / LOG_DIRECTORY / f"{run.name}.txt"
        log.parent.mkdir(exist_ok=True)
        with log.open("ab") as said:
            process = subprocess.Popen(
                command, stdout=said, stderr=said, env={**os.environ, **ONE_THREAD}
            )
        started = Training(run, place, log, process)
        self.training.append(started)
        return started

    def ended(self) -> list[Training]:
        """Runs whose process has ended since the last call.

        Raises:
            InputError: one of them failed; the last line of its log is the reason.
        """
        over = [one for one in self.training if one.process.poll() is not None]
        self.training = [one for one in self.training if one not in over]
        for one in over:
            if one.process.returncode != 0:
                lines = one.log.read_text(errors="replace").splitlines()
                raise InputError(
                    f"training ended with code {one.process.returncode}"
                    f" ({lines[-1] if lines else 'it said nothing'})",
                    source=one.directory,
                    remedy=f"see {one.log}",
                )
        return over

    def stop(self) -> None:
        """End every process; each saves its state first, so that it can be continued."""
        for one in self.training:
            one.process.terminate()
        for one in self.training:
            one.process.wait()


def finished(directory: Path, run: DemoRun) -> bool:
    """Whether a run has been trained to its end already.

    Raises:
        InputError: its status file is malformed.
    """
    place = directory / run.name
    status = read_status(place) if place.exists() else None
    return status is not None and status.state is RunState.FINISHED


def demo_config() -> Path:
    """The packaged configuration of the demonstration.

    Raises:
        InputError: training is not installed.
    """
    found = find_spec(TRAINER)
    if find_spec("torch") is None or found is None or not found.submodule_search_locations:
        raise InputError("training needs torch", remedy="pip install 'nht[train]'")
    return Path(found.submodule_search_locations[0]) / "configs" / "demo.toml"


@contextmanager
def training(config: Path, directory: Path, limit: int) -> Iterator[Workers]:
    """Workers that are stopped, not abandoned, when anything goes wrong."""
    workers = Workers(config, directory, limit)
    try:
        yield workers
    finally:
        workers.stop()


def watch(workers: Workers, queue: Sequence[DemoRun], poll: float) -> Iterator[list[Training]]:
    """Train the queue in order; yields the runs that ended, at every look.

    Args:
        workers: where they run.
        queue: what is still to be trained.
        poll: seconds between two looks.
    """
    waiting = list(queue)
    while waiting or workers.training:
        while waiting and len(workers.training) < workers.limit:
            workers.start(waiting.pop(0))
        time.sleep(poll)
        yield workers.ended()
