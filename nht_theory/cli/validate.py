"""``nht validate``: what was read, what was estimated, and the verdict on every claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nht_theory.cli import EXIT_CHECK_FAILED, EXIT_DONE
from nht_theory.cli.output import console, print_json, progress
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
from nht_theory.conventions import DEFAULT_THRESHOLDS, VerdictKind
from nht_theory.errors import InputError

if TYPE_CHECKING:
    from nht_theory.claims.validate import Validation
    from nht_theory.runs.options import ReadOptions


def validate(
    path: Annotated[
        Path | None, typer.Argument(help="Directory or file of runs, logs or checkpoints.")
    ] = None,
    *,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    latex: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write LaTeX tables and BibTeX there.")
    ] = None,
    column_map: ColumnMap = None,
    pattern: Pattern = None,
    settings: Settings = None,
    exact: Exact = False,
    weights: Weights = None,
    threshold: Threshold = None,
    persistence: Persistence = DEFAULT_THRESHOLDS.persistence,
    fail_on: Annotated[
        VerdictKind | None, typer.Option(help="Exit with 1 when a claim gets this verdict.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every run, detail and omission.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be read.")
    ] = False,
    list_claims: Annotated[
        bool, typer.Option("--list", help="Only say which claims are judged, and how.")
    ] = False,
) -> int:
    """Judge every claim of the theory on runs, logs or checkpoints.

    Prints what was read and what was left out, the estimates of the runs, and for each claim
    its verdict with the statistic, its interval, n and the rule that decided.
    """
    if list_claims:
        _print_claims(as_json=json)
        return EXIT_DONE
    if path is None:
        raise InputError("no path given", remedy="nht validate PATH, or nht validate --list")
    options = read_options(column_map, pattern, settings, exact=exact, weights=weights)
    if dry_run:
        _print_plan(path, options, as_json=json)
        return EXIT_DONE

    from nht_theory.claims.validate import validate as validate_study
    from nht_theory.cli.reading import read_study
    from nht_theory.reporting.assemble import report_content
    from nht_theory.reporting.html import write_report
    from nht_theory.reporting.terminal import print_story

    study = read_study(path, options, quiet=json)
    with progress() as say:
        validation = validate_study(study, thresholds_of(threshold, persistence), say)
    content = None if json and report is None else report_content(validation)
    if report is not None and content is not None:
        write_report(content, report)
    if latex is not None:
        _write_latex(validation, latex)
    if json:
        print_json(validation.to_dict())
    elif content is not None:
        print_story(content, console(), verbose=verbose)
        print(f"Report: {report}" if report else "The whole story with figures: --report FILE.html")
    failed = fail_on is not None and any(v.verdict is fail_on for v in validation.verdicts)
    return EXIT_CHECK_FAILED if failed else EXIT_DONE


def _print_plan(path: Path, options: ReadOptions, *, as_json: bool) -> None:
    """Each file with the reader it goes to, and what is left out and why; no log is read."""
    from nht_theory.runs.plan import plan_reading

    plan = plan_reading(path, options)
    if as_json:
        files = [
            {"file": file.file, "reader": file.reader, "run": file.name} for file in plan.files
        ]
        print_json({"source": plan.source, "files": files, "left_out": plan.left_out})
        return
    print(f"{plan.source}: {len(plan.files)} to read, {len(plan.left_out)} left out")
    for file in plan.files:
        print(f"  {file.file}: {file.reader}")
    for item in plan.left_out:
        print(f"  left out: {item.file}: {item.reason}")


def _print_claims(*, as_json: bool) -> None:
    """Every claim with what it needs and the rule that decides."""
    from nht_theory.claims.registry import CLAIMS

    if as_json:
        names = (
            "name",
            "claim",
            "needs",
            "rule",
            "against",
            "in_favour",
            "undecidable",
            "references",
        )
        print_json([{name: getattr(claim, name) for name in names} for claim in CLAIMS])
        return
    for claim in CLAIMS:
        print(f"{claim.name}: {claim.statement}")
        print(f"  needs: {claim.needs}")
        print(f"  rule: {claim.rule}")
        print(f"  would refute it: {claim.against}")
        if claim.undecidable:
            print(f"  cannot be decided on: {claim.undecidable}")
        print(f"  references: {', '.join(claim.references)}")


def _write_latex(validation: Validation, directory: Path) -> None:
    from nht_theory.reporting.citation import cite

    citation = cite(validation)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tables.tex").write_text(citation.to_latex(), encoding="utf-8")
    (directory / "references.bib").write_text(citation.to_bibtex(), encoding="utf-8")
