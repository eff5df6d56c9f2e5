"""Log-likelihood of censored log-times in a location-scale family, with exact derivatives.

ln T = mu + sigma * W, where W is standard normal (T log-normal) or standard smallest extreme
value (T Weibull). A time known to lie in (lower, upper] contributes
ln(F(z_upper) - F(z_lower)) with z = (ln t - mu)/sigma, an exact time ln f(z) - ln sigma - ln t.
Source: Kalbfleisch and Prentice (2002), chapter 3; derivatives derived here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy  # its submodules load when used

from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.samples import Vector

LARGEST_EXPONENT = 700.0
"""exp of more overflows float64."""


class Distribution(StrEnum):
    """Distribution of a positive time."""

    LOG_NORMAL = "log-normal"
    WEIBULL = "Weibull"


class StandardizedError(ABC):
    """The standardised error W of ln T."""

    @abstractmethod
    def log_density(self, z: Vector) -> Vector:
        """ln f(z)."""

    @abstractmethod
    def log_below(self, z: Vector) -> Vector:
        """ln F(z)."""

    @abstractmethod
    def log_above(self, z: Vector) -> Vector:
        """ln(1 - F(z))."""

    @abstractmethod
    def slope(self, z: Vector) -> Vector:
        """d ln f / dz."""

    @abstractmethod
    def slope_derivative(self, z: Vector) -> Vector:
        """d^2 ln f / dz^2."""

    @abstractmethod
    def quantile(self, probability: Vector) -> Vector:
        """z with F(z) = probability."""


class StandardNormal(StandardizedError):
    """W of a log-normal time."""

    def log_density(self, z: Vector) -> Vector:
        return np.asarray(-0.5 * z**2 - 0.5 * np.log(2 * np.pi))

    def log_below(self, z: Vector) -> Vector:
        return np.asarray(scipy.special.log_ndtr(z))

    def log_above(self, z: Vector) -> Vector:
        return np.asarray(scipy.special.log_ndtr(-z))

    def slope(self, z: Vector) -> Vector:
        return -z

    def slope_derivative(self, z: Vector) -> Vector:
        return np.full_like(z, -1.0)

    def quantile(self, probability: Vector) -> Vector:
        return np.asarray(scipy.special.ndtri(probability))


class SmallestExtremeValue(StandardizedError):
    """W of a Weibull time: F(z) = 1 - exp(-exp(z))."""

    def log_density(self, z: Vector) -> Vector:
        return z - np.exp(np.minimum(z, LARGEST_EXPONENT))

    def log_below(self, z: Vector) -> Vector:
        with np.errstate(divide="ignore", under="ignore"):
            hazard = np.exp(np.minimum(z, LARGEST_EXPONENT))
            # Below z = -37 the hazard is F to the last digit, and the logarithm is z itself.
            return np.where(z < -37, z, np.log(-np.expm1(-hazard)))

    def log_above(self, z: Vector) -> Vector:
        return np.asarray(-np.exp(np.minimum(z, LARGEST_EXPONENT)))

    def slope(self, z: Vector) -> Vector:
        return np.asarray(1 - np.exp(np.minimum(z, LARGEST_EXPONENT)))

    def slope_derivative(self, z: Vector) -> Vector:
        return np.asarray(-np.exp(np.minimum(z, LARGEST_EXPONENT)))

    def quantile(self, probability: Vector) -> Vector:
        return np.asarray(np.log(-np.log1p(-np.asarray(probability))))


ERRORS: dict[Distribution, StandardizedError] = {
    Distribution.LOG_NORMAL: StandardNormal(),
    Distribution.WEIBULL: SmallestExtremeValue(),
}


@dataclass(frozen=True, eq=False)
class Contributions:
    """Log-likelihood of each row and its derivatives in mu and tau = ln sigma, shapes [n]."""

    value: Vector
    d_mu: Vector
    d_tau: Vector
    d_mu_mu: Vector
    d_mu_tau: Vector
    d_tau_tau: Vector


def log_likelihood(
    times: CensoredTimes, mu: Vector, log_scale: float, distribution: Distribution
) -> Vector:
    """Log-likelihood of each row, shape [n].

    Args:
        times: shape [n].
        mu: location of ln T for each row, shape [n].
        log_scale: ln sigma.
        distribution: of the times.

    Example:
        >>> times = CensoredTimes.of([1.0], [float("inf")])
        >>> log_likelihood(times, np.array([0.0]), 0.0, Distribution.LOG_NORMAL)
        array([-0.69314718])
    """
    error = ERRORS[distribution]
    z_low, z_high = _standardised(times, mu, log_scale)
    value = _log_probability(error, z_low, z_high)
    exact = times.is_exact
    value[exact] = error.log_density(z_low[exact]) - log_scale - np.log(times.lower[exact])
    return value


def contributions(
    times: CensoredTimes, mu: Vector, log_scale: float, distribution: Distribution
) -> Contributions:
    """Log-likelihood of each row with first and second derivatives (arguments as above)."""
    error = ERRORS[distribution]
    z_low, z_high = _standardised(times, mu, log_scale)
    exact = times.is_exact
    value = np.where(exact, 0.0, _log_probability(error, z_low, z_high))
    first_high, second_high = _ratios(error, z_high, value)
    first_low, second_low = _ratios(error, z_low, value)
    u, v = np.where(np.isfinite(z_high), z_high, 0.0), np.where(np.isfinite(z_low), z_low, 0.0)
    # L as a function of (u, v) = (z_high, z_low): first and second partial derivatives.
    l_u, l_v = first_high, -first_low
    l_uu, l_vv = second_high - first_high**2, -second_low - first_low**2
    l_uv = first_high * first_low
    z = z_low[exact]
    value[exact] = error.log_density(z) - log_scale - np.log(times.lower[exact])
    l_u[exact], l_v[exact] = error.slope(z), 0.0
    l_uu[exact], l_vv[exact], l_uv[exact] = error.slope_derivative(z), 0.0, 0.0
    # dz/dmu = -1/sigma, dz/dtau = -z, d2z/dmu dtau = 1/sigma, d2z/dtau2 = z.
    inverse = np.exp(-log_scale)
    both = l_u + l_v
    moment = l_u * u + l_v * v
    curvature = l_uu + l_vv + 2 * l_uv
    mixed = l_uu * u + l_vv * v + l_uv * (u + v)
    return Contributions(
        value=value,
        d_mu=-inverse * both,
        d_tau=-moment - exact,
        d_mu_mu=inverse**2 * curvature,
        d_mu_tau=inverse * (mixed + both),
        d_tau_tau=l_uu * u**2 + l_vv * v**2 + 2 * l_uv * u * v + moment,
    )


def _standardised(times: CensoredTimes, mu: Vector, log_scale: float) -> tuple[Vector, Vector]:
    inverse = np.exp(-log_scale)
    with np.errstate(divide="ignore"):
        low, high = np.log(times.lower), np.log(times.upper)
    return (low - mu) * inverse, (high - mu) * inverse


def _log_probability(error: StandardizedError, z_low: Vector, z_high: Vector) -> Vector:
    """ln(F(z_high) - F(z_low)), taken in whichever tail keeps the digits."""
    upper_tail = z_low > 0
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        large = np.where(upper_tail, error.log_above(z_low), error.log_below(z_high))
        small = np.where(upper_tail, error.log_above(z_high), error.log_below(z_low))
        gap = np.where(np.isneginf(small), -np.inf, small - large)
        return np.asarray(large + np.log(-np.expm1(gap)))


def _ratios(error: StandardizedError, z: Vector, log_probability: Vector) -> tuple[Vector, Vector]:
    """f(z)/P and f'(z)/P, zero at infinite z."""
    finite = np.isfinite(z)
    inside = np.where(finite, z, 0.0)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        first = np.where(finite, np.exp(error.log_density(inside) - log_probability), 0.0)
        second = np.where(first > 0, error.slope(inside) * first, 0.0)
    return first, second
