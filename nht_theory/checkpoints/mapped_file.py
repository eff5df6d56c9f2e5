"""A regular file mapped into memory read-only, whose pages are handed back as they are used."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import InputError, UnsafeFileError

_POPULATE_READ = 22
"""MADV_POPULATE_READ (Linux 5.14): brings pages in, and answers EFAULT where the file has ended
since, instead of the signal that would end the process."""


class MappedFile:
    """A file opened for reading, mapped whole.

    Mapping costs nothing; pages count as memory of this process once touched, until
    :meth:`release` gives them back to the page cache.

    Raises:
        InputError: absent, unreadable or empty.
        UnsafeFileError: a directory, pipe, device or socket.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map: mmap.mmap | None = None
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
        if self._map is not None:
            os.close(self._descriptor)
            # The map itself goes with the last array that looks at it.
            self._map = None

    def bytes_at(self, offset: int, count: int) -> NDArray[np.uint8]:
        """A view of ``count`` bytes from ``offset``, uint8, shape [count].

        Raises:
            InputError: the range leaves the file, or the file has shrunk since it was opened.
        """
        if self._map is None:
            raise InputError("the file is closed", source=self.path)
        if offset < 0 or count < 0 or offset + count > self.size:
            raise InputError(
                f"bytes {offset} to {offset + count} are named, of {self.size}",
                source=self.path,
                remedy="the file is truncated or damaged; save or copy it again",
            )
        return np.frombuffer(self._map, np.uint8, count, offset)

    def prepare(self, offset: int, count: int) -> None:
        """Bring a range into memory, so that a file that shrinks meanwhile is an error.

        Raises:
            InputError: the file changed since it was opened.
        """
        if self._map is None or count == 0:
            return
        self.check_unchanged()
        start = offset - offset % mmap.PAGESIZE
        try:
            self._map.madvise(_POPULATE_READ, start, offset + count - start)
        except (OSError, AttributeError, ValueError):
            self.check_unchanged()  # an older kernel: pages come in as they are touched

    def release(self, offset: int, count: int) -> None:
        """Give the pages of a range back to the page cache: they stop counting as ours."""
        if self._map is None or not hasattr(mmap, "MADV_DONTNEED") or count == 0:
            return
        start = offset - offset % mmap.PAGESIZE
        self._map.madvise(mmap.MADV_DONTNEED, start, offset + count - start)

    def check_unchanged(self) -> None:
        """Raise InputError if the file was written to since it was opened."""
        status = os.fstat(self._descriptor)
        if (status.st_size, status.st_mtime_ns) != self._stamp:
            raise InputError(
                "the file changed while it was read",
                source=self.path,
                remedy="wait until it is written, then read it again",
            )
