"""When a metric reaches its threshold and stays there: interval- and right-censored steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nht_theory.conventions import Thresholds
from nht_theory.errors import DomainError
from nht_theory.estimators.results import Crossing
from nht_theory.runs import columns
from nht_theory.runs.run import Run, Series


def first_persistent(reached: np.ndarray, persistence: int) -> int | None:
    """Index at which ``reached`` first holds for ``persistence`` entries in a row.

    Args:
        reached: booleans, shape [n].
        persistence: at least 1.

    Example:
        >>> first_persistent(np.array([False, True, False, True, True]), persistence=2)
        3
        >>> first_persistent(np.array([False, True]), persistence=2) is None
        True
    """
    if persistence < 1:
        raise DomainError(f"persistence is {persistence}", remedy="it must be at least 1")
    if reached.size < persistence:
        return None
    held = reached[: reached.size - persistence + 1]
    for ahead in range(1, persistence):
        held = held & reached[ahead : ahead + held.size]
    found = np.flatnonzero(held)
    return int(found[0]) if found.size else None


def crossing_of_series(
    steps: np.ndarray, series: Series, *, column: str, threshold: float, persistence: int = 1
) -> Crossing | None:
    """First evaluation at which ``series`` is at or above ``threshold`` and stays there.

    Evaluations whose value is not finite were not evaluations of this metric and are left out,
    so that the interval in which the event lies widens instead of closing on a guess.

    Args:
        steps: evaluated steps, shape [n].
        series: the metric, shape [n].
        column, threshold, persistence: recorded in the result.

    Returns:
        The crossing; its ``step`` is None when the event was not seen. Where the last
        evaluations are above the level but too few to count, the run is censored at the last
        evaluation below it. ``earlier_step`` is -1 when already the first evaluation is above
        the level. None if no evaluation is finite.

    Source: THEORY.md section 8 (definition of T_mem and T_gen in arXiv 2603.13331).

    Example:
        >>> crossing_of_series(np.array([0, 200, 400]), np.array([0.1, 0.5, 1.0]),
        ...                    column="train_accuracy", threshold=0.99)
        Crossing(column='train_accuracy', threshold=0.99, persistence=1, step=400,
        earlier_step=200)
    """
    finite = np.isfinite(series)
    if not finite.any():
        return None
    evaluated, reached = steps[finite], series[finite] >= threshold
    index = first_persistent(reached, persistence)
    if index is None:
        below = np.flatnonzero(~reached)
        last_below = int(evaluated[below[-1]]) if below.size else -1
        return Crossing(column, threshold, persistence, None, last_below)
    earlier = int(evaluated[index - 1]) if index else -1
    return Crossing(column, threshold, persistence, int(evaluated[index]), earlier)


def crossing(run: Run, column: str, threshold: float, persistence: int = 1) -> Crossing | None:
    """:func:`crossing_of_series` of one column of a run; None where it is not logged."""
    if not run.has(column):
        return None
    return crossing_of_series(
        run.steps, run.column(column), column=column, threshold=threshold, persistence=persistence
    )


def memorization(run: Run, thresholds: Thresholds) -> Crossing | None:
    """When training accuracy reaches its threshold; None where it is not logged."""
    return crossing(run, columns.TRAIN_ACCURACY, thresholds.train_accuracy, thresholds.persistence)


def generalization(run: Run, thresholds: Thresholds) -> Crossing | None:
    """When held-out accuracy reaches its threshold; None where it is not logged."""
    return crossing(
        run, columns.HELDOUT_ACCURACY, thresholds.heldout_accuracy, thresholds.persistence
    )


COLLAPSED = 0.5
"""Share of its threshold below which training accuracy stays where a run lost what it had
memorised."""


def collapse_step(run: Run, memorized: Crossing | None) -> int | None:
    """First evaluation from which a run that had memorised stays far below it to its end.

    Example:
        >>> run = Run("r", None, np.arange(5), {"train_accuracy": np.array([0, 1, 1, 0.1, 0.1])})
        >>> collapse_step(run, memorization(run, Thresholds()))
        3
    """
    if memorized is None or memorized.step is None:
        return None
    series = run.column(memorized.column)
    finite = np.isfinite(series)
    steps, low = run.steps[finite], series[finite] < COLLAPSED * memorized.threshold
    if not low[-1]:
        return None
    held = np.flatnonzero(~low)
    return int(steps[held[-1] + 1])


def censored_at_collapse(event: Crossing | None, collapse: int | None, run: Run) -> Crossing | None:
    """An event that was not seen, censored at the last evaluation before the collapse: a run that
    has lost what it had memorised no longer waits for the switch."""
    if event is None or event.step is not None or collapse is None:
        return event
    before = int(run.steps[run.steps < collapse][-1])
    return replace(event, earlier_step=min(event.earlier_step, before))


def delay_bounds(first: Crossing, second: Crossing) -> tuple[float, float] | None:
    """Bounds on the steps from one event to the next that the evaluation grid leaves.

    Both events are known only up to an evaluation, so the delay lies in
    (second.earlier_step - first.step, second.step - first.earlier_step); the upper bound is
    infinite when the second event is right-censored.

    Returns:
        (lower, upper) with lower >= 0, or None when the first event was not seen.

    Source: derived here.

    Example:
        >>> memorized = Crossing("train_accuracy", 0.99, 1, 800, 600)
        >>> delay_bounds(memorized, Crossing("heldout_accuracy", 0.99, 1, 1800, 1600))
        (800.0, 1200.0)
        >>> delay_bounds(memorized, Crossing("heldout_accuracy", 0.99, 1, None, 3000))
        (2200.0, inf)
    """
    if first.step is None:
        return None
    lower = max(float(second.earlier_step - first.step), 0.0)
    upper = np.inf if second.step is None else float(second.step - max(first.earlier_step, 0))
    return lower, max(float(upper), 0.0)
