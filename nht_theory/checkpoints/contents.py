"""What one checkpoint holds: its parameters, not yet read, and what is no parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nht_theory.checkpoints.buffers import why_not_parameter
from nht_theory.checkpoints.left_out import LeftOut
from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.safetensors_file import read_header
from nht_theory.checkpoints.stored_step import step_in_metadata, step_in_object
from nht_theory.checkpoints.stored_tensor import StoredTensor
from nht_theory.checkpoints.tensor_names import stripped_names
from nht_theory.checkpoints.ties import shared_storage
from nht_theory.checkpoints.torch_calls import TensorReference
from nht_theory.checkpoints.torch_file import TorchFile
from nht_theory.checkpoints.weight_location import LIVE, locate_weights
from nht_theory.errors import InputError

SAFETENSORS = "safetensors"
TORCH = "torch"


@dataclass(frozen=True)
class Contents:
    """One checkpoint, opened.

    Attributes:
        source: the file or directory.
        format: ``safetensors``, ``torch`` ...
        parameters: the trained tensors, each once, under their names in the model.
        ties: further name of a parameter -> the name that it is counted under.
        step: the training step stored inside, or None.
        left_out: what is not counted, each with the reason.
        notes: what reading changed or noticed.
    """

    source: Path
    format: str
    parameters: tuple[StoredTensor, ...]
    ties: Mapping[str, str]
    step: int | None
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


@contextmanager
def open_checkpoint(path: Path, weights: str = LIVE) -> Iterator[Contents]:
    """Open a checkpoint and find its parameters; their bytes are read on demand.

    Args:
        path: a file.
        weights: ``live``, ``ema``, or the key of the set to take.

    Raises:
        InputError: it cannot be read, or holds no weights; naming the remedy.
        UnsafeFileError: it was made to run code or to exhaust the machine.
    """
    with ExitStack() as stack:
        file = stack.enter_context(MappedFile(path))
        if path.suffix == ".safetensors":
            yield _of_safetensors(file)
        else:
            yield _of_torch(file, weights)


def _of_safetensors(file: MappedFile) -> Contents:
    tensors, metadata, left_out = read_header(file)
    return _select(file.path, SAFETENSORS, tensors, step_in_metadata(metadata), list(left_out), [])


def _of_torch(file: MappedFile, weights: str) -> Contents:
    saved = TorchFile(file)
    located = locate_weights(saved.root, file.path, weights)
    tensors: dict[str, StoredTensor] = {}
    for name, leaf in located.leaves.items():
        if not isinstance(leaf, TensorReference):
            raise InputError(f"tensor {name}: {leaf.reason}", source=file.path)
        tensors[name] = saved.stored(name, leaf)
    step = step_in_object(saved)
    return _select(file.path, TORCH, tensors, step, list(located.left_out), list(located.notes))


def _select(
    source: Path,
    form: str,
    tensors: Mapping[str, StoredTensor],
    step: int | None,
    left_out: list[LeftOut],
    notes: list[str],
) -> Contents:
    """Parameters under their names in the model, each once."""
    renamed, name_notes = stripped_names(list(tensors))
    notes = [*notes, *name_notes]
    kept: list[StoredTensor] = []
    for stored_name, tensor in tensors.items():
        named = replace(tensor, name=renamed[stored_name])
        reason = why_not_parameter(named)
        if reason is None:
            kept.append(named)
        else:
            left_out.append(LeftOut(named.name, reason))
    ties = shared_storage(kept)
    notes += [
        f"{name} shares its memory with {other}: counted once" for name, other in ties.items()
    ]
    parameters = tuple(tensor for tensor in kept if tensor.name not in ties)
    if not parameters:
        raise InputError(
            "no trained parameter among its tensors",
            source=source,
            remedy="give the checkpoint of a model",
        )
    return Contents(source, form, parameters, ties, step, tuple(left_out), tuple(notes))
