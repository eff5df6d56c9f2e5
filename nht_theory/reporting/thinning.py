"""Fewer points of a long curve, so that a thousand runs fit into one page."""

from __future__ import annotations

import math

import numpy as np

from nht_theory.reporting.marks import Numbers


def thin(x: Numbers, y: Numbers, most: int) -> tuple[Numbers, Numbers]:
    """At most ``most`` of the points of a curve: its ends, and of each stretch of equal length
    the lowest and the highest, so that every excursion stays visible.

    Args:
        x: increasing, shape [n].
        y: finite, shape [n].
        most: at least 4.

    Example:
        >>> x = np.arange(100.0)
        >>> spike = np.where(x == 57, 1.0, 0.0)
        >>> kept, height = thin(x, spike, 8)
        >>> kept.size <= 8, float(height.max()), float(kept[0]), float(kept[-1])
        (True, 1.0, 0.0, 99.0)
    """
    if x.size <= most:
        return x, y
    stretches = (most - 2) // 2
    width = math.ceil(x.size / stretches)
    places = np.minimum(np.arange(stretches * width), x.size - 1).reshape(stretches, width)
    rows = np.arange(stretches)
    lowest = places[rows, np.argmin(y[places], axis=1)]
    highest = places[rows, np.argmax(y[places], axis=1)]
    kept = np.unique(np.concatenate([[0], lowest, highest, [x.size - 1]]))
    return x[kept], y[kept]
