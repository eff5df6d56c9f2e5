"""A file of torch.save: the zip archive, and the tensors that its pickle refers to."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from nht_theory.checkpoints import mapped_file
from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.pickle_machine import PickleMachine
from nht_theory.checkpoints.pickle_policy import (
    StorageReference,
    TensorReference,
    elements_within,
    is_tensor_symbol,
    reduce_call,
    refuse_dangerous,
    storage_reference,
)
from nht_theory.checkpoints.stored_tensor import Piece, StoredTensor, is_contiguous
from nht_theory.errors import InputError, UnsafeFileError

LOCAL_SIGNATURE = b"PK\x03\x04"
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_CENTRAL = struct.Struct("<4s4x2H8x2L3H8xL")
"""Signature, flags, method, packed size, size, lengths of name, extra field and comment, offset."""
_LOCAL_BYTES, _LOCAL_LENGTHS = 30, struct.Struct("<26x2H")
"""Of a member's own header; the lengths of its name and extra field."""
_LONGEST_COMMENT = 65_535
_NONE_32, _NONE_16 = 0xFFFFFFFF, 0xFFFF
_ZIP_DAMAGED = "the disk may have been full while it was saved; save or copy it again"


@dataclass(slots=True)
class Member:
    """Where the bytes of a member are."""

    name: str
    offset: int
    size: int


class ZipRegion:
    """A range of a mapped file that holds one archive (the whole file, unless told otherwise)."""

    def __init__(self, file: MappedFile, start: int = 0, length: int | None = None) -> None:
        self.file = file
        self.start = start
        self.length = file.size - start if length is None else length

    def at(self, offset: int, count: int) -> bytes:
        """Bytes of the archive."""
        if offset < 0 or count < 0 or offset + count > self.length:
            raise InputError(
                f"the zip archive points to byte {offset + count} of {self.length}",
                source=self.file.path,
                remedy=_ZIP_DAMAGED,
            )
        return self.file.read(self.start + offset, count)

    def members(self) -> dict[str, Member]:
        """Name -> member.

        Raises:
            InputError: there is no central directory, or it does not describe the file.
            UnsafeFileError: members overlap, or are compressed, encrypted or too many.
        """
        count, size, offset = self._find_directory()
        if count > mapped_file.ARCHIVE_MEMBERS:
            raise UnsafeFileError(
                f"a zip archive of {count} members, above the limit of "
                f"{mapped_file.ARCHIVE_MEMBERS}",
                source=self.file.path,
            )
        directory = self.at(offset, size)
        found: dict[str, Member] = {}
        place = 0
        for _ in range(count):
            member, place = self._central_entry(directory, place)
            if member.name in found:
                raise UnsafeFileError(
                    f"the zip archive holds {member.name[:200]} twice", source=self.file.path
                )
            found[member.name] = member
        self._check_overlap(found)
        return found

    def _find_directory(self) -> tuple[int, int, int]:
        tail_length = min(self.length, _LONGEST_COMMENT + _END.size)
        tail_start = self.length - tail_length
        tail = self.at(tail_start, tail_length)
        place = tail.rfind(b"PK\x05\x06")
        if place < 0 or place + _END.size > len(tail):
            raise InputError(
                "a zip archive without its central directory",
                source=self.file.path,
                remedy=_ZIP_DAMAGED,
            )
        _, _, _, _, count, size, offset, _ = _END.unpack_from(tail, place)
        end = tail_start + place
        if _NONE_32 in (size, offset) or count == _NONE_16:
            _, _, position, _ = _LOCATOR_64.unpack(
                self.at(end - _LOCATOR_64.size, _LOCATOR_64.size)
            )
            signature, *_, count, size, offset = _END_64.unpack(self.at(position, _END_64.size))
            if signature != b"PK\x06\x06":
                raise InputError(
                    "a zip64 archive without its directory",
                    source=self.file.path,
                    remedy=_ZIP_DAMAGED,
                )
        return count, size, offset

    def _central_entry(self, directory: bytes, place: int) -> tuple[Member, int]:
        try:
            fields = _CENTRAL.unpack_from(directory, place)
        except struct.error as error:
            raise InputError(
                "the zip directory is cut", source=self.file.path, remedy=_ZIP_DAMAGED
            ) from error
        (
            signature,
            flags,
            method,
            packed,
            size,
            name_length,
            extra_length,
            comment_length,
            offset,
        ) = fields
        if signature != b"PK\x01\x02":
            raise InputError(
                "the zip directory is damaged", source=self.file.path, remedy=_ZIP_DAMAGED
            )
        start = place + _CENTRAL.size
        stored_name = directory[start : start + name_length]
        name = stored_name.decode("utf-8", "replace")
        if _NONE_32 in (size, packed, offset):
            extra = directory[start + name_length : start + name_length + extra_length]
            size, packed, offset = _zip64_values(extra, size, packed, offset)
        if method != 0 or packed != size:
            raise UnsafeFileError(
                f"member {name[:200]} is compressed ({packed} bytes for {size}): torch never does",
                source=self.file.path,
                remedy="unpack the archive and save the weights again",
            )
        if flags & 1:
            raise UnsafeFileError(f"member {name[:200]} is encrypted", source=self.file.path)
        header = self.at(offset, _LOCAL_BYTES + name_length)
        own_length, own_extra = _LOCAL_LENGTHS.unpack_from(header)
        called_so = own_length == name_length and header[_LOCAL_BYTES:] == stored_name
        if not (called_so and header.startswith(LOCAL_SIGNATURE)):
            raise UnsafeFileError(
                f"member {name[:200]} is called otherwise in its own header",
                source=self.file.path,
                remedy=_ZIP_DAMAGED,
            )
        begin = offset + _LOCAL_BYTES + own_length + own_extra
        if begin + size > self.length:
            raise InputError(
                f"member {name[:200]} ends at byte {begin + size} of {self.length}",
                source=self.file.path,
                remedy=_ZIP_DAMAGED,
            )
        after = start + name_length + extra_length + comment_length
        return Member(name, self.start + begin, size), after

    def _check_overlap(self, members: dict[str, Member]) -> None:
        position, before = 0, ""
        for member in sorted(members.values(), key=attrgetter("offset", "size")):
            if member.size and member.offset < position:
                raise UnsafeFileError(
                    f"members {before[:200]} and {member.name[:200]} of the zip archive overlap",
                    source=self.file.path,
                )
            position, before = max(position, member.offset + member.size), member.name


def _zip64_values(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Sizes and offset, from the zip64 field where the directory has no room for them."""
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, place)
        if kind == 1:
            numbers = iter(
                struct.unpack_from("<Q", extra, place + 4 + 8 * i)[0]
                for i in range(min(length, len(extra) - place - 4) // 8)
            )
            size = next(numbers, size) if size == _NONE_32 else size
            packed = next(numbers, packed) if packed == _NONE_32 else packed
            offset = next(numbers, offset) if offset == _NONE_32 else offset
        place += 4 + length
    return size, packed, offset


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
