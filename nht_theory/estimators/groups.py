"""Parameter groups: each one's own rate, who carries V, and in which order they escape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.estimators.contraction import Window, signed_rate
from nht_theory.estimators.results import Crossing, Estimate, Missing, Unavailable
from nht_theory.runs import columns
from nht_theory.runs.run import ParameterGroup, Run

ESCAPED_SHARE = 0.9
"""A group has escaped once its V has fallen below this share of its peak since memorisation."""
LAYERS = "layer"
"""Name of the partition into layers (:class:`ParameterGroup`)."""


@dataclass(frozen=True)
class GroupRate:
    """Contraction of one parameter group over a window.

    Attributes:
        group: its name.
        rate: gamma of the group's V, per step, of either sign.
        share: of the total V at the window's start, between 0 and 1.
        contribution: to the total's contraction over the window: share lost by this group,
            (V_l(start) - V_l(end)) / V(start).
    """

    group: str
    rate: Estimate | Missing
    share: float
    contribution: float


def group_run(run: Run, group: str) -> Run:
    """The run with the group's squared norm in the place of the total."""
    column = columns.of_group(columns.SQUARED_NORM, group)
    return Run(
        name=f"{run.name}/{group}",
        source=run.source,
        steps=run.steps,
        values={**run.values, columns.SQUARED_NORM: run.column(column)},
        hyperparameters=run.hyperparameters,
        settled=run.settled,
    )


def group_rates(run: Run, window: Window) -> tuple[GroupRate, ...]:
    """Rates, shares and contributions of every group whose norm is logged.

    The total's one-step contraction is the V-weighted mean of the groups' (THEORY.md section
    5), so the contributions of a partition add up to the total's.

    Example:
        >>> run = Run("r", None, np.array([0, 100]), {
        ...     "squared_norm": np.array([10.0, 6.0]),
        ...     "squared_norm/embedding": np.array([8.0, 4.0]),
        ...     "squared_norm/head": np.array([2.0, 2.0])})
        >>> [(g.group, g.share, g.contribution) for g in group_rates(run, Window(0, 100, "all"))]
        [('embedding', 0.8, 0.4), ('head', 0.2, 0.0)]
    """
    inside = np.flatnonzero((run.steps >= window.first_step) & (run.steps <= window.last_step))
    if inside.size == 0 or not run.has(columns.SQUARED_NORM):
        return ()
    first, last = inside[0], inside[-1]
    total = float(run.squared_norm[first])
    found = []
    for group in run.norm_groups():
        series = run.column(columns.of_group(columns.SQUARED_NORM, group))
        found.append(
            GroupRate(
                group=group,
                rate=signed_rate(group_run(run, group), window),
                share=float(series[first]) / total,
                contribution=float(series[first] - series[last]) / total,
            )
        )
    return tuple(found)


def carrier(run: Run, step: int) -> tuple[str, float] | Missing:
    """The layer group that holds most of V at a step, and its share.

    Where one group carries most of V, the total's rate says little about the function
    (THEORY.md section 5).
    """
    layers = layer_groups(run)
    if not layers or not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, "squared norms of the layers")
    place = int(np.searchsorted(run.steps, step))
    if place == len(run):
        return Missing(Unavailable.NEVER_REACHED, f"step {step}")
    shares = {
        group.name: float(
            run.column(columns.of_group(columns.SQUARED_NORM, group.name))[place]
            / run.squared_norm[place]
        )
        for group in layers
    }
    largest = max(shares, key=lambda name: shares[name])
    return largest, shares[largest]


def layer_groups(run: Run) -> tuple[ParameterGroup, ...]:
    """Groups of the layer partition whose norm is logged, from input to output."""
    logged = set(run.norm_groups())
    layers = [
        group
        for group in run.groups
        if group.partition == LAYERS and group.depth is not None and group.name in logged
    ]
    return tuple(sorted(layers, key=lambda group: group.depth or 0))


def escape(run: Run, group: str, since: int) -> Crossing | Missing:
    """When a group's V has fallen below 90 % of its peak since step ``since``.

    Returns:
        a crossing whose ``step`` is None while it has not (right-censored); Missing where the
        group's norm is not logged.

    Source: derived here; the paper speaks of layers that escape first without defining it
    (arXiv 2603.07323, proposition 4.2).

    Example:
        >>> run = Run("r", None, np.arange(5), {"squared_norm/head": np.array([9, 10, 9.5, 8, 7])})
        >>> escape(run, "head", since=0).step
        3
    """
    column = columns.of_group(columns.SQUARED_NORM, group)
    if not run.has(column):
        return Missing(Unavailable.NO_COLUMN, column)
    keep = (run.steps >= since) & np.isfinite(run.column(column))
    steps, series = run.steps[keep], run.column(column)[keep]
    if not steps.size:
        return Missing(Unavailable.NOT_FINITE, f"{column} from step {since} on")
    fallen = np.flatnonzero(series < ESCAPED_SHARE * np.maximum.accumulate(series))
    if not fallen.size:
        return Crossing(column, ESCAPED_SHARE, 1, None, int(steps[-1]))
    place = int(fallen[0])
    return Crossing(column, ESCAPED_SHARE, 1, int(steps[place]), int(steps[place - 1]))
