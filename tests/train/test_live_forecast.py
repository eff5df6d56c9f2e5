"""Forecasts logged while a run trains: by our trainer, in Lightning, in Transformers."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from nht_theory.errors import InputError
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.forecasting.live import live_forecast
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.run_format import RunState, read_run
from nht_theory.runs.study import Study
from nht_train.config import TrainConfig
from nht_train.trainer import train

CONFIG = TrainConfig.from_mapping(
    {
        "task": {"name": "modular_addition", "p": 11},
        "model": {"name": "transformer", "width": 16, "heads": 2, "feed_forward": 32},
        "optimizer": {"name": "adamw", "weight_decay": 1.0, "learning_rate": 3e-3},
        "steps": 60,
        "batch_size": 32,
        "evaluate_every": 10,
        "checkpoints": {"schedule": "none", "resume_every_seconds": 0.0},
    }
)


def earlier(chosen: Hyperparameters) -> Study:
    """Made-up earlier runs at these settings, which switch 300 steps or so after memorising."""
    steps = np.arange(0, 800, 10)
    runs = []
    for seed in range(8):
        switch = 350 + 20 * seed
        runs.append(
            Run(
                f"earlier-{seed}",
                Path("made-up"),
                steps,
                {
                    "squared_norm": 700 * np.exp(-steps / 500),
                    "train_accuracy": (steps >= 50).astype(float),
                    "heldout_accuracy": (steps >= switch).astype(float),
                },
                replace(chosen, seed=100 + seed),
            )
        )
    return Study(Path("made-up"), tuple(runs), tuple(runs))


def rows_of(directory: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Hyperparameters:
    directory = tmp_path_factory.mktemp("short") / "run"
    train(CONFIG.model_copy(update={"steps": 0}), directory)
    return replace(read_run(directory).hyperparameters, total_steps=CONFIG.steps)


def test_a_real_run_logs_the_forecasts_that_nht_forecast_makes_later(
    tmp_path: Path, chosen: Hyperparameters
) -> None:
    calibration = earlier(chosen)
    forecast = live_forecast(calibration, chosen)
    assert train(CONFIG, tmp_path / "run", forecast=forecast).state is RunState.FINISHED
    run = load_study(tmp_path / "run").runs[0]
    logged = run.column("forecast_step")
    assert np.isfinite(logged).all()
    assert not any("unused" in note for note in run.notes)
    for step, said in zip(run.steps, logged, strict=True):
        later = forecast_run(run, calibration, at=int(step))
        assert later.median == pytest.approx(said, rel=1e-9)
        assert run.column("forecast_low")[run.steps == step] == later.interval.low
    # Without the callable the other columns are the same, bit for bit.
    train(CONFIG, tmp_path / "plain")
    bare = [
        {name: value for name, value in row.items() if not name.startswith("forecast_")}
        for row in rows_of(tmp_path / "run")
    ]
    assert bare == rows_of(tmp_path / "plain")


def test_a_resumed_run_logs_the_same_forecasts(tmp_path: Path, chosen: Hyperparameters) -> None:
    def make() -> Callable[[Sequence[Mapping[str, float]]], dict[str, float]]:
        return live_forecast(earlier(chosen), chosen)

    train(CONFIG, tmp_path / "whole", forecast=make())
    interrupted = make()

    def stopping(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
        if rows[-1]["step"] == 30:
            signal.raise_signal(signal.SIGTERM)
        return interrupted(rows)

    assert train(CONFIG, tmp_path / "cut", forecast=stopping).state is RunState.INTERRUPTED
    train(CONFIG, tmp_path / "cut", resume=True, forecast=make())
    assert rows_of(tmp_path / "cut") == rows_of(tmp_path / "whole")


def test_a_forecast_that_fails_is_warned_of_once_and_ends_nothing(tmp_path: Path) -> None:
    def failing(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
        raise InputError("nothing to learn from")

    with pytest.warns(UserWarning, match="no forecast at step 0: nothing to learn from") as told:
        assert train(CONFIG, tmp_path / "run", forecast=failing).state is RunState.FINISHED
    assert len(told) == 1


def dataset() -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(48, 6, generator=generator)
    return TensorDataset(inputs, (inputs[:, 0] > 0).long())


FOREIGN = Hyperparameters("adamw", 3e-3, 0.5, total_steps=500)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_lightning_logs_a_forecast_at_each_validation(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")
    from lightning.pytorch.loggers import CSVLogger

    from nht_train.callbacks.lightning import NormMonitorCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 2)

        def _accuracy(self, batch: list[torch.Tensor], name: str) -> torch.Tensor:
            logits = self.head(torch.tanh(self.body(batch[0])))
            self.log(name, (logits.argmax(1) == batch[1]).float().mean())
            return functional.cross_entropy(logits, batch[1])

        def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
            return self._accuracy(batch, "train_acc")

        def validation_step(self, batch: list[torch.Tensor]) -> None:
            self._accuracy(batch, "val_acc")

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=3e-3, weight_decay=0.5)

    forecast = live_forecast(earlier(FOREIGN), FOREIGN)
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=CSVLogger(tmp_path),
        log_every_n_steps=1,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[NormMonitorCallback(every=4, forecast=forecast)],
    )
    data = DataLoader(dataset(), batch_size=12)
    trainer.fit(Module(), data, data)
    with next(tmp_path.rglob("metrics.csv")).open() as file:
        told = [row for row in csv.DictReader(file) if row["forecast_step"]]
    assert [int(row["step"]) for row in told] == [4, 8, 12]
    assert all(float(row["forecast_low"]) < float(row["forecast_step"]) for row in told)
    run = load_study(tmp_path).runs[0]
    assert np.isfinite(run.column("forecast_step")).sum() == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_transformers_logs_a_forecast_at_each_evaluation(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from nht_train.callbacks.transformers import NormMonitorCallback

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(6, 2)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            logits = self.head(x)
            return {"loss": functional.cross_entropy(logits, labels), "logits": logits}

    def accuracies(made: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
        share = float((made[0].argmax(1) == made[1]).mean())
        return {"accuracy": share}

    rows = [{"x": x, "labels": y} for x, y in dataset()]
    model = Model()
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=12,
            num_train_epochs=2,
            eval_strategy="epoch",
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=rows,
        eval_dataset={"train": rows, "validation": rows},
        compute_metrics=accuracies,
        optimizers=(torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.5), None),
        callbacks=[NormMonitorCallback(every=4, forecast=live_forecast(earlier(FOREIGN), FOREIGN))],
    )
    trainer.train()
    told = [entry for entry in trainer.state.log_history if "forecast_step" in entry]
    assert {entry["step"] for entry in told} == {4, 8}
    assert all(entry["forecast_low"] < entry["forecast_step"] for entry in told)
