"""Logs written by the libraries themselves: Lightning, Transformers, TensorBoard, pyarrow."""

from __future__ import annotations

import os
import pickle
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nht_theory.conventions import DecayForm
from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.plan import plan_reading
from nht_theory.runs.read_plan import Reader

NORMS = [16.0, 9.0, 4.0, 1.0]
ACCURACIES = [0.25, 0.5, 0.75, 1.0]


# --- Lightning ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lightning_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions trained by a real Trainer, with object-valued hyperparameters."""
    torch = pytest.importorskip("torch")
    lightning = pytest.importorskip("lightning")
    from lightning.pytorch.loggers import CSVLogger

    root = tmp_path_factory.mktemp("lightning")

    class Model(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self, lr: float, weight_decay: float, scheduler: Any, space: Any) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(2, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = self.layer(batch[0]).square().mean()
            norm = sum(float(p.detach().double().square().sum()) for p in self.parameters())
            self.log_dict({"train_loss": loss, "weight_norm": norm**0.5})
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("val_acc", 0.5)

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)

    data = torch.utils.data.TensorDataset(torch.ones(8, 2))
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    for decay in (0.0, 1.0):
        lightning.seed_everything(1)
        model = Model(0.01, decay, torch.optim.lr_scheduler.StepLR, Namespace(width=8))
        lightning.Trainer(
            max_epochs=3,
            logger=CSVLogger(root, flush_logs_every_n_steps=1),
            accelerator="cpu",
            log_every_n_steps=2,
            enable_progress_bar=False,
            enable_model_summary=False,
        ).fit(model, loader, loader)
    return root


@pytest.mark.slow
def test_lightning_rows_of_one_step_are_one_evaluation(lightning_logs: Path) -> None:
    torch = pytest.importorskip("torch")
    study = load_study(lightning_logs)
    assert [run.name for run in study.runs] == [
        "lightning_logs/version_0",
        "lightning_logs/version_1",
    ]
    run = study.runs[1]
    frame = run.to_frame().set_index("step")
    table = np.genfromtxt(
        lightning_logs / "lightning_logs/version_1/metrics.csv", delimiter=",", names=True
    )
    logged = table[~np.isnan(table["weight_norm"])]
    assert run.steps.tolist() == [*np.unique(table["step"]).astype(int), 12]
    assert "norms of 1 checkpoints joined to the log" in run.notes
    last = torch.load(next(run.source.parent.glob("checkpoints/*.ckpt")), weights_only=False)
    norm = sum(float(p.double().square().sum()) for p in last["state_dict"].values())
    layers = [group.name for group in run.groups if group.partition == "layer"]
    saved = sum(frame.loc[12, f"squared_norm/{name}"] for name in layers)
    assert saved == pytest.approx(norm, rel=1e-6)
    for row in logged:
        found = frame.loc[int(row["step"])]
        assert found["squared_norm"] == row["weight_norm"] ** 2
        assert found["train_loss"] == row["train_loss"]
    assert np.isfinite(frame["heldout_accuracy"]).sum() == 3
    assert not [note for note in run.notes if "twice" in note or "order" in note]


@pytest.mark.slow
def test_lightning_hparams_are_read_and_their_objects_named(lightning_logs: Path) -> None:
    study = load_study(lightning_logs)
    known = study.runs[1].hyperparameters
    assert (known.learning_rate, known.weight_decay) == (0.01, 1.0)
    assert known.extra["space.width"] == 8
    named = {item.file: item.reason for item in study.left_out if "hparams.yaml" in item.file}
    assert list(named) == [f"lightning_logs/version_{i}/hparams.yaml" for i in (0, 1)]
    assert all("StepLR" in reason for reason in named.values())


# --- Transformers ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trainer_output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three checkpoints saved by transformers' own TrainerState."""
    transformers = pytest.importorskip("transformers")
    output = tmp_path_factory.mktemp("trainer") / "run"
    state = transformers.TrainerState(max_steps=600, train_batch_size=32)
    for step in (200, 400, 600):
        state.log_history.append(
            {"loss": 600 / step, "learning_rate": 1e-3, "epoch": step / 400, "step": step}
        )
        state.log_history.append(
            {"eval_loss": 9.0, "eval_accuracy": step / 600, "epoch": step / 400, "step": step}
        )
        state.global_step = step
        checkpoint = output / f"checkpoint-{step}"
        checkpoint.mkdir(parents=True)
        state.save_to_json(str(checkpoint / "trainer_state.json"))
    state.log_history.append({"train_runtime": 2.0, "train_loss": 5.5, "epoch": 1.5, "step": 600})
    state.save_to_json(str(output / "trainer_state.json"))
    return output


