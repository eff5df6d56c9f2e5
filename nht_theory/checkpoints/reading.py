"""Reading a series of checkpoints: in parallel, with progress."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from nht_theory.checkpoints import norm_cache
from nht_theory.checkpoints.norms import SquaredNorms, squared_norms
from nht_theory.errors import InputError


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


_MOST_WORKERS = 4
"""More do not read faster than memory."""
_WORTH_A_THREAD = 1 << 25
"""Mean bytes of a checkpoint below which two threads take up to twice as long as one: opening holds
the interpreter's lock, only multiplying does not (measured at 0.2, 3, 20 and 100 MB; from a disk
that is not cached they make no difference)."""


def read_all(
    paths: Sequence[Path],
    *,
    exact: bool,
    weights: str,
    cache: bool,
    workers: int | None,
    progress: ScanCallback | None,
) -> list[SquaredNorms | InputError]:
    """The squared norms of each checkpoint, or the error that says why there are none.

    Threads suffice for large ones: numpy multiplies without holding the interpreter's lock.
    """
    sizes = [bytes_on_disk(path) for path in paths]
    meter = Meter(progress, len(paths), sum(sizes))
    large = sum(sizes) >= _WORTH_A_THREAD * len(sizes)
    threads = workers or (min(_MOST_WORKERS, _cores()) if large else 1)

    def read(path: Path, size: int) -> SquaredNorms | InputError:
        counted = 0

        def count(amount: int) -> None:
            nonlocal counted
            counted += amount
            meter.read(amount)

        try:
            return _remembered(path, exact=exact, weights=weights, cache=cache, read=count)
        except InputError as error:
            return error
        finally:
            meter.finished(skipped=size - counted)

    if threads == 1 or len(paths) <= 1:
        found = [read(path, size) for path, size in zip(paths, sizes, strict=True)]
    else:
        with ThreadPoolExecutor(min(threads, len(paths))) as pool:
            found = list(pool.map(read, paths, sizes))
    if cache:
        norm_cache.prune()
    return found


def _remembered(
    path: Path, *, exact: bool, weights: str, cache: bool, read: Callable[[int], None]
) -> SquaredNorms:
    key = norm_cache.cache_key(path, exact=exact, weights=weights) if cache else None
    if key is not None:
        kept = norm_cache.load(key, path)
        if kept is not None:
            return kept
    norms = squared_norms(path, exact=exact, weights=weights, read=read)
    if key is not None and key == norm_cache.cache_key(path, exact=exact, weights=weights):
        norm_cache.store(key, norms)
    return norms


def bytes_on_disk(path: Path) -> int:
    """Size of a checkpoint that is a file, or the files of one directory; 0 where unknown."""
    try:
        if path.is_dir():
            return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
        return path.stat().st_size
    except OSError:
        return 0


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
