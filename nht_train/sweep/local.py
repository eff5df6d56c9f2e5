"""Runs of a study on this machine: one process a core, one thread a process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from nht_theory.errors import InputError
from nht_theory.runs.run_format import (
    RunState,
    StatusDocument,
    read_status,
    write_atomically,
    write_status,
)
from nht_train.interruption import Interruption
from nht_train.sweep.state import RunView, Standing, view, views
from nht_train.sweep.study_file import PlannedRun

CONFIG_FILE = "config.toml"
OUTPUT_FILE = "output.log"
ATTEMPTS = 3
"""Starts of a run whose process dies without saying why, before it counts as failed."""
BAD_INPUT = 2
"""Exit code of a run that was refused: trying again would change nothing."""
POLL_SECONDS = 0.2
SINGLE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

Watch = Callable[[list[RunView]], None]
"""Called now and then with how every run stands."""


@dataclass
class Worker:
    """A training process and the run it trains."""

    planned: PlannedRun
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    core: int


@dataclass
class LocalSweep:
    """Trains the runs of a study that are not finished.

    A run whose process dies is resumed where it was, up to :data:`ATTEMPTS` times; one that fails
    by its own word is recorded and left until ``retry_failed``. When the sweep itself is killed
    its processes go on, and a new sweep waits for them, since each holds its run's lock.

    Attributes:
        runs: of the study.
        directory: of the study; each run has its own below it.
        workers: processes at the same time.
        retry_failed: start failed runs once more.
    """

    runs: Sequence[PlannedRun]
    directory: Path
    workers: int
    retry_failed: bool = False
    active: list[Worker] = field(default_factory=list)
    attempts: dict[str, int] = field(default_factory=dict)

    def run(self, watch: Watch) -> bool:
        """Train until nothing is left to do.

        Returns:
            False when a signal ended it early (the running processes saved their state).
        """
        queue = self._queue()
        with Interruption() as interruption:
            while queue or self.active:
                if interruption.asked:
                    self.stop()
                    return False
                self._collect(queue)
                while queue and len(self.active) < self.workers:
                    if not self._start_next(queue):
                        break
                watch(views(self.runs, self.directory))
                time.sleep(POLL_SECONDS)
        watch(views(self.runs, self.directory))
        return True

    def stop(self) -> None:
        """Ask every process to save its state and end, and wait for it."""
        for worker in self.active:
            worker.process.terminate()
        for worker in self.active:
            worker.process.wait()
            worker.output.close()
        self.active.clear()

    def _queue(self) -> list[PlannedRun]:
        """What is left, the longest first, so that no long run is started last."""
        left = []
        for planned in self.runs:
            standing = view(planned, self.directory).standing
            failed = standing is Standing.FAILED
            if standing is not Standing.FINISHED and (self.retry_failed or not failed):
                left.append(planned)
        return sorted(left, key=lambda planned: (-planned.cost, planned.name))

    def _start_next(self, queue: list[PlannedRun]) -> bool:
        """Start the first run that no other process holds; False when all are held."""
        for planned in queue:
            standing = view(planned, self.directory).standing
            if standing is Standing.FINISHED:  # by a process that an earlier sweep started
                queue.remove(planned)
                return True
            if standing is not Standing.TRAINING:
                queue.remove(planned)
                self.active.append(self._start(planned))
                return True
        return False

    def _start(self, planned: PlannedRun) -> Worker:
        directory = self.directory / planned.name
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(directory / CONFIG_FILE, planned.toml())
        output = (directory / OUTPUT_FILE).open("ab")
        command = [sys.executable, "-m", "nht_train", "train", str(directory / CONFIG_FILE)]
        process = subprocess.Popen(
            [*command, "-o", str(directory), "--resume"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | SINGLE_THREAD,
            start_new_session=True,  # a Ctrl-C reaches the sweep alone, which passes it on once
        )
        self.attempts[planned.name] = self.attempts.get(planned.name, 0) + 1
        core = self._free_core()
        # A sweep that leaves cores idle leaves the choice to the system: two such sweeps side by
        # side would be kept on the same core.
        if self.workers >= available_cores():
            pin(process.pid, core)
        return Worker(planned, process, output, core)

    def _free_core(self) -> int:
        taken = {worker.core for worker in self.active}
        return next(core for core in range(len(self.active) + 1) if core not in taken)

    def _collect(self, queue: list[PlannedRun]) -> None:
        for worker in list(self.active):
            code = worker.process.poll()
            if code is None:
                continue
            worker.output.close()
            self.active.remove(worker)
            if self._died(worker.planned):
                if code != BAD_INPUT and self.attempts[worker.planned.name] < ATTEMPTS:
                    queue.insert(0, worker.planned)
                else:
                    self._record_death(worker.planned, code)

    def _died(self, planned: PlannedRun) -> bool:
        """Whether a process ended without saying how its run stands."""
        try:
            status = read_status(self.directory / planned.name)
        except InputError:
            return True
        return status is None or status.state in (RunState.RUNNING, RunState.INTERRUPTED)

    def _record_death(self, planned: PlannedRun, code: int) -> None:
        directory = self.directory / planned.name
        output = (directory / OUTPUT_FILE).read_text(errors="replace").strip().splitlines()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        problem = f"the process ended with {how}: {output[-1] if output else 'it said nothing'}"
        step = view(planned, self.directory).step
        write_status(
            directory,
            StatusDocument(
                state=RunState.FAILED, step=step, total_steps=planned.config.steps, error=problem
            ),
        )


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pin(process: int, slot: int) -> None:
    """Keep a process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(process, {cores[slot % len(cores)]})
