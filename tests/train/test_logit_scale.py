"""The logit scale: its definition, the trainer's column, and how logs are read for it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from nht_theory import load_study
from nht_theory.runs import column_names, columns
from nht_train.config import TrainConfig
from nht_train.images.arrays import LabelledImages
from nht_train.models.cnn import SixLayerCNN
from nht_train.setup import build
from nht_train.tasks.evaluation import loss_and_accuracy
from nht_train.tasks.image_batches import ImageTensors, Standardization, answers
from nht_train.tasks.logit_scale import LogitScale
from nht_train.trainer import train

SMALL = {
    "task": {"name": "modular_addition", "p": 11},
    "model": {"width": 16, "heads": 2, "feed_forward": 32},
    "steps": 20,
    "batch_size": 32,
    "evaluate_every": 10,
    "checkpoints": {"schedule": "fixed", "every": 20},
}


def by_definition(logits: np.ndarray) -> float:
    centred = logits - logits.mean(axis=1, keepdims=True)
    return float(np.sqrt((centred**2).mean(axis=1).mean()))


def test_batches_of_any_size_give_the_root_mean_square_of_the_centred_logits() -> None:
    logits = np.random.default_rng(0).normal(3.0, 2.0, size=(101, 7))
    scale = LogitScale()
    for part in np.array_split(logits, 4):
        scale.add(torch.tensor(part))
    assert scale.value == pytest.approx(by_definition(logits), rel=1e-14)
    shifted = LogitScale()
    shifted.add(torch.tensor(logits + np.arange(101)[:, None]))  # no probability changes
    assert shifted.value == pytest.approx(scale.value, rel=1e-12)
    doubled = LogitScale()
    doubled.add(torch.tensor(2 * logits))
    assert doubled.value == pytest.approx(2 * scale.value, rel=1e-14)


def test_loss_and_accuracy_stay_the_same_bit_for_bit() -> None:
    generator = torch.Generator().manual_seed(1)
    model = nn.Linear(5, 3)
    inputs = torch.randn(50, 5, generator=generator)
    targets = torch.randint(0, 3, (50,), generator=generator)
    scale = LogitScale()
    without = loss_and_accuracy(model, inputs, targets, 16)
    assert loss_and_accuracy(model, inputs, targets, 16, scale) == without
    with torch.no_grad():
        assert scale.value == pytest.approx(by_definition(model(inputs).double().numpy()), rel=1e-6)


def test_images_give_their_logits_too() -> None:
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    data = ImageTensors.of(LabelledImages(images, np.arange(12, dtype=np.int64) % 10))
    standardize, model = Standardization.of(images), SixLayerCNN(classes=10).eval()
    scale = LogitScale()
    loss, given = answers(model, data, standardize, scale)
    plain_loss, plain_given = answers(model, data, standardize)
    assert loss == plain_loss
    assert (given == plain_given).all()
    with torch.no_grad():
        logits = model(standardize(data.images)).double().numpy()
    assert scale.value == pytest.approx(by_definition(logits), rel=1e-6)


def test_the_trainer_logs_it_on_the_training_set_and_the_reader_finds_it(tmp_path: Path) -> None:
    config = TrainConfig.from_mapping(SMALL)
    train(config, tmp_path / "run")
    (run,) = load_study(tmp_path).runs
    logged = run.column(columns.LOGIT_SCALE)
    assert np.isfinite(logged).all()
    assert run.hyperparameters.extra["loss"] == "cross_entropy"
    setup = build(config)
    setup.model.load_state_dict(load_file(tmp_path / "run/checkpoints/step_00000020.safetensors"))
    seen: list[torch.Tensor] = []
    hook = setup.model.register_forward_hook(lambda _model, _inputs, out: seen.append(out))
    with torch.no_grad():
        again = setup.task.evaluate(setup.model.eval())
    hook.remove()
    # The run computes on one thread, this test may not: the last bits of the logits differ.
    assert again[columns.LOGIT_SCALE] == pytest.approx(logged[-1], rel=1e-6)
    training, heldout = (part.double().numpy() for part in seen)
    assert logged[-1] == pytest.approx(by_definition(training), rel=1e-6)
    assert logged[-1] != pytest.approx(by_definition(heldout), rel=1e-4)


@pytest.mark.parametrize(
    ("packages", "task", "loss"),
    [
        ({"nht": "0.1"}, "modular_addition", "cross_entropy"),
        ({"nht": "0.1"}, "mine:task", None),
        ({}, "modular_addition", None),
    ],
)
def test_a_run_written_before_losses_were_named(
    tmp_path: Path, packages: dict[str, str], task: str, loss: str | None
) -> None:
    document = {"config": {"task": {"name": task}}, "package_versions": packages}
    (tmp_path / "run.json").write_text(json.dumps(document))
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "logit_scale": 1.5}\n')
    (run,) = load_study(tmp_path).runs
    assert run.hyperparameters.extra.get("loss") == loss
    assert run.column("logit_scale").tolist() == [1.5]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("logit_scale", columns.LOGIT_SCALE),
        ("train/logit_scale", columns.LOGIT_SCALE),
        ("centered_logit_rms", columns.LOGIT_SCALE),
        ("val/logit_scale", None),  # not of the training set
        ("logit_norm", None),  # neither centred nor over the classes
        ("logit_std", None),
    ],
)
def test_names_that_other_logs_use(theirs: str, ours: str | None) -> None:
    sources = column_names.resolve(["step", theirs], {}).sources
    assert {name for name in sources if name != columns.STEP} == ({ours} if ours else set())


def test_any_other_name_is_mapped() -> None:
    found = column_names.resolve(["step", "spread"], {columns.LOGIT_SCALE: "spread"})
    assert found.sources[columns.LOGIT_SCALE].name == "spread"
