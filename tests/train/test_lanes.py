"""A run is the same alone and among others, in one process and in one set of kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from nht_theory.errors import InputError
from nht_theory.runs.run_format import RunState, read_status
from nht_train import cli
from nht_train.config import TrainConfig
from nht_train.gradients import gradients_of
from nht_train.setup import build
from nht_train.trainer import train, train_lanes

BASE = {
    "task": {"name": "modular_addition", "p": 13},
    "model": {"name": "transformer", "width": 16, "heads": 2, "feed_forward": 24},
    "steps": 60,
    "batch_size": 32,
    "evaluate_every": 10,
    "checkpoints": {"schedule": "none", "resume_every_seconds": 0.0},
}


def config(seed: int, stacked: bool, **changes: object) -> TrainConfig:
    content = {**BASE, "seed": seed, "runtime": {"stacked": stacked}, **changes}
    return TrainConfig.from_mapping(content)


def metrics(directory: Path) -> bytes:
    return (directory / "metrics.jsonl").read_bytes()


@pytest.mark.parametrize("stacked", [False, True])
def test_four_lanes_equal_four_runs_alone_bit_for_bit(tmp_path: Path, stacked: bool) -> None:
    decays = (1.0, 0.3, 1.0, 2.0)  # hyper-parameters may differ between lanes
    configs = [
        config(seed, stacked, optimizer={"name": "adamw", "weight_decay": decay})
        for seed, decay in enumerate(decays)
    ]
    directories = [tmp_path / f"lane_{seed}" for seed in range(4)]
    statuses = train_lanes(configs, directories)
    assert [status.state for status in statuses] == [RunState.FINISHED] * 4
    for seed in (0, 1, 3):
        train(configs[seed], tmp_path / f"alone_{seed}")
        assert metrics(tmp_path / f"alone_{seed}") == metrics(directories[seed])


def test_stacked_and_plain_gradients_agree_in_double_precision() -> None:
    inputs = [build(config(seed, True)) for seed in range(3)]
    plain = [build(config(seed, False)) for seed in range(3)]
    for setup in (*inputs, *plain):
        setup.model.double()
    batches = [setup.task.batches.next() for setup in plain]
    stacked_losses = gradients_of(inputs)(batches)
    plain_losses = gradients_of(plain)(batches)
    for lane in range(3):
        torch.testing.assert_close(
            stacked_losses[lane], plain_losses[lane], rtol=1e-6, atol=0, check_dtype=False
        )
        for ours, theirs in zip(
            inputs[lane].model.parameters(), plain[lane].model.parameters(), strict=True
        ):
            torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_stacked_and_plain_runs_follow_each_other(tmp_path: Path, optimizer: str) -> None:
    chosen = {"name": optimizer, "learning_rate": 0.01 if optimizer == "sgd" else 1e-3}
    for stacked in (False, True):
        train(config(0, stacked, optimizer=chosen), tmp_path / f"{stacked}")
    plain, together = (
        [json.loads(line) for line in metrics(tmp_path / name).splitlines()]
        for name in ("False", "True")
    )
    for ours, theirs in zip(together, plain, strict=True):
        for column in ("train_loss", "squared_norm", "squared_norm/head"):
            assert ours[column] == pytest.approx(theirs[column], rel=1e-4)


@pytest.mark.parametrize("stacked", [False, True])
def test_a_lane_that_fails_or_ends_early_leaves_the_others_as_they_are(
    tmp_path: Path, stacked: bool
) -> None:
    wild = {"name": "sgd", "learning_rate": 1e30}
    configs = [
        config(0, stacked),
        config(1, stacked, optimizer=wild),
        config(2, stacked, steps=25),
    ]
    directories = [tmp_path / name for name in ("whole", "wild", "short")]
    statuses = train_lanes(configs, directories)
    assert [status.state for status in statuses] == [
        RunState.FINISHED,
        RunState.FAILED,
        RunState.FINISHED,
    ]
    assert read_status(directories[1]) == statuses[1]
    train(configs[0], tmp_path / "alone")
    assert metrics(tmp_path / "alone") == metrics(directories[0])


def test_lanes_resume_from_where_each_stood(tmp_path: Path) -> None:
    configs = [config(seed, True) for seed in range(2)]
    directories = [tmp_path / f"lane_{seed}" for seed in range(2)]
    train(configs[1], directories[1])  # this one is done already
    statuses = train_lanes(configs, directories, resume=True)
    assert [status.state for status in statuses] == [RunState.FINISHED] * 2
    train(configs[0], tmp_path / "alone")
    assert metrics(directories[0]) == metrics(tmp_path / "alone")


def test_lanes_that_cannot_be_stacked_are_refused(tmp_path: Path) -> None:
    shapes = [config(0, True), config(0, True, task={"name": "modular_addition", "p": 17})]
    with pytest.raises(InputError, match="one shape"):
        train_lanes(shapes, [tmp_path / "a", tmp_path / "b"])
    with pytest.raises(InputError, match="runtime"):
        train_lanes([config(0, True), config(1, False)], [tmp_path / "c", tmp_path / "d"])


def test_the_command_trains_seeds_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text('steps = 10\nevaluate_every = 5\n[task]\nname = "modular_addition"\np = 5')
    assert cli.train(path, ["model.width=8"], tmp_path / "runs", seeds="3,4") == cli.EXIT_DONE
    output = capsys.readouterr().out.splitlines()
    assert "seed-4: finished at step 10" in output
    assert output[0].startswith("seed-3  step 0  V ")
    for seed in (3, 4):
        status = read_status(tmp_path / "runs" / f"seed-{seed}")
        assert status is not None
        assert status.state is RunState.FINISHED
    with pytest.raises(InputError, match="distinct seeds"):
        cli.train(path, None, tmp_path / "runs", seeds="1,1")
