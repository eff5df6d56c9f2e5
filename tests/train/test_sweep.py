"""Sweeps: what a study file becomes, and that no death of a process loses or changes a run."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from nht_theory.errors import InputError
from nht_theory.runs.run_format import REGISTRATION_FILE, RunState, read_status
from nht_train.lock import RunLock, is_locked
from nht_train.sweep.local import LocalSweep, available_cores
from nht_train.sweep.run import outcome, sweep
from nht_train.sweep.state import RunView, Standing, last_metrics, view
from nht_train.sweep.study_file import read_study
from nht_train.trainer import train, train_lanes

TOY = """
name = "toy"
[base]
steps = {steps}
evaluate_every = 20
batch_size = 32
checkpoints = {{ schedule = "none", resume_every_seconds = 0 }}
[base.task]
name = "modular_addition"
p = 11
[base.model]
name = "transformer"
width = 16
heads = 2
feed_forward = 32
[grid]
"optimizer.weight_decay" = [0.1, 1.0]
seed = [0, 1]
[slurm]
runs_per_task = 2
cpus_per_task = 2
"""


def _study(folder: Path, steps: int = 100, extra: str = "") -> Path:
    path = folder / "toy.toml"
    path.write_text(TOY.format(steps=steps) + extra)
    return path


def test_a_grid_becomes_every_combination(tmp_path: Path) -> None:
    _, planned = read_study(_study(tmp_path))
    assert [run.name for run in planned] == [
        "weight_decay0.1_seed0",
        "weight_decay0.1_seed1",
        "weight_decay1.0_seed0",
        "weight_decay1.0_seed1",
    ]
    assert planned[3].config.seed == 1
    assert planned[3].config.optimizer.options == {"weight_decay": 1.0}


def test_listed_runs_are_multiplied_with_the_grid(tmp_path: Path) -> None:
    extra = '[[runs]]\nsteps = 40\n[[runs]]\nsteps = 80\n"task.p" = 13\n'
    _, planned = read_study(_study(tmp_path, extra=extra))
    assert len(planned) == 8
    assert planned[4].name == "steps80_p13_weight_decay0.1_seed0"
    assert planned[4].config.task.options == {"p": 13}


def test_a_run_may_change_a_whole_table(tmp_path: Path) -> None:
    extra = '[[runs]]\nschedule = { name = "step", milestones = [20], factor = 0.5 }\n'
    _, planned = read_study(_study(tmp_path, extra=extra))
    for run in planned:
        kept = tomllib.loads(run.toml())
        assert kept["schedule"] == {"name": "step", "milestones": [20], "factor": 0.5}
        assert run.config.schedule.name == "step"


def test_the_longest_run_starts_first(tmp_path: Path) -> None:
    _, planned = read_study(_study(tmp_path, extra="[[runs]]\nsteps = 40\n[[runs]]\nsteps = 80\n"))
    queue = LocalSweep(planned, tmp_path / "out", workers=1)._queue()
    assert [run.config.steps for run in queue] == [80] * 4 + [40] * 4


def test_a_runs_own_file_says_what_the_study_said(tmp_path: Path) -> None:
    from nht_train.config import TrainConfig

    _, planned = read_study(_study(tmp_path))
    (tmp_path / "run.toml").write_text(planned[2].toml())
    assert TrainConfig.from_toml(tmp_path / "run.toml") == planned[2].config


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("[grid]", "[gird]"), "unknown key 'gird'; did you mean grid"),
        (("seed = [0, 1]", "sede = [0, 1]"), r"run .*: unknown key 'sede'; did you mean seed"),
        (("seed = [0, 1]", "seed = []"), r"grid\.seed: an empty list"),
        (("seed = [0, 1]", "seed = [1, 1]"), "two runs are named"),
        (("steps = 100", "steps = -1"), "steps: Input should be greater"),
        (("name =", "name"), "not TOML"),
    ],
)
def test_a_faulty_study_file_is_refused_by_name(
    tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    path = _study(tmp_path)
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(InputError, match=complaint):
        read_study(path)


def test_one_process_a_run(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        assert is_locked(tmp_path)
        with pytest.raises(InputError, match="another process"):
            RunLock(tmp_path, patience_seconds=0)
    assert not is_locked(tmp_path)
    RunLock(tmp_path).close()


def test_a_cut_last_line_is_not_the_last_metrics(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "squared_norm": 2.0}\n{"step": 2, "squ')
    assert last_metrics(tmp_path) == {"step": 1, "squared_norm": 2.0}


def test_failures_are_named_at_the_end() -> None:
    runs = [
        RunView("good", Standing.FINISHED, 10, 10, {}),
        RunView("bad", Standing.FAILED, 3, 10, {}, "the loss is nan at step 3"),
    ]
    text = outcome(runs, Path("studies/toy"))
    assert "1 of 2 finished" in text
    assert "failed: bad at step 3: the loss is nan at step 3" in text
    assert "--retry-failed" in text


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Metrics of every run of the toy study, each trained alone and undisturbed."""
    folder = tmp_path_factory.mktemp("alone")
    _, planned = read_study(_study(folder, steps=600))
    metrics = {}
    for run in planned:
        train(run.config, folder / run.name)
        metrics[run.name] = (folder / run.name / "metrics.jsonl").read_bytes()
    return metrics


