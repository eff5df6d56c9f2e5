"""A forecast's distribution over steps: equally probable values, the largest perhaps infinite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nht_theory.estimators.results import Interval
from nht_theory.forecasting.bayesian_ridge import Array, StudentT

ATOMS = 401
"""Equally probable values kept; odd, so that the middle one is the median."""
PROBABILITIES = (np.arange(ATOMS) + 0.5) / ATOMS


@dataclass(frozen=True, eq=False)
class RemainingSteps:
    """Steps until an event, as equally probable values.

    Attributes:
        values: sorted, shape [n]; infinity where the event is not foreseen.
    """

    values: Array

    @classmethod
    def of_log(cls, log_steps: StudentT) -> RemainingSteps:
        """From the distribution of the logarithm.

        Example:
            >>> round(RemainingSteps.of_log(StudentT(np.log(50.0), 0.2, 9.0)).median, 6)
            50.0
        """
        return cls(np.exp(log_steps.quantiles(PROBABILITIES)))

    @classmethod
    def of(cls, values: Array) -> RemainingSteps:
        """From any equally probable values, thinned to :data:`ATOMS`.

        Example:
            >>> RemainingSteps.of(np.array([3.0, np.inf, 1.0])).median
            3.0
        """
        return cls._thinned(np.sort(values, axis=None))

    @classmethod
    def _thinned(cls, ordered: Array) -> RemainingSteps:
        places = np.minimum((PROBABILITIES * ordered.size).astype(np.int64), ordered.size - 1)
        return cls(ordered[places])

    def __add__(self, other: RemainingSteps) -> RemainingSteps:
        """Distribution of the sum of two independent waiting times."""
        sums = np.add.outer(self.values, other.values).ravel()
        sums.sort()
        return RemainingSteps._thinned(sums)

    def beyond(self, elapsed: float) -> RemainingSteps | None:
        """Steps left when ``elapsed`` have passed without the event; None if all lie before.

        Example:
            >>> RemainingSteps.of(np.array([10.0, 20.0, 30.0])).beyond(5.0).median
            15.0
        """
        left = self.values[self.values > elapsed] - elapsed
        return RemainingSteps.of(left) if left.size else None

    def seen_on_grid(self, interval: float) -> RemainingSteps:
        """Steps until the evaluation that will see the event: on average half an interval after
        it, and never before the next evaluation."""
        return RemainingSteps(np.maximum(self.values + 0.5 * interval, interval))

    @property
    def median(self) -> float:
        """The middle value; infinity when the event is more likely not to come."""
        return float(self.values[self.values.size // 2])

    def interval(self, coverage: float, method: str) -> Interval:
        """Central interval."""
        tail = 0.5 * (1.0 - coverage)
        low, high = np.quantile(self.values, [tail, 1.0 - tail], method="inverted_cdf")
        return Interval(float(low), float(high), coverage, method)

    def quantile(self, probability: float) -> float:
        """Steps by which the event has come with that probability."""
        return float(np.quantile(self.values, probability, method="inverted_cdf"))

    def probability_by(self, steps: float) -> float:
        """Probability that the event comes within ``steps``."""
        return float(np.mean(self.values <= steps))
