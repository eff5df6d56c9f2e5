"""Earlier runs as a forecast uses them: which settings differ, which obeyed the law, the models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from nht_theory.forecasting.bayesian_ridge import (
    RESIDUAL_SD,
    SLOPE_SD,
    BayesianRidge,
    StudentT,
)
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.candidate_models import (
    candidate_models,
    configuration_errors,
    held_out_error,
    law_forms,
)
from nht_theory.forecasting.empirical_model import delayed, survival_regression
from nht_theory.forecasting.group_folds import GroupFolds
from nht_theory.forecasting.landmark_model import LandmarkModel
from nht_theory.forecasting.law_model import LawModel, fit_law_model
from nht_theory.forecasting.lawfulness import Lawfulness
from nht_theory.forecasting.log_delay_model import MINIMUM_CONFIGURATIONS, LogDelayModel

MINIMUM_LAW = 2
"""Earlier runs that the law needs: one to place V_star and c, one to show that they repeat."""
MINIMUM_LAWLESS_CONFIGURATIONS = 3
"""Lawless configurations with a switch from which a regression learns alone."""
UNSTATED_SD = 0.5
"""Added to the spread of ln delay where settings are stated on one side only, as between studies:
the other side may differ in them by any factor."""
UNTRIED_SCHEDULE_SD = 0.3
"""Added to the spread of ln delay under a schedule that no earlier run followed: as the prior
slope of a setting of the clock."""
RATE = "learning_rate"
EXPONENTS = (0.5, 3.0)
"""Range of the power of the learning rate that a schedule is seen through."""
DERIVED = frozenset({"parameter_count"})
"""Settings that follow from others: leaving them unsaid leaves nothing unsaid."""


@dataclass(frozen=True, eq=False)
class CalibrationSet:
    """Comparable earlier runs.

    Attributes:
        observations: the runs that state every setting of ``names`` and ``constant``.
        names: settings that differ among them and that the run forecast states too.
        constant: settings that do not differ, with their value.
        unstated: settings and conditions that only one side states: the run forecast or the
            earlier runs.
    """

    observations: tuple[ObservedRun, ...]
    names: tuple[str, ...]
    constant: tuple[tuple[str, float], ...]
    unstated: tuple[str, ...]

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
    def delay_model(self) -> LogDelayModel | None:
        """The form of the law that errs least on configurations left out; None with too few."""
        if self.law_model is None:
            return None
        forms = law_forms(candidate_models(self.lawfulness.lawful, self.names))
        return min(forms, key=held_out_error)

    @cached_property
    def law_scores_worse(self) -> bool:
        """Whether a regression without the law errs less on configurations left out, by more than
        one standard error of the difference: a form with a theory behind it has the doubt."""
        law = self.delay_model
        if law is None:
            return False
        regression = survival_regression(self.lawfulness.lawful, self.names, clock=True)
        if regression is None:
            return False
        gained = configuration_errors(law) - configuration_errors(regression)
        return bool(gained.mean() > gained.std(ddof=1) / np.sqrt(gained.size))

    def rate_exponent(self, target: ObservedRun) -> float:
        """Power of the learning rate with which delays shorten: the law's one, unless earlier runs
        at several rates show another (V_star and c move with the rate too)."""
        model, rate = self.delay_model, target.decay_rate
        if model is None or rate is None or RATE not in model.names:
            return 1.0
        slower = {**target.settings, RATE: target.settings[RATE] / 2}
        at_half = model.log_delay(model.centred(slower), rate / 2)
        shown = (at_half - model.log_delay(model.centred(target.settings), rate)) / np.log(2.0)
        return float(np.clip(shown, *EXPONENTS))

    def empirical_model(self, target: ObservedRun, *, strayed: bool) -> LogDelayModel | None:
        """Survival regression on the settings; None with too few delays.

        Args:
            target: the run forecast; delays are counted in its clock where it has one.
            strayed: whether it stands where the law breaks: then only runs that broke it are
                used, if these show enough by themselves.
        """
        clock = target.decay_rate is not None
        lawless = self.lawfulness.lawless
        alone = _configurations(delayed(lawless)) >= MINIMUM_LAWLESS_CONFIGURATIONS
        made = survival_regression(lawless, self.names, clock=clock) if strayed and alone else None
        return made or survival_regression(self.observations, self.names, clock=clock)

    @cached_property
    def memorization_regression(self) -> BayesianRidge | None:
        """ln T_mem on the settings, over the runs that memorised; None when none did."""
        memorized = [one for one in self._family if one.memorization_time is not None]
        if not memorized:
            return None
        logs = np.log([[one.settings[name] for name in self.names] for one in memorized])
        times = [max(one.memorization_time or 0.0, 1.0) for one in memorized]
        return BayesianRidge.fit(logs.reshape(len(memorized), -1), np.log(times))

    @cached_property
    def _initial_norms(self) -> BayesianRidge | None:
        known = [one for one in self._family if one.initial_squared_norm is not None]
        if not known:
            return None
        logs = np.log([[one.settings[name] for name in self.names] for one in known])
        norms = [one.initial_squared_norm or 1.0 for one in known]
        return BayesianRidge.fit(logs.reshape(len(known), -1), np.log(norms))

    def initial_norm(self, target: ObservedRun) -> StudentT | None:
        """Predictive distribution of ln V at step 0, no narrower than seeds are elsewhere; None
        where no earlier run logs it."""
        fitted = self._initial_norms
        if fitted is None:
            return None
        made = fitted.predict(np.log([target.settings[name] for name in self.names]))
        untried = [(SLOPE_SD * factor) ** 2 for factor in self.unfamiliar(target).values()]
        scale = float(np.sqrt(made.scale**2 + RESIDUAL_SD**2 + sum(untried)))
        return StudentT(made.location, scale, made.degrees)

    @property
    def _family(self) -> tuple[ObservedRun, ...]:
        return self.lawfulness.lawful or self.observations

    def memorization(self, target: ObservedRun) -> StudentT | None:
        """Predictive distribution of ln T_mem."""
        fitted = self.memorization_regression
        if fitted is None:
            return None
        return fitted.predict(np.log([target.settings[name] for name in self.names]))

    def landmark(self, model: LogDelayModel, target: ObservedRun) -> LandmarkModel | None:
        """Earlier runs compared by their state, through the columns that the target logs."""
        logged = frozenset(name for name in target.run.values if target.run.has(name))
        return _landmark(model, logged)

    def unfamiliar(self, target: ObservedRun) -> dict[str, float]:
        """Settings that were the same in every earlier run and differ now: the logarithm of the
        factor between."""
        return {
            name: float(np.log(target.settings[name] / value))
            for name, value in self.constant
            if name in target.settings and target.settings[name] != value
        }

    def widened(self, made: StudentT, target: ObservedRun) -> StudentT:
        """A forecast's distribution with the doubt that unfamiliar and unstated settings add."""
        extra = sum((SLOPE_SD * factor) ** 2 for factor in self.unfamiliar(target).values())
        extra += UNSTATED_SD**2 if self.unstated else 0.0
        extra += UNTRIED_SCHEDULE_SD**2 if self._untried_schedule(target) else 0.0
        return StudentT(made.location, float(np.hypot(made.scale, np.sqrt(extra))), made.degrees)

    def _untried_schedule(self, target: ObservedRun) -> bool:
        return all(one.schedule != target.schedule for one in self.observations)


