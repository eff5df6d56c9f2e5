"""What a study leaves in the repository, and how it is read again."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RUNS_FILE, VERDICTS_FILE, TABLES_FILE = "runs.csv", "verdicts.json", "tables.json"
FORECASTS_FILE, PAGE, FIGURE = "forecasts.json", "README.md", "figure.svg"


@dataclass(frozen=True)
class Table:
    """A table of a study's page.

    Attributes:
        title: of its section.
        header: names of the columns.
        rows: cells, as they are shown.
        note: how it was made, in a sentence or two.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str


@dataclass(frozen=True)
class Results:
    """The committed results of a study.

    Attributes:
        runs: lines of runs.csv, text by column.
        verdicts: as ``nht validate --json``.
        tables: what else the study asks.
    """

    runs: tuple[Mapping[str, str], ...]
    verdicts: Mapping[str, Any]
    tables: tuple[Table, ...]


def read_results(directory: Path) -> Results | None:
    """Results of a study; None where it has not been run."""
    if not (directory / RUNS_FILE).exists():
        return None
    with (directory / RUNS_FILE).open(newline="", encoding="utf-8") as file:
        runs = tuple(csv.DictReader(file))
    tables = json.loads((directory / TABLES_FILE).read_text(encoding="utf-8"))
    verdicts = json.loads((directory / VERDICTS_FILE).read_text(encoding="utf-8"))
    return Results(runs, verdicts, tuple(Table(**one) for one in tables))


def text_of(value: object) -> str:
    """JSON as the command line prints it, with the line end of a file."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