def test_transformers_checkpoints_are_one_run(trainer_output: Path) -> None:
    study = load_study(trainer_output.parent)
    assert [run.name for run in study.runs] == ["run"]
    run = study.runs[0]
    assert run.steps.tolist() == [200, 400, 600]
    assert run.column("train_loss").tolist() == [3.0, 1.5, 1.0]
    assert run.column("heldout_accuracy").tolist() == [1 / 3, 2 / 3, 1.0]
    assert run.hyperparameters.total_steps == 600
    assert run.hyperparameters.batch_size == 32
    assert [item.file for item in study.left_out] == [
        "run/checkpoint-600/trainer_state.json",
        "run/checkpoint-400/trainer_state.json",
        "run/checkpoint-200/trainer_state.json",
    ]


def test_transformers_falls_back_to_the_latest_whole_state(
    trainer_output: Path, tmp_path: Path
) -> None:
    output = shutil.copytree(trainer_output, tmp_path / "run")
    (output / "trainer_state.json").unlink()
    broken = output / "checkpoint-600/trainer_state.json"
    broken.write_bytes(broken.read_bytes()[:100])
    for given in (tmp_path, output):
        study = load_study(given)
        assert study.runs[0].steps.tolist() == [200, 400]
        assert study.runs[0].name == "run"
        assert "not JSON" in study.left_out[0].reason


def test_the_trainers_arguments_are_settings(trainer_output: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    output = shutil.copytree(trainer_output, tmp_path / "run")
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path / "never_written"),
        learning_rate=3e-4,
        weight_decay=0.1,
        adam_beta2=0.98,
        optim="adamw_torch_fused",
        lr_scheduler_type="cosine",
        seed=5,
        report_to=[],
        use_cpu=True,
    )
    for step in (400, 600):
        torch.save(arguments, output / f"checkpoint-{step}/training_args.bin")
    study = load_study(tmp_path)
    known = study.runs[0].hyperparameters
    assert (known.learning_rate, known.weight_decay, known.beta_2) == (3e-4, 0.1, 0.98)
    assert (known.optimizer, known.schedule, known.seed) == ("adamw", "cosine", 5)
    assert known.decay_form is DecayForm.DECOUPLED
    assert (known.total_steps, known.batch_size) == (600, 32)  # of the state, which ran
    reasons = {item.file: item.reason for item in study.left_out if item.file.endswith(".bin")}
    assert reasons == {
        "run/checkpoint-400/training_args.bin": "the run's settings are read from "
        "run/checkpoint-600/training_args.bin"
    }


