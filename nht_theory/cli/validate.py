"""``nht validate``: what was read, what was estimated, and the verdict on every claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nht_theory.cli import EXIT_CHECK_FAILED, EXIT_DONE
from nht_theory.cli.output import console, print_json, progress
from nht_theory.cli.study_options import ColumnMap, Persistence, Threshold, thresholds_of
from nht_theory.conventions import DEFAULT_THRESHOLDS, VerdictKind

if TYPE_CHECKING:
    from nht_theory.runs.study import Study


def validate(
    path: Annotated[Path, typer.Argument(help="Directory or file of runs, logs or checkpoints.")],
    *,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    column_map: ColumnMap = None,
    threshold: Threshold = None,
    persistence: Persistence = DEFAULT_THRESHOLDS.persistence,
    fail_on: Annotated[
        VerdictKind | None, typer.Option(help="Exit with 1 when a claim gets this verdict.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be read.")
    ] = False,
) -> int:
    """Judge every claim of the theory on runs, logs or checkpoints.

    Prints what was read and what was left out, the estimates of the runs, and for each claim
    its verdict with the statistic, its interval, n and the rule that decided.
    """
    from nht_theory.runs.load import load_study
    from nht_theory.runs.options import ReadOptions, parse_map

    study = load_study(path, ReadOptions(column_map=parse_map(column_map or [])))
    if dry_run:
        _print_dry_run(study, as_json=json)
        return EXIT_DONE

    from nht_theory.predictions.validate import validate as judge
    from nht_theory.reporting.assemble import report_content
    from nht_theory.reporting.html import write_report
    from nht_theory.reporting.terminal import print_story

    with progress() as say:
        validation = judge(study, thresholds_of(threshold, persistence), say)
    content = None if json and report is None else report_content(validation)
    if report is not None and content is not None:
        write_report(content, report)
    if json:
        print_json(validation.to_dict())
    elif content is not None:
        print_story(content, console())
        print(f"Report: {report}" if report else "The whole story with figures: --report FILE.html")
    failed = fail_on is not None and any(v.verdict is fail_on for v in validation.verdicts)
    return EXIT_CHECK_FAILED if failed else EXIT_DONE


def _print_dry_run(study: Study, *, as_json: bool) -> None:
    """Each run that would be read, with its length and columns, and what would be left out."""
    found = {
        "source": study.source,
        "runs": [
            {
                "run": run.name,
                "source": run.source,
                "evaluations": len(run),
                "columns": list(run.values),
                "notes": run.notes,
            }
            for run in study.runs
        ],
        "records": len(study.records),
        "left_out": study.left_out,
        "notes": study.notes,
    }
    if as_json:
        print_json(found)
        return
    print(f"{study.source}: {len(study.records)} records, {len(study.runs)} distinct runs")
    for run in study.runs:
        print(f"  {run.name}: {len(run)} evaluations of {', '.join(run.values) or 'nothing'}")
    for item in study.left_out:
        print(f"  left out: {item.file}: {item.reason}")
    for note in study.notes:
        print(f"  {note}")
