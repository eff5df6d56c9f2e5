"""Numbers in a saved object, however they were stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nht_theory.checkpoints.distributed_checkpoint import (
    Chunk,
    DistributedCheckpoint,
    DistributedTensor,
)
from nht_theory.checkpoints.pickle_values import OpaqueObject
from nht_theory.checkpoints.stored_tensor import StoredTensor
from nht_theory.checkpoints.torch_calls import TensorReference
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
