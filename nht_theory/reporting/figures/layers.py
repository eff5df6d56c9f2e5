"""Layers in time: which group's norm moves when, and in which order they escape."""

from __future__ import annotations

import numpy as np

from nht_theory.estimators.groups import ESCAPED_SHARE, escape, layer_groups
from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates
from nht_theory.reporting.categories import categorize, name_of_run
from nht_theory.reporting.marks import (
    INK,
    Axis,
    Cells,
    Figure,
    Line,
    Mark,
    Numbers,
    Panel,
    Points,
    Undrawn,
    style,
)
from nht_theory.reporting.scales import tick_label
from nht_theory.runs import columns
from nht_theory.runs.run import Run

MOST_COLUMNS = 40


def layer_heat_map(estimated: StudyEstimates) -> Figure | Undrawn:
    """Each layer's norm over its peak, in time, for one run; and escape steps over all runs."""
    name, title = "layers", "Layers in time and their order of escape"
    layered = [
        (run, own)
        for run, own in estimated.pairs()
        if own.memorization_step is not None and len(layer_groups(run)) > 1
    ]
    if not layered:
        return Undrawn(name, title, "no run that memorises logs norms of two or more layers")
    shown = next(((run, own) for run, own in layered if own.delay), layered[0])
    caption = (
        f"Left: V of each layer over its own peak, for {name_of_run(shown[0])}. Right: the step "
        f"since memorisation at which each layer's V has fallen below {ESCAPED_SHARE:.0%} of its "
        "peak, one line a run from input to output. The paper expects lines that fall to the "
        "right. A cross: not escaped when last seen."
    )
    return Figure(name, title, caption, (_heat(*shown), _order(estimated, layered)))


def _heat(run: Run, own: RunEstimate) -> Panel:
    layers = layer_groups(run)
    places = np.unique(np.linspace(0, len(run) - 1, min(MOST_COLUMNS, len(run))).astype(int))
    rows = [
        run.column(columns.of_group(columns.SQUARED_NORM, layer.name))[places] for layer in layers
    ]
    values = np.array([row / np.nanmax(row) for row in rows])
    axis = Axis("")
    steps = tuple(tick_label(axis, float(step)) for step in run.steps[places])
    title = f"memorises at {own.memorization_step:,}" + (
        f", generalises at {own.generalization_step:,}" if own.generalization_step else ""
    )
    return Panel(
        Axis("training step", categories=steps),
        Axis("layer, from input up", categories=tuple(layer.name for layer in layers)),
        (Cells(values),),
        title=title,
    )


def _order(estimated: StudyEstimates, layered: list[tuple[Run, RunEstimate]]) -> Panel:
    names = tuple(layer.name for layer in layer_groups(layered[0][0]))
    categories = categorize(estimated.study)
    marks: list[Mark] = []
    for run, own in layered:
        layers, start = layer_groups(run), own.memorization_step or 0
        if tuple(layer.name for layer in layers) != names:
            continue
        times, censored = _escapes(run, names, start)
        category = categories.of_run[run.name]
        colour, dash = style(category)
        depth = np.arange(len(names), dtype=np.float64)
        marks.append(Line(run.name, depth, times, colour, dash, categories.names[category]))
        if censored.any():
            keys = (run.name,) * int(censored.sum())
            marks.append(Points(keys, depth[censored], times[censored], colour=INK, symbol="cross"))
    return Panel(
        Axis("layer, from input to output", categories=names),
        Axis("steps from memorisation to escape"),
        tuple(marks),
    )


def _escapes(run: Run, names: tuple[str, ...], start: int) -> tuple[Numbers, np.ndarray]:
    """Escape step of each layer since ``start``, and which are censored at the last step."""
    times, censored = [], []
    for layer in names:
        found = escape(run, layer, start)
        if isinstance(found, Missing):
            times.append(np.nan)
            censored.append(False)
        else:
            step = found.earlier_step if found.step is None else found.step
            times.append(float(step - start))
            censored.append(found.step is None)
    return np.array(times), np.array(censored, dtype=bool)
