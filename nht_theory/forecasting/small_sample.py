"""The law from a handful of earlier runs: shrunken regressions, and every doubt carried through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.errors import DomainError
from nht_theory.forecasting.bayesian_ridge import (
    SLOPE_SD,
    Array,
    BayesianRidge,
    StudentT,
)
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.group_folds import GroupFolds
from nht_theory.forecasting.remaining_steps import RemainingSteps

CLOCK_SLOPE_SD = {"learning_rate": 0.3, "weight_decay": 0.3}
"""Prior standard deviations of the slopes of ln(delay * r): the law says nought but for the
logarithm of the ratio, so delays follow the clock closely in the two settings that make it."""
OTHER_CLOCK_SLOPE_SD = 1.0
"""The same for any other setting, such as a size, of which the law says nothing."""
_GRID = (np.arange(99) + 0.5) / 99


@dataclass(frozen=True, eq=False)
class SmallSampleLaw:
    """Predictive distributions of what the law needs, at the settings of one run.

    Attributes:
        log_memorization, log_star, log_efficiency: of ln V_mem, ln V_star and ln c.
        log_clock: of ln(delay * r), the delay in units of the pure-decay rate.
        settings: names that the regressions use.
        runs: earlier runs.
    """

    log_memorization: StudentT
    log_star: StudentT
    log_efficiency: StudentT
    log_clock: StudentT
    settings: tuple[str, ...]
    runs: tuple[str, ...]

    @classmethod
    def fit(
        cls,
        lawful: Sequence[ObservedRun],
        target: ObservedRun,
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
            folds = GroupFolds.of([one.configuration for one in lawful])
            table, logs = folds.means(table), folds.means(logs)
        own = np.log([target.settings[name] for name in names])

        slopes = np.array([CLOCK_SLOPE_SD.get(name, OTHER_CLOCK_SLOPE_SD) for name in names])

        def regress(target: Array, slope_sd: float | Array = SLOPE_SD) -> StudentT:
            return BayesianRidge.fit(logs, target, slope_sd=slope_sd).predict(own)

        return cls(
            regress(table[:, 0]),
            regress(table[:, 1]),
            regress(table[:, 2]),
            regress(table[:, 3], slopes),
            names,
            tuple(one.run.name for one in lawful),
        )

    def delay(self, decay_rate: float) -> RemainingSteps:
        """Steps from memorisation to generalisation, from the settings alone."""
        made = self.log_clock
        return RemainingSteps.of_log(
            StudentT(made.location - math.log(decay_rate), made.scale, made.degrees)
        )

    def left(
        self, decay_rate: float, elapsed: float, memorized: float, now: float
    ) -> RemainingSteps | None:
        """Steps left after memorisation: an even mixture of what the settings say, given the
        time passed, and of the law at the run's own V.

        Args:
            decay_rate: pure-decay rate of V per step.
            elapsed: steps since memorisation.
            memorized: ln V of the run at memorisation.
            now: ln V of the run now.

        Returns:
            None when the run has outlasted both.
        """
        told = (
            self.delay(decay_rate).beyond(elapsed),
            self.from_norm(decay_rate, memorized, now),
        )
        known = [one.values for one in told if one is not None]
        return RemainingSteps.of(np.concatenate(known)) if known else None

    def from_norm(self, decay_rate: float, memorized: float, now: float) -> RemainingSteps | None:
        """Steps from V to V_star by the law; infinite where V_mem is not above V_star.

        A V_star that V has passed without a switch is ruled out, and its probability shared
        among the rest; None when V has passed every one that earlier runs make likely.
        """
        star = self.log_star.quantiles(_GRID)
        rate = decay_rate * np.exp(self.log_efficiency.quantiles(_GRID))
        ratio = np.where(star < memorized, now - star, -np.inf)
        ratio = ratio[(star >= memorized) | (star < now)]
        if not ratio.size:
            return None
        steps = np.where(ratio[:, None] > 0, ratio[:, None] / rate[None, :], np.inf)
        return RemainingSteps.of(steps)

    @property
    def parameters(self) -> float:
        """Fitted coefficients of the four regressions."""
        return 4.0 * (1 + len(self.settings))

    def describe(self, log_squared_norm: float) -> str:
        """The law with its numbers, V at memorisation among them."""
        above, star, c = np.exp(
            [log_squared_norm, self.log_star.location, self.log_efficiency.location]
        )
        count = 1 + len(self.settings)
        return (
            f"ln(V_mem/V_star)/(c r), V_mem {above:.4g}, V_star {star:.4g}, c {c:.3g}, and the "
            f"delay in units of 1/r, {math.exp(self.log_clock.location):.3g}: each with {count} "
            f"shrunken parameters ({', '.join(('level', *self.settings))})"
        )


def _measured(one: ObservedRun) -> tuple[float, float, float, float]:
    """ln V_mem, ln V_star, ln c and ln(delay * r) of a run that obeyed the law."""
    above, star = one.squared_norm_memorization, one.squared_norm_generalization
    if above is None or star is None or one.decay_rate is None or one.delay is None:
        raise DomainError("the run shows no delay with both norms", source=one.run.name)
    clock = one.decay_rate * one.delay
    efficiency = math.log(above / star) / clock
    return math.log(above), math.log(star), math.log(efficiency), math.log(clock)
