"""How far reading has come: bytes, rate and time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ScanProgress:
    """A moment of reading many checkpoints.

    Attributes:
        bytes_read, bytes_total: of the tensors that count; the total is known after opening.
        files_done, files_total: checkpoints.
        seconds: since the start.

    Example:
        >>> now = ScanProgress(50, 200, files_done=1, files_total=4, seconds=2.0)
        >>> now.bytes_per_second, now.seconds_left
        (25.0, 6.0)
    """

    bytes_read: int
    bytes_total: int
    files_done: int
    files_total: int
    seconds: float

    @property
    def bytes_per_second(self) -> float:
        """Mean rate so far."""
        return self.bytes_read / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At the rate so far, or None before anything was read."""
        rate = self.bytes_per_second
        return max(0, self.bytes_total - self.bytes_read) / rate if rate > 0 else None


ScanCallback = Callable[[ScanProgress], None]


class Meter:
    """Counts from several threads and reports at most ten times a second."""

    def __init__(self, report: ScanCallback | None, files_total: int, bytes_total: int) -> None:
        self._report = report
        self._files_total = files_total
        self._bytes_total = bytes_total
        self._bytes = 0
        self._files = 0
        self._started = time.perf_counter()
        self._last = 0.0
        self._lock = threading.Lock()

    def read(self, count: int) -> None:
        """More bytes were read."""
        with self._lock:
            self._bytes += count
            self._tell(force=False)

    def finished(self, skipped: int = 0) -> None:
        """A checkpoint is done; ``skipped`` of its bytes did not have to be read."""
        with self._lock:
            self._files += 1
            self._bytes_total -= skipped
            self._tell(force=self._files == self._files_total)

    def _tell(self, *, force: bool) -> None:
        seconds = time.perf_counter() - self._started
        if self._report is None or not (force or seconds - self._last >= 0.1):
            return
        self._last = seconds
        self._report(
            ScanProgress(self._bytes, self._bytes_total, self._files, self._files_total, seconds)
        )
