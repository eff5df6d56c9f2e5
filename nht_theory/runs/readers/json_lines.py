"""JSONL logs: one object a line; ``_meta`` (settings) first and ``_summary`` (results) last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs.notes import notes_on
from nht_theory.runs.readers.text import read_text
from nht_theory.runs.record import Record
from nht_theory.runs.settings import split

META = "_meta"
SUMMARY = "_summary"


def read(path: Path, name: str, beside: Mapping[str, object] | None = None) -> Record:
    """Read one run.

    Args:
        path: the log.
        name: name of the run.
        beside: settings from a file beside the log; the log's own ``_meta`` goes first.

    Raises:
        InputError: a line before the last is broken (its number is named), or nothing is logged.
    """
    rows, left_out = read_rows(path)
    settings, results = split(beside or {})
    evaluations = []
    for row in rows:
        kept = row
        for key, place in ((META, settings), (SUMMARY, results)):
            inner = row.get(key)
            if isinstance(inner, dict):
                place.update(inner)
                kept = {name: value for name, value in kept.items() if name != key}
        if kept:
            evaluations.append(kept)
    if not evaluations:
        raise InputError("no evaluation is logged", source=path)
    return Record(
        name=name,
        source=path,
        cells=columns_of_rows(evaluations),
        settings=settings,
        results=results,
        notes=notes_on(left_out),
        left_out=left_out,
    )


def read_rows(path: Path) -> tuple[list[dict[str, object]], tuple[LeftOut, ...]]:
    """The objects of a JSONL file; a cut last line is left out and reported.

    Raises:
        InputError: a line before the last is not an object, or none is.
    """
    lines = [(n, line) for n, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    try:
        rows = json.loads("[" + ",".join([line for _, line in lines]) + "]")
    except (ValueError, RecursionError):
        rows = []
    if len(rows) == len(lines) and all(type(row) is dict for row in rows):
        if not rows:
            raise InputError("empty", source=path)
        return rows, ()
    return _line_by_line(path, lines)


def _line_by_line(
    path: Path, lines: list[tuple[int, str]]
) -> tuple[list[dict[str, object]], tuple[LeftOut, ...]]:
    rows: list[dict[str, object]] = []
    for number, line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if rows and number == lines[-1][0]:
                cut = LeftOut(f"{path.name}:{number}", "last line is cut")
                return rows, (cut,)
            reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
            raise InputError(
                f"line {number} is not JSON ({reason})",
                source=path,
                remedy="mend or delete that line",
            ) from None
        if not isinstance(row, dict):
            raise InputError(f"line {number} is not a JSON object", source=path)
        rows.append(row)
    return rows, ()


def columns_of_rows(rows: list[dict[str, object]]) -> dict[str, list[object]]:
    """Rows of objects as columns, None where a row lacks the key.

    Example:
        >>> columns_of_rows([{"step": 0, "loss": 2.0}, {"step": 1}])
        {'step': [0, 1], 'loss': [2.0, None]}
    """
    first = tuple(rows[0]) if rows else ()
    if all(tuple(row) == first for row in rows):
        return dict(zip(first, map(list, zip(*map(dict.values, rows), strict=True)), strict=True))
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
