"""How V moves in time: of all parameters, per group, and beside the accuracies."""

from __future__ import annotations

import numpy as np

from nht_theory.estimators.results import StudyEstimates
from nht_theory.reporting.categories import Categories, categorize
from nht_theory.reporting.marks import (
    INK,
    Axis,
    Figure,
    Line,
    Mark,
    Panel,
    Points,
    Undrawn,
    style,
)
from nht_theory.runs import columns
from nht_theory.runs.run import Run

STEP_AXIS_SPREAD = 20.0
"""Above this ratio between the longest and the shortest run, steps go on a log axis."""
MOST_GROUPS = 12
VALUE_AXIS = Axis("V = ‖θ‖², squared norm", log=True)
ACCURACIES = (
    (columns.TRAIN_ACCURACY, "training"),
    (columns.HELDOUT_ACCURACY, "held-out"),
    (columns.SHORTCUT_ACCURACY, "shortcut"),
    (columns.WORST_GROUP_ACCURACY, "worst group"),
)


def step_axis(estimated: StudyEstimates) -> Axis:
    """Steps, on a log axis where runs differ much in length."""
    last = [float(run.steps[-1]) for run in estimated.study.runs if len(run) and run.steps[-1] > 0]
    wide = bool(last) and max(last) > STEP_AXIS_SPREAD * min(last)
    return Axis("training step", log=wide)


def _curves(estimated: StudyEstimates, column: str, categories: Categories) -> list[Mark]:
    curves: list[Mark] = []
    for run in estimated.study.runs:
        if not run.has(column):
            continue
        category = categories.of_run[run.name]
        colour, dash = style(category)
        curves.append(
            Line(
                key=run.name,
                x=run.steps.astype(np.float64),
                y=run.column(column),
                colour=colour,
                dash=dash,
                legend=categories.names[category],
            )
        )
    return curves


def _events(estimated: StudyEstimates, column: str = columns.SQUARED_NORM) -> list[Mark]:
    """T_mem and T_gen on the curves of V, in ink, so that they stand out from the curves."""
    marks: list[Mark] = []
    for legend, symbol, field in (
        ("memorises (T_mem)", "circle", "memorization_step"),
        ("generalises (T_gen)", "triangle", "generalization_step"),
    ):
        placed = [
            (run.name, float(step), _value_at(run, step, column))
            for run, estimate in estimated.pairs()
            if (step := getattr(estimate, field)) is not None and run.has(column)
        ]
        if placed:
            keys, x, y = zip(*placed, strict=True)
            marks.append(
                Points(keys, np.array(x), np.array(y), colour=INK, symbol=symbol, legend=legend)
            )
    return marks


def _value_at(run: Run, step: int, column: str) -> float:
    place = int(np.searchsorted(run.steps, step))
    return float(run.column(column)[min(place, len(run) - 1)])


def norm_trajectories(estimated: StudyEstimates) -> Figure | Undrawn:
    """V of all parameters in time, with both events of every run."""
    name, title = "trajectories", "Squared norm in time"
    curves = _curves(estimated, columns.SQUARED_NORM, categorize(estimated.study))
    if not curves:
        return Undrawn(name, title, "no run logs a norm")
    thresholds = estimated.thresholds
    unknown = sum(own.unknown for own in estimated.estimates)
    caption = (
        f"V of all parameters, one line a run ({len(curves)}), log scale. A dot marks the first "
        f"evaluation with training accuracy of at least {thresholds.train_accuracy:g}, a triangle "
        f"the first with held-out accuracy of at least {thresholds.heldout_accuracy:g}. "
        "A run without a triangle had not generalised when it was last seen"
        + (
            f", or ({unknown} runs) logs no held-out accuracy, so that it is unknown."
            if unknown
            else "."
        )
    )
    panel = Panel(step_axis(estimated), VALUE_AXIS, (*curves, *_events(estimated)))
    return Figure(name, title, caption, (panel,))


def group_trajectories(estimated: StudyEstimates) -> Figure | Undrawn:
    """V of each parameter group in time."""
    name, title = "groups", "Squared norm per parameter group"
    study = estimated.study
    groups = list(dict.fromkeys(group for run in study.runs for group in run.norm_groups()))
    if not groups:
        return Undrawn(name, title, "no run logs norms per group (squared_norm/GROUP)")
    categories, axis = categorize(study), step_axis(estimated)
    shown = groups[:MOST_GROUPS]
    panels = tuple(
        Panel(
            axis,
            Axis("V", log=True),
            (*_curves(estimated, column, categories), *_events(estimated, column)),
            title=group,
        )
        for group in shown
        for column in [columns.of_group(columns.SQUARED_NORM, group)]
    )
    rest = f" Not drawn: {', '.join(groups[MOST_GROUPS:])}." if len(groups) > MOST_GROUPS else ""
    caption = (
        "V of each group of parameters, one line a run, log scale, with the same events. Where "
        "one group carries most of V, the total's rate is that group's and says little about the "
        f"others.{rest}"
    )
    return Figure(name, title, caption, panels)


def accuracies(estimated: StudyEstimates) -> Figure | Undrawn:
    """Accuracies beside V on the same steps."""
    name, title = "accuracy", "Accuracy beside the norm"
    study = estimated.study
    categories, axis = categorize(study), step_axis(estimated)
    panels = []
    for column, label in ACCURACIES:
        curves = _curves(estimated, column, categories)
        if curves:
            shared = Axis("accuracy", limits=(0.0, 1.02))
            panels.append(Panel(axis, shared, tuple(curves), title=f"{label} accuracy"))
    if not panels:
        return Undrawn(name, title, "no run logs an accuracy")
    norms = _curves(estimated, columns.SQUARED_NORM, categories)
    if norms:
        whole = (*norms, *_events(estimated))
        panels.insert(0, Panel(axis, VALUE_AXIS, whole, title="squared norm V"))
    caption = (
        "The same runs, steps and colours in each panel. Under the law the held-out accuracy "
        "rises when V has come down to the structured solution's norm."
    )
    return Figure(name, title, caption, tuple(panels))
