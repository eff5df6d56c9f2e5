"""What the contraction of V is made of: decay, alignment and diffusion, step by step."""

from __future__ import annotations

import numpy as np

from nht_theory.estimators.results import RunEstimate, StudyEstimates
from nht_theory.reporting.categories import categorize
from nht_theory.reporting.marks import INK, Axis, Figure, Line, Mark, Panel, Rule, Undrawn
from nht_theory.runs import columns
from nht_theory.runs.run import Run

MOST_RUNS = 4
TERMS = (
    (columns.DECAY, "decay, 1 − a²", 0, "solid"),
    (columns.ALIGNMENT, "alignment, 2ηa⟨θ,u⟩/V", 1, "dashed"),
    (columns.DIFFUSION, "diffusion, −η²‖u‖²/V", 3, "dotted"),
)


def rate_decomposition(estimated: StudyEstimates) -> Figure | Undrawn:
    """The three measured terms of the one-step identity, for one run of each category."""
    name, title = "terms", "What the contraction is made of"
    measured = [
        (run, own)
        for run, own in estimated.pairs()
        if run.has(columns.DECAY, columns.ALIGNMENT) and run.has(columns.SQUARED_NORM)
    ]
    if not measured:
        return Undrawn(
            name, title, "no run logs the terms of the one-step identity (decay, alignment)"
        )
    categories = categorize(estimated.study)
    first: dict[int, tuple[Run, RunEstimate]] = {}
    for run, own in measured:
        first.setdefault(categories.of_run[run.name], (run, own))
    shown = [first[category] for category in sorted(first)][-MOST_RUNS:]
    caption = (
        "1 − V'/V of a step is exactly the sum of the three terms. Negative alignment is the loss "
        "pushing the norm up against decay; where the sum (bold) is below decay, the run is slower "
        f"than pure decay. One run of each category, {len(shown)} of {len(measured)} that log the "
        "terms."
    )
    return Figure(name, title, caption, tuple(_panel(run, own) for run, own in shown))


def _panel(run: Run, own: RunEstimate) -> Panel:
    steps = run.steps.astype(np.float64)
    marks: list[Mark] = []
    total = np.zeros_like(steps)
    for column, legend, colour, dash in TERMS:
        if run.has(column):
            values = run.column(column)
            total = total + values
            marks.append(Line(run.name, steps, values, colour, dash, legend))
    marks.append(Line(run.name, steps, total, INK, "solid", "sum", emphasis=True))
    for label, step in (("T_mem", own.memorization_step), ("T_gen", own.generalization_step)):
        if step is not None:
            marks.append(Rule("x", float(step), label))
    marks.append(Rule("y", 0.0, ""))
    return Panel(Axis("training step"), Axis("per step of V"), tuple(marks), title=run.name)
