"""The tables of a report as rows of cells: text to show, and a value to sort by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nht_theory.estimators.assumption_summary import summarize_assumptions
from nht_theory.estimators.results import Estimate, Missing, RunEstimate
from nht_theory.forecasting.backtest import ScoredForecast
from nht_theory.reporting.categories import settings_of
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.summary import effect, in_digits
from nht_theory.runs.run import Run


@dataclass(frozen=True)
class Column:
    """A column: its title, whether it holds numbers, whether a hover shows it."""

    title: str
    numeric: bool = False
    tip: bool = False


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and what it is sorted by ("" when it holds nothing)."""

    text: str
    value: str = ""


@dataclass(frozen=True)
class Row:
    """A row; ``key`` is the run it belongs to, ``anchor`` where its first cell leads, if any."""

    cells: tuple[Cell, ...]
    key: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class Table:
    """A table ready to be shown."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


NOTHING = Cell("–")


def number(value: float | None) -> Cell:
    """A number with three significant digits, or whole when large.

    Example:
        >>> number(2648.31).text, number(0.00140177).text, number(None).text
        ('2,648', '0.0014', '–')
    """
    if value is None:
        return NOTHING
    return Cell(in_digits(value), repr(float(value)))


def _estimate(found: Estimate | Missing) -> Cell:
    return number(found.value) if isinstance(found, Estimate) else NOTHING


def _settings(run: Run, shown: Sequence[str]) -> str:
    known = settings_of(run.hyperparameters)
    return ", ".join(
        f"{name.replace('_', ' ')} {known[name]:g}"
        if isinstance(known[name], float)
        else f"{name.replace('_', ' ')} {known[name]}"
        for name in shown
        if name in known
    )


def varying(runs: Sequence[Run]) -> tuple[str, ...]:
    """Names of the settings that are not the same in all runs, the seed last."""
    every = [settings_of(run.hyperparameters) for run in runs]
    names = dict.fromkeys(name for settings in every for name in settings if name != "seed")
    differing = [n for n in names if len({str(settings.get(n)) for settings in every}) > 1]
    return (*differing, "seed")


def runs_table(content: ReportContent) -> Table:
    """One row a distinct run: settings, events, norms, rate and regime."""
    columns = (
        Column("run"),
        Column("settings", tip=True),
        Column("T_mem", numeric=True, tip=True),
        Column("T_gen", numeric=True, tip=True),
        Column("delay", numeric=True, tip=True),
        Column("V at T_mem", numeric=True, tip=True),
        Column("V at T_gen", numeric=True, tip=True),
        Column("rate of V", numeric=True, tip=True),
        Column("c", numeric=True, tip=True),
        Column("regime", tip=True),
    )
    shown = varying(content.estimated.study.runs)
    rows = tuple(
        _run_row(run, estimate, _settings(run, shown))
        for run, estimate in content.estimated.pairs()
    )
    caption = (
        "Distinct runs. T_mem and T_gen are the first evaluations at their thresholds; "
        "“> step” means not seen by that step (censored). Rate: contraction of V per step; "
        "c: that rate over pure decay, 2ηλ."
    )
    return Table(caption, columns, rows)


def _run_row(run: Run, estimate: RunEstimate, settings: str) -> Row:
    last = int(run.steps[-1]) if len(run) else 0
    cells = (
        Cell(run.name),
        Cell(settings),
        _event(estimate.memorization_step, estimate.memorization is not None, last),
        _event(estimate.generalization_step, estimate.generalization is not None, last),
        number(estimate.delay),
        _estimate(estimate.squared_norm_memorization),
        _estimate(estimate.squared_norm_generalization),
        _estimate(estimate.contraction_rate),
        _estimate(estimate.efficiency),
        Cell(str(estimate.regime)),
    )
    return Row(cells, key=run.name)


def _event(step: int | None, logged: bool, last: int) -> Cell:
    if not logged:
        return Cell("not logged")
    if step is None:
        # Sorted after every run that had the event by then.
        return Cell(f"> {last:,}", str(last + 0.5))
    return Cell(f"{step:,}", str(step))


def forecasts_table(forecasts: Sequence[ScoredForecast]) -> Table:
    """One row a forecast: when it was made, what it said, what happened."""
    columns = (
        Column("run"),
        Column("made at step", numeric=True),
        Column("forecast", numeric=True),
        Column("90 % interval"),
        Column("happened at", numeric=True),
        Column("error / delay", numeric=True),
        Column("inside", tip=False),
        Column("basis"),
        Column("why"),
    )
    caption = "Each forecast knew nothing of its run after the step at which it was made."
    return Table(caption, columns, tuple(_forecast_row(item) for item in forecasts))


def _forecast_row(item: ScoredForecast) -> Row:
    forecast, interval = item.forecast, item.forecast.interval
    error = item.relative_error
    inside = {True: "yes", False: "no", None: "–"}[item.inside]
    cells = (
        Cell(forecast.run),
        number(forecast.made_at),
        number(forecast.median),
        NOTHING if interval is None else Cell(f"{interval.low:,.0f} to {interval.high:,.0f}"),
        _event(item.happened_at, True, item.last_seen),
        NOTHING if error is None else Cell(f"{error:+.0%}", repr(error)),
        Cell(inside),
        Cell(str(forecast.basis)),
        Cell("; ".join(part for part in (forecast.reason, forecast.remedy) if part)),
    )
    return Row(cells, key=forecast.run)


def left_out_table(content: ReportContent) -> Table:
    """Everything that was found and not used, with the reason."""
    study = content.estimated.study
    rows = [Row((Cell(item.file), Cell(item.reason))) for item in study.left_out]
    rows += [
        Row((Cell(run.name), Cell("a record that stores events but no log of its own")))
        for run in study.without_trajectory
    ]
    caption = "In full: files, records, tensors and lines that entered no number above."
    return Table(caption, (Column("file or record"), Column("reason")), tuple(rows))


def merges_table(content: ReportContent) -> Table:
    """Records found to be one run, which counts once."""
    rows = tuple(
        Row((Cell(merge.kept), Cell(", ".join(merge.repeats)), Cell(merge.reason)))
        for merge in content.estimated.study.merges
    )
    caption = "The record on the left was kept, at its finest grid; the others repeat it."
    return Table(caption, (Column("kept"), Column("repeats"), Column("why")), rows)


def assumptions_table(content: ReportContent) -> Table:
    """(A1) to (A5) over the runs; no rows where no run tells about any of them."""
    found = summarize_assumptions(content.estimated)
    rows = tuple(
        Row(
            (
                Cell(own.name),
                Cell(own.statement),
                number(own.holds),
                number(len(own.failing)),
                number(own.unknown),
                Cell(own.reason),
            )
        )
        for own in found
        if any(other.known for other in found)
    )
    columns = (
        Column("assumption"),
        Column("that"),
        Column("holds in", numeric=True),
        Column("fails in", numeric=True),
        Column("unknown in", numeric=True),
        Column("how it was decided, or what would decide it"),
    )
    caption = "What the paper assumes of a run (2603.07323, section 3), where it was measured."
    return Table(caption, columns, rows)


def not_applicable_table(content: ReportContent) -> Table:
    """Claims that these data cannot judge, and what each would need."""
    rows = []
    for verdict in content.not_applicable:
        known = content.claims.get(verdict.claim)
        said = "" if known is None else known.statement
        rows.append(Row((Cell(verdict.claim), Cell(said), Cell(verdict.rule))))
    caption = "Not applicable is a result: these data cannot tell, and nothing was guessed."
    columns = (Column("claim"), Column("what it says"), Column("why it cannot be judged here"))
    return Table(caption, columns, tuple(rows))


def verdicts_table(content: ReportContent) -> Table:
    """One row a claim that could be judged."""
    columns = (
        Column("claim"),
        Column("verdict"),
        Column("effect"),
        Column("p (Holm)", numeric=True),
        Column("n", numeric=True),
        Column("censored", numeric=True),
        Column("rests on"),
        Column("decided by"),
    )
    rows = tuple(
        Row(
            (
                Cell(own.claim),
                Cell(own.verdict.value),
                Cell(effect(own, named=False) or "–"),
                number(own.p_value if own.holm_p_value is None else own.holm_p_value),
                number(own.n),
                number(own.n_censored),
                Cell(own.rests_on or "–"),
                Cell(own.rule),
            ),
            anchor=f"claim-{own.claim}",
        )
        for own in content.judged
    )
    return Table("Every claim that these data can judge; a card for each follows.", columns, rows)
