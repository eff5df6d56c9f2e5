"""``nht plot``: one figure of a study for a paper, with its numbers beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nht_theory.cli.study_options import (
    ColumnMap,
    Exact,
    Pattern,
    Persistence,
    Settings,
    Threshold,
    Weights,
    read_options,
    thresholds_of,
)
from nht_theory.conventions import DEFAULT_THRESHOLDS
from nht_theory.errors import InputError


def plot(
    name: Annotated[str, typer.Argument(help="Figure: trajectories, forecasts, survival ...")],
    path: Annotated[Path, typer.Argument(help="Directory or file of runs, logs or checkpoints.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help=".pdf, .svg, .png or .eps [default: NAME.pdf]."),
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Inches [default: one column, or two for many panels].")
    ] = None,
    column_map: ColumnMap = None,
    pattern: Pattern = None,
    settings: Settings = None,
    exact: Exact = False,
    weights: Weights = None,
    threshold: Threshold = None,
    persistence: Persistence = DEFAULT_THRESHOLDS.persistence,
) -> None:
    """Draw one figure of the report at the width of a column, fonts embedded, data as CSV.

    Figures: trajectories, forecasts, accuracy, survival, regimes, phases, groups, layers,
    separation, terms, thresholds.
    """
    from nht_theory.cli.reading import read_study
    from nht_theory.estimators.summary import estimate_study
    from nht_theory.forecasting.backtest import backtest
    from nht_theory.reporting.content import ReportContent
    from nht_theory.reporting.figures.catalogue import build
    from nht_theory.reporting.marks import Undrawn
    from nht_theory.reporting.paper import write_figure

    options = read_options(column_map, pattern, settings, exact=exact, weights=weights)
    estimated = estimate_study(read_study(path, options), thresholds_of(threshold, persistence))
    # Only one figure needs forecasts, and they take the longest.
    forecasts = backtest(estimated)[0] if name == "forecasts" else ()
    figure = build(name, ReportContent(estimated, (), forecasts=forecasts))
    if isinstance(figure, Undrawn):
        raise InputError(f"{figure.title} cannot be drawn: {figure.reason}", source=path)
    drawn, numbers = write_figure(figure, output or Path(f"{name}.pdf"), width=width)
    print(f"{figure.title}: {drawn}, numbers in {numbers}")
