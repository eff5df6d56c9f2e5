"""Arrays that a statistic may safely use: one-dimensional, finite, of matching length."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.errors import DomainError

Vector = NDArray[np.float64]


def finite_vector(values: ArrayLike, name: str, *, at_least: int = 1) -> Vector:
    """``values`` as a finite float64 array of shape [n], n >= ``at_least``.

    Raises:
        DomainError: not one-dimensional, too short, or holding NaN or infinity.

    Example:
        >>> finite_vector([1, 2], "delays")
        array([1., 2.])
    """
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise DomainError(
            f"{name} has shape {vector.shape}", source=name, remedy="give one value per observation"
        )
    if vector.size < at_least:
        raise DomainError(
            f"{name} holds {vector.size} values",
            source=name,
            remedy=f"at least {at_least} are needed",
        )
    bad = int(np.count_nonzero(~np.isfinite(vector)))
    if bad:
        raise DomainError(
            f"{name} holds {bad} values that are not finite",
            source=name,
            remedy="leave them out and count them, or pass them as censored",
        )
    return vector


def check_same_length(**vectors: NDArray[np.generic]) -> None:
    """Refuse vectors of unequal length.

    Raises:
        DomainError: the lengths differ; the message names each.

    Example:
        >>> check_same_length(values=np.zeros(2), groups=np.zeros(2))
    """
    if len({len(vector) for vector in vectors.values()}) > 1:
        found = ", ".join(f"{name} {len(vector)}" for name, vector in vectors.items())
        raise DomainError(
            f"lengths differ ({found})", source=next(iter(vectors)), remedy="pair the values"
        )


def group_codes(labels: ArrayLike, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Integer code of each label, and the labels in order of first appearance.

    Labels may be strings, numbers, or any mixture that prints distinctly.

    Example:
        >>> codes, names = group_codes(["b", "a", "b"], "configuration")
        >>> codes.tolist(), names
        ([0, 1, 0], ['b', 'a'])
    """
    as_text = [str(label) for label in np.asarray(labels, dtype=object).ravel()]
    if not as_text:
        raise DomainError(f"{name} is empty", source=name, remedy="give one label per observation")
    names = list(dict.fromkeys(as_text))
    place = {label: code for code, label in enumerate(names)}
    return np.array([place[label] for label in as_text], dtype=np.int64), names
