"""Student's t and the normal hazard as forecasts need them.

``scipy.special`` has both, but importing it takes a third of a second, as long as all the forecasts
of a command.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from nht_theory.errors import DomainError
from nht_theory.inference.samples import Vector

_NODES = 28
"""Of the Gauss-Legendre rule: exact to rounding for the quantiles of 1e-5 to 1 - 1e-5."""
_STEPS = 60
"""Newton's steps at most; ten are usual."""
_LARGEST_ERFC = 20.0
"""Beyond it the normal hazard is taken from its expansion, exact to 1e-13 there."""


def student_t_quantiles(probability: ArrayLike, degrees: float) -> Vector:
    """Quantiles of Student's t.

    With t = sqrt(degrees) tan(angle), the distribution function is 1/2 plus an integral of
    cos(angle)^(degrees - 1), concave in the angle: Newton's method from zero never overshoots.
    With fewer than three degrees the integrand is too steep at its end for the rule used here.

    Args:
        probability: between 1e-5 and 1 - 1e-5, shape [n].
        degrees: of freedom, at least 3; need not be whole.

    Returns:
        Shape [n]; relative error below 1e-8 up to a thousand degrees (1e-10 between the quantiles
        of 0.001 and 0.999), below 1e-7 up to 100,000.

    Raises:
        DomainError: a probability or degrees outside these ranges.

    Source: derived here; compared with scipy in the tests.

    Example:
        >>> student_t_quantiles([0.5, 0.975], 9.0).round(6).tolist()
        [0.0, 2.262157]
    """
    wanted = np.atleast_1d(np.asarray(probability, dtype=np.float64))
    if degrees < 3 or not bool(np.all((wanted >= 1e-5) & (wanted <= 1 - 1e-5))):
        raise DomainError(f"probabilities {wanted}, {degrees} degrees of freedom")
    return _student_t_quantiles(tuple(wanted.tolist()), float(degrees)).copy()


@lru_cache(maxsize=64)
def _student_t_quantiles(probability: tuple[float, ...], degrees: float) -> Vector:
    from numpy.polynomial.legendre import leggauss

    nodes, weights = leggauss(_NODES)
    centred = np.array(probability) - 0.5
    area = np.abs(centred) * math.sqrt(math.pi)
    area *= math.exp(math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2))
    angle = np.zeros_like(area)
    for _ in range(_STEPS):
        below = np.cos(np.outer(angle / 2, nodes + 1)) ** (degrees - 1) @ weights * angle / 2
        step = (area - below) / np.cos(angle) ** (degrees - 1)
        angle += step
        if np.all(step <= 1e-8 * angle):  # the error is the square of that
            break
    quantiles: Vector = np.sign(centred) * math.sqrt(degrees) * np.tan(angle)
    return quantiles


def normal_hazard(z: ArrayLike) -> Vector:
    """Density of the standard normal over the probability above, of z of shape [n].

    Also E[W | W > z], of which it is used here: the mean of a normal beyond a censoring point.

    Example:
        >>> normal_hazard([0.0, 100.0]).round(6).tolist()
        [0.797885, 100.009998]
    """
    return np.array([_normal_hazard(one) for one in np.atleast_1d(z).tolist()])


def _normal_hazard(z: float) -> float:
    if z > _LARGEST_ERFC:
        inverse = 1 / z**2
        # Abramowitz and Stegun (1964), 26.2.12.
        return z / (1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse))))
    return math.sqrt(2 / math.pi) * math.exp(-0.5 * z**2) / math.erfc(z / math.sqrt(2))
