"""Diagonal linear network (Lyu et al. 2023): the delay is (1/lambda)(ln alpha + c), slope one.

The weights are u*u - v*v per coordinate with u = v = alpha at the start. The loss moves u and v in
opposite directions, so their product feels decay alone: (u v)(t) = alpha^2 e^(-2 lambda t) in
gradient flow. While alpha e^(-lambda t) is large the network is a kernel machine; once it is of
order one, sparse solutions win and the network generalises. Hence lambda T = ln alpha + c.

Reference: K. Lyu et al., "Dichotomy of early and late phase implicit biases can provably induce
grokking", arXiv 2311.18817.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import DomainError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DiagonalNetwork:
    """Sparse regression by a diagonal network, gradient descent on flow time.

    Attributes:
        scale: alpha, the initial size of every u and v.
        weight_decay: lambda, on (u, v).
        inputs, examples, active: size of the problem: the teacher has ``active`` ones.
        seed: of the examples.

    Raises:
        DomainError: scale or weight decay not positive.

    Example:
        >>> round(DiagonalNetwork(scale=100.0, weight_decay=0.1).time_to_scale(1.0), 3)
        46.052
    """

    scale: float
    weight_decay: float
    inputs: int = 40
    examples: int = 20
    active: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.scale > 0.0 and self.weight_decay > 0.0):
            raise DomainError(
                f"scale {self.scale}, weight decay {self.weight_decay}",
                remedy="both are positive",
            )

    def product(self, time: float) -> float:
        """(u v)(t) = alpha^2 e^(-2 lambda t) of every coordinate, exact in gradient flow."""
        return self.scale**2 * math.exp(-2.0 * self.weight_decay * time)

    def time_to_scale(self, effective_scale: float) -> float:
        """T with sqrt(u v) = effective_scale: ln(alpha/effective_scale)/lambda."""
        return math.log(self.scale / effective_scale) / self.weight_decay

    def problem(self) -> tuple[Array, Array, Array]:
        """(features [examples, inputs], labels [examples], teacher [inputs])."""
        generator = np.random.default_rng(self.seed)
        features = generator.standard_normal((self.examples, self.inputs))
        teacher = np.zeros(self.inputs)
        teacher[: self.active] = 1.0
        return features, features @ teacher, teacher

    def simulate(self, times: Array) -> tuple[Array, Array]:
        """(held-out error per input, geometric mean of u v) along gradient flow, two arrays [n].

        The flow of ln u and ln v, in which decay is a constant drift, by a stiff solver to a
        relative 1e-8. The loss is the mean squared error over 2 examples.

        Args:
            times: flow times, increasing from 0, float64 [n].
        """
        from scipy.integrate import solve_ivp

        features, labels, teacher = self.problem()

        def flow(_: float, state: Array) -> Array:
            weights = _weights(state)
            gradient = features.T @ (features @ weights - labels) / self.examples
            drift = self.weight_decay
            return np.concatenate([-2.0 * gradient - drift, 2.0 * gradient - drift])

        start = np.full(2 * self.inputs, math.log(self.scale))
        solved = solve_ivp(
            flow, (0.0, times[-1]), start, method="LSODA", t_eval=times, rtol=1e-8, atol=1e-8
        )
        states: Array = solved.y.T
        errors = np.array([np.mean((_weights(state) - teacher) ** 2) for state in states])
        return errors, np.exp(states.mean(axis=1) * 2.0)


def _weights(state: Array) -> Array:
    log_u, log_v = np.split(state, 2)
    return np.asarray(np.exp(2.0 * log_u) - np.exp(2.0 * log_v))
