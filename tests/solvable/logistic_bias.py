"""A negative control: generalisation without decay, while the norm grows.

One input weight w and a bias b fit labels y = sign(x) at x = -1 and x = 1 by logistic regression
without any decay. A large initial bias is undone slowly, since the loss is almost flat: training
points are right once w > |b|, held-out points at x = +-r only once w r > |b|. The norm grows
without end. The theory must answer "not applicable" here: no decay, V_gen above V_mem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LogisticBias:
    """Gradient descent on two points, no decay.

    Attributes:
        weight, bias: at step 0.
        learning_rate: eta.
        heldout_distance: |x| of the held-out points, below 1.

    Example:
        >>> memorised, generalised, norms = LogisticBias().transition(most=20_000)
        >>> memorised < generalised, bool(norms[generalised] > norms[memorised])
        (True, True)
    """

    weight: float = 0.1
    bias: float = 1.0
    learning_rate: float = 0.05
    heldout_distance: float = 0.1

    def simulate(self, steps: int) -> tuple[Array, Array]:
        """(w, b) at steps 0, ..., ``steps``, two arrays [steps + 1]."""
        weight, bias = np.empty(steps + 1), np.empty(steps + 1)
        weight[0], bias[0] = self.weight, self.bias
        for t in range(steps):
            right = 1.0 / (1.0 + np.exp(weight[t] + bias[t]))
            left = 1.0 / (1.0 + np.exp(weight[t] - bias[t]))
            weight[t + 1] = weight[t] + self.learning_rate * (right + left) / 2.0
            bias[t + 1] = bias[t] + self.learning_rate * (right - left) / 2.0
        return weight, bias

    def transition(self, most: int) -> tuple[int, int, Array]:
        """(step of memorisation, step of generalisation, V at every step).

        Raises:
            ValueError: one of the two does not happen by ``most``.
        """
        weight, bias = self.simulate(most)
        memorised = np.flatnonzero(weight > np.abs(bias))
        generalised = np.flatnonzero(weight * self.heldout_distance > np.abs(bias))
        if not memorised.size or not generalised.size:
            raise ValueError(f"no transition within {most} steps")
        return int(memorised[0]), int(generalised[0]), weight**2 + bias**2