def _metrics(directory: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in directory.glob("*/metrics.jsonl")}


def _wait_for(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def _trainers(directory: Path) -> list[int]:
    """Processes that train a run below ``directory``."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        wanted = str(directory).encode()
        if b"nht_train" in arguments and any(part.startswith(wanted) for part in arguments):
            found.append(int(entry.name))
    return found


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """``nht sweep`` of the toy study, as a process that can be killed."""
    process = _start_controller(tmp_path)
    yield process
    process.kill()
    process.wait()
    for pid in _trainers(tmp_path / "out"):
        os.kill(pid, signal.SIGKILL)


def _start_controller(folder: Path) -> subprocess.Popen[bytes]:
    path = _study(folder, steps=600)
    code = "import sys; from nht_theory.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "sweep", str(path), "-o", str(folder / "out")]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.skipif(available_cores() < 2, reason="one core leaves no choice")
def test_only_a_sweep_that_fills_the_machine_keeps_each_run_on_one_core(tmp_path: Path) -> None:
    """Two sweeps of one process each were kept on the same core, beside an idle one."""
    _, planned = read_study(_study(tmp_path))
    mine = os.sched_getaffinity(0)
    for workers, wanted in ((1, mine), (available_cores(), {min(mine)})):
        swept = LocalSweep(planned, tmp_path / str(workers), workers)
        assert swept._start_next([planned[0]])
        assert os.sched_getaffinity(swept.active[0].process.pid) == wanted
        swept.stop()


@pytest.mark.slow
def test_a_run_is_the_same_alone_in_a_sweep_of_eight_and_in_lanes_of_four(tmp_path: Path) -> None:
    path = _study(tmp_path, steps=60)
    path.write_text(path.read_text().replace("seed = [0, 1]", "seed = [0, 1, 2, 3]"))
    assert sweep(path, tmp_path / "eight", workers=4)[0]
    swept = _metrics(tmp_path / "eight")
    assert len(swept) == 8
    _, planned = read_study(path)
    train(planned[5].config, tmp_path / "alone" / planned[5].name)
    lanes = planned[4:]
    train_lanes([run.config for run in lanes], [tmp_path / "lanes" / run.name for run in lanes])
    for some in (_metrics(tmp_path / "alone"), _metrics(tmp_path / "lanes")):
        assert some == {name: swept[name] for name in some}
        assert planned[5].name in some


@pytest.mark.slow
def test_killing_a_worker_and_the_controller_changes_nothing(
    controller: subprocess.Popen[bytes], tmp_path: Path, alone: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    _wait_for(lambda: len(list(out.glob("*/latest/state.pt"))) >= 2)
    os.kill(_trainers(out)[0], signal.SIGKILL)  # a worker: the controller resumes its run
    _wait_for(lambda: any(_standing(out, name) is Standing.FINISHED for name in alone))
    finished = {
        name: (out / name / "metrics.jsonl").stat().st_mtime_ns
        for name in alone
        if _standing(out, name) is Standing.FINISHED
    }
    controller.kill()  # its workers go on; the next controller waits for them
    controller.wait()
    again = _start_controller(tmp_path)
    assert again.wait(timeout=240) == 0
    assert _metrics(out) == alone
    for name, modified in finished.items():
        assert (out / name / "metrics.jsonl").stat().st_mtime_ns == modified


def _standing(out: Path, name: str) -> Standing:
    _, planned = read_study(out.parent / "toy.toml")
    return view(next(run for run in planned if run.name == name), out).standing


@pytest.mark.slow
def test_a_failed_run_is_recorded_and_retried_on_demand(tmp_path: Path) -> None:
    path = _study(tmp_path, steps=60)
    path.write_text(path.read_text().replace("seed = [0, 1]", "seed = [0]"))
    out = tmp_path / "out"
    broken = out / "weight_decay0.1_seed0"
    broken.mkdir(parents=True)
    (broken / "metrics.jsonl").mkdir()  # nothing can be written there
    complete, runs, _ = sweep(path, out)
    standing = {run.name: run.standing for run in runs}
    assert complete
    assert standing == {
        "weight_decay0.1_seed0": Standing.FAILED,
        "weight_decay1.0_seed0": Standing.FINISHED,
    }
    before = [run.error for run in sweep(path, out)[1]]
    assert before[0]
    (broken / "metrics.jsonl").rmdir()
    _, runs, _ = sweep(path, out, retry_failed=True)
    assert {run.standing for run in runs} == {Standing.FINISHED}


@pytest.mark.slow
def test_slurm_gives_the_same_metrics_though_a_task_is_lost(
    slurm: Path, tmp_path: Path, alone: dict[str, bytes]
) -> None:
    path = _study(tmp_path, steps=600)
    out = tmp_path / "out"
    code = "import sys; from nht_theory.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "sweep", str(path), "-o", str(out)]
    process = subprocess.Popen([*command, "--executor", "slurm"])
    try:
        _wait_for(lambda: any(out.glob("*/latest/state.pt")))
        process.kill()  # the controller: its jobs are found again below
        process.wait()
        jobs = subprocess.run(
            ["squeue", "-h", "-t", "RUNNING", "-o", "%A"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        subprocess.run(["scancel", "--signal=KILL", "--full", jobs[0]], check=True)
        assert (
            subprocess.run([*command, "--executor", "slurm"], timeout=400, check=False).returncode
            == 0
        )
    finally:
        process.kill()
        process.wait()
    assert _metrics(out) == alone
    for name in alone:
        status = read_status(out / name)
        assert status is not None
        assert status.state is RunState.FINISHED


def test_a_forecast_is_registered_before_the_first_run_and_never_after(tmp_path: Path) -> None:
    study, directory = _study(tmp_path, steps=20), tmp_path / "runs"
    forecast = tmp_path / "forecasts.json"
    forecast.write_text('{"median": 600}')
    for _ in range(2):  # started again, it is registered once
        assert sweep(study, directory, workers=1, registered=(forecast,))[0]
    (line,) = (directory / REGISTRATION_FILE).read_text().splitlines()
    record = json.loads(line)
    assert record["sha256"] == hashlib.sha256(b'{"median": 600}').hexdigest()
    first = min((directory / run).stat().st_ctime for run in os.listdir(directory) if "seed" in run)
    assert datetime.fromisoformat(record["registered"]).timestamp() <= first + 1

    forecast.write_text('{"median": 640}')  # wiser after the event
    with pytest.raises(InputError, match="4 of them have begun"):
        sweep(study, directory, workers=1, registered=(forecast,))
