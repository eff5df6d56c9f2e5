"""Checkpoints of torch.distributed.checkpoint: ``.metadata`` and ``.distcp`` files.

The metadata is a pickle that says for each tensor into which chunks it was cut and where each
chunk lies; every chunk is what ``torch.save`` writes for one tensor. Read as data, without torch.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

from nht_theory.checkpoints.elements import ELEMENTS, Element
from nht_theory.checkpoints.file_names import shard_path
from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.pickle_machine import PickleMachine
from nht_theory.checkpoints.pickle_policy import (
    OpaqueKey,
    OpaqueObject,
    Symbol,
    TensorReference,
    Unreadable,
    reduce_call,
    refuse_dangerous,
)
from nht_theory.checkpoints.stored_tensor import Piece, Shape, StoredTensor
from nht_theory.checkpoints.torch_file import TorchFile
from nht_theory.errors import InputError

METADATA_FILE = ".metadata"
_DAMAGED = "the checkpoint is incomplete or damaged; save it again"
_PAIRWISE = 256
"""Up to so many chunks of a tensor are compared with one another."""


@dataclass(frozen=True)
class Chunk:
    """A part of a tensor, and where its bytes are."""

    offsets: Shape
    sizes: Shape
    file: str
    start: int
    length: int


@dataclass(frozen=True, eq=False)
class DistributedTensor:
    """A tensor in chunks."""

    shape: Shape
    element: Element
    chunks: tuple[Chunk, ...]


class DistributedCheckpoint:
    """A directory written by ``torch.distributed.checkpoint.save``.

    Attributes:
        root: the saved object as nested dicts, with :class:`DistributedTensor` leaves; settings
            that were saved beside the tensors are read when :meth:`value` asks for them.
    """

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.directory = directory
        self._stack = stack
        self._files: dict[str, MappedFile] = {}
        metadata = self._read_metadata(stack.enter_context(MappedFile(directory / METADATA_FILE)))
        self._places = self._chunk_places(metadata.get("storage_data"))
        described = metadata.get("state_dict_metadata")
        if not isinstance(described, dict):
            raise InputError("no tensors described", source=directory, remedy=_DAMAGED)
        paths = metadata.get("planner_data")
        self.root: dict[str, Any] = {}
        for name, entry in described.items():
            if not isinstance(name, str) or not isinstance(entry, OpaqueObject):
                raise InputError("an entry without a name", source=directory, remedy=_DAMAGED)
            path = paths.get(name) if isinstance(paths, dict) else None
            self._insert(name, path, self._leaf(name, entry.attributes()))

    def stored(self, name: str, tensor: DistributedTensor) -> StoredTensor:
        """The tensor as ranges of the shard files.

        Raises:
            InputError: a shard is absent or does not hold what the metadata says.
        """
        pieces: list[Piece] = []
        for chunk in tensor.chunks:
            saved = TorchFile(self._file(chunk.file), chunk.start, chunk.length)
            if not isinstance(saved.root, TensorReference) or saved.root.shape != chunk.sizes:
                raise InputError(
                    f"the chunk of {name} at {list(chunk.offsets)} is not the tensor that the "
                    "metadata describes",
                    source=self.directory / chunk.file,
                    remedy=_DAMAGED,
                )
            stored = saved.stored(name, saved.root)
            if stored.element != tensor.element:
                raise InputError(
                    f"{name} is {stored.element.name}, described as {tensor.element.name}",
                    source=self.directory / chunk.file,
                    remedy=_DAMAGED,
                )
            pieces.extend(stored.pieces)
        return StoredTensor(name, tensor.shape, tensor.element, tuple(pieces), name)

    def value(self, chunk: Chunk) -> tuple[Any, TorchFile]:
        """A setting that was saved beside the tensors, and the file that its tensors are in."""
        saved = TorchFile(self._file(chunk.file), chunk.start, chunk.length)
        return saved.root, saved

    def _file(self, name: str) -> MappedFile:
        if name not in self._files:
            path = shard_path(self.directory, name, METADATA_FILE)
            self._files[name] = self._stack.enter_context(MappedFile(path))
        return self._files[name]

    def _read_metadata(self, file: MappedFile) -> dict[Any, Any]:
        machine = PickleMachine(
            file.bytes_at(0, file.size).data,
            source=file.path,
            reduce=reduce_call,
            persistent=lambda identifier: OpaqueObject(None, (identifier,)),
            check=lambda symbol: refuse_dangerous(symbol, file.path),
        )
        root, _ = machine.run()
        symbol = root.symbol if isinstance(root, OpaqueObject) else None
        if symbol is None or symbol.name != "Metadata":
            raise InputError(
                "not the metadata of a distributed checkpoint", source=file.path, remedy=_DAMAGED
            )
        return dict(root.attributes())

    def _chunk_places(self, storage: Any) -> dict[tuple[str, Shape | None], Chunk]:
        places: dict[tuple[str, Shape | None], Chunk] = {}
        for key, info in storage.items() if isinstance(storage, dict) else ():
            index = key.value if isinstance(key, OpaqueKey) else None
            if not isinstance(index, OpaqueObject) or not isinstance(info, OpaqueObject):
                raise InputError("a chunk without a place", source=self.directory, remedy=_DAMAGED)
            where, what = info.attributes(), index.attributes()
            if where.get("transform_descriptors"):
                raise InputError(
                    f"{what.get('fqn')} is compressed",
                    source=self.directory,
                    remedy="save without compression",
                )
            offsets = what.get("offset")
            start, length = where.get("offset"), where.get("length")
            file = where.get("relative_path")
            if not (isinstance(start, int) and isinstance(length, int) and isinstance(file, str)):
                raise InputError("a chunk without a place", source=self.directory, remedy=_DAMAGED)
            at = tuple(offsets) if isinstance(offsets, tuple) else None
            places[str(what.get("fqn")), at] = Chunk(at or (), (), file, start, length)
        return places

    def _leaf(self, name: str, entry: dict[Any, Any]) -> Any:
        if "size" not in entry:
            return self._places.get((name, None))
        shape = _shape(entry["size"])
        dtype = _dtype(entry.get("properties"))
        element = ELEMENTS.get(dtype.name) if isinstance(dtype, Symbol) else None
        chunks = entry.get("chunks")
        if shape is None or not isinstance(chunks, list):
            raise InputError(f"{name} has no shape", source=self.directory, remedy=_DAMAGED)
        if element is None:
            return Unreadable(f"elements of type {dtype}")
        return DistributedTensor(shape, element, self._chunks(name, shape, chunks))

    def _chunks(self, name: str, shape: Shape, described: list[Any]) -> tuple[Chunk, ...]:
        found = []
        for entry in described:
            fields = entry.attributes() if isinstance(entry, OpaqueObject) else {}
            offsets, sizes = _shape(fields.get("offsets")), _shape(fields.get("sizes"))
            if offsets is None or sizes is None or not len(offsets) == len(sizes) == len(shape):
                raise InputError(f"{name} has a bad chunk", source=self.directory, remedy=_DAMAGED)
            place = self._places.get((name, offsets))
            if place is None:
                raise InputError(
                    f"the chunk of {name} at {list(offsets)} is stored nowhere",
                    source=self.directory,
                    remedy=_DAMAGED,
                )
            found.append(Chunk(offsets, sizes, place.file, place.start, place.length))
        inside = all(
            o + s <= n for c in found for o, s, n in zip(c.offsets, c.sizes, shape, strict=True)
        )
        pairs = combinations(found, 2) if len(found) <= _PAIRWISE else ()
        overlap = any(_overlap(a, b) for a, b in pairs)
        if not inside or overlap or sum(prod(c.sizes) for c in found) != prod(shape):
            raise InputError(
                f"the chunks of {name} do not make up its shape {list(shape)}",
                source=self.directory,
                remedy=_DAMAGED,
            )
        return tuple(found)

    def _insert(self, name: str, path: Any, leaf: Any) -> None:
        keys = [str(part) for part in path] if isinstance(path, tuple) and path else [name]
        place = self.root
        for key in keys[:-1]:
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                raise InputError(f"{name} lies in a leaf", source=self.directory, remedy=_DAMAGED)
        place[keys[-1]] = leaf


def _dtype(properties: Any) -> Any:
    """``TensorProperties`` pickles itself as a tuple that starts with the element type."""
    state = properties.state if isinstance(properties, OpaqueObject) else None
    if isinstance(state, tuple) and state:
        return state[0]
    return state.get("dtype") if isinstance(state, dict) else None


def _shape(value: Any) -> Shape | None:
    if isinstance(value, (list, tuple)) and all(isinstance(n, int) and n >= 0 for n in value):
        return tuple(value)
    return None


def _overlap(a: Chunk, b: Chunk) -> bool:
    return all(
        p < q + t and q < p + s
        for p, s, q, t in zip(a.offsets, a.sizes, b.offsets, b.sizes, strict=True)
    )
