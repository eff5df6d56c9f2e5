"""Exact null distributions of counts: sums of them, and their tails."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nht_theory.inference.results import Alternative
from nht_theory.inference.samples import Vector


def convolved(distributions: Iterable[Vector]) -> Vector:
    """Probabilities of 0, 1, 2 ... of a sum of independent counts.

    Example:
        >>> convolved([np.array([0.5, 0.5]), np.array([0.5, 0.5])])
        array([0.25, 0.5 , 0.25])
    """
    total = np.ones(1)
    for distribution in distributions:
        total = np.convolve(total, distribution)
    return total


def lattice_tail(null: Vector, observed: int, alternative: Alternative) -> float:
    """Tail probability of a count; two-sided is twice the smaller tail.

    Example:
        >>> lattice_tail(np.array([0.25, 0.5, 0.25]), 2, Alternative.GREATER)
        0.25
    """
    upper, lower = float(null[observed:].sum()), float(null[: observed + 1].sum())
    if alternative is Alternative.GREATER:
        return min(1.0, upper)
    if alternative is Alternative.LESS:
        return min(1.0, lower)
    return min(1.0, 2 * min(upper, lower))
