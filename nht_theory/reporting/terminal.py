"""The report's story on a terminal, in forty lines; the same as plain text when piped."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import numpy as np
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.assumption_summary import summarize_assumptions
from nht_theory.estimators.results import Estimate, RunEstimate
from nht_theory.reporting.categories import categorize
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.summary import answers, effect, stability_in_words
from nht_theory.reporting.tables import (
    assumptions_table,
    left_out_table,
    merges_table,
    number,
    runs_table,
)
from nht_theory.reporting.what_would_change import what_would_change

COLOUR = {
    VerdictKind.SUPPORTED: "green",
    VerdictKind.REFUTED: "red",
    VerdictKind.INCONCLUSIVE: "yellow",
}
MOST_LINES = 40
"""Lines of the whole story, with the line that the command adds about its report."""
MOST_RUNS = 12
"""Runs shown one by one; more are shown by category."""
HEAD_LINES = 2
"""Lines of a table above its rows."""
OTHER_COLUMNS = 100
"""Width of the verdict table without what decided."""
WIDE = 92
"""Width from which the verdict table has room for coverages and censored runs."""
WIDTH_OF_RUNS = 120
"""Width below which the table of single runs would break its rows."""
IN_FULL = "--verbose"


def print_story(content: ReportContent, console: Console, *, verbose: bool = False) -> None:
    """Answer the three questions, then the verdicts, the runs and what was left out.

    Short, it keeps to ``MOST_LINES`` lines, and a line says what it does not show. Verbose, it
    holds everything: each verdict with its rule and details, each run, each thing left out.
    """
    estimated = content.estimated
    parts: list[RenderableType] = []
    for answer in answers(content):
        parts.append(Text.assemble((answer.question, "dim"), " ", (answer.headline, "bold")))
        # The table below holds the claims that were judged.
        listed = (
            one
            for one in answer.claims
            if one.verdict is VerdictKind.NOT_APPLICABLE or not content.judged
        )
        sentences = (*answer.sentences, *map(str, listed))
        if sentences:
            parts.append(_indented(" ".join(sentences), console.width))
    if content.judged:
        parts.append(verdict_table(content, console.width, whole=verbose))
    if verbose:
        parts += [*_details(content, console.width), *_everything(content, console.width)]
    else:
        tail = _tail(content, console.width)
        left = MOST_LINES - 1 - _height([*parts, *tail], console)
        if estimated.estimates:
            parts += _runs_in(left, content, console)
        parts += tail
    for part in parts:
        console.print(part)


def _height(parts: Sequence[RenderableType], console: Console) -> int:
    return sum(len(console.render_lines(part, pad=False)) for part in parts)


def _runs_in(lines: int, content: ReportContent, console: Console) -> list[RenderableType]:
    """The runs one by one, or by category, in so many lines at most."""
    estimates = content.estimated.estimates
    if len(estimates) <= MOST_RUNS and console.width >= WIDTH_OF_RUNS:
        return [_runs(content)]
    total = len(categorize(content.estimated.study).names)
    if total + HEAD_LINES <= lines:
        return [_categories(content, total)]
    shown = max(0, lines - HEAD_LINES - 1)
    more = Text(f"{total - shown} {'more ' if shown else ''}categories of runs: {IN_FULL}")
    return [_categories(content, shown), more] if shown else [more]


def _tail(content: ReportContent, width: int) -> list[RenderableType]:
    """What was left out and how columns were read, a line each."""
    rows = left_out_table(content).rows
    lines = []
    if text := _assumptions(content):
        lines.append(_shortened(text, "", width))
    if rows:
        file, reason = (cell.text for cell in rows[0].cells)
        more = f"; and {len(rows) - 1} more: {IN_FULL}" if len(rows) > 1 else ""
        lines.append(_shortened(f"Left out ({len(rows)}): {file}: {reason}", more, width))
    notes = content.estimated.study.notes
    if notes:
        lines.append(_shortened(f"Read as: {'; '.join(notes)}", "", width))
    return [Text(line, no_wrap=True) for line in lines]


def _assumptions(content: ReportContent) -> str:
    """In how many runs each of the paper's assumptions holds; empty where no run tells."""
    found = summarize_assumptions(content.estimated)
    told = [
        f"{own.name} holds in {own.holds} of {own.holds + len(own.failing)}"
        for own in found
        if own.known
    ]
    unknown = [own.name for own in found if not own.known]
    if told and unknown:
        told.append(f"cannot be known: {', '.join(unknown)}")
    return f"Assumptions: {'; '.join(told)}" if told else ""


