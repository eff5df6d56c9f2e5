"""The law from a handful of earlier runs: shrunken regressions, and every doubt carried through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.errors import DomainError
from nht_theory.forecasting.calibration import Observation
from nht_theory.forecasting.configuration_folds import ConfigurationFolds
from nht_theory.forecasting.shrunken_regression import Array, ShrunkenRegression, StudentT
from nht_theory.forecasting.steps_ahead import StepsAhead

_GRID = (np.arange(99) + 0.5) / 99


@dataclass(frozen=True, eq=False)
class SmallSampleLaw:
    """Predictive distributions of what the law needs, at the settings of one run.

    Attributes:
        log_memorization, log_star, log_efficiency: of ln V_mem, ln V_star and ln c.
        settings: names that the regressions use.
        runs: earlier runs.
    """

    log_memorization: StudentT
    log_star: StudentT
    log_efficiency: StudentT
    settings: tuple[str, ...]
    runs: tuple[str, ...]

    @classmethod
    def fit(
        cls,
        lawful: Sequence[Observation],
        target: Observation,
        names: tuple[str, ...],
    ) -> SmallSampleLaw:
        """From earlier runs that obeyed the law (at least one).

        Args:
            lawful: runs with a delay, both norms and a decay rate.
            target: the run forecast.
            names: settings that differ among all of these.

        Replicates count as one run, their geometric mean, unless the run forecast is itself a
        replicate: what they share tells nothing of another configuration.
        """
        table = np.array([_measured(one) for one in lawful])
        logs = np.log([[one.settings[name] for name in names] for one in lawful])
        logs = logs.reshape(len(lawful), len(names))
        if all(one.configuration != target.configuration for one in lawful):
            folds = ConfigurationFolds.of([one.configuration for one in lawful])
            table, logs = folds.means(table), folds.means(logs)
        own = np.log([target.settings[name] for name in names])

        def regress(target: Array) -> StudentT:
            return ShrunkenRegression.fit(logs, target).predict(own)

        return cls(
            regress(table[:, 0]),
            regress(table[:, 1]),
            regress(table[:, 2]),
            names,
            tuple(one.run.name for one in lawful),
        )

    def steps(
        self, decay_rate: float, memorized: float | None, now: float | None
    ) -> StepsAhead | None:
        """Steps from V to V_star; infinite where V_mem is not above V_star.

        A V_star that V has passed without a switch is ruled out, and its probability shared
        among the rest.

        Args:
            decay_rate: pure-decay rate of V per step.
            memorized: ln V of the run at memorisation; None before, when that of earlier runs is
                used with its own doubt.
            now: ln V of the run now; None before memorisation.

        Returns:
            None when V has passed every V_star that earlier runs make likely.
        """
        star = self.log_star.quantiles(_GRID)
        rate = decay_rate * np.exp(self.log_efficiency.quantiles(_GRID))
        if memorized is None or now is None:
            ratio = (self.log_memorization.quantiles(_GRID)[:, None] - star[None, :]).ravel()
        else:
            ratio = np.where(star < memorized, now - star, -np.inf)
            ratio = ratio[(star >= memorized) | (star < now)]
        if not ratio.size:
            return None
        steps = np.where(ratio[:, None] > 0, ratio[:, None] / rate[None, :], np.inf)
        return StepsAhead.of(steps)

    @property
    def parameters(self) -> float:
        """Fitted coefficients of the three regressions."""
        return 3.0 * (1 + len(self.settings))

    def describe(self, log_squared_norm: float | None) -> str:
        """The law with its numbers."""
        above = self.log_memorization.location if log_squared_norm is None else log_squared_norm
        shown = [
            np.exp(above),
            np.exp(self.log_star.location),
            np.exp(self.log_efficiency.location),
        ]
        count = 1 + len(self.settings)
        return (
            f"ln(V/V_star)/(c r): V {shown[0]:.4g}, V_star {shown[1]:.4g}, c {shown[2]:.3g}, each "
            f"with {count} shrunken parameters ({', '.join(('level', *self.settings))})"
        )


def _measured(one: Observation) -> tuple[float, float, float]:
    """ln V_mem, ln V_star and ln c of a run that obeyed the law."""
    above, star = one.squared_norm_memorization, one.squared_norm_generalization
    if above is None or star is None or one.decay_rate is None or one.delay is None:
        raise DomainError("the run shows no delay with both norms", source=one.run.name)
    ratio = math.log(above / star)
    return math.log(above), math.log(star), math.log(ratio / (one.decay_rate * one.delay))
