"""The monitor inside Lightning and Transformers: the real trainers, three optimisers each."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from nht_train.monitor import NormMonitor

OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=3e-3, weight_decay=0.5),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=0.1),
    "muon": lambda p: torch.optim.Muon(p, lr=0.02, weight_decay=0.5),
}
STEPS = 12


class Net(nn.Module):
    """Without biases, since torch's Muon takes matrices only."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(6, 8, bias=False)
        self.head = nn.Linear(8, 3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.first(x)))


def dataset() -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(STEPS * 4, 6, generator=generator)
    return TensorDataset(inputs, (inputs[:, 0] > 0).long())


def assert_identity(rows: Iterable[dict[str, float]]) -> None:
    rows = list(rows)
    assert len(rows) == STEPS
    for group in ("", "/head"):
        for before, after in pairwise(rows):
            measured = 1 - after[f"squared_norm{group}"] / before[f"squared_norm{group}"]
            parts = sum(after[f"{term}{group}"] for term in ("decay", "alignment", "diffusion"))
            # The loggers keep float32: V to 6e-8, hence 1 - V'/V to 1e-7.
            assert parts == pytest.approx(measured, rel=1e-4, abs=3e-7)
            assert parts == pytest.approx(after[f"contraction{group}"], rel=1e-4, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.filterwarnings("ignore")
def test_lightning_logs_terms_that_satisfy_the_identity(tmp_path: Path, name: str) -> None:
    lightning = pytest.importorskip("lightning")
    from lightning.pytorch.loggers import CSVLogger

    from nht_train.callbacks.lightning import NormMonitorCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
            return functional.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return OPTIMIZERS[name](self.parameters())

    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=CSVLogger(tmp_path),
        log_every_n_steps=1,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[NormMonitorCallback(every=1)],
    )
    trainer.fit(Module(), DataLoader(dataset(), batch_size=4))
    with next(tmp_path.rglob("metrics.csv")).open() as file:
        logged = [
            {key: float(value) for key, value in row.items() if value}
            for row in csv.DictReader(file)
        ]
    assert_identity(logged)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.filterwarnings("ignore")
def test_transformers_logs_terms_that_satisfy_the_identity(tmp_path: Path, name: str) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from nht_train.callbacks.transformers import NormMonitorCallback

    class Model(Net):
        def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
            return {"loss": functional.cross_entropy(super().forward(x), labels)}

    model = Model()
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=4,
            num_train_epochs=1,
            save_strategy="steps",
            save_steps=STEPS,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=[{"x": x, "labels": y} for x, y in dataset()],
        optimizers=(OPTIMIZERS[name](model.parameters()), None),
        callbacks=[NormMonitorCallback(every=1)],
    )
    trainer.train()
    state = json.loads((tmp_path / f"checkpoint-{STEPS}" / "trainer_state.json").read_text())
    assert_identity(row for row in state["log_history"] if "squared_norm" in row)


def test_the_head_warning_comes_after_the_peak_and_only_once() -> None:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = NormMonitor(model, optimizer, every=1)
    start = float(model.head.weight.detach().double().square().sum())
    for step in range(1, 21):
        # Growth by 10 % a step for ten steps, then shrinkage by 1 % a step.
        factor = 1.1 if step <= 10 else 0.99
        for parameter in model.parameters():
            parameter.grad = parameter.detach() * (1 - factor) / 0.1
        optimizer.step()
    warning = monitor.head_warning
    assert warning is not None
    assert warning.peak_step == 10
    assert warning.peak_squared_norm == pytest.approx(start * 1.1**20, rel=1e-5)
    # 0.99^(2 k) <= 0.95 first at k = 3.
    assert warning.step == 10 + math.ceil(math.log(0.95) / (2 * math.log(0.99)))


def test_a_head_that_only_shrinks_gives_no_warning() -> None:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1.0)
    monitor = NormMonitor(model, optimizer, every=1)
    for _ in range(5):
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
    assert monitor.head_warning is None
