"""The head monitor: does the classification head's norm peak before the total and the switch?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.estimators.results import Missing, RunEstimate, Unavailable
from nht_theory.runs import columns
from nht_theory.runs.run import Run

HEAD = "head"


@dataclass(frozen=True)
class HeadLead:
    """How early the head's norm turned.

    Attributes:
        head_peak: step of the head's largest V since memorisation.
        over_total: steps from it to the peak of the total V.
        over_switch: steps from it to generalisation; None when that was not reached.
    """

    head_peak: int
    over_total: int
    over_switch: int | None


def head_lead(run: Run, own: RunEstimate) -> HeadLead | Missing:
    """Lead of the head's peak, in steps, positive when the head turns first.

    Peaks are looked for from the first evaluation of a trained model on, since the initial norm
    is no peak of training; a peak at the last evaluation is no turn.

    Source: arXiv 2603.07323, head monitor; THEORY.md section 9.

    Example:
        >>> from nht_theory.estimators.summary import estimate_run
        >>> run = Run("r", None, np.arange(5), {
        ...     "train_accuracy": np.ones(5), "heldout_accuracy": np.array([0, 0, 0, 0, 1.0]),
        ...     "squared_norm": np.array([1, 2, 3, 4, 3.0]),
        ...     "squared_norm/head": np.array([1, 3, 2, 1, 1.0])})
        >>> head_lead(run, estimate_run(run))
        HeadLead(head_peak=1, over_total=2, over_switch=3)
    """
    head = columns.of_group(columns.SQUARED_NORM, HEAD)
    if not run.has(head, columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, f"{head} beside {columns.SQUARED_NORM}")
    if own.memorization_step is None:
        return Missing(Unavailable.NEVER_REACHED, "memorisation")
    peaks = []
    for column in (head, columns.SQUARED_NORM):
        series = run.column(column)
        keep = np.isfinite(series) & (run.steps > 0)
        if not keep.any():
            return Missing(Unavailable.NOT_FINITE, column)
        place = int(np.argmax(series[keep]))
        if column == head and place == int(keep.sum()) - 1:
            return Missing(Unavailable.GROWING, f"{column} is largest at its last evaluation")
        peaks.append(int(run.steps[keep][place]))
    switch = own.generalization_step
    return HeadLead(
        head_peak=peaks[0],
        over_total=peaks[1] - peaks[0],
        over_switch=None if switch is None else switch - peaks[0],
    )
