"""The formats a checkpoint may have, and what each gives: named tensors and what is beside them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nht_theory.checkpoints import mapped_file
from nht_theory.checkpoints.directory_units import INDEX_SUFFIXES, units_in
from nht_theory.checkpoints.distributed_checkpoint import (
    METADATA_FILE,
    DistributedCheckpoint,
    DistributedTensor,
)
from nht_theory.checkpoints.file_names import shard_path
from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.notes import LeftOut, Note
from nht_theory.checkpoints.pickle_policy import TensorReference
from nht_theory.checkpoints.quantization import from_torch
from nht_theory.checkpoints.safetensors_file import parse_json, read_header
from nht_theory.checkpoints.stored_numbers import (
    ReadNumber,
    distributed_number_reader,
    number_reader,
    step_in_metadata,
    step_in_object,
    step_in_trainer_state,
)
from nht_theory.checkpoints.stored_tensor import StoredTensor
from nht_theory.checkpoints.tensor_names import LIVE
from nht_theory.checkpoints.torch_file import TorchFile
from nht_theory.checkpoints.weight_location import Located, locate_weights
from nht_theory.errors import InputError, UnsafeFileError

SAFETENSORS = "safetensors"
TORCH = "torch"
SHARDED = "sharded "
DISTRIBUTED = "torch.distributed.checkpoint"

_TRAINER_STATE = "trainer_state.json"
_TRAINER_STATE_BYTES = 8_000_000
_UNOPENED = "named in the pickle beside the weights; neither imported nor run"
_UNOPENED_SHOWN = 20
_OPTIMIZER_FILES = ("optimizer.pt", "optimizer.bin")


@dataclass(frozen=True)
class StoredWeights:
    """What a format gives.

    Attributes:
        source: the file or directory.
        format: its name.
        tensors: stored name -> tensor, in the order of the file.
        step: the training step stored inside or beside, or None.
        saved: the whole saved object where there is more than tensors, for optimiser state.
        read_number: reads numbers of ``saved``.
        left_out: entries that are no weights.
        notes: where the weights were found.
    """

    source: Path
    format: str
    tensors: Mapping[str, StoredTensor]
    step: int | None = None
    saved: Any = None
    read_number: ReadNumber = field(default=lambda value: None)
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()


def open_stored(path: Path, stack: ExitStack, weights: str = LIVE) -> StoredWeights:
    """Open a checkpoint of any format.

    Args:
        path: a file, an index of shards, a distributed checkpoint's directory, or a directory
            that holds one checkpoint.
        stack: closes the files.
        weights: ``live``, ``ema`` or the key of the set to take.

    Raises:
        InputError, UnsafeFileError: it cannot be read; see :mod:`nht_theory.checkpoints`.
    """
    if os.path.isdir(path):  # twice as fast as asking the Path
        if (path / METADATA_FILE).is_file():
            return _distributed(path, stack, weights)
        path = _only_unit(path)
    if path.name.endswith(INDEX_SUFFIXES):
        return _beside(_sharded(path, stack, weights), stack)
    file = stack.enter_context(MappedFile(path))
    if path.suffix == ".safetensors" or _looks_like_safetensors(file):
        return _beside(_safetensors(file), stack)
    return _beside(_torch(file, weights), stack)


def _only_unit(directory: Path) -> Path:
    units, left_out = units_in(directory)
    if len(units) == 1:
        return units[0].path
    problem = (
        f"{len(units)} checkpoints in the directory, one is expected"
        if units
        else (
            "no checkpoint in the directory"
            + "".join(f"; {entry.file}: {entry.reason}" for entry in left_out[:2])
        )
    )
    raise InputError(problem, source=directory, remedy="name one file, or use discover(path)")


def _looks_like_safetensors(file: MappedFile) -> bool:
    start = file.read(0, min(9, file.size))
    return start[8:] == b"{" and start[:2] not in (b"PK", b"\x80\x02")


def _safetensors(file: MappedFile) -> StoredWeights:
    tensors, metadata, left_out = read_header(file)
    step = step_in_metadata(metadata)
    return StoredWeights(file.path, SAFETENSORS, tensors, step, left_out=left_out)


def _torch(file: MappedFile, weights: str) -> StoredWeights:
    saved = TorchFile(file)
    read = number_reader(saved)
    located = locate_weights(saved.root, file.path, weights)
    tensors = {name: _resolved(name, leaf, saved) for name, leaf in located.leaves.items()}
    closed = [LeftOut(name, _UNOPENED) for name in saved.unopened[:_UNOPENED_SHOWN]]
    located = replace(located, left_out=(*located.left_out, *closed))
    return _with_object(file.path, TORCH, tensors, saved.root, read, located)


def _distributed(directory: Path, stack: ExitStack, weights: str) -> StoredWeights:
    checkpoint = DistributedCheckpoint(directory, stack)
    read = distributed_number_reader(checkpoint)
    located = locate_weights(checkpoint.root, directory, weights)
    tensors = {}
    for name, leaf in located.leaves.items():
        if not isinstance(leaf, DistributedTensor):
            raise InputError(f"tensor {name}: {leaf.reason}", source=directory)  # type: ignore[union-attr]
        tensors[name] = checkpoint.stored(name, leaf)
    return _with_object(directory, DISTRIBUTED, tensors, checkpoint.root, read, located)


def _with_object(
    source: Path,
    form: str,
    tensors: dict[str, StoredTensor],
    root: Any,
    read: ReadNumber,
    located: Located,
) -> StoredWeights:
    step = step_in_object(root, read)
    return StoredWeights(source, form, tensors, step, root, read, located.left_out, located.notes)


def _resolved(name: str, leaf: Any, saved: TorchFile) -> StoredTensor:
    if not isinstance(leaf, TensorReference):
        raise InputError(f"tensor {name}: {leaf.reason}", source=saved.file.path)
    if leaf.unreadable:
        raise InputError(f"tensor {name}: {leaf.unreadable}", source=saved.file.path)
    tensor = saved.stored(name, leaf)
    if not leaf.quantizer:
        return tensor

    def values(reference: Any) -> NDArray[np.float64]:
        if not isinstance(reference, TensorReference):
            raise InputError(f"the scale of {name} is no tensor", source=saved.file.path)
        return saved.stored(name, reference).values().astype(np.float64)

    return from_torch(tensor, leaf.quantizer, values)


def _sharded(index: Path, stack: ExitStack, weights: str) -> StoredWeights:
    """The tensors of every shard that an index names: all of them, or none."""
    with MappedFile(index) as file:
        if file.size > mapped_file.HEADER_BYTES:
            raise UnsafeFileError(
                f"an index of {file.size} bytes, above the limit of {mapped_file.HEADER_BYTES}",
                source=index,
            )
        document = parse_json(file.read(0, file.size), index)
    places = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(places, dict) or not all(isinstance(v, str) for v in places.values()):
        raise InputError(
            "no weight_map from tensors to files", source=index, remedy="copy the index again"
        )
    tensors: dict[str, StoredTensor] = {}
    left_out: list[LeftOut] = []
    for shard in dict.fromkeys(places.values()):
        path = shard_path(index.parent, shard, index.name)
        opened = stack.enter_context(MappedFile(path))
        stored = _safetensors(opened) if path.suffix == ".safetensors" else _torch(opened, weights)
        expected = {name for name, file_name in places.items() if file_name == shard}
        missing = sorted(expected - set(stored.tensors))
        if missing:
            raise InputError(
                f"tensor {missing[0]} is not in the shard {shard} that the index names for it",
                source=index,
                remedy="copy the shards of one and the same checkpoint",
            )
        for name, tensor in stored.tensors.items():
            if name in expected:
                tensors[name] = tensor
            else:
                left_out.append(LeftOut(name, f"in {shard}, but not named by the index"))
        left_out.extend(stored.left_out)
    form = SHARDED + (SAFETENSORS if ".safetensors." in index.name else TORCH)
    ordered = {name: tensors[name] for name in places}
    return StoredWeights(index, form, ordered, left_out=tuple(left_out))


def _beside(stored: StoredWeights, stack: ExitStack) -> StoredWeights:
    """What Transformers keeps in files beside the weights: the step and the optimiser state."""
    folder = stored.source.parent
    state = folder / _TRAINER_STATE
    if not os.path.isfile(state):
        return stored
    step, saved, read = stored.step, stored.saved, stored.read_number
    left_out = list(stored.left_out)
    try:
        with MappedFile(state) as file:
            text = file.read(0, min(file.size, _TRAINER_STATE_BYTES))
        step = step_in_trainer_state(text) if step is None else step
        for name in _OPTIMIZER_FILES:
            if (folder / name).is_file() and saved is None:
                opened = TorchFile(stack.enter_context(MappedFile(folder / name)))
                saved, read = opened.root, number_reader(opened)
    except InputError as error:
        left_out.append(LeftOut(folder.name, f"settings beside the weights: {error}"))
    return replace(stored, step=step, saved=saved, read_number=read, left_out=tuple(left_out))
