"""How much depends on the threshold at which a run counts as having switched."""

from __future__ import annotations

import numpy as np

from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.transitions import crossing
from nht_theory.reporting.categories import categorize
from nht_theory.reporting.marks import Axis, Cells, Figure, Line, Mark, Panel, Undrawn, style
from nht_theory.runs import columns

LEVELS = (0.8, 0.9, 0.95, 0.99)
"""Thresholds of held-out accuracy at which everything is repeated (THEORY.md section 9)."""
SCORES = {VerdictKind.REFUTED: -1.0, VerdictKind.INCONCLUSIVE: 0.0, VerdictKind.SUPPORTED: 1.0}
SIGNS = {
    VerdictKind.SUPPORTED: "✓",
    VerdictKind.REFUTED: "×",
    VerdictKind.INCONCLUSIVE: "?",
    VerdictKind.NOT_APPLICABLE: "–",
}
"""So that a verdict is told by more than its colour."""


def threshold_stability(
    estimated: StudyEstimates, verdicts: tuple[Verdict, ...]
) -> Figure | Undrawn:
    """T_gen over the threshold, one line a run; and the verdicts at other thresholds."""
    name, title = "thresholds", "What depends on the threshold"
    categories = categorize(estimated.study)
    marks: list[Mark] = []
    for run, _ in estimated.pairs():
        found = [crossing(run, columns.HELDOUT_ACCURACY, level) for level in LEVELS]
        steps = np.array(
            [np.nan if at is None or at.step is None else float(at.step) for at in found]
        )
        if np.isfinite(steps).sum() < 2:
            continue
        category = categories.of_run[run.name]
        colour, dash = style(category)
        label = categories.names[category]
        marks.append(Line(run.name, np.array(LEVELS), steps, colour, dash, label))
    panels = []
    if marks:
        panels.append(
            Panel(
                Axis("threshold of held-out accuracy"),
                Axis("step at which it is reached", log=True),
                tuple(marks),
                title="T_gen at each threshold",
            )
        )
    verdict_panel = _verdicts(verdicts)
    if verdict_panel is not None:
        panels.append(verdict_panel)
    if not panels:
        return Undrawn(name, title, "no run reaches two of the thresholds 0.8, 0.9, 0.95, 0.99")
    caption = (
        "A line that is flat belongs to a run whose switch is sharp. A claim whose verdict changes "
        "along its row depends on the threshold and not on the runs alone"
        + (
            f" ({', '.join(f'{sign} {kind}' for kind, sign in SIGNS.items())})."
            if verdict_panel is not None
            else "."
        )
    )
    return Figure(name, title, caption, tuple(panels))


def _verdicts(verdicts: tuple[Verdict, ...]) -> Panel | None:
    """Heat map of the verdicts at other thresholds; None when none were computed."""
    told = {
        own.claim: {at.setting: at.verdict for at in own.stability}
        for own in verdicts
        if own.stability
    }
    settings = tuple(dict.fromkeys(setting for row in told.values() for setting in row))
    if not told:
        return None
    values = np.full((len(told), len(settings)), np.nan)
    texts = {}
    for row, kinds in enumerate(reversed(told.values())):
        for column, setting in enumerate(settings):
            kind = kinds.get(setting)
            if kind is not None:
                values[row, column] = SCORES.get(kind, np.nan)
                texts[row, column] = SIGNS[kind]
    return Panel(
        Axis("threshold, evaluations it must hold", categories=settings),
        Axis("", categories=tuple(reversed(told))),
        (Cells(values, texts, diverging_at=0.0),),
        title="Verdict at each threshold",
    )
