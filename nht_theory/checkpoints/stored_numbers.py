"""Single numbers inside a checkpoint: read from its tensors, and its training step."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nht_theory.checkpoints.distributed_checkpoint import (
    Chunk,
    DistributedCheckpoint,
    DistributedTensor,
)
from nht_theory.checkpoints.pickle_policy import OpaqueObject, TensorReference
from nht_theory.checkpoints.stored_tensor import StoredTensor
from nht_theory.checkpoints.torch_file import TorchFile

ReadNumber = Callable[[Any], float | None]
"""The number in an int, a float, a tensor of one element or a numpy scalar; None for the rest."""


def number_reader(saved: TorchFile) -> ReadNumber:
    """Reads numbers of an object that ``torch.save`` stored."""

    def read(value: Any) -> float | None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value) if abs(value) < 1e300 else None
        if isinstance(value, TensorReference) and value.shape in ((), (1,)):
            return _only(saved.stored("a number", value))
        if isinstance(value, OpaqueObject):
            return _numpy_scalar(value)
        return None

    return read


def distributed_number_reader(checkpoint: DistributedCheckpoint) -> ReadNumber:
    """Reads numbers of a distributed checkpoint, in its shards."""

    def read(value: Any) -> float | None:
        if isinstance(value, Chunk):
            inner, saved = checkpoint.value(value)
            return number_reader(saved)(inner)
        if isinstance(value, DistributedTensor) and value.shape in ((), (1,)):
            return _only(checkpoint.stored("a number", value))
        return None

    return read


def _only(tensor: StoredTensor) -> float | None:
    number = float(tensor.values()[0])
    return number if math.isfinite(number) else None


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
    number = float(np.frombuffer(raw, dtype)[0]) if len(raw) == dtype.itemsize else math.nan
    return number if math.isfinite(number) else None


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


def step_in_object(root: Any, read_number: ReadNumber) -> int | None:
    """The step among the top-level entries of a saved object, or None.

    Args:
        read_number: reads a number that may lie in a tensor.
    """
    if not isinstance(root, dict):
        return None
    for key in STEP_KEYS:
        if key in root:
            number = read_number(root[key])
            if number is not None and 0 <= number < 1 << 53 and number == int(number):
                return int(number)
    return None


def step_in_trainer_state(text: bytes) -> int | None:
    """The step in the ``trainer_state.json`` of Transformers.

    Example:
        >>> step_in_trainer_state(b'{"epoch": 2.0, "global_step": 500, "log_history": []}')
        500
    """
    found = re.search(rb'"global_step":\s*(\d{1,15})\b', text)
    return None if found is None else int(found[1])
