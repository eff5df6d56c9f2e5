"""Ridge regressions that leave one configuration out, all folds at once.

Replicates of a configuration share its noise, so a model is judged only on configurations that
it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.forecasting.bayesian_ridge import Array

IMPROVEMENT = 0.99
"""A feature is kept only if it lowers the held-out error below this share of the former."""


@dataclass(frozen=True, eq=False)
class GroupFolds:
    """Which rows belong to which configuration.

    Attributes:
        fold: index of each row's configuration, shape [n].
        count: number of configurations, K.
    """

    fold: NDArray[np.int64]
    count: int

    @classmethod
    def of(cls, configurations: Sequence[Hashable]) -> GroupFolds:
        """Folds of the configuration of each row.

        Example:
            >>> GroupFolds.of(["a", "b", "a"]).fold.tolist()
            [0, 1, 0]
        """
        place: dict[Hashable, int] = {}
        fold = [place.setdefault(one, len(place)) for one in configurations]
        return cls(np.array(fold, dtype=np.int64), len(place))

    @property
    def own(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Index that picks, from an array [K, n], each row's value when it was left out."""
        return self.fold, np.arange(self.fold.size)

    def means(self, table: Array) -> Array:
        """Mean of the rows of each configuration: shape [n, m] to [K, m].

        Example:
            >>> GroupFolds.of(["a", "b", "a"]).means(np.array([[1.0], [5.0], [3.0]]))
            array([[2.],
                   [5.]])
        """
        return self._sums(table) / np.bincount(self.fold, minlength=self.count)[:, None]

    def coefficients(self, design: Array, target: Array, penalty: Array) -> Array:
        """Ridge coefficients with each configuration left out in turn.

        Args:
            design: shape [n, m].
            target: shape [n], or [K, n] where it differs from fold to fold.
            penalty: added to the diagonal of the normal equations, shape [m].

        Returns:
            shape [K, m].

        Example:
            >>> folds = GroupFolds.of([0, 0, 1])
            >>> folds.coefficients(np.ones((3, 1)), np.array([1.0, 1.0, 4.0]), np.zeros(1))
            array([[4.],
                   [1.]])
        """
        shown = np.broadcast_to(target, (self.count, self.fold.size))
        grams = self._sums(design[:, :, None] * design[:, None, :])
        # What a fold leaves out is taken from the sums over every row.
        normal = grams.sum(axis=0) - grams + np.diag(penalty)
        moment = shown @ design - self._sums(shown[self.own][:, None] * design)
        return np.asarray(np.linalg.solve(normal, moment[:, :, None])[:, :, 0])

    def _sums(self, rows: Array) -> Array:
        """Sum of the rows of each configuration: shape [n, ...] to [K, ...]."""
        sums = np.zeros((self.count, *rows.shape[1:]))
        np.add.at(sums, self.fold, rows)
        return sums

    def held_out(self, design: Array, target: Array, penalty: Array) -> Array:
        """Prediction of each row by the fit that left its configuration out, shape [n]."""
        b = self.coefficients(design, target, penalty)
        predicted: Array = np.einsum("nm,nm->n", design, b[self.fold])
        return predicted


def ridge(design: Array, target: Array, penalty: Array) -> Array:
    """Ridge coefficients on every row, shape [m]."""
    normal = design.T @ design + np.diag(penalty)
    return np.asarray(np.linalg.solve(normal, design.T @ target))


def select_forward(
    candidates: int, error: Callable[[tuple[int, ...]], float], most: int
) -> tuple[int, ...]:
    """Features added one at a time while each lowers the held-out error by a hundredth.

    Args:
        candidates: number of features to choose from.
        error: held-out error of a subset, given by sorted indices.
        most: largest size of the subset.

    Example:
        >>> select_forward(3, lambda chosen: 1.0 - 0.3 * (1 in chosen) + 0.1 * len(chosen), 3)
        (1,)
    """
    chosen: tuple[int, ...] = ()
    best = error(chosen)
    while len(chosen) < min(most, candidates):
        tried = [
            (error(subset), subset)
            for extra in range(candidates)
            if extra not in chosen
            for subset in [tuple(sorted((*chosen, extra)))]
        ]
        value, subset = min(tried)
        if not value < IMPROVEMENT * best:
            break
        best, chosen = value, subset
    return chosen
