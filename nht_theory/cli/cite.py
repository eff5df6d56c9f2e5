"""``nht cite``: the statistics of a study, ready to paste, each number traceable."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nht_theory.cli import EXIT_DONE
from nht_theory.cli.output import print_json, progress
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


class Style(StrEnum):
    """How the statistics are written."""

    LATEX = "latex"
    APA = "apa"
    BIBTEX = "bibtex"
    JSON = "json"


def cite(
    path: Annotated[Path, typer.Argument(help="Directory or file of runs, logs or checkpoints.")],
    *,
    style: Annotated[Style, typer.Option(help="How to write them.")] = Style.LATEX,
    explain: Annotated[
        str | None,
        typer.Option(metavar="IDENTIFIER", help="Trace one number to formula, data and options."),
    ] = None,
    column_map: ColumnMap = None,
    pattern: Pattern = None,
    settings: Settings = None,
    exact: Exact = False,
    weights: Weights = None,
    threshold: Threshold = None,
    persistence: Persistence = DEFAULT_THRESHOLDS.persistence,
) -> int:
    """Statistics of a study, ready to paste into a paper.

    LaTeX tables (booktabs), sentences in the manner of the APA, BibTeX of every method used, or
    JSON: n, seeds, censored runs and how they were treated, estimates with their intervals, fit,
    held-out error, rival laws, thresholds, data hash and version.
    """
    from nht_theory.claims.validate import validate
    from nht_theory.cli.reading import read_study
    from nht_theory.reporting.citation import cite as citation_of

    options = read_options(column_map, pattern, settings, exact=exact, weights=weights)
    study = read_study(path, options, quiet=style is Style.JSON)
    with progress() as say:
        citation = citation_of(validate(study, thresholds_of(threshold, persistence), say))
    if explain is not None:
        print(citation.explain(explain))
    elif style is Style.JSON:
        print_json(citation.to_dict())
    else:
        written = {
            Style.LATEX: citation.to_latex,
            Style.APA: citation.to_apa,
            Style.BIBTEX: citation.to_bibtex,
        }[style]()
        print(written.rstrip("\n"))
    return EXIT_DONE
