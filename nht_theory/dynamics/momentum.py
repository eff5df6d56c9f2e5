"""The rate of V under SGD with momentum at any decay, by whichever formula its roots call for."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.formulas import momentum as formulas
from nht_theory.formulas.formula import Formula

Array = NDArray[np.float64]


def momentum_rate_at(decay_per_step: ArrayLike, momentum: float, dampening: float = 0.0) -> Array:
    """gamma_V per step of SGD with momentum once its buffer has settled, loss silent.

    Args:
        decay_per_step: eta w, the learning rate times PyTorch's weight_decay, any shape, > 0;
            only the product matters.
        momentum: mu, in [0, 1).
        dampening: d, in [0, 1].

    Returns:
        float64 of the shape of ``decay_per_step``; beyond the critical decay it is the rate of
        the oscillation's envelope.

    Raises:
        DomainError: a value outside its domain; a decay at which the recursion diverges.

    Source: formulas momentum_rate and momentum_oscillating_rate.

    Example:
        >>> float(momentum_rate_at(1e-3, 0.9, dampening=0.5)).__round__(6)
        0.010526
    """
    critical = (1.0 - math.sqrt(momentum)) ** 2
    decay = np.asarray(decay_per_step, dtype=np.float64)
    return _piecewise(
        decay,
        decay * (1.0 - dampening) <= critical,
        (formulas.momentum_rate, formulas.momentum_oscillating_rate),
        {"momentum": momentum, "dampening": dampening},
    )


def nesterov_rate_at(decay_per_step: ArrayLike, momentum: float) -> Array:
    """:func:`momentum_rate_at` with Nesterov's momentum, for which PyTorch allows no dampening.

    Source: formulas nesterov_rate and nesterov_oscillating_rate.

    Example:
        >>> float(nesterov_rate_at(1e-3, 0.9)).__round__(6)
        0.022124
    """
    critical = ((1.0 - momentum) / (1.0 + momentum)) ** 2
    decay = np.asarray(decay_per_step, dtype=np.float64)
    return _piecewise(
        decay,
        decay <= critical,
        (formulas.nesterov_rate, formulas.nesterov_oscillating_rate),
        {"momentum": momentum},
    )


def _piecewise(
    decay: Array, real: NDArray[np.bool_], by: tuple[Formula, Formula], constants: dict[str, float]
) -> Array:
    """The first formula where the roots are real, the second elsewhere."""
    result = np.empty(decay.shape)
    for where, formula in zip((real, ~real), by, strict=True):
        if where.any():
            result[where] = formula(weight_decay=decay[where], learning_rate=1.0, **constants)
    return result
