"""What the settings of a run say about its delay before it trains, and how surely."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nht_theory.forecasting.bayesian_ridge import (
    RESIDUAL_DEGREES,
    RESIDUAL_SD,
    SLOPE_SD,
    Array,
    StudentT,
)
from nht_theory.forecasting.calibration import Configuration, ObservedRun
from nht_theory.forecasting.group_folds import GroupFolds

MINIMUM_CONFIGURATIONS = 4
"""Configurations below which leaving one out says too little to choose features by it."""


@dataclass(frozen=True, eq=False)
class LogDelayModel:
    """A model of ln(delay) from settings, with its held-out errors.

    Attributes:
        names: the settings that differ among the calibration runs, length k.
        centre: mean of their logarithms, shape [k].
        log_delay: ln delay as a function of the centred logarithms of the settings, shape [k],
            and of the pure-decay rate (None where there is none).
        held_out: ln delay of each calibration run, its configuration left out, shape [n].
        errors: observed minus ``held_out``, shape [n].
        observations: the calibration runs, length n.
        parameters: number of fitted coefficients.
        method: in words.
        between_sd: prior standard deviation between configurations, counted as one more
            configuration; 0 where the errors of left-out configurations say enough.
    """

    names: tuple[str, ...]
    centre: Array
    log_delay: Callable[[Array, float | None], float]
    held_out: Array
    errors: Array
    observations: tuple[ObservedRun, ...]
    parameters: int
    method: str
    between_sd: float = 0.0

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the calibration runs."""
        return tuple(one.run.name for one in self.observations)

    @cached_property
    def folds(self) -> GroupFolds:
        """Which calibration runs share a configuration."""
        return GroupFolds.of([one.configuration for one in self.observations])

    def centred(self, settings: Mapping[str, float]) -> Array:
        """Logarithms of the settings about their mean in calibration, shape [k]."""
        return np.array([np.log(settings[name]) for name in self.names]) - self.centre

    def predict(
        self,
        settings: Mapping[str, float],
        decay_rate: float | None,
        configuration: Configuration,
    ) -> StudentT:
        """Predictive distribution of ln delay.

        A configuration that the calibration runs hold is predicted by the fit that left it out,
        moved towards its own runs by partial pooling: the between-configuration variance of the
        held-out errors against their within-configuration variance.
        """
        scale, degrees = self.spread()
        own = np.array([one.configuration == configuration for one in self.observations])
        if own.any():
            between, within = self._variances()
            weight = between / (between + within / own.sum()) if between > 0 else 0.0
            centre = float(self.held_out[own][0] + weight * self.errors[own].mean())
            remaining = within + (1.0 - weight) * between
            return StudentT(centre, min(scale, float(np.sqrt(remaining))), degrees)
        return StudentT(self.log_delay(self.centred(settings), decay_rate), scale, degrees)

    def spread(self) -> tuple[float, float]:
        """Scale of a forecast for an unseen configuration, and its degrees of freedom.

        The mean square of the held-out errors is drawn towards the spread that seeds leave.
        Replicates share their configuration's error, so the degrees count configurations.
        """
        count, size = self.folds.count, self.errors.size
        squares = RESIDUAL_DEGREES * RESIDUAL_SD**2 + float(self.errors @ self.errors)
        variance = squares / (RESIDUAL_DEGREES + size)
        if self.between_sd:
            variance = (count * variance + self.between_sd**2) / (count + 1)
        return float(np.sqrt(variance)), RESIDUAL_DEGREES + count - 1

    def _variances(self) -> tuple[float, float]:
        """Between- and within-configuration variance of the held-out errors (moments)."""
        folds = self.folds
        sizes = np.bincount(folds.fold, minlength=folds.count)
        means = np.bincount(folds.fold, self.errors, minlength=folds.count) / sizes
        inside = self.errors - means[folds.fold]
        degrees = self.errors.size - folds.count
        within = (RESIDUAL_DEGREES * RESIDUAL_SD**2 + float(inside @ inside)) / (
            RESIDUAL_DEGREES + degrees
        )
        between = float(np.mean(means**2) - within * np.mean(1.0 / sizes))
        return max(between, 0.0), within


def prior_penalty(coefficients: int) -> Array:
    """Ridge penalty of an intercept and slopes whose prior is that of BayesianRidge."""
    return np.array([1e-6] + [(RESIDUAL_SD / SLOPE_SD) ** 2] * (coefficients - 1))
