"""Holm's step-down correction: the family-wise error of many tests, without independence."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nht_theory.errors import DomainError
from nht_theory.inference.samples import Vector, finite_vector


def holm(p_values: ArrayLike) -> Vector:
    """Adjusted p-values, in the order given, shape [m].

    A hypothesis is rejected at family-wise level alpha when its adjusted p-value is <= alpha.
    Tests that were not applicable do not belong to the family: leave them out.

    Raises:
        DomainError: a p-value lies outside [0, 1] or is not finite.

    References:
        Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    Example:
        >>> holm([0.01, 0.04, 0.03]).round(12)
        array([0.03, 0.06, 0.06])
    """
    if np.size(p_values) == 0:
        return np.empty(0)
    p = finite_vector(p_values, "p_values")
    if p.min() < 0 or p.max() > 1:
        raise DomainError("a p-value lies outside [0, 1]", source="p_values")
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
