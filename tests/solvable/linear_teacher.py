"""Linear teacher and student (Levi, Beck and Bar-Sinai 2023): delay without any norm hierarchy.

The student minimises the mean squared error on n examples of d standard normal inputs by gradient
descent with decoupled decay. In the eigenbasis of the sample covariance each coordinate follows its
own recursion, so both losses are sums over eigenvalues; for large d with d/n = ratio < 1 these are
distributed by Marchenko and Pastur, and the sums become integrals that are taken exactly. The
published asymptotic delay, ln(1/nu_min)/(4 eta nu_min), is not used: at a threshold of 1e-3 the
exact delay is 0.36 to 0.55 of it for ratios from 0.1 to 0.8.

Reference: N. Levi, A. Beck, Y. Bar-Sinai, "Grokking in linear estimators", arXiv 2310.16441.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import DomainError

Array = NDArray[np.float64]

_NODES = 4000
"""Nodes of the quadrature in the angle of the Marchenko-Pastur support: converged to 1e-12."""


@dataclass(frozen=True)
class LinearTeacher:
    """Gradient descent on a linear teacher, in the limit of many inputs at a fixed ratio.

    Attributes:
        ratio: inputs per example, d/n, below 1 (no null space).
        learning_rate: eta; the loss is the mean squared error over the examples.
        weight_decay: lambda, decoupled.
        student_norm, teacher_norm: ||S_0||^2/d and ||T||^2/d, drawn independently.

    Raises:
        DomainError: ratio not in (0, 1), or a step that diverges.

    Example:
        >>> model = LinearTeacher(ratio=0.5, learning_rate=0.01)
        >>> model.delay(1e-3)
        370
    """

    ratio: float
    learning_rate: float
    weight_decay: float = 0.0
    student_norm: float = 0.5
    teacher_norm: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 < self.ratio < 1.0:
            raise DomainError(f"ratio is {self.ratio}", remedy="d/n lies strictly between 0 and 1")
        stiffest = self.learning_rate * (2.0 * self._support()[1] + self.weight_decay)
        if not 0.0 < stiffest < 2.0:
            raise DomainError(
                f"learning rate {self.learning_rate} diverges on the largest eigenvalue",
                remedy=f"keep eta (2 nu_max + lambda) = {stiffest:.3g} below 2",
            )

    def _support(self) -> tuple[float, float]:
        return (1.0 - math.sqrt(self.ratio)) ** 2, (1.0 + math.sqrt(self.ratio)) ** 2

    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues and weights of the Marchenko-Pastur law: two arrays [nodes], weights sum
        to one."""
        low, high = self._support()
        angle = (np.arange(_NODES) + 0.5) * np.pi / _NODES
        eigenvalues = (low + high) / 2.0 + (high - low) / 2.0 * np.cos(angle)
        width = (high - low) / 2.0 * np.sin(angle)
        weights = width**2 / (2.0 * np.pi * self.ratio * eigenvalues) * np.pi / _NODES
        return eigenvalues, weights

    def losses(self, step: int) -> tuple[float, float]:
        """(train, held-out) mean squared error per input after ``step`` steps, exact recursion."""
        eigenvalues, weights = self.spectrum()
        difference = self._difference(eigenvalues, step)
        return float(weights @ (eigenvalues * difference)), float(weights @ difference)

    def _difference(self, eigenvalues: Array, step: int) -> Array:
        """E (S_t - T)^2 of each eigen-coordinate: S' = (1 - eta lambda) S - 2 eta nu (S - T)."""
        shrink = 1.0 - self.learning_rate * (2.0 * eigenvalues + self.weight_decay)
        fixed = 2.0 * eigenvalues / (2.0 * eigenvalues + self.weight_decay)
        power = shrink**step
        on_teacher = fixed * (1.0 - power) - 1.0
        difference: Array = self.student_norm * power**2 + self.teacher_norm * on_teacher**2
        return difference

    def first_below(self, threshold: float, *, heldout: bool, most: int = 10_000_000) -> int | None:
        """First step at which a loss is at or below ``threshold``; None if not by ``most``.

        Both losses fall monotonically without decay; with decay they fall to a bias, so the
        search is by bisection on the step after the last power of two above the threshold.
        """
        which = 1 if heldout else 0
        high = 1
        while self.losses(high)[which] > threshold:
            high *= 2
            if high > most:
                return None
        low = high // 2
        if self.losses(0)[which] <= threshold:
            return 0
        while high - low > 1:
            middle = (low + high) // 2
            if self.losses(middle)[which] > threshold:
                low = middle
            else:
                high = middle
        return high

    def delay(self, threshold: float) -> int | None:
        """Steps between the two losses' first passage; None where one never passes."""
        train = self.first_below(threshold, heldout=False)
        heldout = self.first_below(threshold, heldout=True)
        return None if train is None or heldout is None else heldout - train

    def asymptotic_delay(self) -> float:
        """ln(1/nu_min)/(4 eta nu_min): the published late-time delay, kept to show how far off."""
        smallest = self._support()[0]
        return -math.log(smallest) / (4.0 * self.learning_rate * smallest)

    def simulate(self, examples: int, steps: int, seed: int = 0) -> tuple[Array, Array]:
        """(train, held-out) losses of gradient descent on drawn examples, two arrays [steps + 1].

        The number of inputs is ratio * examples, rounded.
        """
        generator = np.random.default_rng(seed)
        inputs = round(self.ratio * examples)
        features = generator.standard_normal((examples, inputs))
        covariance = features.T @ features / examples
        teacher = generator.standard_normal(inputs) * math.sqrt(self.teacher_norm)
        student = generator.standard_normal(inputs) * math.sqrt(self.student_norm)
        train, heldout = np.empty(steps + 1), np.empty(steps + 1)
        for t in range(steps + 1):
            difference = student - teacher
            pull = covariance @ difference
            train[t] = difference @ pull / inputs
            heldout[t] = difference @ difference / inputs
            student = (1.0 - self.learning_rate * self.weight_decay) * student
            student -= 2.0 * self.learning_rate * pull
        return train, heldout
