"""From data to places on a panel: the limits of an axis, its ticks and their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.reporting.marks import Axis, Band, Cells, Mark, Numbers, Points, Rule


@dataclass(frozen=True)
class Scale:
    """Places data along one axis of a panel.

    Attributes:
        low, high: limits in data units.
        log: whether the axis is logarithmic.
        start, end: places of the limits, in the unit of the drawing.
    """

    low: float
    high: float
    log: bool
    start: float
    end: float

    def place(self, values: Numbers) -> Numbers:
        """Places of data values; NaN where a value cannot stand on the axis.

        Example:
            >>> Scale(1.0, 100.0, True, 0.0, 200.0).place(np.array([1.0, 10.0, -1.0]))
            array([  0., 100.,  nan])
        """
        low, high = self.low, self.high
        if self.log:
            values = np.log(np.where(values > 0, values, np.nan))
            low, high = math.log(low), math.log(high)
        return self.start + (values - low) / (high - low) * (self.end - self.start)


def _values(mark: Mark, axis: str) -> list[Numbers]:
    """Every number that a mark puts on one axis ("x" or "y")."""
    if isinstance(mark, Rule):
        return [np.array([mark.value])] if mark.axis == axis else []
    if isinstance(mark, Cells):
        size = mark.values.shape[1 if axis == "x" else 0]
        return [np.array([-0.5, size - 0.5])]
    if axis == "x":
        return [mark.x]
    if isinstance(mark, Band):
        return [mark.low, mark.high]
    bounds = [mark.low, mark.high] if isinstance(mark, Points) else []
    return [mark.y, *(bound for bound in bounds if bound is not None)]


def limits(axis: Axis, marks: Sequence[Mark], name: str) -> tuple[float, float]:
    """Limits that hold every mark, with a margin.

    Args:
        axis: its own limits win.
        marks: what is drawn.
        name: "x" or "y".
    """
    if axis.limits is not None:
        return axis.limits
    if axis.categories:
        return -0.5, len(axis.categories) - 0.5
    gathered = [numbers for mark in marks for numbers in _values(mark, name)]
    every = np.concatenate(gathered) if gathered else np.array([])
    every = every[np.isfinite(every) & ((every > 0) | (not axis.log))]
    if every.size == 0:
        return (1.0, 10.0) if axis.log else (0.0, 1.0)
    low, high = float(every.min()), float(every.max())
    if axis.log:
        margin = (high / low) ** 0.04 if high > low else 1.5
        return low / margin, high * margin
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    # An axis of counts or shares starts at zero, not at a margin below it.
    return (0.0 if low == 0 else low - margin), high + margin


def ticks(axis: Axis, scale: Scale, most: int) -> list[float]:
    """Round values to label, at most about ``most``, all within the limits.

    Example:
        >>> ticks(Axis("step"), Scale(0, 1040, False, 0, 500), 6)
        [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]
        >>> ticks(Axis("V", log=True), Scale(90, 20000, True, 0, 500), 6)
        [100.0, 1000.0, 10000.0]
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    if axis.categories:
        every = max(1, math.ceil(len(axis.categories) / most))
        return [float(place) for place in range(0, len(axis.categories), every)]
    if not scale.log:
        found = MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]).tick_values(scale.low, scale.high)
    else:
        narrow = scale.high / scale.low < 100
        locator = LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=most + 2)
        found = locator.tick_values(scale.low, scale.high)
    places = scale.place(np.asarray(found, dtype=np.float64))
    first, last = sorted((scale.start, scale.end))
    inside = (places >= first - 1e-6) & (places <= last + 1e-6)
    return [float(value) for value in np.asarray(found)[inside]]


def tick_label(axis: Axis, value: float) -> str:
    """A tick as it is printed: category, or number with thousands as k and millions as M.

    Example:
        >>> [tick_label(Axis(""), v) for v in (0.001, 0.5, 20.0, 1500.0, 100000.0, 2e6, 1e-7)]
        ['0.001', '0.5', '20', '1,500', '100k', '2M', '1e-07']
    """
    if axis.categories:
        return axis.categories[int(value)]
    size = abs(value)
    if size >= 1e9:
        return f"{value:.3g}"
    if size >= 1e6:
        return f"{value / 1e6:g}M"
    if size >= 1e4:
        return f"{value / 1e3:g}k"
    return f"{value:,.0f}" if size >= 1e3 else f"{value:g}"
