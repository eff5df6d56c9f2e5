"""Runs of a study on a Slurm cluster, through submitit: several runs a task, requeued when lost.

A task trains its runs with :class:`nht_train.sweep.local.LocalSweep`, so a run is the same here
and there. What was submitted is written beside the study; a controller that is killed and started
again finds its jobs and does not submit their runs twice.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nht_theory.errors import InputError
from nht_theory.runs.run_format import write_atomically
from nht_train.interruption import Interruption
from nht_train.sweep.local import LocalSweep, Watch
from nht_train.sweep.state import Standing, view, views
from nht_train.sweep.study_file import PlannedRun, SlurmOptions

JOB_FOLDER = ".slurm"
JOBS_FILE = "jobs.json"
POLL_SECONDS = 2.0
REQUEUES = 100
"""How often a task may be preempted or time out; each time it goes on where it was."""
SUBMISSIONS = 3
"""How often a run whose job ended without finishing it is submitted, before it is given up."""


@dataclass
class Pack:
    """What one task does: train some runs of a study. Requeued whole; finished runs are skipped.

    Attributes:
        runs: of this task.
        directory: of the study.
        workers: processes at the same time.
    """

    runs: list[PlannedRun]
    directory: Path
    workers: int
    retry_failed: bool = False
    _sweep: LocalSweep | None = None

    def __call__(self) -> bool:
        """Train; True when all that can be done is done."""
        self._sweep = LocalSweep(self.runs, self.directory, self.workers, self.retry_failed)
        return self._sweep.run(lambda runs: None)

    def checkpoint(self) -> Any:
        """Called by submitit before a preemption or a timeout: save, and come again."""
        from submitit.helpers import DelayedSubmission

        if self._sweep is not None:
            self._sweep.stop()
        return DelayedSubmission(Pack(self.runs, self.directory, self.workers))


@dataclass
class SlurmSweep:
    """Submits the runs of a study that are not finished, and waits for them.

    Attributes:
        runs: of the study.
        directory: of the study, on a disk that every node sees.
        options: what each task asks for.
        retry_failed: submit failed runs once more.
    """

    runs: Sequence[PlannedRun]
    directory: Path
    options: SlurmOptions
    retry_failed: bool = False
    submitted: dict[str, int] = field(default_factory=dict)

    def run(self, watch: Watch) -> bool:
        """Submit and wait until every run is finished or failed.

        Returns:
            False when a signal ended the waiting; the jobs go on, and calling again finds them.

        Raises:
            InputError: no Slurm here, or runs whose jobs keep ending without a word.
        """
        retry = self.retry_failed
        with Interruption() as interruption:
            while not interruption.asked:
                jobs = self._known_jobs()
                self._submit(self._homeless(jobs, retry), jobs, retry)
                retry = False
                if not self._pending(jobs):
                    watch(views(self.runs, self.directory))
                    return True
                watch(views(self.runs, self.directory))
                time.sleep(POLL_SECONDS)
        return False

    def _pending(self, jobs: dict[str, list[str]]) -> bool:
        """Whether any run still has a job, or could be trained."""
        return bool(jobs) or bool(self._homeless(jobs, retry_failed=False))

    def _known_jobs(self) -> dict[str, list[str]]:
        """Job -> runs, for jobs that Slurm still has."""
        jobs = self._read_jobs()
        if not jobs:
            return {}
        alive = _jobs_in_queue(jobs)
        return {job: names for job, names in jobs.items() if job in alive}

    def _homeless(self, jobs: dict[str, list[str]], retry_failed: bool) -> list[PlannedRun]:
        """Runs to be trained that no job holds, the longest first."""
        held = {name for names in jobs.values() for name in names}
        left = []
        for planned in self.runs:
            standing = view(planned, self.directory).standing
            trainable = standing is Standing.WAITING or (
                retry_failed and standing is Standing.FAILED
            )
            if trainable and planned.name not in held:
                left.append(planned)
        return sorted(left, key=lambda planned: (-planned.cost, planned.name))

    def _submit(
        self, runs: list[PlannedRun], jobs: dict[str, list[str]], retry_failed: bool
    ) -> None:
        if not runs:
            return
        worn = [run.name for run in runs if self.submitted.get(run.name, 0) >= SUBMISSIONS]
        if worn:
            raise InputError(
                f"the job of {worn[0]} ended {SUBMISSIONS} times without finishing it",
                source=self.directory / JOB_FOLDER,
                remedy="see the *_log.err files there, then start the sweep again",
            )
        executor = self._executor()
        size = self.options.runs_per_task
        packs = [runs[start : start + size] for start in range(0, len(runs), size)]
        for pack in packs:
            task = Pack(pack, self.directory.resolve(), self.options.cpus_per_task, retry_failed)
            job = executor.submit(task)
            jobs[str(job.job_id)] = [planned.name for planned in pack]
            for planned in pack:
                self.submitted[planned.name] = self.submitted.get(planned.name, 0) + 1
            # One by one, so that a controller killed in between forgets at most one job.
            write_atomically(self._jobs_path(), json.dumps(jobs, indent=2) + "\n")

    def _executor(self) -> Any:
        try:
            import submitit
        except ImportError:
            raise InputError(
                "submitit is not installed",
                source="--executor slurm",
                remedy="pip install 'nht[slurm]'",
            ) from None
        try:
            executor = submitit.SlurmExecutor(
                folder=self.directory / JOB_FOLDER, max_num_timeout=100
            )
        except RuntimeError as error:
            raise InputError(f"no Slurm here ({error})", source="--executor slurm") from None
        options = self.options
        executor.update_parameters(
            job_name=self.directory.name,
            time=options.timeout_minutes,
            cpus_per_task=options.cpus_per_task,
            setup=list(options.setup),
            **({"partition": options.partition} if options.partition else {}),
            **({"mem": f"{options.memory_gb:g}GB"} if options.memory_gb else {}),
        )
        return executor

    def _jobs_path(self) -> Path:
        return self.directory / JOB_FOLDER / JOBS_FILE

    def _read_jobs(self) -> dict[str, list[str]]:
        try:
            return json.loads(self._jobs_path().read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise InputError(f"not JSON ({error})", source=self._jobs_path()) from None


def _jobs_in_queue(jobs: dict[str, list[str]]) -> set[str]:
    """Those of the jobs that ``squeue`` lists for this user, running, waiting or requeued."""
    command = ["squeue", "--noheader", "--format=%A", f"--user={os.getuid()}"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise InputError("no squeue here", source="--executor slurm") from None
    except subprocess.CalledProcessError as error:
        raise InputError(f"squeue failed: {error.stderr.strip()}", source="slurm") from None
    return set(listed.stdout.split()) & jobs.keys()
