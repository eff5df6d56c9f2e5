"""V against reliance on the shortcut: does a level of the norm tell the two apart?"""

from __future__ import annotations

from nht_theory.estimators.results import Missing, StudyEstimates
from nht_theory.estimators.separation import SPLIT, shortcut_reliance
from nht_theory.reporting.categories import categorize
from nht_theory.reporting.marks import Axis, Figure, Line, Mark, Panel, Rule, Undrawn, style
from nht_theory.runs import columns


def separation_plot(estimated: StudyEstimates) -> Figure | Undrawn:
    """Each run's path through the plane of V and phi, from memorisation on."""
    name, title = "separation", "Norm against reliance on the shortcut"
    categories = categorize(estimated.study)
    marks: list[Mark] = []
    sources: dict[str, None] = {}
    for run, own in estimated.pairs():
        found = shortcut_reliance(run)
        start = own.memorization_step
        if isinstance(found, Missing) or start is None or not run.has(columns.SQUARED_NORM):
            continue
        phi, source = found
        sources[source] = None
        since = run.steps >= start
        category = categories.of_run[run.name]
        colour, dash = style(category)
        label = categories.names[category]
        marks.append(Line(run.name, run.squared_norm[since], phi[since], colour, dash, label))
    if not marks:
        return Undrawn(name, title, "no run memorises and logs V with the accuracies that give φ")
    marks.append(Rule("y", SPLIT, "shortcut above, structure below"))
    caption = (
        f"φ is {' or '.join(sources)}: 1 on the shortcut, 0 on the structure. Each line is a run "
        "from memorisation on. Where the norm separates the two cleanly, all runs of a "
        "configuration cross the middle at one V; where lines cross it anywhere, V does not tell."
    )
    panel = Panel(
        Axis("V = ‖θ‖², squared norm", log=True),
        Axis("φ, reliance on the shortcut", limits=(-0.02, 1.02)),
        tuple(marks),
    )
    return Figure(name, title, caption, (panel,))
