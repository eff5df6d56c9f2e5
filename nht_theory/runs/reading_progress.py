"""How far the reading of a study has come: logs by number, checkpoints by bytes and time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from nht_theory.checkpoints.reading import ScanCallback, ScanProgress
from nht_theory.runs.read_plan import PlannedFile

if TYPE_CHECKING:
    from nht_theory.checkpoints import CheckpointSeries

Item = TypeVar("Item")

LogReport = Callable[[int, int], None]
"""Called with how many logs are read, and how many there are."""


def counted(items: Iterable[Item], total: int, report: LogReport | None) -> Iterator[Item]:
    """The items, each reported once it is there.

    Example:
        >>> list(counted("ab", 2, lambda done, total: print(done, "of", total)))
        1 of 2
        2 of 2
        ['a', 'b']
    """
    for done, item in enumerate(items, start=1):
        if report is not None:
            report(done, total)
        yield item


class SeriesMeter:
    """One progress over all series of checkpoints, made of that of each.

    Args:
        files: planned series, in the order in which they will be read.
        report: receives the sum; its ``files_done`` counts checkpoints.
    """

    def __init__(self, files: Sequence[PlannedFile], report: ScanCallback | None) -> None:
        self._report = report
        series = [file.series for file in files if file.series is not None]
        known = series if report is not None else []
        self._sizes = [_bytes_of(one) for one in known]
        self._counts = [len(one.checkpoints) for one in known]
        self._bytes = self._files = self._at = 0
        self._read: int | None = None
        self._started = time.perf_counter()

    def within(self, now: ScanProgress) -> None:
        """The series being read has come so far."""
        self._read = now.bytes_read
        left = now.bytes_total - now.bytes_read + sum(self._sizes[self._at + 1 :])
        self._tell(self._bytes + now.bytes_read, left, self._files + now.files_done)

    def finished(self) -> None:
        """The series is read. What was remembered of it did not have to be, and does not count."""
        if self._report is None:
            return
        self._bytes += self._sizes[self._at] if self._read is None else self._read
        self._files += self._counts[self._at]
        self._at += 1
        self._read = None
        self._tell(self._bytes, sum(self._sizes[self._at :]), self._files)

    def _tell(self, read: int, left: int, files: int) -> None:
        if self._report is not None:
            seconds = time.perf_counter() - self._started
            self._report(ScanProgress(read, read + left, files, sum(self._counts), seconds))


def _bytes_of(series: CheckpointSeries) -> int:
    from nht_theory.checkpoints.reading import bytes_on_disk

    return sum(bytes_on_disk(checkpoint.path) for checkpoint in series.checkpoints)
