"""``nht forecast``: when a run will generalise, from what is known now."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from nht_theory.cli.output import print_json
from nht_theory.errors import InputError
from nht_theory.forecasting.at_memorization import forecast_at_memorization
from nht_theory.forecasting.forecast import Basis, Forecast
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Run


def forecast(
    run: Annotated[Path, typer.Argument(help="A run, finished or still training.")],
    earlier: Annotated[
        Path, typer.Option("--from", help="Earlier runs to learn from: any file or directory.")
    ],
    at: Annotated[
        int | None, typer.Option(help="Use nothing after this step (default: all there is).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """When a run will generalise, from what is known now."""
    calibration = load_study(earlier)
    forecasts = [
        forecast_at_memorization(_known(one, at), calibration) for one in load_study(run).runs
    ]
    if not forecasts:
        raise InputError("no run found", source=run, remedy="give a run directory or a log")
    if json:
        print_json(forecasts[0] if len(forecasts) == 1 else forecasts)
        return
    for made in forecasts:
        print(describe(made))


def describe(made: Forecast) -> str:
    """A forecast in words, for the terminal.

    Example:
        >>> from nht_theory.forecasting.forecast import Stage
        >>> print(describe(Forecast("a", Stage.MEMORIZATION, 800, Basis.REFUSED, None, None, None,
        ...     "no earlier run", "add some", (), "")))
        a: refused at step 800: no earlier run
          remedy: add some
    """
    if made.basis is Basis.REFUSED or made.median is None or made.interval is None:
        lines = [f"{made.run}: refused at step {made.made_at}: {made.reason}"]
        return "\n".join([*lines, f"  remedy: {made.remedy}"] if made.remedy else lines)
    low, high = made.interval.low, made.interval.high
    lines = [
        f"{made.run}: expected to generalise near step {_steps(made.median)} "
        f"({made.interval.coverage:.0%} interval {_steps(low)} to {_steps(high)})",
        f"  made at step {made.made_at} ({made.stage.value}), basis {made.basis.value}: "
        f"{made.reason}",
        f"  from {len(made.calibration)} earlier runs: {made.method}",
    ]
    if made.probability_within_budget is not None:
        lines.append(f"  before training ends: probability {made.probability_within_budget:.2f}")
    return "\n".join(lines)


def _steps(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "never"


def _known(run: Run, at: int | None) -> Run:
    return run if at is None else run.until(at)
