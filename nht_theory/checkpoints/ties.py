"""Tensors that are one parameter under two names."""

from __future__ import annotations

from collections.abc import Sequence

from nht_theory.checkpoints.stored_tensor import StoredTensor


def shared_storage(tensors: Sequence[StoredTensor]) -> dict[str, str]:
    """Name -> the earlier name that shares its memory: a true tie, counted once.

    Only formats that keep references (torch's) can show it. Views that overlap in part (the
    slices of one flat buffer do not overlap) are separate parameters.
    """
    first: dict[object, str] = {}
    ties: dict[str, str] = {}
    for tensor in tensors:
        if tensor.storage is None or tensor.size == 0:
            continue
        extents = tuple((p.file.path, *p.extent(tensor.element)) for p in tensor.pieces)
        key = (tensor.element, tensor.size, extents)
        if key in first:
            ties[tensor.name] = first[key]
        else:
            first[key] = tensor.name
    return ties
