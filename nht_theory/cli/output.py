"""How every command speaks: JSON for programs, tables and progress for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from nht_theory.conventions import ProgressCallback

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 160
"""Width of a table that is piped: wide enough not to cut a column, narrow enough to read."""


def to_jsonable(value: Any) -> Any:
    """The value as JSON types: dataclasses by their fields, enums by their value, numpy by
    its numbers, paths as text; a number that is not finite becomes None, since JSON has none.

    Raises:
        TypeError: the value (or something inside it) has no JSON form.

    Example:
        >>> from nht_theory.conventions import Thresholds, VerdictKind
        >>> to_jsonable({"kind": VerdictKind.REFUTED, "p": float("nan"), "at": Thresholds()})
        {'kind': 'refuted', 'p': None, 'at': {'train_accuracy': 0.99, 'heldout_accuracy': 0.99,
        'persistence': 1}}
    """
    if isinstance(value, Enum):
        value = value.value
    elif is_dataclass(value) and not isinstance(value, type):
        value = {entry.name: getattr(value, entry.name) for entry in fields(value)}
    elif isinstance(value, PurePath):
        value = str(value)
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_jsonable(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def print_json(value: Any) -> None:
    """Write a value to standard output as JSON, keys in the order they were defined.

    Example:
        >>> print_json({"steps": {"exact": 611}})
        {
          "steps": {
            "exact": 611
          }
        }
    """
    print(json.dumps(to_jsonable(value), indent=2, ensure_ascii=False, allow_nan=False))


def console(*, stderr: bool = False) -> Console:
    """A rich console that honours NO_COLOR, and when piped writes plain text wide enough for
    the same tables."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PLAIN_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


@contextmanager
def progress() -> Iterator[ProgressCallback]:
    """Report long work on standard error: a bar on a terminal, plain lines elsewhere.

    Yields:
        A function to call with what is being done, how many parts are done, and how many there
        are; about ten lines are written per activity when standard error is not a terminal.

    Example:
        >>> with progress() as say:
        ...     say("reading", 1, 2)
        ...     say("reading", 2, 2)
    """
    if not sys.stderr.isatty():
        yield _plain_progress()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield show


def _plain_progress() -> ProgressCallback:
    """Lines at every tenth of an activity, and none for one of few parts."""
    last = (0, 0, -1)  # parts done, parts in all, tenth

    def write(what: str, done: int, total: int) -> None:
        nonlocal last
        tenth = 10 * done // total if total else 10
        # Each part may have its own words; an activity that begins anew counts from its start.
        anew = done < last[0] or total != last[1]
        if total > 10 and (anew or tenth != last[2]):
            print(f"{what} {done}/{total}", file=sys.stderr)
        last = (done, total, tenth)

    return write
