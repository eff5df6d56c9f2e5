"""``nht derive``: the formulas with their derivations, and their re-verification."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from nht_theory.cli.output import print_json
from nht_theory.errors import InputError
from nht_theory.formulas import catalogue
from nht_theory.formulas.formula import Formula


class Format(StrEnum):
    """How a formula is printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"


def derive(
    name: Annotated[
        str | None, typer.Argument(help="A formula, a topic or 'all' (default: the list).")
    ] = None,
    format: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TEXT,
    check: Annotated[
        bool, typer.Option("--check", help="Re-verify every step; exit 1 if one fails.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a formula with its derivation, or re-verify every step."""
    if check:
        _check(chosen(name or "all"), json=json)
    elif name is None:
        _list(json=json)
    else:
        _show(chosen(name), format, json=json)


def chosen(name: str) -> tuple[Formula, ...]:
    """The formulas that a name, a topic or ``all`` stands for.

    Raises:
        InputError: it is none of these.

    Example:
        >>> len(chosen("noise_floor"))
        1
    """
    if name == "all":
        return tuple(f for topic in catalogue.TOPICS for f in catalogue.formulas_of(topic))
    if name in catalogue.TOPICS:
        return catalogue.formulas_of(name)
    try:
        return (catalogue.find(name),)
    except InputError as error:
        topics = ", ".join(catalogue.TOPICS)
        raise InputError(
            error.problem, remedy=f"{error.remedy}; or a topic ({topics}), or all"
        ) from None


def _list(*, json: bool) -> None:
    if json:
        print_json(
            [
                {"name": f.name, "topic": f.topic, "title": f.title, "statement": f.statement}
                for f in chosen("all")
            ]
        )
        return
    for topic in catalogue.TOPICS:
        print(f"{topic}: {catalogue.topic_title(topic)}")
        for formula in catalogue.formulas_of(topic):
            print(f"  {formula.name:32s} {formula.title}")


def _show(formulas: tuple[Formula, ...], form: Format, *, json: bool) -> None:
    from nht_theory.formulas import rendering

    if json:
        print_json([_record(formula) for formula in formulas])
    elif form is Format.LATEX:
        print(rendering.to_latex(formulas), end="")
    else:
        render = rendering.to_markdown if form is Format.MARKDOWN else rendering.to_text
        print("\n\n".join(render(formula) for formula in formulas))


def _record(formula: Formula) -> dict[str, object]:
    from nht_theory.formulas.typesetting import Typesetter

    typesetter = Typesetter(formula)
    return {
        "name": formula.name,
        "topic": formula.topic,
        "title": formula.title,
        "statement": formula.statement,
        "gives": formula.gives,
        "relation": formula.relation,
        "expression": formula.expression,
        "latex": typesetter.statement(),
        "symbols": formula.symbols,
        "conditions": formula.conditions,
        "assumptions": formula.assumptions,
        "source": formula.source,
        "notes": formula.notes,
        "steps": [
            {
                "rule": type(step).__name__.lower(),
                "because": step.because,
                "latex": typesetter.step(step),
            }
            for step in formula.derivation
        ],
    }


def _check(formulas: tuple[Formula, ...], *, json: bool) -> None:
    from nht_theory.formulas.verification import check_formula

    checks = []
    for formula in formulas:
        checked = check_formula(formula)
        checks.append(checked)
        if not json:
            mark = "verified" if checked.holds else "FAILED"
            print(f"{mark:9s} {formula.topic:12s} {formula.name} ({len(checked.steps)} steps)")
            for step in checked.steps:
                if not step.holds:
                    print(f"          {step.because} [{step.rule}]: {step.problem}")
            for problem in checked.problems:
                print(f"          {problem}")
    failed = [checked.name for checked in checks if not checked.holds]
    if json:
        print_json(
            {
                "verified": len(checks) - len(failed),
                "failed": failed,
                "formulas": [
                    {
                        "name": c.name,
                        "topic": c.topic,
                        "holds": c.holds,
                        "problems": c.problems,
                        "steps": c.steps,
                    }
                    for c in checks
                ],
            }
        )
    else:
        steps = sum(len(checked.steps) for checked in checks)
        print(f"{len(checks) - len(failed)} of {len(checks)} statements verified, {steps} steps")
    if failed:
        raise typer.Exit(1)
