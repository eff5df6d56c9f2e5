"""The live panel of ``nht forecast --follow``: V, its rate, and the forecast as it narrows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.results import Missing
from nht_theory.forecasting.forecast import Forecast
from nht_theory.runs import columns
from nht_theory.runs.run import Run

BLOCKS = "▁▂▃▄▅▆▇█"
RATE_EVALUATIONS = 5
"""Evaluations over which the panel reads the rate of V."""
LABEL_WIDTH = 22
WIDEST = 72
"""Columns of a curve; more would not tell more."""


def show_panel(seen: Iterable[tuple[Run, Forecast]], console: Console, waiting_for: str) -> None:
    """Draw a panel in place at each evaluation; the last one stays on the terminal."""
    history: list[Forecast] = []
    start = Text(f"waiting for the first evaluation of {waiting_for}")
    with Live(start, console=console, auto_refresh=False) as live:
        live.refresh()
        for run, made in seen:
            history.append(made)
            live.update(panel(run, history, console.width), refresh=True)


def panel(run: Run, history: Sequence[Forecast], width: int) -> RenderableType:
    """What is known of a run and its forecasts so far, the newest last.

    Args:
        run: as far as it is logged.
        history: one forecast an evaluation.
        width: columns of the terminal.
    """
    across = max(10, min(WIDEST, width - LABEL_WIDTH - 6))
    made, step = history[-1], int(run.steps[-1])
    rows = [*_norm_rows(run, across), *_accuracy_rows(run), *_forecast_rows(history, run, across)]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=LABEL_WIDTH - 2, style="dim")
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(label, Text(text))
    total = run.hyperparameters.total_steps
    of = f" of {total:,}" if total else ""
    why = Text(made.reason if made.median is not None else f"{made.reason}: {made.remedy}", "dim")
    return Panel(
        Group(grid, why), title=f"{run.name}, step {step:,}{of}", title_align="left", width=width
    )


def sparkline(values: Sequence[float], across: int) -> str:
    """Values as blocks of eight heights from their smallest to their largest, at most ``across``
    of them; a value that is not finite is a gap.

    Example:
        >>> sparkline([1, 2, 3, float("nan"), 8], 5)
        '▁▂▃ █'
        >>> sparkline(list(range(100)), 4)
        '▁▃▆█'
    """
    if len(values) > across:
        places = np.linspace(0, len(values) - 1, across).round().astype(int)
        values = [values[place] for place in places]
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return ""
    low, high = min(known), max(known)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(
        BLOCKS[round((value - low) * scale)] if math.isfinite(value) else " " for value in values
    )


def _norm_rows(run: Run, across: int) -> list[tuple[str, str]]:
    if not run.has(columns.SQUARED_NORM):
        return [("V, squared norm", "not logged")]
    norm = run.squared_norm
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(norm)
    rows = [
        ("V, squared norm", f"{norm[-1]:,.0f}" if norm[-1] >= 100 else f"{norm[-1]:.3g}"),
        ("ln V since the start", sparkline(logs.tolist(), across)),
    ]
    first = max(0, len(run) - RATE_EVALUATIONS)
    between = float(run.steps[-1] - run.steps[first])
    rate = (logs[first] - logs[-1]) / between if between > 0 else math.nan
    if math.isfinite(rate):
        pure = pure_decay_rate(run, Window(int(run.steps[first]), int(run.steps[-1]), "recent"))
        share = "" if isinstance(pure, Missing) else f", {rate / pure:.2f} of pure decay"
        said = f"{rate:.3g} per step over the last {len(run) - first} evaluations{share}"
        rows.append(("γ, rate of V's fall", said))
    return rows


def _accuracy_rows(run: Run) -> list[tuple[str, str]]:
    named = (("training", columns.TRAIN_ACCURACY), ("held-out", columns.HELDOUT_ACCURACY))
    said = [f"{label} {run.column(name)[-1]:.3f}" for label, name in named if run.has(name)]
    return [("accuracy", ", ".join(said))] if said else []


def _forecast_rows(history: Sequence[Forecast], run: Run, across: int) -> list[tuple[str, str]]:
    made = history[-1]
    if made.median is None or made.interval is None:
        return [("forecast", "refused")]
    low, high = made.interval.low, made.interval.high
    within = made.probability_within_budget
    chance = "" if within is None else f", in time with probability {within:.2f}"
    rows = [
        ("forecast", f"switch near step {_steps(made.median)}, basis {made.basis}{chance}"),
        ("90 % interval", f"{_steps(low)} to {_steps(high)}"),
        ("now | low ( median ) high", timeline(int(run.steps[-1]), made, across)),
    ]
    widths = [_width(one) for one in history]
    known = [value for value in widths if math.isfinite(value)]
    if len(known) > 1:
        rows.append(("width of the interval", f"{known[0]:,.0f} at first, {known[-1]:,.0f} now"))
        rows.append(("as it narrows", sparkline(widths, across)))
    return rows


def _width(made: Forecast) -> float:
    """Steps that the 90 % interval spans; NaN where there is none or it has no end."""
    if made.interval is None or not math.isfinite(made.interval.high):
        return math.nan
    return made.interval.high - made.interval.low


def timeline(now: int, made: Forecast, across: int) -> str:
    """Steps from 0 to the end of the interval on a line: now |, interval ( ), median o.

    Example:
        >>> from nht_theory.estimators.results import Interval
        >>> from nht_theory.forecasting.forecast import Basis, Stage
        >>> made = Forecast("a", Stage.RUNNING, 200, Basis.LAW, 500.0,
        ...     Interval(400, 1000, 0.9, ""), None, "", "", (), "")
        >>> timeline(200, made, 21)
        '····|···(-o---------)'
    """
    if made.median is None or made.interval is None:
        return ""
    end = made.interval.high if math.isfinite(made.interval.high) else 2 * made.median
    end = max(end, made.median, 1.0)

    def place(step: float) -> int:
        return min(across - 1, max(0, round((across - 1) * step / end)))

    low, high = place(made.interval.low), place(end)
    line = ["-" if low < column < high else "·" for column in range(across)]
    line[low], line[high] = "(", ")" if math.isfinite(made.interval.high) else ">"
    line[place(made.median)] = "o"
    line[place(now)] = "|"
    return "".join(line)


def _steps(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "never"
