"""Earlier runs as a forecast uses them: which settings differ, which obeyed the law, the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from nht_theory.forecasting.calibration import Observation
from nht_theory.forecasting.configuration_folds import ConfigurationFolds
from nht_theory.forecasting.empirical_model import fit_empirical_model
from nht_theory.forecasting.landmark_model import LandmarkModel
from nht_theory.forecasting.law_model import LawModel, fit_law_model
from nht_theory.forecasting.lawfulness import Lawfulness
from nht_theory.forecasting.log_delay_model import MINIMUM_CONFIGURATIONS, LogDelayModel
from nht_theory.forecasting.shrunken_regression import SLOPE_SD, ShrunkenRegression, StudentT

MINIMUM_LAW = 2
"""Earlier runs that the law needs: one to place V_star and c, one to show that they repeat."""
MINIMUM_EMPIRICAL = 5
"""Earlier runs below which a regression without the law is not attempted."""
MINIMUM_LAWLESS_CONFIGURATIONS = 3
"""Lawless configurations with a switch from which a regression learns alone."""


@dataclass(frozen=True, eq=False)
class EarlierRuns:
    """Comparable earlier runs.

    Attributes:
        observations: the runs that state every setting of ``names`` and ``constant``.
        names: settings that differ among them and that the run forecast states too.
        constant: settings that do not differ, with their value.
    """

    observations: tuple[Observation, ...]
    names: tuple[str, ...]
    constant: tuple[tuple[str, float], ...]

    @cached_property
    def lawfulness(self) -> Lawfulness:
        """The runs split by whether their configuration obeyed the law."""
        return Lawfulness.of(self.observations)

    @cached_property
    def law_model(self) -> LawModel | None:
        """The law with V_mem, V_star and c as powers of the settings; None with too few
        configurations."""
        lawful = self.lawfulness.lawful
        if _configurations(lawful) < MINIMUM_CONFIGURATIONS:
            return None
        return fit_law_model(lawful, self.names)

    @cached_property
    def empirical_model(self) -> LogDelayModel | None:
        """Survival regression on the settings over every run; None with too few delays."""
        return self._survival_regression(self.observations)

    @cached_property
    def lawless_model(self) -> LogDelayModel | None:
        """The same over runs that broke the law, where these show enough by themselves."""
        lawless = self.lawfulness.lawless
        if _configurations(_delayed(lawless)) < MINIMUM_LAWLESS_CONFIGURATIONS:
            return None
        return self._survival_regression(lawless)

    def _survival_regression(self, used: Sequence[Observation]) -> LogDelayModel | None:
        if len(_delayed(used)) < MINIMUM_EMPIRICAL:
            return None
        return fit_empirical_model(used, self.names)

    @cached_property
    def memorization_regression(self) -> ShrunkenRegression | None:
        """ln T_mem on the settings, over the runs that memorised; None when none did."""
        memorized = [one for one in self._family if one.memorization_time is not None]
        if not memorized:
            return None
        logs = np.log([[one.settings[name] for name in self.names] for one in memorized])
        times = [max(one.memorization_time or 0.0, 1.0) for one in memorized]
        return ShrunkenRegression.fit(logs.reshape(len(memorized), -1), np.log(times))

    @property
    def _family(self) -> tuple[Observation, ...]:
        return self.lawfulness.lawful or self.observations

    def memorization(self, target: Observation) -> StudentT | None:
        """Predictive distribution of ln T_mem."""
        fitted = self.memorization_regression
        if fitted is None:
            return None
        return fitted.predict(np.log([target.settings[name] for name in self.names]))

    def landmark(self, model: LogDelayModel, target: Observation) -> LandmarkModel | None:
        """Earlier runs compared by their state, through the columns that the target logs."""
        logged = frozenset(name for name in target.run.values if target.run.has(name))
        return _landmark(model, logged)

    def unfamiliar(self, target: Observation) -> dict[str, float]:
        """Settings that were the same in every earlier run and differ now: the logarithm of the
        factor between."""
        return {
            name: float(np.log(target.settings[name] / value))
            for name, value in self.constant
            if name in target.settings and target.settings[name] != value
        }

    def widened(self, made: StudentT, target: Observation) -> StudentT:
        """A forecast's distribution with the doubt that unfamiliar settings add."""
        extra = sum((SLOPE_SD * factor) ** 2 for factor in self.unfamiliar(target).values())
        return StudentT(made.location, float(np.hypot(made.scale, np.sqrt(extra))), made.degrees)


@lru_cache(maxsize=64)
def earlier_runs(observations: tuple[Observation, ...], stated: frozenset[str]) -> EarlierRuns:
    """Prepare earlier runs; the models are fitted when first asked for, and kept.

    A setting that most runs state is used, and the runs that do not state it are left out.

    Args:
        observations: comparable runs, without the run forecast.
        stated: settings that the run forecast states.
    """
    counts: dict[str, int] = {}
    for one in observations:
        for name in one.settings:
            counts[name] = counts.get(name, 0) + 1
    usual = [name for name, count in counts.items() if 2 * count > len(observations)]
    shared = sorted(set(usual) & stated)
    kept = tuple(one for one in observations if all(name in one.settings for name in shared))
    values = {name: {one.settings[name] for one in kept} for name in shared}
    names = tuple(name for name in shared if len(values[name]) > 1)
    constant = tuple((name, min(values[name])) for name in shared if len(values[name]) == 1)
    return EarlierRuns(kept, names, constant)


@lru_cache(maxsize=64)
def _landmark(model: LogDelayModel, logged: frozenset[str]) -> LandmarkModel | None:
    return LandmarkModel.of(model, logged)


def _delayed(observations: Sequence[Observation]) -> list[Observation]:
    return [one for one in observations if one.delay is not None]


def _configurations(observations: Sequence[Observation]) -> int:
    return ConfigurationFolds.of([one.configuration for one in observations]).count
