"""Share of runs that have not switched yet, by category: censored runs count until last seen."""

from __future__ import annotations

import numpy as np

from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.survival import kaplan_meier
from nht_theory.reporting.categories import categorize
from nht_theory.reporting.marks import (
    Axis,
    Band,
    Figure,
    Line,
    Mark,
    Numbers,
    Panel,
    Points,
    Undrawn,
    style,
)
from nht_theory.runs.run import Run

MOST_BANDS = 4
"""Intervals are drawn for so few curves only; more would hide one another."""


def survival(estimated: StudyEstimates) -> Figure | Undrawn:
    """Kaplan-Meier curves of the delay between memorising and generalising."""
    name, title = "survival", "Share of runs still on the shortcut"
    categories = categorize(estimated.study)
    delays: dict[int, list[tuple[Run, float, bool]]] = {}
    unknown = 0
    for run, own in estimated.pairs():
        start = own.memorization_step
        if start is None:
            continue
        if own.unknown:
            unknown += 1
            continue
        switched = own.generalization_step is not None
        end = own.generalization_step if switched else int(run.steps[-1])
        time = float(max((end or 0) - start, 0))
        delays.setdefault(categories.of_run[run.name], []).append((run, time, switched))
    if not delays:
        return Undrawn(name, title, "no run both memorises and logs held-out accuracy")
    marks: list[Mark] = []
    horizon = max(time for found in delays.values() for _, time, _ in found)
    for category in sorted(delays):
        label = categories.names[category]
        marks += _curve(delays[category], category, label, horizon, band=len(delays) <= MOST_BANDS)
    censored = sum(not switched for found in delays.values() for _, _, switched in found)
    caption = (
        f"Kaplan-Meier estimate over {sum(map(len, delays.values()))} runs that memorised, "
        f"{censored} of them censored: a cross stands where such a run was last seen. A curve that "
        "stays up is a category whose runs do not switch within their budget."
    )
    if unknown:
        caption += f" Not drawn: {unknown} that log no held-out accuracy (unknown)."
    panel = Panel(
        Axis("steps since memorisation"),
        Axis("share still on the shortcut", limits=(0.0, 1.03)),
        tuple(marks),
    )
    return Figure(name, title, caption, (panel,))


def _curve(
    found: list[tuple[Run, float, bool]], category: int, label: str, horizon: float, *, band: bool
) -> list[Mark]:
    curve = kaplan_meier([time for _, time, _ in found], [seen for _, _, seen in found])
    last = max(time for _, time, _ in found)
    colour, dash = style(category)
    x, y = _staircase(curve.time, curve.survival, min(last, horizon), 1.0)
    marks: list[Mark] = [Line(label, x, y, colour, dash, label, emphasis=True)]
    if band and len(found) > 1:
        low = _staircase(curve.time, np.nan_to_num(curve.low, nan=0.0), last, 1.0)[1]
        high = _staircase(
            curve.time, np.where(np.isnan(curve.high), curve.survival, curve.high), last, 1.0
        )[1]
        marks.insert(0, Band(x, np.minimum(low, y), np.maximum(high, y), colour))
    unseen = [(run.name, time) for run, time, switched in found if not switched]
    if unseen:
        keys, times = zip(*unseen, strict=True)
        heights = np.array([curve.at(time) for time in times])
        marks.append(
            Points(keys, np.array(times), heights, colour=colour, symbol="cross", legend="censored")
        )
    return marks


def _staircase(
    times: Numbers, levels: Numbers, last: float, first_level: float
) -> tuple[Numbers, Numbers]:
    """Corners of a step function that starts at ``first_level`` and ends at ``last``."""
    x = np.concatenate([[0.0], np.repeat(times, 2), [last]])
    y = np.concatenate(
        [
            [first_level],
            np.repeat(np.concatenate([[first_level], levels]), 2)[1:-1],
            [levels[-1] if levels.size else first_level],
        ]
    )
    return x, y
