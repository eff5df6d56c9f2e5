"""Cure fraction: the share of runs that will never switch, against those that have not yet.

A mixture: with probability pi a run never has the event, otherwise its time follows the
location-scale regression. Right-censored runs are shared out between "never" and "not yet".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import ConvergenceError
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.location_scale import Distribution, log_likelihood
from nht_theory.inference.results import Alternative, Estimate, HypothesisTest, Interval
from nht_theory.inference.samples import Vector

LARGEST_LOGIT = 30.0
"""A share within 1e-13 of zero or one."""


@dataclass(frozen=True, eq=False)
class CureFraction:
    """A fitted mixture of runs that never switch and runs that switch late.

    Attributes:
        fraction: pi with its profile-likelihood interval; n is the number of runs.
        test: likelihood ratio against pi = 0 ("all would switch if trained longer").
        never: for each run, the probability that it will never switch, given what was seen;
            zero where the event was seen; shape [n].
        coefficients, scale: of ln T among the runs that do switch.
        names: of the coefficients.
        log_likelihood: maximised.
    """

    fraction: Estimate
    test: HypothesisTest
    never: Vector
    coefficients: Vector
    scale: float
    names: tuple[str, ...]
    log_likelihood: float
    references: tuple[str, ...] = ("boag1949", "kalbfleisch2002")


def fit_cure_fraction(
    times: CensoredTimes,
    design: ArrayLike,
    names: Sequence[str],
    *,
    distribution: Distribution = Distribution.LOG_NORMAL,
    coverage: float = CONFIDENCE,
) -> CureFraction:
    """Maximum-likelihood mixture cure model with a constant share pi.

    When runs were stopped soon after the last switch the data cannot tell "never" from "not
    yet": the interval of pi then reaches down to zero, and the test does not reject.

    Args:
        times: shape [n].
        design, names: of ln T among the runs that switch, shape [n, k].

    Raises:
        DomainError, ConvergenceError: as :func:`fit_censored_regression`, which gives the fit
            at pi = 0 that the test compares with.

    References:
        Boag (1949), Journal of the Royal Statistical Society B 11, 15-53. At the edge pi = 0 the
        likelihood ratio is an even mixture of zero and a chi-square with one degree of freedom.

    Example:
        >>> time = [5, 6, 7, 8, 9, 10, 500, 500, 500, 500]; seen = [1] * 6 + [0] * 4
        >>> cure = fit_cure_fraction(CensoredTimes.right_censored(time, seen),
        ...                          np.ones((10, 1)), ["constant"])
        >>> round(cure.fraction.value, 3), cure.test.p_value < 0.01
        (0.4, True)
    """
    x = np.asarray(design, dtype=np.float64)
    without = fit_censored_regression(times, x, names, distribution=distribution)
    start = np.append(without.coefficients, math.log(without.scale))
    mixture = _Mixture(times, x, distribution)
    best, at = mixture.maximise(start)
    likelihood_ratio = max(0.0, 2 * (best - without.log_likelihood))
    if best <= without.log_likelihood + 1e-9:
        best, at = without.log_likelihood, np.append(start, -LARGEST_LOGIT)
    share = float(special.expit(at[-1])) if at[-1] > -LARGEST_LOGIT + 1e-6 else 0.0
    low, high = mixture.profile_interval(at, best, without.log_likelihood, coverage)
    return CureFraction(
        fraction=Estimate(
            value=share,
            unit="1",
            method=f"mixture cure model, {distribution} times",
            n=times.n,
            interval=Interval(low, high, coverage, "profile likelihood"),
        ),
        test=HypothesisTest(
            statistic=likelihood_ratio,
            statistic_name="likelihood ratio against a share of zero",
            p_value=0.5 * float(stats.chi2.sf(likelihood_ratio, 1)) if likelihood_ratio else 1.0,
            n=times.n,
            alternative=Alternative.GREATER,
            method="even mixture of zero and chi-square(1), the share at its edge",
            references=("boag1949",),
        ),
        never=mixture.never(at, share),
        coefficients=at[:-2],
        scale=math.exp(at[-2]),
        names=tuple(names),
        log_likelihood=best,
    )


class _Mixture:
    """Log-likelihood of the mixture in (coefficients, ln sigma, logit pi)."""

    def __init__(self, times: CensoredTimes, x: Vector, distribution: Distribution) -> None:
        self.times, self.x, self.distribution = times, x, distribution
        self.censored = times.is_right_censored

    def log_likelihood(self, params: Vector) -> float:
        rows = self._rows(params)
        stays, leaves = special.log_expit(params[-1]), special.log_expit(-params[-1])
        mixed = np.where(self.censored, np.logaddexp(stays, leaves + rows), leaves + rows)
        return float(mixed.sum())

    def maximise(self, start: Vector, logit: float | None = None) -> tuple[float, Vector]:
        """Best log-likelihood and its parameters; with ``logit`` given, at that share."""
        share = float(np.clip(self.censored.mean(), 0.02, 0.98))
        logits = [logit] if logit is not None else [special.logit(share), -3.0]
        outcomes = []
        for first in logits:
            for scale in (start[-1], min(start[-1], math.log(0.3))):
                outcomes.append(self._climb(np.append(start[:-1], [scale, first]), logit))
        return max(outcomes, key=lambda outcome: outcome[0])

    def _climb(self, first: Vector, logit: float | None) -> tuple[float, Vector]:
        free = first if logit is None else first[:-1]

        def loss(params: Vector) -> float:
            full = params if logit is None else np.append(params, logit)
            value = -self.log_likelihood(full)
            return value if math.isfinite(value) else 1e100

        k = self.x.shape[1]
        low = np.array([-np.inf] * k + [math.log(1e-4), -LARGEST_LOGIT])[: free.size]
        high = np.array([np.inf] * k + [math.log(50.0), LARGEST_LOGIT])[: free.size]
        with np.errstate(all="ignore"):
            rough = optimize.minimize(
                loss, free, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-10}
            )
            fine = optimize.minimize(
                loss, np.clip(rough.x, low, high), bounds=optimize.Bounds(low, high)
            )
        at = fine.x if fine.fun <= rough.fun else rough.x
        if not math.isfinite(loss(at)) or loss(at) >= 1e100:
            raise ConvergenceError(
                "the mixture has no finite likelihood",
                source="cure fraction",
                remedies=("fit fewer coefficients", "train the censored runs longer"),
            )
        return -loss(at), np.asarray(at if logit is None else np.append(at, logit))

    def profile_interval(
        self, at: Vector, best: float, without: float, coverage: float
    ) -> tuple[float, float]:
        """Shares whose profile likelihood is within the chi-square drop of the maximum."""
        drop = float(stats.chi2.ppf(coverage, 1)) / 2

        def shortfall(logit: float) -> float:
            return best - drop - self.maximise(at[:-1], logit)[0]

        centre = float(np.clip(at[-1], -LARGEST_LOGIT, LARGEST_LOGIT))
        low = 0.0
        if best - without > drop:
            low = _crossing(shortfall, centre, -1.0)
        return low, _crossing(shortfall, max(centre, -12.0), 1.0)

    def never(self, params: Vector, share: float) -> Vector:
        """Posterior probability of never, shape [n]."""
        survival = np.exp(self._rows(params))
        never = share / (share + (1 - share) * survival) if share > 0 else np.zeros(self.times.n)
        return np.where(self.censored, never, 0.0)

    def _rows(self, params: Vector) -> Vector:
        mu = self.x @ params[:-2]
        return log_likelihood(self.times, mu, float(params[-2]), self.distribution)


def _crossing(shortfall: Callable[[float], float], centre: float, direction: float) -> float:
    """The share at which the profile has dropped enough, walking away from the maximum."""
    step, inner = 0.5, centre
    while abs(inner) <= LARGEST_LOGIT:
        outer = inner + direction * step
        if shortfall(outer) > 0:
            return float(special.expit(optimize.brentq(shortfall, inner, outer, xtol=1e-4)))
        inner, step = outer, step * 1.6
    return 0.0 if direction < 0 else 1.0
