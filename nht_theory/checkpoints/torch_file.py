"""Files written by ``torch.save``: the zip format and the one before torch 1.6.

Neither needs torch to be read: the pickle is interpreted as data and the tensors' bytes are
mapped where they lie. ``torch.load`` is never called, so its version does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.pickle_machine import PickleMachine
from nht_theory.checkpoints.pickle_policy import refuse_dangerous
from nht_theory.checkpoints.stored_tensor import Piece, StoredTensor, is_contiguous
from nht_theory.checkpoints.torch_calls import (
    StorageReference,
    TensorReference,
    elements_within,
    is_tensor_symbol,
    reduce_call,
    storage_reference,
)
from nht_theory.checkpoints.zip_directory import LOCAL_SIGNATURE, ZipRegion
from nht_theory.errors import InputError

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_DAMAGED = "the file is truncated or damaged; save or copy it again"


class TorchFile:
    """The object in a torch file, and where its storages lie.

    Attributes:
        root: what was saved, as dicts, lists, tensors by reference, and opaque objects.
    """

    def __init__(self, file: MappedFile, start: int = 0, length: int | None = None) -> None:
        self.file = file
        self._symbols: dict[str, None] = {}
        self._storages: dict[str, tuple[int, int]] = {}
        self._references: dict[str, StorageReference] = {}
        region = ZipRegion(file, start, length)
        if region.at(0, min(4, region.length)) == LOCAL_SIGNATURE:
            self.root = self._read_zip(region)
        else:
            self.root = self._read_legacy(region)

    @property
    def unopened(self) -> tuple[str, ...]:
        """Classes and functions that the pickle names, beyond those that rebuild tensors."""
        return tuple(self._symbols)

    def stored(self, name: str, tensor: TensorReference) -> StoredTensor:
        """The tensor as a range of the file.

        Raises:
            InputError: its storage is absent, or it leaves its storage.
        """
        found = self._storages.get(tensor.storage.key)
        if found is None:
            raise InputError(
                f"tensor {name} refers to storage {tensor.storage.key}, which the file lacks",
                source=self.file.path,
                remedy=_DAMAGED,
            )
        offset, nbytes = found
        contiguous = is_contiguous(tensor.shape, tensor.strides)
        if tensor.storage.size * tensor.storage.element.itemsize > nbytes or not elements_within(
            tensor, contiguous=contiguous
        ):
            raise InputError(
                f"tensor {name} of shape {list(tensor.shape)} leaves its storage of {nbytes} bytes",
                source=self.file.path,
                remedy=_DAMAGED,
            )
        start = offset + tensor.offset * tensor.element.itemsize
        strides = None if contiguous else tensor.strides
        piece = Piece(self.file, start, tensor.shape, strides)
        return StoredTensor(name, tensor.shape, tensor.element, (piece,), tensor.storage.key)

    def _note_symbol(self, symbol: Any) -> None:
        refuse_dangerous(symbol, self.file.path)
        if not is_tensor_symbol(symbol):
            self._symbols.setdefault(str(symbol))

    def _note_storage(self, identifier: Any) -> StorageReference:
        reference = storage_reference(identifier)
        self._references[reference.key] = reference
        return reference

    def _run(self, start: int, length: int) -> tuple[Any, int]:
        machine = PickleMachine(
            self.file.bytes_at(start, length).data,
            source=self.file.path,
            reduce=reduce_call,
            persistent=self._note_storage,
            check=self._note_symbol,
        )
        return machine.run()

    def _read_zip(self, region: ZipRegion) -> Any:
        members = region.members()
        pickles = [name for name in members if name.rpartition("/")[2] == "data.pkl"]
        top = min(pickles, key=len, default=None)
        if top is None:
            raise InputError(
                "a zip archive without data.pkl: not written by torch.save",
                source=self.file.path,
                remedy="give a checkpoint saved with torch.save or as safetensors",
            )
        folder = top[: -len("data.pkl")]
        if folder + "constants.pkl" in members:
            raise InputError(
                "a TorchScript program, not a checkpoint",
                source=self.file.path,
                remedy="save its weights: torch.save(module.state_dict(), ...)",
            )
        order = members.get(folder + "byteorder")
        if order is not None and self.file.read(order.offset, order.size) != b"little":
            raise InputError(
                "written on a big-endian machine",
                source=self.file.path,
                remedy="save as safetensors",
            )
        data = folder + "data/"
        self._storages = {
            name[len(data) :]: (member.offset, member.size)
            for name, member in members.items()
            if name.startswith(data)
        }
        root, _ = self._run(members[top].offset, members[top].size)
        return root

    def _read_legacy(self, region: ZipRegion) -> Any:
        place, end = region.start, region.start + region.length
        values = []
        for _ in range(2):
            value, taken = self._run(place, end - place)
            values.append(value)
            place += taken
        if values != [LEGACY_MAGIC, _LEGACY_PROTOCOL]:
            raise InputError(
                "a pickle, but none that torch.save wrote",
                source=self.file.path,
                remedy="give a checkpoint saved with torch.save or as safetensors",
            )
        parts = []
        for _ in range(3):
            value, taken = self._run(place, end - place)
            parts.append(value)
            place += taken
        system, root, keys = parts
        if not isinstance(system, Mapping) or system.get("little_endian") is not True:
            raise InputError(
                "written on a big-endian machine",
                source=self.file.path,
                remedy="save as safetensors",
            )
        self._place_storages(keys, place, end)
        return root

    def _place_storages(self, keys: Any, place: int, end: int) -> None:
        """The raw storages follow the pickles in the order of their keys, each with its length."""
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise InputError("no list of storages", source=self.file.path, remedy=_DAMAGED)
        for key in keys:
            count = int.from_bytes(self.file.read(place, 8), "little")
            storage = self._references.get(key)
            if storage is None or count != storage.size:
                raise InputError(
                    f"storage {key[:100]} is not the one that the tensors refer to",
                    source=self.file.path,
                    remedy=_DAMAGED,
                )
            nbytes = count * storage.element.itemsize
            if place + 8 + nbytes > end:
                raise InputError(
                    f"storage {key[:100]} ends at byte {place + 8 + nbytes} of {end}",
                    source=self.file.path,
                    remedy=_DAMAGED,
                )
            self._storages[key] = (place + 8, nbytes)
            place += 8 + nbytes
