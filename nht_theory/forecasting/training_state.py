"""The state of a run at a moment, as numbers a regression can use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.estimators.crossing_time import log_odds
from nht_theory.forecasting.bayesian_ridge import Array
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.runs import columns
from nht_theory.runs.run import Run

LAG = 0.1
"""Span, as a share of the expected delay, over which slopes are read."""

_SMALLEST = 1e-12


def _unchanged(values: Array) -> Array:
    return values


def _logarithm(values: Array) -> Array:
    return np.asarray(np.log(np.maximum(values, _SMALLEST)))


_SERIES: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "held-out loss": (columns.HELDOUT_LOSS, _unchanged),
    "ln held-out loss": (columns.HELDOUT_LOSS, _logarithm),
    "log-odds held-out accuracy": (columns.HELDOUT_ACCURACY, log_odds),
    "ln train loss": (columns.TRAIN_LOSS, _logarithm),
    "log-odds train accuracy": (columns.TRAIN_ACCURACY, log_odds),
    "ln V": (columns.SQUARED_NORM, _logarithm),
}
_SLOPES = ("held-out loss", "log-odds held-out accuracy", "ln train loss", "ln V")
_FALL = "fall of ln V since memorisation"


@dataclass(frozen=True, eq=False)
class StateSeries:
    """A run's state features on its own evaluations, ready to be read at any moment.

    Attributes:
        names: features read directly, in order.
        steps: evaluations, shape [n].
        table: their values, shape [n, len(names)].
        start: when the run memorised.
        shortest: least span for a slope: the evaluation interval.
    """

    names: tuple[str, ...]
    steps: Array
    table: Array
    start: float
    shortest: float

    @property
    def features(self) -> tuple[str, ...]:
        """Names of what :meth:`at` returns, in order."""
        slopes = tuple(f"slope of {name}" for name in _SLOPES if name in self.names)
        return (*self.names, *slopes, *((_FALL,) if "ln V" in self.names else ()))

    def at(self, time: float, expected_delay: float) -> Array:
        """Features at a moment, shape [len(features)]; between evaluations, interpolated.

        Args:
            time: step, as a real number.
            expected_delay: in steps; slopes are per expected delay, read over :data:`LAG` of it.
        """
        now = self._read(time)
        lag = max(LAG * expected_delay, self.shortest)
        before = self._read(time - lag)
        moving = [self.names.index(name) for name in _SLOPES if name in self.names]
        parts = [now, (now - before)[moving] * (expected_delay / lag)]
        if "ln V" in self.names:
            place = self.names.index("ln V")
            parts.append(np.array([now[place] - self._read(self.start)[place]]))
        return np.concatenate(parts)

    def _read(self, time: float) -> Array:
        return np.array([np.interp(time, self.steps, series) for series in self.table.T])


def state_names(runs: Sequence[Run], logged: Collection[str]) -> tuple[str, ...]:
    """State features whose columns are among ``logged`` and which every run logs too."""
    return tuple(
        name
        for name, (column, _) in _SERIES.items()
        if column in logged and all(run.has(column) for run in runs)
    )


def state_series(one: ObservedRun, names: tuple[str, ...]) -> StateSeries:
    """The state features of a run; evaluations at which one is not finite are left out."""
    run = one.run
    with np.errstate(invalid="ignore"):
        table = np.column_stack(
            [
                transform(run.column(column))
                for column, transform in (_SERIES[name] for name in names)
            ]
        )
    keep = np.isfinite(table).all(axis=1)
    steps = run.steps[keep].astype(np.float64)
    gaps = np.diff(steps)
    return StateSeries(
        names=names,
        steps=steps,
        table=table[keep],
        start=float(one.memorization_time or 0.0),
        shortest=float(gaps.min()) if gaps.size else 1.0,
    )
