"""The training step that a checkpoint itself records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nht_theory.checkpoints.pickle_machine import OpaqueObject
from nht_theory.checkpoints.torch_calls import TensorReference
from nht_theory.checkpoints.torch_file import TorchFile

STEP_KEYS = (
    "global_step",
    "step",
    "steps",
    "global_steps",
    "current_step",
    "training_step",
    "train_step",
    "iteration",
    "iterations",
    "iter",
    "it",
    "iter_num",
    "n_iter",
    "num_updates",
    "num_steps",
    "update",
)
"""Keys that hold the number of optimiser steps taken, the surest first."""


def step_in_metadata(metadata: Mapping[str, str]) -> int | None:
    """The step in the metadata of a safetensors file.

    Example:
        >>> step_in_metadata({"format": "pt", "step": "1200"})
        1200
    """
    for key in STEP_KEYS:
        text = metadata.get(key, "")
        if text.strip().isdecimal() and len(text) < 16:
            return int(text)
    return None


def step_in_object(saved: TorchFile) -> int | None:
    """The step among the top-level entries of what ``torch.save`` stored, or None."""
    if not isinstance(saved.root, dict):
        return None
    for key in STEP_KEYS:
        number = as_integer(saved.root.get(key), saved)
        if number is not None:
            return number
    return None


def as_integer(value: Any, saved: TorchFile) -> int | None:
    """A whole number from an int, a float, a tensor of one element or a numpy scalar."""
    number: float | None = None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = value
    elif isinstance(value, TensorReference) and value.shape in ((), (1,)):
        number = float(saved.stored("step", value).values()[0])
    elif isinstance(value, OpaqueObject):
        number = _numpy_scalar(value)
    if number is None or not 0 <= number < 1 << 53 or number != int(number):
        return None
    return int(number)


def _numpy_scalar(value: OpaqueObject) -> float | None:
    """The value of ``numpy.core.multiarray.scalar(dtype, bytes)``."""
    if value.symbol is None or not value.symbol.module.endswith("multiarray"):
        return None
    if value.symbol.name != "scalar" or len(value.arguments) != 2:
        return None
    kind, raw = value.arguments
    code = kind.arguments[0] if isinstance(kind, OpaqueObject) and kind.arguments else None
    if code not in ("i8", "i4", "f8", "f4", "u8", "u4") or not isinstance(raw, bytes):
        return None
    dtype = np.dtype("<" + code)
    return float(np.frombuffer(raw, dtype)[0]) if len(raw) == dtype.itemsize else None
