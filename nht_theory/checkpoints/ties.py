"""Tensors that are one parameter under two names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from nht_theory.checkpoints.layers import EMBEDDING, HEAD, layers_of
from nht_theory.checkpoints.stored_tensor import StoredTensor


def shared_storage(tensors: Sequence[StoredTensor]) -> dict[str, str]:
    """Name -> the earlier name that shares its memory: a true tie, counted once.

    Only formats that keep references (torch's) can show it. Views that overlap in part (the
    slices of one flat buffer do not overlap) are separate parameters.
    """
    views = Counter(tensor.storage for tensor in tensors)
    first: dict[object, str] = {}
    ties: dict[str, str] = {}
    for tensor in tensors:
        if tensor.storage is None or views[tensor.storage] == 1 or tensor.size == 0:
            continue
        extents = tuple((id(p.file), *p.extent(tensor.element)) for p in tensor.pieces)
        key = (tensor.element.name, tensor.size, extents)
        if key in first:
            ties[tensor.name] = first[key]
        else:
            first[key] = tensor.name
    return ties


def stored_copies(tensors: Sequence[StoredTensor], values: Mapping[str, float]) -> dict[str, str]:
    """Head -> the embedding whose bytes it repeats: a tie that the format stored twice.

    Formats without references (safetensors) may hold both copies of a tied weight. Only an
    embedding and a head are taken as tied: other tensors may be equal because layers start as
    copies of one another.

    Args:
        tensors: the parameters.
        values: their squared norms; bytes are compared only where these are equal.
    """
    matrices = [values[tensor.name] for tensor in tensors if len(tensor.shape) == 2]
    if len(set(matrices)) == len(matrices):
        return {}
    by_name = {tensor.name: tensor for tensor in tensors}
    layers = layers_of({tensor.name: tensor.shape for tensor in tensors})
    copies: dict[str, str] = {}
    for head in layers.get(HEAD, ()):
        for embedding in layers.get(EMBEDDING, ()):
            a, b = by_name[embedding], by_name[head]
            alike = a.shape == b.shape and a.element == b.element and len(a.shape) == 2
            if alike and values[embedding] == values[head] > 0 and _same_numbers(a, b):
                copies[head] = embedding
                break
    return copies


def _same_numbers(a: StoredTensor, b: StoredTensor) -> bool:
    return all(
        x is not None and y is not None and np.array_equal(x, y)
        for x, y in zip_longest(a.chunks(), b.chunks())
    )