@lru_cache(maxsize=64)
def earlier_runs(observations: tuple[ObservedRun, ...], stated: frozenset[str]) -> CalibrationSet:
    """Prepare earlier runs; the models are fitted when first asked for, and kept.

    A setting that most runs state is used, and the runs that do not state it are left out.

    Args:
        observations: comparable runs, without the run forecast.
        stated: settings and conditions that the run forecast states.
    """
    counts = Counter(name for one in observations for name in one.settings)
    said = Counter(name for one in observations for name in one.stated)
    shared = sorted(name for name in _usual(counts, observations) if name in stated)
    kept = tuple(one for one in observations if all(name in one.settings for name in shared))
    values = {name: {one.settings[name] for one in kept} for name in shared}
    names = tuple(name for name in shared if len(values[name]) > 1)
    constant = tuple((name, min(values[name])) for name in shared if len(values[name]) == 1)
    one_sided = (_usual(said, observations) - stated) | (stated - set(said))
    return CalibrationSet(kept, names, constant, tuple(sorted(one_sided - DERIVED)))


def _usual(counts: Counter[str], observations: Sequence[ObservedRun]) -> set[str]:
    """Names that most runs state."""
    return {name for name, count in counts.items() if 2 * count > len(observations)}


@lru_cache(maxsize=64)
def _landmark(model: LogDelayModel, logged: frozenset[str]) -> LandmarkModel | None:
    return LandmarkModel.of(model, logged)


def _configurations(observations: Sequence[ObservedRun]) -> int:
    return GroupFolds.of([one.configuration for one in observations]).count
