"""A run as a whole: what it writes, and that stopping it at any moment changes nothing."""

from __future__ import annotations

import dataclasses
import itertools
import json
import multiprocessing
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from nht_theory.conventions import DEFAULT_THRESHOLDS
from nht_theory.errors import InputError
from nht_theory.runs.run_format import RunState, read_run, read_status
from nht_train import trainer
from nht_train.config import TrainConfig
from nht_train.progress import Silent
from nht_train.trainer import TrainingError, train

SMALL = {
    "task": {"name": "modular_addition", "p": 11},
    "model": {"name": "transformer", "width": 16, "heads": 2, "feed_forward": 32},
    "optimizer": {"name": "adamw", "weight_decay": 1.0, "learning_rate": 3e-3},
    "steps": 120,
    "batch_size": 32,
    "evaluate_every": 10,
    "checkpoints": {"schedule": "fixed", "every": 40, "resume_every_seconds": 0.0},
}

ALWAYS = {"schedule": "none", "resume_every_seconds": 0.0}


def small(**changes: object) -> TrainConfig:
    return TrainConfig.from_mapping({**SMALL, **changes})


def metrics(directory: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "whole"
    assert train(small(), directory).state is RunState.FINISHED
    return directory


def test_every_evaluation_satisfies_the_identity_and_v_is_that_of_the_checkpoint(
    finished: Path,
) -> None:
    rows = metrics(finished)
    assert [row["step"] for row in rows] == list(range(0, 121, 10))
    for row in rows[1:]:
        for group in ("", "/embedding", "/layers.0", "/head"):
            parts = sum(row[f"{term}{group}"] for term in ("decay", "alignment", "diffusion"))
            assert parts == pytest.approx(row[f"contraction{group}"], rel=1e-4)
    by_step = {row["step"]: row for row in rows}
    for step in (0, 40, 80, 120):
        stored = load_file(finished / "checkpoints" / f"step_{step:08d}.safetensors")
        squared_norm = sum((tensor.astype("float64") ** 2).sum() for tensor in stored.values())
        assert by_step[step]["squared_norm"] == pytest.approx(squared_norm, rel=1e-12)


def test_the_run_document_names_what_was_chosen(finished: Path) -> None:
    document = read_run(finished)
    assert document.hyperparameters.optimizer == "adamw"
    assert document.hyperparameters.weight_decay == 1.0
    assert document.hyperparameters.extra["p"] == 11
    stored = load_file(finished / "checkpoints" / "step_00000000.safetensors")
    assert document.parameter_count == sum(tensor.size for tensor in stored.values())
    assert {group.name for group in document.groups} >= {"embedding", "layers.0", "head"}
    assert document.data_hash is not None
    assert document.data_hash.startswith("sha256:")
    status = read_status(finished)
    assert status is not None
    assert (status.state, status.step) == (RunState.FINISHED, 120)


def test_the_same_command_gives_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    train(small(), tmp_path / "again")
    again = (tmp_path / "again" / "metrics.jsonl").read_bytes()
    assert again == (finished / "metrics.jsonl").read_bytes()


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_both_optimisers_shrink_by_their_decay_plus_the_measured_rest(
    tmp_path: Path, optimizer: str
) -> None:
    chosen = {"name": optimizer, "learning_rate": 0.01, "weight_decay": 0.5}
    train(small(optimizer=chosen, steps=20, evaluate_every=1), tmp_path / "run")
    rows = metrics(tmp_path / "run")
    for before, after in itertools.pairwise(rows):
        contraction = 1 - after["squared_norm"] / before["squared_norm"]
        parts = after["decay"] + after["alignment"] + after["diffusion"]
        assert parts == pytest.approx(contraction, rel=1e-4)


def test_a_run_is_not_overwritten_nor_resumed_with_another_configuration(finished: Path) -> None:
    with pytest.raises(InputError, match="already there"):
        train(small(), finished)
    with pytest.raises(InputError, match=r"optimizer\.weight_decay"):
        train(small(optimizer={**SMALL["optimizer"], "weight_decay": 0.5}), finished, resume=True)


def test_resuming_a_finished_run_changes_nothing(finished: Path) -> None:
    before = (finished / "metrics.jsonl").read_bytes()
    assert train(small(), finished, resume=True).state is RunState.FINISHED
    assert (finished / "metrics.jsonl").read_bytes() == before


def last_step(directory: Path) -> int:
    try:
        return json.loads((directory / "metrics.jsonl").read_bytes().splitlines()[-1])["step"]
    except (OSError, IndexError, ValueError):
        return -1


def test_three_kills_at_random_instants_leave_the_same_metrics(tmp_path: Path) -> None:
    config = small(steps=1000, evaluate_every=20)
    train(config, tmp_path / "whole")
    killed = tmp_path / "killed"
    instants = random.Random(5)
    fork = multiprocessing.get_context("fork")  # a fresh interpreter would spend seconds importing
    for _ in range(3):
        before = last_step(killed)
        process = fork.Process(target=train, args=(config, killed), kwargs={"resume": True})
        process.start()
        while last_step(killed) <= before:  # it has begun and moved on
            assert process.is_alive()
            time.sleep(0.002)
        time.sleep(instants.uniform(0.0, 0.1))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it finished before it was killed"
    assert train(config, killed, resume=True).state is RunState.FINISHED
    whole = (tmp_path / "whole" / "metrics.jsonl").read_bytes()
    assert (killed / "metrics.jsonl").read_bytes() == whole


class SignalAt(Silent):
    """Sends this process a signal when a step is done."""

    def __init__(self, step: int, number: signal.Signals) -> None:
        self.step = step
        self.number = number

    def stepped(self, step: int) -> None:
        if step == self.step:
            signal.raise_signal(self.number)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "muon"])
