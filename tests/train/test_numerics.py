"""Training leaves the arithmetic of the process as it found it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from nht_train.config import TrainConfig
from nht_train.numerics import arithmetic, flushes_denormals
from nht_train.trainer import train


def _state() -> tuple[object, ...]:
    return (flushes_denormals(), torch.get_num_threads(), torch.get_float32_matmul_precision())


def test_training_changes_nothing_for_what_comes_after(tmp_path: Path) -> None:
    before = _state()
    config = TrainConfig.from_mapping(
        {
            "task": {"name": "modular_addition", "p": 7},
            "model": {"width": 8, "heads": 2},
            "steps": 2,
        }
    )
    train(config, tmp_path / "run")
    assert _state() == before


def test_it_is_restored_after_a_failure_too() -> None:
    before = _state()
    with pytest.raises(ZeroDivisionError), arithmetic(1):
        raise ZeroDivisionError
    assert _state() == before
