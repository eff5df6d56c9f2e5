"""AdamW on gradients that are white noise: E V_t = V_inf + (V_0 - V_inf) a^(2t), V_inf from S = d.

The recursion is AdamW itself; the closed form needs only eta, lambda, d and V_0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.formulas.floors import adamw_noise_floor, expected_squared_norm

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PureNoise:
    """AdamW whose every gradient is standard normal noise.

    Attributes:
        parameter_count: d.
        learning_rate, weight_decay, beta_1, beta_2: of AdamW.
        initial: value of every coordinate at step 0.

    Example:
        >>> round(PureNoise(4000).floor(), 3)
        2.001
    """

    parameter_count: int
    learning_rate: float = 1e-3
    weight_decay: float = 1.0
    beta_1: float = 0.9
    beta_2: float = 0.999
    initial: float = 0.0
    epsilon: float = 1e-8

    def floor(self) -> float:
        """V_inf = eta d/(lambda (2 - eta lambda))."""
        return adamw_noise_floor.value(
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            parameter_count=self.parameter_count,
        )

    def expected(self, steps: NDArray[np.int64]) -> Array:
        """E V at the given steps."""
        return expected_squared_norm(
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            squared_norm_initial=self.parameter_count * self.initial**2,
            squared_norm_floor=self.floor(),
            step=steps,
        )

    def simulate(self, steps: int, seed: int = 0) -> Array:
        """V at steps 0, ..., ``steps`` of AdamW itself, float64 [steps + 1]."""
        generator = np.random.default_rng(seed)
        theta = np.full(self.parameter_count, self.initial)
        mean, square = np.zeros_like(theta), np.zeros_like(theta)
        norms = np.empty(steps + 1)
        norms[0] = theta @ theta
        for t in range(1, steps + 1):
            gradient = generator.standard_normal(self.parameter_count)
            mean += (1.0 - self.beta_1) * (gradient - mean)
            square += (1.0 - self.beta_2) * (gradient**2 - square)
            direction = mean / (1.0 - self.beta_1**t)
            direction /= np.sqrt(square / (1.0 - self.beta_2**t)) + self.epsilon
            theta = (1.0 - self.learning_rate * self.weight_decay) * theta
            theta -= self.learning_rate * direction
            norms[t] = theta @ theta
        return norms
