"""Linear regression with slopes shrunk towards zero: honest with two runs, free with a hundred."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import DomainError
from nht_theory.inference.distributions import student_t_quantiles

Array = NDArray[np.float64]

SLOPE_SD = 0.5
"""Prior standard deviation of a slope: a power of a hyper-parameter beyond what the law says."""
RESIDUAL_SD = 0.2
"""Prior residual of a logarithm between runs: the spread over seeds and evaluation grid that the
companion's 102 in-regime runs show (19 % a run; THEORY.md section 10)."""
RESIDUAL_DEGREES = 3.0
"""Observations that the prior residual counts for."""


@dataclass(frozen=True)
class StudentT:
    """A predictive distribution: location + scale * t with ``degrees`` degrees of freedom."""

    location: float
    scale: float
    degrees: float

    def quantiles(self, probability: Array) -> Array:
        """Quantiles at each probability in (0, 1), same shape.

        Example:
            >>> StudentT(1.0, 2.0, 5.0).quantiles(np.array([0.5])).tolist()
            [1.0]
        """
        return self.location + self.scale * student_t_quantiles(probability, self.degrees)


@dataclass(frozen=True, eq=False)
class BayesianRidge:
    """Posterior of y = intercept + features @ slopes + noise (conjugate normal-inverse-gamma).

    Attributes:
        mean: posterior mean of intercept and slopes, shape [k + 1].
        covariance: posterior covariance in units of the residual variance, shape [k + 1, k + 1].
        residual_variance: its posterior scale.
        degrees: of the predictive t distribution.
        centre: mean of the features, shape [k].
        n: observations.
    """

    mean: Array
    covariance: Array
    residual_variance: float
    degrees: float
    centre: Array
    n: int

    @classmethod
    def fit(
        cls,
        features: Array,
        target: Array,
        *,
        slope_sd: float | Array = SLOPE_SD,
        residual_sd: float = RESIDUAL_SD,
        residual_degrees: float = RESIDUAL_DEGREES,
    ) -> BayesianRidge:
        """Fit by conjugate updating; no iteration, no randomness.

        Args:
            features: shape [n, k]; k may be 0.
            target: shape [n].
            slope_sd: prior standard deviation of each slope (mean zero), one number or shape [k].
            residual_sd: prior scale of the residual.
            residual_degrees: how many observations that prior counts for.

        Raises:
            DomainError: there is no observation.

        Source: Gelman et al., Bayesian Data Analysis, 3rd edition, section 14.2 with the
        informative prior of section 14.8.

        Example:
            >>> x = np.linspace(-1, 1, 50)[:, None]
            >>> fit = BayesianRidge.fit(x, 3 + 2 * x[:, 0], slope_sd=100.0)
            >>> round(fit.predict(np.array([0.5])).location, 3)
            4.0
        """
        n, k = features.shape
        if n == 0:
            raise DomainError("no observation to fit", remedy="give at least one run")
        centre = features.mean(axis=0)
        design = np.column_stack([np.ones(n), features - centre])
        # The intercept's prior is flat: its precision is negligible beside one observation.
        slopes = (residual_sd / np.broadcast_to(np.asarray(slope_sd, dtype=float), k)) ** 2
        precision = np.diag(np.concatenate([[1e-6], slopes]))
        about = float(np.mean(target))
        posterior = precision + design.T @ design
        covariance = np.linalg.inv(posterior)
        mean = covariance @ (design.T @ (target - about))
        residual = target - about - design @ mean
        degrees = residual_degrees + n - 1
        scatter = (
            residual_degrees * residual_sd**2
            + float(residual @ residual)
            + float(mean @ precision @ mean)
        )
        mean[0] += about
        return cls(mean, covariance, scatter / degrees, degrees, centre, n)

    def predict(self, features: Array) -> StudentT:
        """Predictive distribution of one new observation, features of shape [k].

        Example:
            >>> fit = BayesianRidge.fit(np.zeros((2, 1)), np.array([1.0, 1.2]))
            >>> near, far = fit.predict(np.array([0.0])), fit.predict(np.array([3.0]))
            >>> near.location == far.location, far.scale > near.scale
            (True, True)
        """
        row = np.concatenate([[1.0], features - self.centre])
        variance = self.residual_variance * (1.0 + float(row @ self.covariance @ row))
        return StudentT(float(row @ self.mean), float(np.sqrt(variance)), self.degrees)
