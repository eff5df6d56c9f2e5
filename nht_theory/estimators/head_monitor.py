"""The head monitor: does the classification head's norm peak before the total and the switch?"""

from __future__ import annotations

from dataclasses import dataclass

from nht_theory.estimators.results import Missing, RunEstimate, Unavailable
from nht_theory.estimators.rise_and_fall import RiseAndFall, rise_and_fall
from nht_theory.runs import columns
from nht_theory.runs.run import Run

HEAD = "head"


@dataclass(frozen=True)
class HeadLead:
    """How early the head's norm turned.

    Attributes:
        head_peak: step of the peak of the head's V.
        over_total: steps from it to the peak of the total V, or to the run's end where the total
            has not turned.
        over_switch: steps from it to generalisation; None when that was not reached.
    """

    head_peak: int
    over_total: int
    over_switch: int | None


def head_lead(run: Run, own: RunEstimate) -> HeadLead | Missing:
    """Lead of the head's peak, in steps, positive when the head turns first.

    A peak is a rise and a fall beyond the noise of the series
    (:func:`nht_theory.estimators.rise_and_fall.rise_and_fall`). A total norm that still grows at
    its end has not turned yet; one that never rises has no peak to lead.

    Returns:
        Missing where a norm is not logged, where either has no peak, or where the run did not
        memorise (or does not log whether it did).

    Source: arXiv 2603.07323, head monitor; THEORY.md section 9.

    Example:
        >>> import numpy as np
        >>> from nht_theory.estimators.summary import estimate_run
        >>> steps = np.arange(9)
        >>> run = Run("r", None, steps, {
        ...     "train_accuracy": np.ones(9), "heldout_accuracy": (steps > 7) * 1.0,
        ...     "squared_norm": 9.0 - np.abs(steps - 6),
        ...     "squared_norm/head": 9.0 - np.abs(steps - 3)})
        >>> head_lead(run, estimate_run(run))
        HeadLead(head_peak=3, over_total=3, over_switch=5)
    """
    head = columns.of_group(columns.SQUARED_NORM, HEAD)
    if not run.has(head, columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, f"{head} beside {columns.SQUARED_NORM}")
    if own.memorization is None:
        return Missing(Unavailable.NO_COLUMN, columns.TRAIN_ACCURACY)
    if own.memorization_step is None:
        return Missing(Unavailable.NEVER_REACHED, "memorisation")
    of_head, of_total = rise_and_fall(run, head), rise_and_fall(run)
    head_peak = _peak(of_head, head)
    total = _peak(of_total, columns.SQUARED_NORM)
    if isinstance(head_peak, Missing):
        return head_peak
    if isinstance(total, Missing):
        if total.reason is not Unavailable.GROWING:
            return total
        total = int(run.steps[-1])
    switch = own.generalization_step
    return HeadLead(
        head_peak=head_peak,
        over_total=total - head_peak,
        over_switch=None if switch is None else switch - head_peak,
    )


def _peak(found: RiseAndFall | Missing, column: str) -> int | Missing:
    """Step of the peak, or why there is none: V has not fallen yet, or never rose."""
    if isinstance(found, Missing):
        return found
    if found.peak_step is not None:
        return found.peak_step
    if found.rises:
        return Missing(Unavailable.GROWING, f"{column} has not fallen by its end")
    return Missing(Unavailable.NO_PEAK, column)
