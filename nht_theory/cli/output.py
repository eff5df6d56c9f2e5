"""How every command speaks: JSON for programs, tables and progress for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

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


def table(*headers: str, rows: Sequence[Sequence[object]], title: str = "") -> Table:
    """A table whose numbers stand to the right; a cell that is None shows as a dash.

    Args:
        headers: column titles; one that ends in ">" is aligned to the right.
        rows: the cells, each shown with ``str``.
        title: line above the table.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for header in headers:
        numeric = header.endswith(">")
        made.add_column(header.rstrip(">"), justify="right" if numeric else "left")
    for row in rows:
        made.add_row(*("–" if cell is None else Text(str(cell)) for cell in row))
    return made


@contextmanager
def progress(description: str, total: int) -> Iterator[Callable[[str], None]]:
    """Report long work on standard error: a bar on a terminal, plain lines elsewhere.

    Args:
        description: what is being done.
        total: number of times that the yielded function will be called, each time with what
            has just been finished.

    Example:
        >>> with progress("reading", 2) as done:
        ...     done("a.csv")
        ...     done("b.csv")
    """
    if sys.stderr.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[last]}"),
            console=console(stderr=True),
            transient=True,
        )
        with shown:
            task = shown.add_task(description, total=total, last="")
            yield lambda finished: shown.update(task, advance=1, last=finished)
        return
    count = 0

    def report(finished: str) -> None:
        nonlocal count
        count += 1
        # About ten lines, however many items there are.
        if total <= 10 or count == total or count % max(total // 10, 1) == 0:
            print(f"{description} {count}/{total}: {finished}", file=sys.stderr)

    yield report
