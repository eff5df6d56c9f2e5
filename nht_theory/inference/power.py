"""Power: how many seeds, and which spread of weight decay, would decide about a slope.

The rule that decides is the one of an equivalence interval: a slope is supported when its
interval lies inside the margins, refuted when it lies wholly outside, inconclusive otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import DomainError
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.location_scale import ERRORS, Distribution, contributions
from nht_theory.inference.samples import Vector, finite_vector
from nht_theory.inference.simulated_slopes import simulated_slope_limits

NODES = 400
"""Quadrature nodes: probabilities are exact to about 1e-4."""
MOST_SEEDS = 1000
SMALL_STUDY = 200
"""Runs up to which a plan with a budget is simulated instead of computed."""
SIMULATIONS = 4000
"""Studies simulated: a probability is known to 0.8 points."""


@dataclass(frozen=True)
class DecisionProbabilities:
    """How often the rule would support, refute or leave open.

    Attributes:
        supported, refuted: probabilities; the rest is inconclusive.
        standard_error: expected, of the slope.
        n: independent runs.
        censored: expected share of right-censored runs.
    """

    supported: float
    refuted: float
    standard_error: float
    n: int
    censored: float

    @property
    def inconclusive(self) -> float:
        """Probability that the rule does not decide."""
        return max(0.0, 1 - self.supported - self.refuted)

    @property
    def decided(self) -> float:
        """Probability that the rule decides either way."""
        return self.supported + self.refuted


@dataclass(frozen=True)
class SlopeDesign:
    """A planned sweep and what is believed about it.

    Attributes:
        spread: largest over smallest value of the quantity swept (1/gamma, say).
        levels: values swept, equally spaced on the log scale.
        scale: sigma of ln T within a setting.
        slope: true slope of ln T on the log of the quantity.
        median: time at the middle of the sweep, in steps; only matters with a budget.
        budget: steps after which a run is stopped; None when all are trained to the end.
        low, high: equivalence margins of the slope.
        coverage: of the interval that decides.
        coefficients: that the regression fits, the constant and this slope among them.

    Example:
        >>> design = SlopeDesign(spread=10, levels=5, scale=0.2, low=0.8, high=1.25)
        >>> design.decide(seeds=3).supported < design.decide(seeds=10).supported
        True
    """

    spread: float
    levels: int
    scale: float
    low: float
    high: float
    slope: float = 1.0
    median: float = 1000.0
    budget: float | None = None
    coverage: float = CONFIDENCE
    coefficients: int = 2

    def __post_init__(self) -> None:
        if not (self.spread > 1 and self.levels >= 2 and self.scale > 0 and self.low < self.high):
            raise DomainError(
                f"spread {self.spread:g}, {self.levels} levels, scale {self.scale:g}, margins "
                f"({self.low:g}, {self.high:g})",
                source="SlopeDesign",
                remedy="give spread > 1, two levels or more, scale > 0 and low < high",
            )

    def log_levels(self) -> Vector:
        """The levels swept, centred, on the log scale, shape [levels]."""
        half = math.log(self.spread) / 2
        return np.linspace(-half, half, self.levels)

    def decide(self, seeds: int) -> DecisionProbabilities:
        """What the rule would do with ``seeds`` runs at each level."""
        x = np.repeat(self.log_levels(), seeds)
        design = np.column_stack([np.ones_like(x), x])
        mu = math.log(self.median) + self.slope * x
        covariance, censored = expected_covariance(
            design, mu, self.scale, budget=math.inf if self.budget is None else self.budget
        )
        error = math.sqrt(covariance[1, 1])
        # events less coefficients, as the fit counts
        free = round(x.size * (1 - censored)) - self.coefficients
        if free < 1:
            raise DomainError(
                f"{free + self.coefficients} events expected for {self.coefficients} coefficients",
                source="seeds",
                remedy="plan more runs or a longer budget",
            )
        if self.budget is not None and x.size <= SMALL_STUDY:
            supported, refuted = self._simulated(x)
        else:
            supported, refuted = interval_decision(
                self.slope, error, free, self.low, self.high, coverage=self.coverage
            )
        return DecisionProbabilities(supported, refuted, error, x.size, censored)

    def _simulated(self, x: Vector) -> tuple[float, float]:
        """Shares of simulated studies: in a small censored one the estimate and its error are
        correlated, and the normal theory would promise up to six points too much."""
        assert self.budget is not None
        low, high = simulated_slope_limits(
            x,
            slope=self.slope,
            scale=self.scale,
            log_median=math.log(self.median),
            log_budget=math.log(self.budget),
            coverage=self.coverage,
            simulations=SIMULATIONS,
        )
        supported = (self.low < low) & (high < self.high)
        refuted = (high < self.low) | (low > self.high)
        return float(supported.mean()), float(refuted.mean())


def interval_decision(
    true_value: float,
    standard_error: float,
    degrees_of_freedom: int,
    low: float,
    high: float,
    *,
    coverage: float = CONFIDENCE,
) -> tuple[float, float]:
    """Probabilities that a t interval falls inside, or wholly outside, (low, high).

    The estimate is normal about ``true_value``, its estimated standard error an independent
    scaled chi: exact for least squares. Derived here; without the second margin it is the
    power function of Schuirmann's test.

    Example:
        >>> supported, refuted = interval_decision(1.0, 0.05, 1000, 0.8, 1.25)
        >>> round(supported, 2), round(refuted, 4)
        (0.98, 0.0)
    """
    half = stats.t.ppf(0.5 + coverage / 2, degrees_of_freedom)
    middle = (np.arange(NODES) + 0.5) / NODES
    # s / sigma at equally likely quantiles
    spread = np.sqrt(stats.chi2.ppf(middle, degrees_of_freedom) / degrees_of_freedom)
    reach = half * spread * standard_error
    upper, lower = high - reach - true_value, low + reach - true_value
    inside = stats.norm.cdf(upper / standard_error) - stats.norm.cdf(lower / standard_error)
    below = stats.norm.cdf((low - reach - true_value) / standard_error)
    above = stats.norm.sf((high + reach - true_value) / standard_error)
    return float(np.mean(np.maximum(inside, 0))), float(np.mean(below + above))


def expected_covariance(
    design: ArrayLike,
    mu: ArrayLike,
    scale: float,
    *,
    budget: float = math.inf,
    distribution: Distribution = Distribution.LOG_NORMAL,
) -> tuple[Vector, float]:
    """Inverse expected information of a censored regression, and the expected censored share.

    Args:
        design: shape [n, k].
        mu: true location of ln T of each row, shape [n].
        scale: sigma.
        budget: right-censoring time common to all rows.

    Returns the covariance of (coefficients, ln sigma), shape [k + 1, k + 1].

    Example:
        >>> covariance, censored = expected_covariance(np.ones((25, 1)), np.zeros(25), 0.5)
        >>> round(float(covariance[0, 0]) ** 0.5, 4), censored   # sigma / sqrt(n)
        (0.1, 0.0)
    """
    x = np.asarray(design, dtype=np.float64)
    location = finite_vector(mu, "mu")
    k = x.shape[1]
    information = np.zeros((k + 1, k + 1))
    censored = 0.0
    for level in np.unique(location):
        rows = x[location == level]
        parts, survival = _information_of_row(float(level), scale, budget, distribution)
        censored += survival * len(rows)
        information[:k, :k] += parts[0] * rows.T @ rows
        information[:k, k] += parts[1] * rows.sum(axis=0)
        information[k, k] += parts[2] * len(rows)
    information[k, :k] = information[:k, k]
    return np.linalg.inv(information).astype(np.float64), censored / len(location)


def seeds_needed(design: SlopeDesign, *, power: float = 0.8) -> int | None:
    """Fewest seeds per level with which the rule decides with probability ``power``.

    None when a thousand would not do: the true slope sits on a margin.

    Example:
        >>> seeds_needed(SlopeDesign(spread=10, levels=5, scale=0.2, low=0.8, high=1.25))
        4
    """
    low = -(-(design.coefficients + 1) // design.levels)
    high = max(low, 2)
    while design.decide(high).decided < power:
        low, high = high, 2 * high
        if high > MOST_SEEDS:
            return None
    while low < high:
        middle = (low + high) // 2
        if design.decide(middle).decided >= power:
            high = middle
        else:
            low = middle + 1
    return high


def power_table(
    design: SlopeDesign, *, seeds: Sequence[int], spreads: Sequence[float]
) -> tuple[tuple[float, int, DecisionProbabilities], ...]:
    """Rows (spread, seeds, probabilities) over a grid of plans, all else as in ``design``.

    Example:
        >>> design = SlopeDesign(spread=10, levels=5, scale=0.2, low=0.8, high=1.25)
        >>> [row[:2] for row in power_table(design, seeds=[3, 5], spreads=[10.0])]
        [(10.0, 3), (10.0, 5)]
    """
    return tuple(
        (spread, count, replace(design, spread=spread).decide(count))
        for spread in spreads
        for count in seeds
    )


def _information_of_row(
    mu: float, scale: float, budget: float, distribution: Distribution
) -> tuple[tuple[float, float, float], float]:
    """Expected -(d2 mu mu, d2 mu tau, d2 tau tau) of one row, and its chance of censoring."""
    error = ERRORS[distribution]
    log_scale = math.log(scale)
    survival = 0.0
    if math.isfinite(budget):
        end = np.array([(math.log(budget) - mu) / scale])
        survival = float(np.exp(error.log_above(end))[0])
    event = 1 - survival
    middle = error.quantile(event * (np.arange(NODES) + 0.5) / NODES)
    time = np.exp(mu + scale * middle)
    low, high, weight = time, time, np.full(NODES, event / NODES)
    if survival > 0:
        low, high = np.append(time, budget), np.append(time, math.inf)
        weight = np.append(weight, survival)
    parts = contributions(
        CensoredTimes.of(low, high), np.full(low.size, mu), log_scale, distribution
    )
    expected = tuple(
        -float(weight @ part) for part in (parts.d_mu_mu, parts.d_mu_tau, parts.d_tau_tau)
    )
    return (expected[0], expected[1], expected[2]), survival
