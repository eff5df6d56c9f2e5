"""The paper's figures beside ours: what is printed is written by hand, what we got is computed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nht_theory.errors import InputError
from validation.studies.markdown import number
from validation.studies.results import HERE

PUBLISHED = HERE / "published.toml"
Row = Mapping[str, str]


@dataclass(frozen=True)
class Figure:
    """One printed figure and the column of runs.csv that answers it.

    Attributes:
        what: it is, with its unit.
        paper: what is printed.
        column: of runs.csv.
        statistic: mean (with the standard deviation), range, or share (of runs that have it).
        where: column -> value that a run must have, or a list of such values.
        per: a column that ``column`` is divided by, run for run.
    """

    what: str
    paper: str
    column: str
    statistic: str = "mean"
    where: Mapping[str, object] = field(default_factory=dict)
    per: str = ""

    def ours(self, runs: Sequence[Row]) -> str:
        """The statistic over the runs that match, with their number.

        Example:
            >>> runs = [{"n": "20", "delay": "0"}, {"n": "20", "delay": ""}]
            >>> Figure("delay", "<= 0", "delay", "share", {"n": 20}).ours(runs)
            '1 of 2'
        """
        chosen = [row for row in runs if all(_same(row.get(k), v) for k, v in self.where.items())]
        if not chosen:
            return "no such run"
        values = [self._value(row) for row in chosen]
        known = [value for value in values if value is not None]
        if self.statistic == "share":
            return f"{len(known)} of {len(chosen)}"
        if not known:
            return f"none of {len(chosen)}"
        if self.statistic == "range":
            return f"{number(min(known))} to {number(max(known))} (n = {len(known)})"
        if self.statistic != "mean":
            raise InputError(
                f"unknown statistic {self.statistic!r}",
                source=PUBLISHED,
                remedy="mean, range or share",
            )
        spread = f" ± {number(float(np.std(known, ddof=1)), 3)}" if len(known) > 1 else ""
        return f"{number(float(np.mean(known)))}{spread} (n = {len(known)})"

    def _value(self, row: Row) -> float | None:
        if not row.get(self.column) or (self.per and not row.get(self.per)):
            return None
        value = float(row[self.column])
        return value / float(row[self.per]) if self.per else value


def _same(found: str | None, wanted: object) -> bool:
    if isinstance(wanted, list):
        return any(_same(found, one) for one in wanted)
    if found is None or found == "":
        return wanted == ""
    if isinstance(wanted, int | float):
        try:
            return float(found) == wanted
        except ValueError:
            return False
    return found == str(wanted)


def published_figures(study: str, path: Path = PUBLISHED) -> list[Figure]:
    """What the papers print about a study; empty where they print nothing.

    Raises:
        InputError: a figure is not complete.
    """
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        return [Figure(**entry) for entry in content.get(study, [])]
    except TypeError as error:
        raise InputError(str(error), source=f"{path}: {study}") from None
