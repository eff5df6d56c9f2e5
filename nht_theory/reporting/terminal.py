"""The report's story on a terminal, in about forty lines; the same as plain text when piped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import Estimate, RunEstimate
from nht_theory.reporting.categories import categorize
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.story import answers, effect
from nht_theory.reporting.tables import number, runs_table

COLOUR = {
    VerdictKind.SUPPORTED: "green",
    VerdictKind.REFUTED: "red",
    VerdictKind.INCONCLUSIVE: "yellow",
}
MOST_RUNS = 12
"""Runs shown one by one; more are shown by category."""
MOST_LEFT_OUT = 3
OTHER_COLUMNS = 100
"""Width of the verdict table without what decided."""


def print_story(content: ReportContent, console: Console) -> None:
    """Answer the three questions, then the verdicts, the runs and what was left out."""
    for answer in answers(content):
        console.print(Text(answer.question, style="dim"))
        console.print(Text(answer.headline, style="bold"))
        for sentence in answer.sentences:
            console.print(Text(f"  {sentence}"))
    if content.judged:
        console.print(verdict_table(content, console.width))
    if content.estimated.estimates:
        few = len(content.estimated.estimates) <= MOST_RUNS
        console.print(_runs(content) if few else _categories(content))
    _print_left_out(content, console)
    notes = content.estimated.study.notes
    if notes:
        console.print(Text(f"Read as: {'; '.join(notes)}"))


def _table(headers: Sequence[str], numeric: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        right = header in numeric
        table.add_column(header, justify="right" if right else "left", no_wrap=right)
    return table


def verdict_table(content: ReportContent, width: int) -> Table:
    """One line a claim that could be judged: verdict, effect, p, n and what decided, as far as
    ``width`` goes; the report and --json hold the whole sentence."""
    left = width - OTHER_COLUMNS
    headers = ("claim", "verdict", "effect", "p (Holm)", "n", *(["decided by"] if left > 0 else []))
    table = _table(headers, headers[3:5])
    for own in content.judged:
        p = own.p_value if own.holm_p_value is None else own.holm_p_value
        censored = f" ({own.n_censored} cens.)" if own.n_censored else ""
        rule = own.rule if len(own.rule) <= left else f"{own.rule[: left - 1]}…"
        table.add_row(
            Text(own.prediction),
            Text(own.verdict.value, style=COLOUR[own.verdict]),
            Text(effect(own, named=False) or "–"),
            "–" if p is None else f"{p:.2g}",
            f"{own.n}{censored}",
            *([Text(rule)] if left > 0 else []),
        )
    return table


def _runs(content: ReportContent) -> Table:
    whole = runs_table(content)
    numeric = [column.title for column in whole.columns if column.numeric]
    table = _table([column.title for column in whole.columns], numeric)
    for row in whole.rows:
        table.add_row(*(Text(cell.text) for cell in row.cells))
    return table


def _categories(content: ReportContent) -> Table:
    """Medians over the runs of each category, since there are too many runs to list."""
    estimated = content.estimated
    categories = categorize(estimated.study)
    headers = ("runs by category", "n", "generalised", "T_mem", "delay", "V at T_mem", "c")
    table = _table(headers, headers[1:])
    for place, name in enumerate(categories.names):
        own = [
            estimate for estimate in estimated.estimates if categories.of_run[estimate.run] == place
        ]
        table.add_row(
            Text(name),
            str(len(own)),
            str(sum(not estimate.censored for estimate in own)),
            _median([estimate.memorization_step for estimate in own]),
            _median([estimate.delay for estimate in own]),
            _median([_value(estimate, "squared_norm_memorization") for estimate in own]),
            _median([_value(estimate, "efficiency") for estimate in own]),
        )
    return table


def _value(estimate: RunEstimate, name: str) -> float | None:
    found = getattr(estimate, name)
    return found.value if isinstance(found, Estimate) else None


def _median(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return number(float(np.median(known))).text if known else "–"


def _print_left_out(content: ReportContent, console: Console) -> None:
    left_out = content.estimated.study.left_out
    if not left_out:
        return
    console.print(Text(f"Left out ({len(left_out)}):"))
    for item in left_out[:MOST_LEFT_OUT]:
        console.print(Text(f"  {item.file}: {item.reason}"))
    if len(left_out) > MOST_LEFT_OUT:
        console.print(Text(f"  and {len(left_out) - MOST_LEFT_OUT} more; --json lists them all"))
