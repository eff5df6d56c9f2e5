"""How far a least-squares estimate may be off when neighbouring residuals are alike.

Neighbouring evaluations of one run are not independent, and a dozen of them hardly tell how
dependent they are. So the correlation is not estimated and then taken as known: the half-width
is the one that holds 95 % when it is averaged over every correlation, each weighed by how well
it explains the residuals (restricted likelihood of a first-order autoregression).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import CONFIDENCE
from nht_theory.runs.run import Series

FEWEST = 12
"""Evaluations below which the residuals do not tell how they depend on each other."""
CORRELATIONS = 48
"""Correlations over which the half-width is averaged."""


@dataclass(frozen=True)
class Spread:
    """Uncertainty of one coefficient under residuals of unknown autocorrelation.

    Attributes:
        half_width: of the interval at :data:`CONFIDENCE`, about the least-squares estimate.
        standard_error: root of the variance, averaged over the correlations.
        correlation: of residuals one typical evaluation apart, averaged likewise.
        freedom: degrees of freedom of Student's t at each correlation.
    """

    half_width: float
    standard_error: float
    correlation: float
    freedom: int

    @property
    def method(self) -> str:
        """How the interval was made, as a label."""
        return (
            f"Student, {self.freedom} degrees of freedom, averaged over the correlation of "
            f"neighbouring residuals (about {self.correlation:.2f}; first-order autoregression, "
            "restricted likelihood)"
        )


def spread_of(jacobian: Series, residuals: Series, steps: Series, place: int) -> Spread | None:
    """The spread of a least-squares coefficient when the residuals are autocorrelated.

    Residuals a gap g apart are taken to correlate as rho^(g / median gap), 0 < rho < 1, so an
    irregular grid is allowed. The prior on rho is proportional to (1 - rho)^(-3/4): with residuals
    that walk at random the interval then still covers nine times in ten
    (``validation/statistics/rate_coverage.py``).

    Args:
        jacobian: d model / d coefficient, shape [n, k].
        residuals: of the least-squares fit, shape [n].
        steps: increasing, shape [n].
        place: column of the coefficient.

    Returns:
        The spread; None below :data:`FEWEST` observations or k + 2, or where the coefficients
        cannot be told apart.

    Source: derived here; Harville 1974 for the restricted likelihood.

    Example:
        >>> steps = np.arange(20.0)
        >>> design = np.column_stack([np.ones(20), steps - steps.mean()])
        >>> found = spread_of(design, np.tile([0.1, -0.1], 10), steps, 1)
        >>> found.correlation < 0.3, found.freedom
        (True, 18)
    """
    n, k = jacobian.shape
    if n < max(FEWEST, k + 2):
        return None
    with np.errstate(all="ignore"):
        scale = np.linalg.norm(jacobian, axis=0)
        design = jacobian / scale
    if not np.isfinite(design).all() or np.linalg.matrix_rank(design) < k:
        return None
    pull = np.linalg.pinv(design)[place]  # the coefficient is this times the observations
    grid = (np.arange(CORRELATIONS) + 0.5) / CORRELATIONS
    correlations = 1 - grid**2
    gaps = np.diff(steps)
    phi = correlations[:, None] ** (gaps / np.median(gaps))
    try:
        determinant, information, squares = _generalised(design, residuals, phi)
    except np.linalg.LinAlgError:  # at some correlation the coefficients cannot be told apart
        return None
    freedom = n - k
    with np.errstate(over="ignore"):
        variances = squares / freedom * _variance_factor(pull, phi) / scale[place] ** 2
    if not np.isfinite(variances).all():
        return None
    if not (squares > 0).all():  # an exact fit
        return Spread(0.0, 0.0, 0.0, freedom)
    log_weight = -0.5 * (determinant + information + freedom * np.log(squares) + np.log(grid))
    weights = np.exp(log_weight - log_weight.max())
    weights /= weights.sum()
    return Spread(
        half_width=_half_width(np.sqrt(variances), weights, freedom),
        standard_error=float(np.sqrt(weights @ variances)),
        correlation=float(weights @ correlations),
        freedom=freedom,
    )


def _generalised(design: Series, residuals: Series, phi: Series) -> tuple[Series, Series, Series]:
    """Generalised least squares at each correlation, for residuals of unit variance.

    Args:
        design: shape [n, k].
        residuals: shape [n].
        phi: correlation with the observation before, shape [g, n - 1].

    Returns:
        ln determinant of the covariance, ln determinant of the information on the coefficients,
        and the weighted sum of squares left, each of shape [g].
    """
    k = design.shape[1]
    both = np.column_stack([design, residuals])
    innovation = np.sqrt(1 - phi**2)
    white = np.empty((phi.shape[0], *both.shape))
    white[:, 0] = both[0]
    white[:, 1:] = (both[1:] - phi[..., None] * both[:-1]) / innovation[..., None]
    products = white.transpose(0, 2, 1) @ white
    information, cross = products[:, :k, :k], products[:, :k, k:]
    # What is left is the Schur complement: a ratio of determinants, never below zero.
    left = np.linalg.solve(information, cross)
    squares = np.maximum(products[:, k, k] - (cross * left).sum(axis=(1, 2)), 0.0)
    return (
        2 * np.log(innovation).sum(axis=1),
        np.linalg.slogdet(information)[1],
        squares,
    )


def _variance_factor(pull: Series, phi: Series) -> Series:
    """Variance of ``pull`` times residuals of unit variance, at each correlation, shape [g]."""
    carried = np.zeros(phi.shape[0])
    total = np.full(phi.shape[0], float(pull @ pull))
    for place in range(1, pull.size):
        carried = phi[:, place - 1] * (carried + pull[place - 1])
        total += 2 * pull[place] * carried
    return total


def _half_width(errors: Series, weights: Series, freedom: int) -> float:
    """Where the weighted mean of Student's distributions leaves 1 - CONFIDENCE outside."""
    from scipy import optimize, special

    def outside(width: float) -> float:
        return float(2 * weights @ special.stdtr(freedom, -width / errors)) - (1 - CONFIDENCE)

    widest = float(errors.max() * special.stdtrit(freedom, 0.5 + CONFIDENCE / 2))
    return float(optimize.brentq(outside, 0.0, 1.001 * widest, xtol=1e-9 * widest))
