"""The censored location-scale regression as a statsmodels likelihood model.

Parameters are the coefficients followed by ln sigma. Score and Hessian are exact, from the
contributions of :mod:`nht_theory.inference.location_scale` by the chain rule.
"""

from __future__ import annotations

import math
import warnings
from enum import StrEnum

import numpy as np
from statsmodels.base.model import GenericLikelihoodModel
from statsmodels.tools.sm_exceptions import ConvergenceWarning, HessianInversionWarning

from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.location_scale import (
    Contributions,
    Distribution,
    contributions,
    log_likelihood,
)
from nht_theory.inference.samples import Vector

OUTSIDE = -1e100
"""Log-likelihood of a parameter outside the domain: finite, so that a trust region shrinks."""


class Link(StrEnum):
    """How the linear predictor makes the location of T."""

    LOG = "log"
    """ln T = X beta + offset + sigma W."""
    IDENTITY = "identity"
    """T = (X beta) exp(offset + sigma W): a sum of terms in steps, as in T_0 + A/lambda."""


class LocationScaleModel(GenericLikelihoodModel):  # type: ignore[misc]
    """Log-likelihood, score and Hessian of censored times in a design.

    Args:
        times: shape [n].
        design: shape [n, k].
        offset: known part of ln T, shape [n].
        distribution, link: of the model.
    """

    def __init__(
        self,
        times: CensoredTimes,
        design: Vector,
        offset: Vector,
        distribution: Distribution,
        link: Link,
    ) -> None:
        self.times = times
        self.offset = offset
        self.distribution = distribution
        self.link = link
        super().__init__(times.lower, design, extra_params_names=["log_scale"])

    def predictor(self, coefficients: Vector) -> Vector:
        """X beta, shape [n]."""
        return np.asarray(self.exog @ coefficients)

    def loglikeobs(self, params: Vector) -> Vector:
        """Log-likelihood of each row, shape [n]."""
        mu = self._location(params)
        if mu is None:
            return np.full(self.times.n, OUTSIDE)
        return log_likelihood(self.times, mu, float(params[-1]), self.distribution)

    def loglike(self, params: Vector) -> float:
        """Log-likelihood, a finite very small number outside the domain."""
        total = float(self.loglikeobs(params).sum())
        return total if math.isfinite(total) else OUTSIDE

    def score_obs(self, params: Vector) -> Vector:
        """Derivatives of each row's log-likelihood, shape [n, k + 1]."""
        parts = self._contributions(params)
        slope, _ = self._mu_derivatives(params)
        return np.column_stack([parts.d_mu[:, None] * slope[:, None] * self.exog, parts.d_tau])

    def score(self, params: Vector) -> Vector:
        """Gradient of the log-likelihood, shape [k + 1]."""
        if self._location(params) is None:
            return np.zeros(len(params))
        return np.asarray(self.score_obs(params).sum(axis=0))

    def hessian(self, params: Vector) -> Vector:
        """Second derivatives of the log-likelihood, shape [k + 1, k + 1]."""
        if self._location(params) is None:
            return -np.eye(len(params))
        parts = self._contributions(params)
        slope, curvature = self._mu_derivatives(params)
        x = self.exog
        k = x.shape[1]
        result = np.empty((k + 1, k + 1))
        weight = parts.d_mu_mu * slope**2 + parts.d_mu * curvature
        result[:k, :k] = (x * weight[:, None]).T @ x
        result[:k, k] = result[k, :k] = (parts.d_mu_tau * slope) @ x
        result[k, k] = parts.d_tau_tau.sum()
        return result

    def residual_scale(self, coefficients: Vector) -> float:
        """Scatter of ln T about the location at ``coefficients``, to start sigma from."""
        predictor = self.predictor(coefficients)
        mu = (predictor if self.link is Link.LOG else np.log(predictor)) + self.offset
        return max(0.02, float(np.std(np.log(self.times.representative()) - mu)))

    def climb(self, start: Vector) -> Vector | None:
        """Parameters after a trust-region climb of the log-likelihood; judge them by the score.

        None where the climb leaves the region in which the likelihood's curvature is finite.
        """
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # The caller judges the point reached by its score and curvature.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", HessianInversionWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.filterwarnings("ignore", "df_model", UserWarning)
            try:
                fitted = self.fit(
                    start_params=start,
                    method="minimize",
                    min_method="trust-exact",
                    maxiter=300,
                    gtol=1e-9,
                    disp=0,
                    skip_hessian=True,
                )
            except (ValueError, np.linalg.LinAlgError):  # scipy's word for a Hessian not finite
                return None
        return np.asarray(fitted.params, dtype=np.float64)

    def _location(self, params: Vector) -> Vector | None:
        predictor = self.predictor(params[:-1])
        if self.link is Link.LOG:
            return predictor + self.offset
        if not predictor.min() > 0:
            return None
        return np.asarray(np.log(predictor) + self.offset)

    def _contributions(self, params: Vector) -> Contributions:
        mu = self._location(params)
        assert mu is not None  # callers have asked
        return contributions(self.times, mu, float(params[-1]), self.distribution)

    def _mu_derivatives(self, params: Vector) -> tuple[Vector, Vector]:
        """d mu / d(X beta) and its derivative, each shape [n]."""
        if self.link is Link.LOG:
            return np.ones(self.times.n), np.zeros(self.times.n)
        predictor = self.predictor(params[:-1])
        return 1 / predictor, -1 / predictor**2
