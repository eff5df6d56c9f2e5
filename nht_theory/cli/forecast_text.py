"""Forecasts and their scores in words and tables, for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nht_theory.cli.output import console
from nht_theory.forecasting.forecast import Basis, Forecast

if TYPE_CHECKING:
    from rich.table import Table

    from nht_theory.forecasting.advice import RunAdvice
    from nht_theory.forecasting.score import ScoreRow
    from nht_theory.forecasting.score_study import StudyScore


def describe(made: Forecast) -> str:
    """A forecast in words.

    Example:
        >>> from nht_theory.forecasting.forecast import Stage
        >>> print(describe(Forecast("a", Stage.MEMORIZATION, 800, Basis.REFUSED, None, None, None,
        ...     "no earlier run", "add some", (), "")))
        a: refused at step 800 (memorisation): no earlier run
          remedy: add some
    """
    stage = f"at step {made.made_at} ({made.stage.value})"
    if made.basis is Basis.REFUSED or made.median is None or made.interval is None:
        lines = [f"{made.run}: refused {stage}: {made.reason}"]
        return "\n".join([*lines, f"  remedy: {made.remedy}"] if made.remedy else lines)
    low, high = made.interval.low, made.interval.high
    # Under a schedule the learning rate may be spent before the switch.
    near = f"near step {_steps(made.median)} " if math.isfinite(made.median) else ""
    lines = [
        f"{made.run}: {'' if near else 'not '}expected to generalise {near}"
        f"({made.interval.coverage:.0%} interval {_steps(low)} to {_steps(high)})",
        f"  made {stage}, basis {made.basis.value}: {made.reason}",
        f"  from {len(made.calibration)} earlier runs: {made.method}",
    ]
    if made.law_median is not None:
        lines.append(f"  the law would say {_steps(made.law_median)}: not applicable here")
    if made.probability_within_budget is not None:
        lines.append(f"  before training ends: probability {made.probability_within_budget:.2f}")
    return "\n".join(lines)


def describe_advice(made: RunAdvice) -> str:
    """Whether to go on, and whether stronger decay would help, in words."""
    lines = []
    record = made.record
    if made.stop is not None:
        lines += [
            f"  {'stop' if made.stop.stop else 'go on'}: {made.stop.reason}",
            f"    on public runs, stop was said wrongly for {record.wrongly_stopped} of "
            f"{record.switched} that switched, and for {record.stopped} of {record.unswitched} "
            "that did not",
        ]
    if made.decay is not None:
        lines += [
            f"  weight decay {made.decay.stronger:g} is {made.decay.expectation.value}: "
            f"{made.decay.reason}",
            f"    on public studies, such advice was right in {record.decay_hits} of "
            f"{record.decay_pairs} pairs of weight decays (always yes: {record.decay_always_yes})",
        ]
    return "\n".join(lines)


def one_line(made: Forecast) -> str:
    """A forecast in one line, for a run that is followed."""
    if made.median is None or made.interval is None:
        return f"step {made.made_at}: refused: {made.reason}"
    within = made.probability_within_budget
    chance = "" if within is None else f", in time with probability {within:.2f}"
    return (
        f"step {made.made_at}: switch near {_steps(made.median)} ({_steps(made.interval.low)} to "
        f"{_steps(made.interval.high)}), basis {made.basis.value}{chance}"
    )


def _steps(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "never"


def print_score(scored: StudyScore) -> None:
    """Tables of the scores, in and out of regime."""
    out = console()
    for title, rows in (
        ("Configurations that obeyed the law", scored.in_regime),
        ("Other configurations that show a delay", scored.out_of_regime),
    ):
        if rows:
            out.print(_score_table(title, rows))
    if scored.decay_advice is not None:
        own = scored.decay_advice
        out.print(
            f"Advice on stronger weight decay: right in {own.hits} of {own.n} (always yes: "
            f"{own.always_yes})."
        )
    if scored.early_stop is not None:
        stop = scored.early_stop
        out.print(
            f"Advice to stop: wrong for {stop.wrongly_stopped} of {stop.switched} runs that "
            f"switched, given for {stop.stopped} of {stop.unswitched} that did not."
        )
    out.print(
        f"Learned from {scored.calibration}. Errors are shares of the delay; * marks what "
        f"nht uses; {len(scored.unscored)} runs show no delay to compare with."
    )


_COLUMNS = (
    "a run",
    "95 % interval",
    "a configuration",
    "90 % covers",
    "interval score",
    "parameters",
    "refused",
)


def _score_table(title: str, rows: tuple[ScoreRow, ...]) -> Table:
    from rich import box
    from rich.table import Table

    heading = f"{title}: {rows[0].n_runs} runs, {rows[0].n_configurations} configurations"
    made = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    made.add_column("stage")
    made.add_column("method")
    for name in _COLUMNS:
        made.add_column(name, justify="right")
    for row in rows:
        made.add_row(*(cell or "–" for cell in _cells(row)))
    return made


def _cells(row: ScoreRow) -> tuple[str, ...]:
    spread = row.run_error_interval
    return (
        str(row.stage),
        f"{'* ' if row.default else ''}{row.method}",
        _percent(row.run_error),
        f"{_percent(spread.low)} to {_percent(spread.high)}" if spread else "",
        _percent(row.configuration_error),
        _percent(row.coverage),
        "" if row.interval_score is None else f"{row.interval_score:.2f}",
        "" if row.parameters is None else f"{row.parameters:.1f}",
        str(row.refused),
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
