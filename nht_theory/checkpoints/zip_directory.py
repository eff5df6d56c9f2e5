"""The members of an uncompressed zip archive, by their place in the file.

``zipfile`` would read members; a checkpoint is mapped instead, so what is needed is where each
member's bytes are. Format: PKWARE APPNOTE 6.3.10, sections 4.3 and 4.5.3 (zip64).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from operator import attrgetter

from nht_theory.checkpoints import limits
from nht_theory.checkpoints.mapped_file import MappedFile
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
_DAMAGED = "the disk may have been full while it was saved; save or copy it again"


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
                remedy=_DAMAGED,
            )
        return self.file.read(self.start + offset, count)

    def members(self) -> dict[str, Member]:
        """Name -> member.

        Raises:
            InputError: there is no central directory, or it does not describe the file.
            UnsafeFileError: members overlap, or are compressed, encrypted or too many.
        """
        count, size, offset = self._find_directory()
        if count > limits.ARCHIVE_MEMBERS:
            raise UnsafeFileError(
                f"a zip archive of {count} members, above the limit of {limits.ARCHIVE_MEMBERS}",
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
                remedy=_DAMAGED,
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
                    "a zip64 archive without its directory", source=self.file.path, remedy=_DAMAGED
                )
        return count, size, offset

    def _central_entry(self, directory: bytes, place: int) -> tuple[Member, int]:
        try:
            fields = _CENTRAL.unpack_from(directory, place)
        except struct.error as error:
            raise InputError(
                "the zip directory is cut", source=self.file.path, remedy=_DAMAGED
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
            raise InputError("the zip directory is damaged", source=self.file.path, remedy=_DAMAGED)
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
                remedy=_DAMAGED,
            )
        begin = offset + _LOCAL_BYTES + own_length + own_extra
        if begin + size > self.length:
            raise InputError(
                f"member {name[:200]} ends at byte {begin + size} of {self.length}",
                source=self.file.path,
                remedy=_DAMAGED,
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
