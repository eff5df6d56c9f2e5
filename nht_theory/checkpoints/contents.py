"""What one checkpoint holds: its parameters, not yet read, and what is no parameter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from nht_theory.checkpoints.formats import StoredWeights, open_stored
from nht_theory.checkpoints.groups import EMBEDDING, HEAD, layers_of
from nht_theory.checkpoints.notes import LeftOut, Note, NoteKind
from nht_theory.checkpoints.optimizer_state import OptimizerSettings, optimizer_settings
from nht_theory.checkpoints.quantization import QuantizedTensor, with_scales
from nht_theory.checkpoints.stored_tensor import StoredTensor
from nht_theory.checkpoints.tensor_names import LIVE, stripped_names, why_not_parameter
from nht_theory.errors import InputError


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


@dataclass(frozen=True)
class Contents:
    """One checkpoint, opened.

    Attributes:
        source: the file or directory.
        format: ``safetensors``, ``torch``, ``sharded safetensors`` ...
        parameters: the trained tensors, each once, under their names in the model.
        ties: further name of a parameter -> the name that it is counted under.
        step: the training step stored inside, or None.
        optimizer: settings read from the optimiser state, or None.
        left_out: what is not counted, each with the reason.
        notes: what reading changed or noticed.
    """

    source: Path
    format: str
    parameters: tuple[StoredTensor, ...]
    ties: Mapping[str, str]
    step: int | None
    optimizer: OptimizerSettings | None
    left_out: tuple[LeftOut, ...]
    notes: tuple[Note, ...]


@contextmanager
def open_checkpoint(path: Path, weights: str = LIVE) -> Iterator[Contents]:
    """Open a checkpoint and find its parameters; their bytes are read on demand.

    Args:
        path: a file, an index of shards, or the directory of one checkpoint.
        weights: ``live``, ``ema``, or the key of the set to take.

    Raises:
        InputError: it cannot be read, or holds no weights; naming the remedy.
        UnsafeFileError: it was made to run code or to exhaust the machine.
    """
    with ExitStack() as stack:
        yield _selected(open_stored(path, stack, weights))


def _selected(stored: StoredWeights) -> Contents:
    """Parameters under their names in the model, each once."""
    tensors, scales = with_scales(stored.tensors, stored.source)
    left_out = list(stored.left_out)
    left_out += [LeftOut(name, f"the scale of {other}") for name, other in scales.items()]
    reasons = {
        name: None if isinstance(tensor, QuantizedTensor) else why_not_parameter(tensor)
        for name, tensor in tensors.items()
    }
    left_out += [LeftOut(name, reason) for name, reason in reasons.items() if reason]
    names = [name for name, reason in reasons.items() if reason is None]
    renamed, name_notes = stripped_names(names)
    kept = [
        tensors[name] if renamed[name] == name else replace(tensors[name], name=renamed[name])
        for name in names
    ]
    ties = shared_storage(kept)
    notes = [*stored.notes, *name_notes]
    notes += [Note(NoteKind.SHARED_MEMORY, name=name, other=other) for name, other in ties.items()]
    parameters = tuple(tensor for tensor in kept if tensor.name not in ties)
    if not parameters:
        raise InputError(
            "no trained parameter among its tensors",
            source=stored.source,
            remedy="give the checkpoint of a model",
        )
    shapes = {tensor.name: tensor.shape for tensor in parameters}
    settings = optimizer_settings(stored.saved, shapes, stored.read_number)
    if settings is not None:
        notes += settings.notes
    step = stored.step
    if step is None and settings is not None and settings.step is not None:
        step = settings.step
        notes.append(Note(NoteKind.STEP_OF_OPTIMIZER))
    return Contents(
        stored.source,
        stored.format,
        parameters,
        ties,
        step,
        settings,
        tuple(left_out),
        tuple(notes),
    )
