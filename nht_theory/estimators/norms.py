"""V at the moments the law speaks of: at memorisation, at generalisation, peak, end."""

from __future__ import annotations

import numpy as np

from nht_theory.estimators.crossing_time import crossing_time
from nht_theory.estimators.results import Crossing, Estimate, Interval, Missing, Unavailable
from nht_theory.estimators.rise_and_fall import rise_and_fall
from nht_theory.runs import columns
from nht_theory.runs.run import Run, Series

UNIT = "V"


def usable(squared_norm: Series) -> np.ndarray:
    """Where V is finite and positive, so that ln V exists; booleans, shape [n]."""
    positive: np.ndarray = np.isfinite(squared_norm) & (squared_norm > 0)
    return positive


def squared_norm_at(run: Run, event: Crossing | None) -> Estimate | Missing:
    """V when a metric crossed its threshold, with the interval that the evaluation grid leaves.

    The time of the crossing is :func:`crossing_time`'s (accuracy in log-odds) and ln V is linear
    between the evaluations around it: V at the first evaluation after the event moves with the
    grid, by a third between grids of 10 and 500 steps on the same run. The interval holds both
    evaluations, within which V lies whenever it is monotone between them.

    Source: THEORY.md section 8 and "Corrections after the first version".

    Example:
        >>> run = Run("r", None, np.array([0, 100]), {"train_accuracy": np.array([0.0, 1.0]),
        ...           "squared_norm": np.array([100.0, 50.0])})
        >>> at = squared_norm_at(run, Crossing("train_accuracy", 0.5, 1, 100, 0))
        >>> round(at.value, 3), at.interval.low, at.interval.high
        (70.711, 50.0, 100.0)
    """
    if event is None:
        return Missing(Unavailable.NO_COLUMN, "the metric that defines the event")
    if not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, columns.SQUARED_NORM)
    if event.step is None:
        return Missing(
            Unavailable.NEVER_REACHED, f"{event.column} >= {event.threshold} by {run.steps[-1]}"
        )
    keep = usable(run.squared_norm)
    steps, squared_norm = run.steps[keep], run.squared_norm[keep]
    after = int(np.searchsorted(steps, event.step))
    if after == len(steps):
        return Missing(Unavailable.NOT_FINITE, f"V at or after step {event.step}")
    before = int(np.searchsorted(steps, event.earlier_step, side="right")) - 1
    value = squared_norm_at_time(run, crossing_time(run, event))
    if before < 0 or value is None:
        nearest = float(squared_norm[after])
        return Estimate(nearest, UNIT, f"V at step {steps[after]}; no V before the event", 1)
    ends = squared_norm[before : after + 1]
    return Estimate(
        value=value,
        unit=UNIT,
        method=f"ln V interpolated where the log-odds of {event.column} pass {event.threshold} "
        f"between steps {event.earlier_step} and {event.step}",
        n=len(ends),
        interval=Interval(
            float(ends.min()),
            float(ends.max()),
            1.0,
            "the evaluations around the event (V monotone between them)",
        ),
    )


def squared_norm_at_time(run: Run, time: float | None) -> float | None:
    """V at a time between evaluations, ln V linear in the step between the two around it.

    Returns:
        None where V or the time is unknown; before the first and after the last evaluation of V
        the nearest one.

    Example:
        >>> run = Run("r", None, np.array([0, 100]), {"squared_norm": np.array([100.0, 1.0])})
        >>> round(squared_norm_at_time(run, 50.0), 9)
        10.0
    """
    if time is None or not run.has(columns.SQUARED_NORM):
        return None
    keep = usable(run.squared_norm)
    if not keep.any():
        return None
    return float(np.exp(np.interp(time, run.steps[keep], np.log(run.squared_norm[keep]))))


def peak(run: Run, since: int = 0) -> Estimate | Missing:
    """Largest V from step ``since`` on."""
    return _extreme(run, since, "peak")


def final(run: Run) -> Estimate | Missing:
    """V at the last evaluation that logs it."""
    return _extreme(run, 0, "final")


def _extreme(run: Run, since: int, which: str) -> Estimate | Missing:
    if not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, columns.SQUARED_NORM)
    keep = usable(run.squared_norm) & (run.steps >= since)
    steps, series = run.steps[keep], run.squared_norm[keep]
    if not steps.size:
        return Missing(Unavailable.NOT_FINITE, f"V from step {since} on")
    place = int(np.argmax(series)) if which == "peak" else -1
    dropped = int((~usable(run.squared_norm)).sum())
    return Estimate(
        value=float(series[place]),
        unit=UNIT,
        method=f"{'largest V, at' if which == 'peak' else 'V at the last evaluation,'} step "
        f"{steps[place]}",
        n=int(steps.size),
        left_out=(f"{dropped} evaluations without finite, positive V",) if dropped else (),
    )


def plateau(run: Run, share: float = 0.1) -> Estimate | Missing:
    """Median V over the last ``share`` of the evaluations (at least three).

    Example:
        >>> run = Run("r", None, np.arange(30), {"squared_norm": np.repeat([9.0, 2.0], 15)})
        >>> plateau(run).value
        2.0
    """
    if not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, columns.SQUARED_NORM)
    series = run.squared_norm[usable(run.squared_norm)]
    count = max(3, round(share * series.size))
    if series.size < count:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{series.size} evaluations of V")
    tail = series[-count:]
    return Estimate(
        float(np.median(tail)),
        UNIT,
        f"median V over the last {count} evaluations",
        count,
        Interval(float(tail.min()), float(tail.max()), 1.0, "range over those evaluations"),
    )


def turning_step(run: Run) -> int | None:
    """Step of the peak of V; None where V does not rise and then fall beyond its own noise, or
    cannot be judged (:func:`nht_theory.estimators.rise_and_fall.rise_and_fall`).

    The start of a norm that falls from its initialisation is no peak: no rise leads to it.

    Example:
        >>> steps = np.arange(9)
        >>> rising = np.array([9, 4, 5, 6, 7, 6, 5, 4, 3.0])
        >>> turning_step(Run("r", None, steps, {"squared_norm": rising}))
        4
        >>> turning_step(Run("r", None, steps, {"squared_norm": 9.0 - steps})) is None
        True
    """
    found = rise_and_fall(run)
    return None if isinstance(found, Missing) else found.peak_step
