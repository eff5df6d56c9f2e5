"""The page of a study: tables generated from its committed results, prose written by hand."""

from __future__ import annotations

from pathlib import Path

from nht_theory.claims.registry import claim_named
from validation.studies.catalogue import StudyPlan
from validation.studies.markdown import block, number, table, with_blocks
from validation.studies.published import published_figures
from validation.studies.results import FIGURE, PAGE, Results, read_results
from validation.studies.run_rows import filled

NOT_RUN = (
    "**Not run yet.** The study file runs at toy size in the tests; the command runs it whole."
)


def write_page(plan: StudyPlan, results: Path) -> None:
    """Write the page, or replace its generated parts.

    Raises:
        InputError: the page's marks are not those that are generated.
    """
    results.mkdir(parents=True, exist_ok=True)
    path = results / PAGE
    blocks = generated(plan, results)
    if path.exists():
        text = with_blocks(path.read_text(encoding="utf-8"), blocks, path)
    else:
        head = f"# {plan.title}\n\n{plan.question}\n\n    make study NAME={plan.name}\n"
        text = "\n".join([head, *(block(name, body) + "\n" for name, body in blocks.items())])
    path.write_text(text, encoding="utf-8")


def generated(plan: StudyPlan, results: Path) -> dict[str, str]:
    """The generated parts by name; only the status where the study has not been run."""
    found = read_results(results)
    if found is None:
        return {"results": NOT_RUN}
    parts = [_status(plan, found), _figure(plan, results), _published(plan, found)]
    for one in found.tables:
        parts.append(f"## {one.title}\n\n{table(one.header, one.rows)}\n\n{one.note}")
    parts.append(_verdicts(plan, found))
    return {"results": "\n\n".join(part for part in parts if part)}


def _status(plan: StudyPlan, found: Results) -> str:
    states = [row["state"] for row in found.runs]
    counted = ", ".join(f"{states.count(name)} {name}" for name in sorted(set(states)))
    steps = sum(filled(found.runs, "last_step"))
    return (
        f"{len(states)} runs ({counted}), {steps:,.0f} steps in all. Every number below is written "
        f"by `python -m validation.studies {plan.name} --judge-only` from the runs: "
        "[runs.csv](runs.csv), [verdicts.json](verdicts.json) (as `nht validate --json`)."
    )


def _figure(plan: StudyPlan, results: Path) -> str:
    for name in (FIGURE, Path(FIGURE).with_suffix(".png").name):
        if (results / name).exists():
            return f"![{' and '.join(plan.figures)}, as `nht plot` draws them]({name})"
    return ""


def _published(plan: StudyPlan, found: Results) -> str:
    rows = [(one.what, one.paper, one.ours(found.runs)) for one in published_figures(plan.name)]
    if not rows:
        return ""
    return "## The paper's figures and ours\n\n" + table(("figure", "paper", "ours"), rows)


def _verdicts(plan: StudyPlan, found: Results) -> str:
    """Every claim that could be judged; of the others, why where the study was made for them."""
    rows, silent, unasked = [], [], []
    for own in found.verdicts["verdicts"]:
        name = own["prediction"]
        if own["verdict"] == "not applicable":
            if name in plan.answers:
                silent.append(f"- **{name}** not applicable: {own['rule']}.")
            else:
                unasked.append(name)
            continue
        rows.append(
            (
                f"**{name}**: {claim_named(name).statement}",
                f"**{own['verdict']}**",
                statistic(own),
                f"{own['n']} ({own['n_censored']})",
                own["rule"],
            )
        )
    judged = table(("claim", "verdict", "statistic", "runs (censored)", "rule that decided"), rows)
    parts = ["## Verdicts", judged if rows else "No claim could be judged.", "\n".join(silent)]
    parts.append(f"Not asked here, and not applicable: {', '.join(unasked)}." if unasked else "")
    return "\n\n".join(part for part in parts if part)


def statistic(own: dict[str, object]) -> str:
    """A verdict's statistic with its interval, in a cell."""
    value, interval = own["statistic"], own["interval"]
    if value is None:
        return ""
    low_high = f" [{number(interval[0], 3)}, {number(interval[1], 3)}]" if interval else ""  # type: ignore[index]
    return f"{number(value, 3)}{low_high}"  # type: ignore[arg-type]
