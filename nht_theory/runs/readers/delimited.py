"""Tidy CSV and TSV logs, one row an evaluation, with a JSON or YAML of settings beside."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs.notes import Note, RunNoteKind, notes_on
from nht_theory.runs.readers.text import read_text
from nht_theory.runs.record import Record
from nht_theory.runs.settings import split

LONGEST_HEADER = 2**20


def read(path: Path, name: str, beside: Mapping[str, object] | None = None) -> Record:
    """Read one run.

    Args:
        path: the table; tabs separate when its first line has one, otherwise the most frequent of
            comma and semicolon.
        name: name of the run.
        beside: settings and results from a file beside it.

    Raises:
        InputError: no header with a step, or a row before the last has too many or too few cells.
    """
    text = read_text(path)
    header, *rows = _rows(path, text.split("\n"))
    names = [cell.strip() for cell in header]
    if len(set(names)) < len(names):
        twice = next(cell for cell in names if names.count(cell) > 1)
        raise InputError(f"column {twice!r} stands twice in the header", source=path)
    left_out: tuple[LeftOut, ...] = ()
    for number, row in enumerate(rows, start=2):
        if len(row) == len(names):
            continue
        if number == len(rows) + 1 and len(row) < len(names):
            left_out = (LeftOut(f"{path.name}:{number}", "last line is cut"),)
            rows = rows[:-1]
            break
        raise InputError(
            f"row {number} has {len(row)} cells, the header {len(names)}",
            source=path,
            remedy="mend or delete that row",
        )
    cells = {column: [row[i] for row in rows] for i, column in enumerate(names)}
    if not rows:
        raise InputError("a header and no evaluation", source=path)
    settings, results = split(beside or {})
    notes = list(notes_on(left_out))
    if not text.endswith("\n") and not left_out:
        notes.append(Note(RunNoteKind.NO_LAST_NEWLINE))
    return Record(
        name=name,
        source=path,
        cells=cells,
        settings=settings,
        results=results,
        notes=tuple(notes),
        left_out=left_out,
    )


def read_header(path: Path) -> list[str]:
    """The column names of a table, without reading the rest.

    Raises:
        InputError: cannot be read, or does not begin with a line of text.
    """
    try:
        with path.open("rb") as file:
            start = file.read(LONGEST_HEADER)
    except OSError as error:
        raise InputError(error.strerror or str(error), source=path) from None
    line = next((line for line in start.splitlines() if line.strip()), b"")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not text", source=path) from None
    if "\0" in text:
        raise InputError("not text (contains NUL bytes)", source=path)
    return [cell.strip() for cell in _rows(path, [text])[0]]


def _rows(path: Path, lines: list[str]) -> list[list[str]]:
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise InputError("empty", source=path)
    first = filled[0]
    delimiter = "\t" if "\t" in first else ";" if first.count(";") > first.count(",") else ","
    try:
        return list(csv.reader(filled, delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"not a table: {error}", source=path) from None
