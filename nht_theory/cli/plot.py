"""``nht plot``: one figure of a study for a paper, with its numbers beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    column_map: Annotated[
        list[str] | None, typer.Option("--map", metavar="OURS=THEIRS", help="Name a column.")
    ] = None,
) -> None:
    """Draw one figure of the report at the width of a column, fonts embedded, data as CSV.

    Figures: trajectories, forecasts, accuracy, survival, regimes, phases, groups, layers,
    separation, terms, thresholds.
    """
    from nht_theory.estimators.summary import estimate_study
    from nht_theory.reporting.content import ReportContent
    from nht_theory.reporting.figures.catalogue import build
    from nht_theory.reporting.marks import Undrawn
    from nht_theory.reporting.paper import write_figure
    from nht_theory.reporting.retrospect import forecasts_in_retrospect
    from nht_theory.runs.load import load_study
    from nht_theory.runs.options import ReadOptions, parse_map

    study = load_study(path, ReadOptions(column_map=parse_map(column_map or [])))
    estimated = estimate_study(study)
    # Only one figure needs forecasts, and they take the longest.
    forecasts = forecasts_in_retrospect(estimated)[0] if name == "forecasts" else ()
    figure = build(name, ReportContent(estimated, (), forecasts=forecasts))
    if isinstance(figure, Undrawn):
        raise InputError(f"{figure.title} cannot be drawn: {figure.reason}", source=path)
    drawn, numbers = write_figure(figure, output or Path(f"{name}.pdf"), width=width)
    print(f"{figure.title}: {drawn}, numbers in {numbers}")
