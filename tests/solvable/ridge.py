"""Over-parameterised ridge regression with a zero teacher: the null space decays, nothing else.

With n examples of m > n features and labels zero, gradient descent with decoupled decay fits the
examples in the row space at once, while the component of theta in the null space shrinks by
a = 1 - eta lambda a step, untouched by the loss. On isotropic held-out inputs the error is
||theta||^2/m, so generalisation waits for the null space alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import DomainError
from nht_theory.formulas.rates import decoupled_rate
from nht_theory.formulas.times import law_steps

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NullSpaceRidge:
    """Linear regression on labels zero.

    Attributes:
        features: inputs, float64 [n, m] with n < m.
        initial: theta at step 0, float64 [m].
        learning_rate, weight_decay: of gradient descent with decoupled decay on
            ||X theta||^2/(2n).

    Raises:
        DomainError: not over-parameterised.

    Example:
        >>> generator = np.random.default_rng(0)
        >>> model = NullSpaceRidge(
        ...     generator.normal(size=(50, 150)), generator.normal(size=150), 1e-2, 0.5
        ... )
        >>> predicted = model.hitting_time(heldout_error=1e-2)
        >>> int(np.ceil(predicted)) == model.simulate(heldout_error=1e-2, most=2000)
        True
    """

    features: Array
    initial: Array
    learning_rate: float
    weight_decay: float

    def __post_init__(self) -> None:
        examples, parameters = self.features.shape
        if examples >= parameters:
            raise DomainError(
                f"{examples} examples for {parameters} parameters",
                source="features",
                remedy="the null space needs fewer examples than parameters",
            )

    def null_space_norm(self) -> float:
        """||theta_perp||^2 at step 0: the part that no example sees."""
        _, _, rows = np.linalg.svd(self.features, full_matrices=False)
        inside = rows.T @ (rows @ self.initial)
        return float(np.sum((self.initial - inside) ** 2))

    def hitting_time(self, heldout_error: float) -> float:
        """T = ln(||theta_perp||^2/(m eps)) / (-2 ln a), before rounding up to a step."""
        rate = decoupled_rate.value(
            learning_rate=self.learning_rate, weight_decay=self.weight_decay
        )
        return law_steps.value(
            contraction_rate=rate,
            squared_norm_shortcut=self.null_space_norm(),
            squared_norm_structured=self.features.shape[1] * heldout_error,
        )

    def simulate(self, heldout_error: float, most: int) -> int | None:
        """First step with ||theta||^2/m <= eps in gradient descent itself; None if not by
        ``most``."""
        examples, parameters = self.features.shape
        curvature = self.features.T @ self.features / examples
        theta = self.initial.copy()
        for step in range(most + 1):
            if theta @ theta <= parameters * heldout_error:
                return step
            gradient = curvature @ theta
            theta = (1.0 - self.learning_rate * self.weight_decay) * theta
            theta -= self.learning_rate * gradient
        return None
