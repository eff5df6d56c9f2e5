"""From a study's runs to the results that are committed."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from nht_theory.claims.validate import Validation, validate
from nht_theory.cli.output import progress, to_jsonable
from nht_theory.estimators.results import StudyEstimates
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.figures.catalogue import build
from nht_theory.reporting.marks import Figure
from nht_theory.reporting.paper import write_figure
from nht_theory.runs.load import load_study
from validation.studies.catalogue import StudyPlan
from validation.studies.forecasts import score
from validation.studies.results import (
    FIGURE,
    FORECASTS_FILE,
    RUNS_FILE,
    TABLES_FILE,
    VERDICTS_FILE,
    text_of,
)
from validation.studies.run_rows import run_rows, write_rows

LARGEST_FIGURE = 150_000
"""Bytes; a larger drawing is kept as pixels."""


def judge(plan: StudyPlan, runs: Path, results: Path, *, stability: bool = True) -> Validation:
    """Read the runs, judge every prediction, and write what is committed.

    Args:
        plan: of the study.
        runs: directory of its runs.
        results: where runs.csv, verdicts.json, tables.json and the figure go.
        stability: whether to repeat the verdicts at other thresholds.

    Raises:
        InputError: there is no run.
    """
    study = load_study(runs)
    with progress() as say:
        validation = validate(study, progress=say, stability=stability)
    estimates = StudyEstimates(study, validation.estimates, validation.thresholds)
    tables = [table for analyse in plan.analyses for table in analyse(estimates)]
    if plan.forecasts:
        tables += score(estimates, results / FORECASTS_FILE, runs)
    tables = [table for table in tables if table.rows]
    results.mkdir(parents=True, exist_ok=True)
    write_rows(run_rows(estimates), results / RUNS_FILE)
    (results / VERDICTS_FILE).write_text(text_of(to_jsonable(validation.to_dict())), "utf-8")
    (results / TABLES_FILE).write_text(text_of(to_jsonable(tables)), "utf-8")
    draw(plan, ReportContent(estimates, validation.verdicts), results)
    return validation


def draw(plan: StudyPlan, content: ReportContent, results: Path) -> None:
    """The study's figure, as SVG where that is small; none where the report cannot draw it."""
    for old in (results / FIGURE, (results / FIGURE).with_suffix(".png")):
        old.unlink(missing_ok=True)
    drawn = [made for name in plan.figures if isinstance(made := build(name, content), Figure)]
    if not drawn:
        return
    panels = tuple(panel for figure in drawn for panel in figure.panels)
    figure = replace(drawn[0], panels=panels)
    with tempfile.TemporaryDirectory() as folder:
        file, _ = write_figure(figure, Path(folder) / FIGURE)
        if file.stat().st_size > LARGEST_FIGURE:
            file, _ = write_figure(figure, file.with_suffix(".png"))
        shutil.copyfile(file, results / file.name)
