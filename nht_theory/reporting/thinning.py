"""Fewer points of a long curve, so that a thousand runs fit into one page."""

from __future__ import annotations

import numpy as np

from nht_theory.reporting.marks import Numbers


def thin(x: Numbers, y: Numbers, most: int) -> tuple[Numbers, Numbers]:
    """At most ``most`` of the points of a curve, chosen so that its shape stays.

    Largest triangle three buckets (S. Steinarsson, Downsampling Time Series for Visual
    Representation, 2013): the ends stay, and each bucket keeps the point that makes the largest
    triangle with the one kept before and the mean of the next bucket.

    Args:
        x: increasing, shape [n].
        y: finite, shape [n], as drawn (take the logarithm first for a log axis).
        most: at least 3.

    Example:
        >>> x = np.arange(100.0)
        >>> spike = np.where(x == 57, 1.0, 0.0)
        >>> kept, height = thin(x, spike, 8)
        >>> len(kept), float(height.max()), float(kept[0]), float(kept[-1])
        (8, 1.0, 0.0, 99.0)
    """
    if x.size <= most:
        return x, y
    edges = np.linspace(1, x.size - 1, most - 1).astype(int)
    kept = [0]
    for bucket in range(most - 2):
        low, high = edges[bucket], edges[bucket + 1]
        after = slice(high, edges[bucket + 2] if bucket + 2 < edges.size else x.size)
        x0, y0 = x[kept[-1]], y[kept[-1]]
        x2, y2 = x[after].mean(), y[after].mean()
        area = np.abs((x0 - x2) * (y[low:high] - y0) - (x0 - x[low:high]) * (y2 - y0))
        kept.append(int(low + np.argmax(area)))
    kept.append(x.size - 1)
    return x[kept], y[kept]
