"""Files of a checkpoint: what may be opened, how much of it, mapped into memory."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import InputError, UnsafeFileError

HEADER_BYTES = 8_000_000
"""Of a safetensors header or an index (a model of 405 billion parameters needs 0.1 MB)."""
HEADER_BRACKETS = 300_000
"""Opening brackets in such a header: three for each tensor."""
DIMENSIONS = 32
"""Of a tensor."""
PICKLE_INSTRUCTIONS = 700_000
"""In a pickle: about thirty-five for each tensor."""
PICKLE_TEXT_BYTES = 65_536
"""Of one string or number in a pickle; longer ones are passed over, not read."""
ARCHIVE_MEMBERS = 50_000
"""Of a zip archive: one for each tensor."""
TREE_NODES = 200_000
"""Containers looked through for weights."""
DIRECTORY_ENTRIES = 200_000
"""Files and directories below the one that was given."""
DIRECTORY_DEPTH = 12
"""Levels below the directory that was given."""


def why_not_followed(link: Path, root: Path) -> str:
    """What a link below ``root`` is, for the list of what is left out.

    Example:
        >>> import tempfile
        >>> root = Path(tempfile.mkdtemp())
        >>> for name, target in (("loop", "loop"), ("out", "/"), ("in", ".")):
        ...     (root / name).symlink_to(target)
        >>> for name in ("loop", "out", "in"):
        ...     print(why_not_followed(root / name, root))
        a link that leads nowhere or in a circle
        a link that leaves the directory: not followed
        a link into the directory: its target is read in its place
    """
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return "a link that leads nowhere or in a circle"
    if not target.is_relative_to(root.resolve()):
        return "a link that leaves the directory: not followed"
    return "a link into the directory: its target is read in its place"


_HELD_BYTES = 7 << 24
"""Touched bytes of a file that are kept mapped before they are given back: 117 MB, of the 150 that
reading one file may take."""
_DONT_NEED = getattr(mmap, "MADV_DONTNEED", None)


class MappedFile:
    """A file opened for reading, mapped whole.

    Mapping costs nothing; :meth:`touching` keeps the pages that count as memory of this process
    few.

    Raises:
        InputError: absent, unreadable or empty; on leaving its context, that the file was written
            to meanwhile.
        UnsafeFileError: a directory, pipe, device or socket.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map: mmap.mmap | None = None
        self._touched = 0
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            raise InputError(
                (error.strerror or "cannot be opened").lower(),
                source=path,
                remedy="check that it exists and that you may read it",
            ) from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UnsafeFileError("not a regular file", source=path)
            self.size = status.st_size
            self._stamp = (status.st_size, status.st_mtime_ns)
            if self.size == 0:
                raise InputError(
                    "the file is empty",
                    source=path,
                    remedy="the disk may have been full; save again",
                )
            self._map = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise InputError(f"cannot be mapped ({error})", source=path) from error
        finally:
            self._descriptor = descriptor
            if self._map is None:
                os.close(descriptor)

    def __enter__(self) -> MappedFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._map is None:
            return
        # The map itself goes with the last array that looks at it.
        self._map = None
        try:
            if kind is None:
                self._check_unchanged()
        finally:
            os.close(self._descriptor)

    def bytes_at(self, offset: int, count: int) -> NDArray[np.uint8]:
        """A view of ``count`` bytes from ``offset``, uint8, shape [count].

        Raises:
            InputError: the range leaves the file, or the file has shrunk since it was opened.
        """
        return np.frombuffer(self._checked(offset, count), np.uint8, count, offset)

    def _checked(self, offset: int, count: int) -> mmap.mmap:
        if self._map is None:
            raise InputError("the file is closed", source=self.path)
        if offset < 0 or count < 0 or offset + count > self.size:
            raise InputError(
                f"bytes {offset} to {offset + count} are named, of {self.size}",
                source=self.path,
                remedy="the file is truncated or damaged; save or copy it again",
            )
        return self._map

    def read(self, offset: int, count: int) -> bytes:
        """A copy of ``count`` bytes from ``offset``: several times faster than a view of few.

        Raises:
            InputError: as :meth:`bytes_at`.
        """
        return self._checked(offset, count)[offset : offset + count]

    def touching(self, count: int) -> None:
        """Announce that ``count`` bytes are about to be read.

        Touched pages count as memory of this process; beyond :data:`_HELD_BYTES` they are given
        back to the page cache (what was read before must no longer be looked at).

        Raises:
            InputError: the file has shrunk since it was opened. Touching what it has lost would
                end the process, so this is asked before every window; any other change is seen
                when the file is closed.
        """
        if os.lseek(self._descriptor, 0, os.SEEK_END) < self.size:
            raise self._changed()
        self._touched += count
        if self._touched > _HELD_BYTES and self._map is not None and _DONT_NEED is not None:
            self._map.madvise(_DONT_NEED)
            self._touched = count

    def _check_unchanged(self) -> None:
        status = os.fstat(self._descriptor)
        if (status.st_size, status.st_mtime_ns) != self._stamp:
            raise self._changed()

    def _changed(self) -> InputError:
        return InputError(
            "the file changed while it was read",
            source=self.path,
            remedy="wait until it is written, then read it again",
        )