def _shortened(text: str, end: str, width: int) -> str:
    """Text and end on one line; where the text is cut, the end says how to see it whole."""
    if len(text) + len(end) <= width:
        return text + end
    end = end or f": {IN_FULL}"
    return f"{text[: width - len(end) - 1]}…{end}"


def _details(content: ReportContent, width: int) -> Iterator[RenderableType]:
    """What a card of the report holds, as text."""
    for own in content.judged:
        claim = content.claims.get(own.claim)
        yield Text(f"{own.claim}: {own.verdict}", style="bold")
        if claim is not None:
            yield _indented(claim.statement, width)
            yield _indented(f"rule: {claim.rule}", width)
            yield _indented(f"would change it: {what_would_change(own, claim)}", width)
            if claim.undecidable:
                yield _indented(f"cannot be decided on: {claim.undecidable}", width)
            if claim.formulas:
                yield _indented(f"derivation: nht derive {', '.join(claim.formulas)}", width)
        if own.interval is not None:
            yield _indented(f"interval: {own.interval.method}", width)
        if text := own.rests_on:
            yield _indented(f"independent units: {text}", width)
        if own.stability:
            yield _indented(f"thresholds: {stability_in_words(own)}", width)
        for line in own.details:
            yield _indented(line, width)
    for own in content.not_applicable:
        yield Text(f"{own.claim}: {own.verdict}: {own.rule}")


def _everything(content: ReportContent, width: int) -> Iterator[RenderableType]:
    """Every run, every thing left out or merged, every note."""
    if content.estimated.estimates:
        yield _categories(content, len(categorize(content.estimated.study).names))
        yield _runs(content)
    for title, table in (
        ("Assumptions", assumptions_table(content)),
        ("Left out", left_out_table(content)),
        ("Merged", merges_table(content)),
    ):
        if table.rows:
            yield Text(f"{title} ({len(table.rows)}):")
            for row in table.rows:
                yield _indented(": ".join(cell.text for cell in row.cells), width)
    for note in content.estimated.study.notes:
        yield Text(f"Read as: {note}")


def _indented(text: str, width: int) -> Text:
    filled = textwrap.fill(
        text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
    return Text(filled)


def _table(headers: Sequence[str], numeric: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in headers:
        right = header in numeric
        table.add_column(header, justify="right" if right else "left", no_wrap=right)
    return table


def verdict_table(content: ReportContent, width: int, *, whole: bool = False) -> Table:
    """One line a claim that could be judged: verdict, effect, p, n and what decided, as far as
    ``width`` goes, or ``whole``."""
    left = width - OTHER_COLUMNS
    headers = ("claim", "verdict", "effect", "p (Holm)", "n", *(["decided by"] if left > 0 else []))
    table = _table(headers, headers[3:5])
    for own in content.judged:
        p = own.p_value if own.holm_p_value is None else own.holm_p_value
        wide = whole or width >= WIDE
        censored = f" ({own.n_censored} cens.)" if own.n_censored and wide else ""
        shown = effect(own, named=False, coverage=wide)
        rule = own.rule if whole or len(own.rule) <= left else f"{own.rule[: left - 1]}…"
        table.add_row(
            Text(own.claim),
            Text(own.verdict.value, style=COLOUR[own.verdict]),
            Text(shown or "–"),
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


def _categories(content: ReportContent, shown: int) -> Table:
    """Medians over the runs of the first categories, since there are too many runs to list."""
    estimated = content.estimated
    categories = categorize(estimated.study)
    headers = ("runs by category", "n", "generalised", "T_mem", "delay", "V at T_mem", "c")
    table = _table(headers, headers)
    table.columns[0].justify = "left"
    for place, name in enumerate(categories.names[:shown]):
        own = [
            estimate for estimate in estimated.estimates if categories.of_run[estimate.run] == place
        ]
        table.add_row(
            Text(name),
            str(len(own)),
            str(sum(estimate.generalization_step is not None for estimate in own)),
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