def test_a_resumed_run_keeps_its_schedule_and_interventions(tmp_path: Path, optimizer: str) -> None:
    momentum = {"momentum": 0.9} if optimizer == "sgd" else {}
    config = small(
        optimizer={"name": optimizer, "weight_decay": 0.3, **momentum},
        schedule={"name": "cosine", "warmup_steps": 5},
        intervention={
            "decay_switch": {"step": 25, "weight_decay": 1.0},
            "norm_clamp": {"squared_norm": 320.0, "from_step": 12},
        },
        steps=40,
        evaluate_every=2,
        checkpoints={"schedule": "none"},
    )
    train(config, tmp_path / "whole")
    for step in (7, 21, 30):
        stop = SignalAt(step, signal.SIGTERM)
        train(config, tmp_path / "stopped", resume=True, progress=stop)
    assert train(config, tmp_path / "stopped", resume=True).state is RunState.FINISHED
    assert metrics(tmp_path / "stopped") == metrics(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_stops_and_the_rest_is_the_same(
    finished: Path, tmp_path: Path, number: signal.Signals
) -> None:
    config = small(checkpoints={**SMALL["checkpoints"], "resume_every_seconds": 1000.0})
    stopped = tmp_path / "stopped"
    status = train(config, stopped, progress=SignalAt(57, number))
    assert (status.state, status.step) == (RunState.INTERRUPTED, 57)
    assert read_status(stopped) == status
    assert last_step(stopped) == 50
    assert train(config, stopped, resume=True).state is RunState.FINISHED
    whole = (finished / "metrics.jsonl").read_bytes()
    assert (stopped / "metrics.jsonl").read_bytes() == whole


@pytest.mark.slow
def test_the_command_stops_on_sigterm_and_says_so_by_its_exit_code(tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        'steps = 100000\nevaluate_every = 5\n[task]\nname = "modular_addition"\np = 5'
    )
    directory = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "nht_train", "train", str(config), "-o", str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while last_step(directory) < 5:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.terminate()
    output, errors = process.communicate()
    assert process.returncode == 143, errors
    assert output.startswith("step 0  V ")
    assert output.splitlines()[-1].startswith("interrupted at step")


def test_a_loss_that_is_not_finite_ends_with_a_clear_status(tmp_path: Path) -> None:
    wild = small(optimizer={"name": "sgd", "learning_rate": 1e30}, steps=50)
    with pytest.raises(TrainingError, match="loss is nan"):
        train(wild, tmp_path / "run")
    status = read_status(tmp_path / "run")
    assert status is not None
    assert status.state is RunState.FAILED
    assert status.error is not None
    assert "loss is nan" in status.error
    assert metrics(tmp_path / "run")[0]["step"] == 0


def train_with_small_files(config: TrainConfig, directory: Path, largest: int) -> None:
    """In a process of its own: no file may grow beyond ``largest`` bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    with pytest.raises(TrainingError, match="cannot write: File too large"):
        train(config, directory)


def test_a_log_that_cannot_grow_ends_with_a_clear_status_and_resumes(tmp_path: Path) -> None:
    config = small(evaluate_every=1, checkpoints=ALWAYS)
    whole = tmp_path / "whole"
    train(config, whole)
    state_bytes = (whole / "latest" / "state.pt").stat().st_size
    log_bytes = (whole / "metrics.jsonl").stat().st_size
    assert state_bytes < log_bytes  # so that the log is what meets the limit
    limit = (state_bytes + log_bytes) // 2
    stopped = tmp_path / "stopped"
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=train_with_small_files, args=(config, stopped, limit))
    process.start()
    process.join()
    assert process.exitcode == 0
    status = read_status(stopped)
    assert status is not None
    assert status.state is RunState.FAILED
    assert status.error == "cannot write: File too large"
    assert (stopped / "metrics.jsonl").stat().st_size == limit  # the last line is cut
    assert train(config, stopped, resume=True).state is RunState.FINISHED
    assert (stopped / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


OWN_TASK = """
import torch
from pathlib import Path
from nht_train.tasks.task import ReplacementBatches, Task

def regression(*, broken: str = "", batch_size: int, seed: int) -> Task:
    inputs = torch.linspace(-1, 1, 64)[:, None]
    evaluations = []

    def evaluate(model):
        if broken and Path(broken).exists() and len(evaluations) == 3:
            raise RuntimeError("picture 7 is missing")
        evaluations.append(1)
        return {"train_loss": float((model(inputs) - inputs**2).square().mean())}

    return Task("regression", ReplacementBatches(inputs, inputs**2, batch_size, seed=seed),
                evaluate, {"features": 1, "classes": 1}, "none:0",
                loss=torch.nn.functional.mse_loss)
"""


def test_a_failed_evaluation_of_ones_own_task_ends_with_a_clear_status_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_regression.py").write_text(OWN_TASK)
    monkeypatch.syspath_prepend(tmp_path)
    flaw = tmp_path / "flaw"
    flaw.touch()
    config = small(
        task={"name": "own_regression:regression", "broken": str(flaw)},
        model={"name": "mlp", "width": 8},
        steps=50,
        checkpoints=ALWAYS,
    )
    message = r"evaluation at step 30 failed \(RuntimeError: picture 7 is missing\)"
    with pytest.raises(TrainingError, match=message):
        train(config, tmp_path / "run")
    status = read_status(tmp_path / "run")
    assert status is not None
    assert (status.state, status.step) == (RunState.FAILED, 30)
    assert last_step(tmp_path / "run") == 20
    flaw.unlink()
    assert train(config, tmp_path / "run", resume=True).state is RunState.FINISHED
    train(config, tmp_path / "whole")
    assert metrics(tmp_path / "run") == metrics(tmp_path / "whole")


def test_bfloat16_follows_float32(finished: Path, tmp_path: Path) -> None:
    config = small(steps=20, runtime={"precision": "bfloat16"})
    train(config, tmp_path / "run")
    for ours, exact in zip(metrics(tmp_path / "run"), metrics(finished), strict=False):
        assert ours["train_loss"] == pytest.approx(exact["train_loss"], rel=0.02)
        assert ours["squared_norm"] == pytest.approx(exact["squared_norm"], rel=1e-3)


def test_a_run_ends_the_asked_steps_after_generalising_also_when_stopped_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A threshold that the small run passes at once, so that the stop is what is tested.
    low = dataclasses.replace(DEFAULT_THRESHOLDS, train_accuracy=0.0, heldout_accuracy=0.0)
    monkeypatch.setattr(trainer, "DEFAULT_THRESHOLDS", low)
    config = small(steps_after_generalization=25)
    assert train(config, tmp_path / "whole").state is RunState.FINISHED
    status = read_status(tmp_path / "whole")
    assert (status.step, status.total_steps) == (30, 120)  # the first evaluation from 25 on
    assert (tmp_path / "whole" / "checkpoints" / "step_00000030.safetensors").exists()

    stopped = tmp_path / "stopped"
    assert (
        train(config, stopped, progress=SignalAt(12, signal.SIGTERM)).state is RunState.INTERRUPTED
    )
    assert train(config, stopped, resume=True).state is RunState.FINISHED
    assert metrics(stopped) == metrics(tmp_path / "whole")


def test_a_run_that_does_not_generalise_trains_all_its_steps(tmp_path: Path) -> None:
    config = small(steps=40, steps_after_generalization=0)
    train(config, tmp_path / "run")
    assert read_status(tmp_path / "run").step == 40
