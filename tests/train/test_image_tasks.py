"""Image tasks through the trainer: every layout, groups with counts, coloured CIFAR-10."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nht_theory.errors import InputError
from nht_theory.runs import columns
from nht_theory.runs.load import load_study
from nht_train.config import TrainConfig
from nht_train.images.spurious import WATERBIRDS_FOLDER, Layout, Split, read_spurious_set
from nht_train.images.synthetic import write_spurious_set
from nht_train.models.cnn import SixLayerCNN
from nht_train.models.resnet18 import resnet18
from nht_train.tasks.coloured_images import coloured_images
from nht_train.tasks.image_batches import EpochBatches, ImageTensors, Standardization, answers
from nht_train.trainer import train


def _config(task: dict[str, Any], **changes: Any) -> TrainConfig:
    content: dict[str, Any] = {
        "task": task,
        "model": {"name": "cnn"},
        "steps": 4,
        "batch_size": 8,
        "evaluate_every": 2,
        "checkpoints": {"schedule": "none"},
    }
    return TrainConfig.from_mapping(content | changes)


def _lines(directory: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("layout", list(Layout))
def test_a_run_on_each_layout_reports_groups_with_counts(layout: Layout, tmp_path: Path) -> None:
    write_spurious_set(tmp_path / "set", layout, counts=(24, 4, 20), size=16)
    name = "waterbirds" if layout is Layout.WATERBIRDS else "celeba"
    config = _config({"name": name, "path": str(tmp_path / "set"), "image_size": 16})
    train(config, tmp_path / "run")
    last = _lines(tmp_path / "run")[-1]
    table = read_spurious_set(tmp_path / "set")
    counts = [last[columns.of_group(columns.GROUP_COUNT, group)] for group in table.group_names()]
    assert counts == list(table.counts(Split.TEST))
    accuracies = [
        last[columns.of_group(columns.GROUP_ACCURACY, group)]
        for group, count in zip(table.group_names(), counts, strict=True)
        if count
    ]
    assert last[columns.WORST_GROUP_ACCURACY] == min(accuracies)
    weighted = np.average(accuracies, weights=[count for count in counts if count])
    assert last[columns.HELDOUT_ACCURACY] == pytest.approx(weighted)
    run = load_study(tmp_path / "run").runs[0]
    assert run.has(columns.WORST_GROUP_ACCURACY, columns.SQUARED_NORM)


def test_a_broken_image_is_named(tmp_path: Path) -> None:
    write_spurious_set(tmp_path, Layout.WATERBIRDS, counts=(8, 2, 4), size=16)
    broken = next((tmp_path / WATERBIRDS_FOLDER).rglob("*.png"))
    broken.write_bytes(broken.read_bytes()[:40])
    config = _config({"name": "waterbirds", "path": str(tmp_path), "image_size": 16})
    with pytest.raises(InputError, match=f"{broken.name}: not a whole image"):
        train(config, tmp_path / "run")


@pytest.fixture(scope="module")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("images") / "set.npz"
    np.savez(
        path,
        x_train=generator.integers(0, 256, (120, 16, 16, 3), dtype=np.uint8),
        y_train=np.arange(120) % 10,
        x_test=generator.integers(0, 256, (60, 16, 16, 3), dtype=np.uint8),
        y_test=np.arange(60) % 10,
    )
    return path


class _BorderReader(torch.nn.Module):
    """Answers the class whose colour the corner has: pure reliance on the shortcut."""

    def __init__(self, standardize: Standardization, classes: int) -> None:
        super().__init__()
        from nht_train.images.borders import border_colours

        colours = torch.from_numpy(border_colours(classes)).float()[:, :, None, None]
        self.register_buffer("colours", standardize(colours)[:, :, 0, 0])
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return -torch.cdist(images[:, :, 0, 0], self.colours) * self.scale


def test_the_four_test_sets_tell_a_shortcut_from_the_real_thing(small_set: Path) -> None:
    task = coloured_images(path=str(small_set), shortcut_strength=0.9, batch_size=8, seed=0)
    values = task.evaluate(_BorderReader(task.batches.standardize, 10))
    assert values[columns.SHORTCUT_ACCURACY] == 1.0
    assert values[columns.CONFLICT_SHORTCUT_RATE] == 1.0
    assert values[columns.CONFLICT_ACCURACY] == 0.0
    assert values[columns.TRAIN_CONFLICT_ACCURACY] == 0.0
    assert values[columns.HELDOUT_ACCURACY] < 0.35
    assert values[columns.TRAIN_ACCURACY] == pytest.approx(0.9, abs=0.1)


def test_fewer_images_of_a_set_sorted_by_class_are_of_every_class(
    small_set: Path, tmp_path: Path
) -> None:
    with np.load(small_set) as arrays:
        halves = dict(arrays)
    for half in ("train", "test"):
        order = np.argsort(halves[f"y_{half}"], kind="stable")
        for kind in "xy":
            halves[f"{kind}_{half}"] = halves[f"{kind}_{half}"][order]
    np.savez(tmp_path / "sorted.npz", **halves)
    task = coloured_images(
        path=str(tmp_path / "sorted.npz"), train_images=40, test_images=20,
        train_evaluation=10, batch_size=40, seed=0,
    )  # fmt: skip
    assert (task.facts["train_images"], task.facts["test_images"]) == (40, 20)
    _, labels = task.batches.next()
    assert np.bincount(labels.numpy()).tolist() == [4] * 10

    always_three = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 3, 10))
    with torch.no_grad():
        always_three[1].weight.zero_()
        always_three[1].bias.copy_(torch.eye(10)[3])
    # One class in ten, in every set that is measured.
    values = task.evaluate(always_three)
    assert values[columns.TRAIN_ACCURACY] == values[columns.HELDOUT_ACCURACY] == pytest.approx(0.1)


def test_every_image_comes_once_an_epoch_and_the_place_is_restored() -> None:
    data = ImageTensors(torch.zeros(10, 3, 2, 2, dtype=torch.uint8), torch.arange(10))
    scale = Standardization(torch.zeros(3, 1, 1), torch.ones(3, 1, 1))
    source = EpochBatches(data, scale, 3, seed=1)
    drawn = torch.cat([source.next()[1] for _ in range(10)])
    for epoch in drawn.split(10):
        assert sorted(epoch.tolist()) == list(range(10))
    state = source.state()
    expected = source.next()[1]
    again = EpochBatches(data, scale, 3, seed=2)
    again.restore(state)
    assert (again.next()[1] == expected).all()


def test_standardized_training_images_have_zero_mean_and_unit_variance() -> None:
    images = np.random.default_rng(0).integers(0, 256, (50, 8, 8, 3), dtype=np.uint8)
    scale = Standardization.of(images)
    floats = scale(torch.from_numpy(images.transpose(0, 3, 1, 2).copy()))
    assert floats.mean(dim=(0, 2, 3)).abs().max() < 1e-5
    assert (floats.var(dim=(0, 2, 3), unbiased=False) - 1).abs().max() < 1e-4


def test_answers_agree_with_one_pass_over_everything() -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (1500, 3, 8, 8), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 10, (1500,), generator=generator)
    scale = Standardization(torch.full((3, 1, 1), 127.0), torch.full((3, 1, 1), 60.0))
    model = SixLayerCNN(classes=10)
    loss, given = answers(model, ImageTensors(images, labels), scale)
    with torch.no_grad():
        logits = model(scale(images))
    assert loss == pytest.approx(float(torch.nn.functional.cross_entropy(logits, labels)), rel=1e-5)
    assert (given == logits.argmax(1).numpy()).mean() > 0.999


def test_the_cnn_starts_at_the_norm_of_pytorchs_initialisation() -> None:
    norms = []
    for seed in range(3):
        torch.manual_seed(seed)
        model = SixLayerCNN(classes=10)
        norms.append(sum(float(p.detach().double().square().sum()) for p in model.parameters()))
    # Uniform on (-b, b) with b = 1/sqrt(fan_in): each weight has variance 1/(3 fan_in).
    expected = sum(out / 3 for out in (32, 32, 64, 64, 128, 128)) + 10 / 3 + 10 / (3 * 128)
    assert np.mean(norms) == pytest.approx(expected, rel=0.02)
    assert np.mean(norms) == pytest.approx(153, rel=0.02)


@pytest.mark.parametrize(
    ("normalization", "parameters"),
    [("batch", 11_173_962), ("group", 11_173_962), ("none", 11_164_362)],
)
def test_resnet_parameter_counts(normalization: str, parameters: int) -> None:
    model = resnet18(classes=10, normalization=normalization)
    assert sum(p.numel() for p in model.parameters()) == parameters
    with torch.no_grad():
        assert model.eval()(torch.zeros(2, 3, 16, 16)).shape == (2, 10)


@pytest.mark.slow
@pytest.mark.parametrize("weight_decay", [0.01, 1.0])
def test_two_epochs_of_coloured_cifar(
    shared_data: Path, tmp_path: Path, weight_decay: float
) -> None:
    """The shortcut is learned within an epoch at rho 0.95, whatever the weight decay."""
    config = _config(
        {
            "name": "coloured_images",
            "path": str(shared_data / "cifar10_subset.npz"),
            "image_size": 16,
            "shortcut_strength": 0.95,
        },
        optimizer={"name": "adamw", "learning_rate": 1e-3, "weight_decay": weight_decay},
        schedule={"name": "cosine"},
        steps=158,
        batch_size=128,
        evaluate_every=79,
    )
    train(config, tmp_path / "run")
    last = _lines(tmp_path / "run")[-1]
    assert last[columns.SHORTCUT_ACCURACY] > 0.95
    assert last[columns.CONFLICT_SHORTCUT_RATE] > 0.8
    assert last[columns.COLOURED_ACCURACY] > 0.85
    assert last[columns.HELDOUT_ACCURACY] < 0.35
