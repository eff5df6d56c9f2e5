"""What a configuration refuses, and what it says."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from nht_theory.errors import InputError
from nht_train import cli
from nht_train.config import TrainConfig
from nht_train.setup import build

MINIMAL = '[task]\nname = "modular_addition"\n'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("sede=1", "unknown key 'sede'; did you mean seed?"),
        ("weight_decay=1", "did you mean optimizer.weight_decay?"),
        ("optimizer.weight_decy=1", "unknown key 'weight_decy'; did you mean weight_decay?"),
        ("task.q=5", "unknown key 'q'"),
        ("task.name=modular_additon", "did you mean modular_addition?"),
        ("model.name=tranformer", "did you mean transformer?"),
        ("checkpoints.evry=3", "unknown key 'checkpoints.evry'; did you mean every?"),
        ("steps=many", "steps: Input should be a valid integer"),
        ("task.p=1", "p: Input should be greater than or equal to 2"),
        ("task.train_fraction=1.5", "train_fraction"),
        ("model.vocabulary=3", "unknown key 'vocabulary'"),
        ("optimizer.learning_rate=0", "learning_rate"),
        ("task.name=nowhere:build", "cannot be imported"),
        ("novalue", "not key=value"),
        ("steps.x=1", "not a table"),
    ],
)
def test_a_wrong_key_is_named_with_its_remedy(tmp_path: Path, override: str, message: str) -> None:
    path = write(tmp_path, "steps = 5\n" + MINIMAL)
    with pytest.raises(InputError) as raised:
        build(TrainConfig.from_toml(path, [override]))
    assert message in str(raised.value)


def test_overrides_are_typed(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL)
    config = TrainConfig.from_toml(
        path, ["optimizer.weight_decay=0.3", "model.normalization=pre", "steps=7"]
    )
    setup = build(config)
    assert setup.config.optimizer.options["weight_decay"] == 0.3
    assert setup.config.model.options["normalization"] == "pre"
    assert setup.config.steps == 7
    assert setup.config.task.options["p"] == 97  # defaults are recorded


@pytest.mark.parametrize("text", ["steps = ", "steps = 5", "\xff\xfe"])
def test_files_that_are_no_configuration(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError):
        TrainConfig.from_toml(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.toml"):
        TrainConfig.from_toml(tmp_path / "absent.toml")


def test_division_needs_a_prime() -> None:
    config = TrainConfig.from_mapping({"task": {"name": "modular_division", "p": 91}})
    with pytest.raises(InputError, match="91 is not prime"):
        build(config)


def test_the_packaged_configurations_build() -> None:
    paths = [p for p in files("nht_train.configs").iterdir() if p.name.endswith(".toml")]
    assert len(paths) >= 2
    for path in paths:
        build(TrainConfig.from_toml(Path(str(path))))


def test_a_seed_fixes_the_weights_and_leaves_torch_alone() -> None:
    import torch

    config = TrainConfig.from_mapping({"task": {"name": "modular_addition", "p": 11}, "seed": 3})
    torch.manual_seed(0)
    first = build(config).model.head.weight
    drawn = torch.rand(1)
    torch.manual_seed(1)
    second = build(config).model.head.weight
    assert torch.equal(first, second)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(1))


def test_the_command_names_the_file_of_a_wrong_section(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL)
    with pytest.raises(InputError) as raised:
        cli.train(path, ["optimizer.weight_decy=1"], tmp_path / "run")
    assert str(raised.value) == (
        f"{path}: optimizer: unknown key 'weight_decy'; did you mean weight_decay?"
    )
    assert not (tmp_path / "run").exists()
