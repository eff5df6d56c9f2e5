"""Reading a study for a command: a bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nht_theory.cli.output import console
from nht_theory.errors import UnmatchedOptionError
from nht_theory.runs.load import load_study
from nht_theory.runs.options import DEFAULT_OPTIONS, ReadOptions
from nht_theory.runs.study import Study

if TYPE_CHECKING:
    from nht_theory.checkpoints.reading import ScanProgress


def read_study(
    path: Path | str, options: ReadOptions = DEFAULT_OPTIONS, *, quiet: bool = False
) -> Study:
    """:func:`nht_theory.runs.load.load_study` with its progress on standard error.

    On a terminal, logs are counted and checkpoints shown with bytes per second and time left;
    the bar vanishes when all is read. Elsewhere, or when ``quiet``, nothing is written.

    Raises:
        InputError: as load_study.
    """
    if quiet or not sys.stderr.isatty():
        return load_study(path, options)
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        console=console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("finding what can be read", total=None, amount="")

        def of_logs(done: int, total: int) -> None:
            amount = f"{done}/{total}"
            bar.update(task, description="logs", completed=done, total=total, amount=amount)

        def of_checkpoints(now: ScanProgress) -> None:
            bar.update(
                task,
                description="checkpoints",
                completed=now.bytes_read,
                total=now.bytes_total,
                amount=amount_of(now),
            )

        return load_study(path, options, of_logs=of_logs, of_checkpoints=of_checkpoints)


def read_earlier(
    path: Path, options: ReadOptions, *, quiet: bool = False
) -> tuple[Study, ReadOptions]:
    """Earlier runs, and how the runs that are compared with them are to be read.

    A column map or a pattern must fit the logs of one of the two; settings that the options state
    are those of the others alone.

    Raises:
        InputError: as load_study.
    """
    stated = replace(options, hyperparameters={})
    try:
        return read_study(path, stated, quiet=quiet), replace(options, must_match=False)
    except UnmatchedOptionError:
        return read_study(path, replace(stated, must_match=False), quiet=quiet), options


def amount_of(now: ScanProgress) -> str:
    """Checkpoints done, rate and time left, in a few words.

    Example:
        >>> from nht_theory.checkpoints.reading import ScanProgress
        >>> amount_of(ScanProgress(5_000_000, 20_000_000, 1, 4, seconds=2.0))
        '1/4, 2.5 MB/s, 6 s left'
        >>> amount_of(ScanProgress(0, 0, 4, 4, seconds=0.1))
        '4/4'
    """
    said = [f"{now.files_done}/{now.files_total}"]
    if now.bytes_read:
        said.append(f"{_bytes(now.bytes_per_second)}/s")
    if now.seconds_left:
        said.append(f"{_duration(now.seconds_left)} left")
    return ", ".join(said)


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