class Gadget:
    """Pickles as a call that makes a directory."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("canary-was-here",)


@pytest.mark.parametrize("save", ["torch", "pickle"])
def test_arguments_that_would_run_something_do_not(
    trainer_output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: str
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    output = shutil.copytree(trainer_output, tmp_path / "study/run")
    place = output / "checkpoint-600/training_args.bin"
    if save == "torch":
        torch.save(Gadget(), place)
    else:
        place.write_bytes(pickle.dumps(Gadget()))
    study = load_study(tmp_path / "study")
    assert not Path("canary-was-here").exists()
    assert study.runs[0].hyperparameters.learning_rate is None
    reasons = {item.file: item.reason for item in study.left_out if "training_args" in item.file}
    assert list(reasons) == ["run/training_args.bin"]
    assert "nothing was run" in reasons["run/training_args.bin"]


def test_a_single_trainer_state(trainer_output: Path) -> None:
    study = load_study(trainer_output / "checkpoint-400/trainer_state.json")
    assert study.runs[0].steps.tolist() == [200, 400]


# --- TensorBoard ----------------------------------------------------------------------------


def write_events(directory: Path, steps: list[int], *, hparams: bool = False) -> None:
    pytest.importorskip("tensorboard")
    pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(directory)) as writer:
        for index, step in enumerate(steps):
            writer.add_scalar("val/acc", ACCURACIES[index], step)
            writer.add_scalar("weight_norm", NORMS[index], step)
            writer.add_scalar("weight_norm/head", NORMS[index] / 2, step)
        writer.add_text("remark", "not a number", 0)
        writer.add_histogram("layer", np.arange(5.0), 0)
        if hparams:
            writer.add_hparams({"lr": 0.01, "wd": 0.5, "opt": "AdamW", "seed": 7}, {"final": 1.0})


def test_tensorboard_scalars_of_a_directory_are_a_run(tmp_path: Path) -> None:
    write_events(tmp_path / "a", [0, 10, 20, 30], hparams=True)
    write_events(tmp_path / "b", [0, 10, 20, 30])
    study = load_study(tmp_path, ReadOptions(merge_repeats=False))
    assert [run.name for run in study.runs] == ["a", "b"]
    run = study.runs[0]
    assert run.steps.tolist() == [0, 10, 20, 30]
    assert run.column("heldout_accuracy").tolist() == ACCURACIES
    assert run.squared_norm.tolist() == [norm**2 for norm in NORMS]
    assert run.column("squared_norm/head").tolist() == [(norm / 2) ** 2 for norm in NORMS]
    known = run.hyperparameters
    assert (known.optimizer, known.learning_rate, known.weight_decay, known.seed) == (
        "adamw",
        0.01,
        0.5,
        7,
    )


def test_tensorboard_files_of_a_resumed_run_are_one_run(tmp_path: Path) -> None:
    write_events(tmp_path, [0, 10, 20, 30])
    first = next(tmp_path.glob("events*"))
    first.rename(tmp_path / "events.out.tfevents.1000000000.host.1.0")
    write_events(tmp_path, [20, 30, 40, 50])
    run = load_study(tmp_path).runs[0]
    assert run.steps.tolist() == [0, 10, 20, 30, 40, 50]
    assert run.column("heldout_accuracy").tolist() == [0.25, 0.5, *ACCURACIES]
    assert "logged again after a restart (steps 20 to 30)" in run.notes[-1]


def test_a_cut_event_file_gives_what_stands_before_the_cut(tmp_path: Path) -> None:
    write_events(tmp_path, [0, 10, 20, 30])
    events = next(tmp_path.glob("events*"))
    data = events.read_bytes()
    events.write_bytes(data[: data.index(b"layer")])
    assert load_study(tmp_path).runs[0].steps.tolist() == [0, 10, 20, 30]
    events.write_bytes(data[:400])
    assert load_study(tmp_path).runs[0].steps.size < 4


# --- Parquet, TSV and tables of several runs ------------------------------------------------


def table_of_two_runs() -> dict[str, list[object]]:
    return {
        "seed": [0] * 4 + [1] * 4,
        "wd": [0.5] * 8,
        "step": [0, 10, 20, 30] * 2,
        "val_acc": ACCURACIES + ACCURACIES[::-1],
        "norm": NORMS * 2,
    }


def test_parquet_and_tsv_hold_the_same_runs(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = table_of_two_runs()
    parquet.write_table(arrow.table(table), tmp_path / "sweep.parquet")
    rows = [
        "\t".join(table),
        *("\t".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    (tmp_path / "sweep.tsv").write_text("\n".join(rows) + "\n")
    study = load_study(tmp_path, ReadOptions(merge_repeats=False))
    assert [run.name for run in study.runs] == [
        "sweep.parquet[seed=0]",
        "sweep.parquet[seed=1]",
        "sweep.tsv[seed=0]",
        "sweep.tsv[seed=1]",
    ]
    assert len({run.to_frame().to_json() for run in study.runs}) == 2
    assert [run.hyperparameters.seed for run in study.runs] == [0, 1, 0, 1]
    assert {run.hyperparameters.weight_decay for run in study.runs} == {0.5}
    assert study.runs[0].squared_norm.tolist() == [norm**2 for norm in NORMS]


def test_a_broken_parquet_file_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    (tmp_path / "b.csv").write_text("step,V\n0,1\n")
    study = load_study(tmp_path)
    assert "not a Parquet table" in study.left_out[0].reason


@pytest.mark.slow
def test_dry_run_names_the_formats(
    lightning_logs: Path, trainer_output: Path, tmp_path: Path
) -> None:
    shutil.copytree(lightning_logs, tmp_path / "lightning")
    shutil.copytree(trainer_output, tmp_path / "trainer")
    write_events(tmp_path / "events", [0, 10, 20, 30])
    plan = plan_reading(tmp_path)
    assert [(file.name, file.reader) for file in plan.files] == [
        ("events", Reader.TENSORBOARD),
        ("lightning/lightning_logs/version_0", Reader.TABLE),
        ("lightning/lightning_logs/version_1", Reader.TABLE),
        ("trainer", Reader.TRAINER_STATE),
        ("lightning/lightning_logs/version_0", Reader.CHECKPOINTS),
        ("lightning/lightning_logs/version_1", Reader.CHECKPOINTS),
    ]
    assert [path.name for path in plan.files[1].beside] == ["hparams.yaml"]
    assert len(plan.files[3].parts) == 4
