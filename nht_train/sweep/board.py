"""The sweep as a person sees it: a live table on a terminal, a line per change elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import Protocol, Self

from nht_train.progress import summary
from nht_train.sweep.state import RunView, Standing

ROWS = 30
"""Runs shown at once; those that train or failed come first."""
REFRESH_SECONDS = 1.0
_ORDER = {
    standing: place
    for place, standing in enumerate(
        (Standing.TRAINING, Standing.FAILED, Standing.WAITING, Standing.FINISHED)
    )
}


class Board(Protocol):
    """Shown how the runs stand, again and again."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def show(self, runs: list[RunView]) -> None:
        """How every run stands now."""
        ...


def counts(runs: list[RunView]) -> str:
    """Runs by standing, in one line.

    Example:
        >>> counts([RunView("a", Standing.FINISHED, 9, 9, {})])
        '1 of 1 finished, 0 training, 0 waiting, 0 failed'
    """
    number = Counter(run.standing for run in runs)
    return (
        f"{number[Standing.FINISHED]} of {len(runs)} finished, {number[Standing.TRAINING]} "
        f"training, {number[Standing.WAITING]} waiting, {number[Standing.FAILED]} failed"
    )


def time_left(runs: list[RunView], started: float, steps_at_start: int) -> str:
    """Time to the end at the pace so far; empty until there is one."""
    done = sum(run.step for run in runs)
    left = sum(
        run.total_steps - run.step
        for run in runs
        if run.standing in (Standing.TRAINING, Standing.WAITING)
    )
    elapsed = time.monotonic() - started
    if done <= steps_at_start or left == 0:
        return ""
    seconds = int(left * elapsed / (done - steps_at_start))
    hours, rest = divmod(seconds, 3600)
    return f", {hours:d}:{rest // 60:02d}:{rest % 60:02d} left"


class PlainBoard:
    """A line when a run starts, fails or finishes."""

    def __init__(self) -> None:
        self._seen: dict[str, Standing] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, runs: list[RunView]) -> None:
        """Print what changed."""
        changed = [run for run in runs if self._seen.get(run.name) is not run.standing]
        for run in changed:
            self._seen[run.name] = run.standing
            if run.standing is not Standing.WAITING:
                detail = run.error or (summary(run.metrics) if run.metrics else "")
                print(f"{run.name}: {run.standing.value}  {detail}".rstrip(), flush=True)
        if changed:
            print(counts(runs), flush=True)


class LiveBoard:
    """A table that renews itself."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live = Live(refresh_per_second=2)
        self._started = time.monotonic()
        self._steps_at_start: int | None = None
        self._shown_at = 0.0
        self._last: list[RunView] = []

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._last:
            self._draw(self._last)
        self._live.stop()

    def show(self, runs: list[RunView]) -> None:
        """Renew the table, though not more than once a second."""
        self._last = runs
        if time.monotonic() - self._shown_at >= REFRESH_SECONDS:
            self._draw(runs)

    def _draw(self, runs: list[RunView]) -> None:
        from rich.table import Table

        if self._steps_at_start is None:
            self._steps_at_start = sum(run.step for run in runs)
        caption = counts(runs) + time_left(runs, self._started, self._steps_at_start)
        table = Table("run", "", "step", "of", "last evaluation", caption=caption)
        ordered = sorted(runs, key=lambda run: _ORDER[run.standing])
        for run in ordered[:ROWS]:
            detail = run.error or (summary(run.metrics) if run.metrics else "")
            table.add_row(run.name, run.standing.value, str(run.step), str(run.total_steps), detail)
        if len(ordered) > ROWS:
            table.add_row(f"and {len(ordered) - ROWS} more", "", "", "", "")
        self._live.update(table)
        self._shown_at = time.monotonic()


def for_this_output() -> Board:
    """A live table when standard output is a terminal, else plain lines."""
    return LiveBoard() if sys.stdout.isatty() else PlainBoard()
