"""When further training is unlikely to bring the switch, and how often that advice errs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.errors import ConvergenceError, DomainError
from nht_theory.forecasting.calibration import ObservedRun, observe, observe_all
from nht_theory.forecasting.calibration_set import CalibrationSet, earlier_runs
from nht_theory.forecasting.comparable import comparable
from nht_theory.forecasting.empirical_model import survival_regression
from nht_theory.forecasting.forecast_run import on_its_clock, outlook_of
from nht_theory.runs.study import Study

STOP_BELOW = 0.05
"""Probability of a switch in the time that is left below which stopping is advised."""
_MOMENTS = 8
"""Evaluations, evenly spaced after memorisation, at which the advice is scored."""


@dataclass(frozen=True)
class StopAdvice:
    """Whether to go on.

    Attributes:
        stop: whether stopping is advised.
        probability: that the switch comes in the time that is left (at any time, where no
            budget is known).
        probability_never: that it would not come however long one trained, given that it has
            not come yet: the cure fraction of earlier runs.
        reason: in words.
    """

    stop: bool
    probability: float
    probability_never: float
    reason: str


@dataclass(frozen=True)
class CureShare:
    """Of earlier runs that memorised: the share that never switch, and ln(delay / expected) of
    the others, normal with this mean and standard deviation."""

    never: float
    mean: float
    sd: float

    def given(self, ratio: float) -> float:
        """Probability of never, when ``ratio`` expected delays have passed without a switch.

        Example:
            >>> round(CureShare(0.5, 0.0, 1.0).given(1.0), 4)
            0.6667
        """
        if ratio <= 0:
            return self.never
        still = 0.5 * math.erfc((math.log(ratio) - self.mean) / (self.sd * math.sqrt(2)))
        total = self.never + (1.0 - self.never) * still
        return float(self.never / total) if total > 0 else 1.0


def stop_advice(target: ObservedRun, earlier: CalibrationSet) -> StopAdvice | None:
    """Advice for a run that has memorised and not switched.

    Args:
        target: the run, cut at what is known.
        earlier: comparable earlier runs.

    Returns:
        None where neither a forecast nor a cure fraction can be had.
    """
    outlook, (even, _) = outlook_of(target, earlier), on_its_clock(target, earlier)
    start = even.memorization_time
    clock = even.decay_rate is not None
    model = survival_regression(earlier.observations, earlier.names, clock=clock)
    if start is None or outlook is None or model is None:
        return None
    now = int(target.run.steps[-1])
    share = cure_share(earlier.observations, earlier.names, clock=clock)
    expected = model.predict(target.settings, even.decay_rate, target.configuration)
    passed = float(even.run.steps[-1]) - start
    never = 0.0 if share is None else share.given(passed / math.exp(expected.location))
    total = target.run.hyperparameters.total_steps
    in_time = 1.0 if total is None else outlook.steps.probability_by(total - now)
    probability = (1.0 - never) * in_time
    stop = probability < STOP_BELOW
    budget = "at any time" if total is None else f"by step {total}"
    return StopAdvice(
        stop=stop,
        probability=probability,
        probability_never=never,
        reason=f"a switch {budget} has probability {probability:.2f}; that it never comes, "
        f"{never:.2f}",
    )


@lru_cache(maxsize=64)
def cure_share(
    observations: tuple[ObservedRun, ...], names: tuple[str, ...], *, clock: bool
) -> CureShare | None:
    """The share of earlier runs that never switch, by a mixture cure model of delays in units of
    the delay that their settings make likely; None where it cannot be told from "not yet"."""
    from nht_theory.inference.censored_times import CensoredTimes
    from nht_theory.inference.cure_fraction import fit_cure_fraction

    model = survival_regression(observations, names, clock=clock)
    if model is None or all(one.generalization_step is not None for one in model.observations):
        return None
    seen = np.array([one.generalization_step is not None for one in model.observations])
    ratio = np.exp([_log_followed(one) for one in model.observations] - model.held_out)
    try:
        fitted = fit_cure_fraction(
            CensoredTimes.right_censored(ratio, seen), np.ones((seen.size, 1)), ["level"]
        )
    except (ConvergenceError, DomainError):
        return None
    # A share that the data cannot tell from "not yet" is not claimed.
    interval = fitted.fraction.interval
    never = fitted.fraction.value if interval is not None and interval.low > 0 else 0.0
    return CureShare(never, float(fitted.coefficients[0]), fitted.scale)


def _log_followed(one: ObservedRun) -> float:
    """ln of the delay, or of the steps for which the run was followed without a switch."""
    if one.delay is not None:
        return math.log(one.delay)
    start = one.memorization_time or 0.0
    end = one.generalization_time or float(one.run.steps[-1])
    return math.log(max(end - start, 0.5 * max(one.evaluation_interval, 1)))


@dataclass(frozen=True)
class StopScore:
    """How often the advice to stop erred.

    Attributes:
        switched: runs that did switch and were asked about.
        wrongly_stopped: of these, runs ever told to stop before they switched.
        unswitched: runs that had not switched when their log ends.
        stopped: of these, runs ever told to stop.
        steps_saved: share of the steps of the latter after memorisation that stopping saves.
    """

    switched: int
    wrongly_stopped: int
    unswitched: int
    stopped: int
    steps_saved: float


def score_stop_advice(study: Study, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> StopScore:
    """Ask for advice at evaluations after memorisation, each run from other configurations."""
    observed = observe_all(study.runs, thresholds)
    told: dict[bool, list[float | None]] = {True: [], False: []}
    for own in observed:
        if own.memorization_step is None or own.recorded_delay == 0 or own.generalization is None:
            continue
        told[own.generalization_step is not None].append(_first_stop(own, observed, thresholds))
    wrongly = sum(one is not None for one in told[True])
    saved = [one for one in told[False] if one is not None]
    return StopScore(
        switched=len(told[True]),
        wrongly_stopped=wrongly,
        unswitched=len(told[False]),
        stopped=len(saved),
        steps_saved=float(np.sum(saved) / max(len(told[False]), 1)),
    )


def _first_stop(
    own: ObservedRun, observed: Sequence[ObservedRun], thresholds: Thresholds
) -> float | None:
    """Share of the steps after memorisation that the first advice to stop saves; None if none."""
    start, end = own.memorization_step or 0, own.generalization_step
    last = int(own.run.steps[-1])
    open_steps = own.run.steps[
        (own.run.steps >= start) & (own.run.steps < (last + 1 if end is None else end))
    ]
    places = np.unique(np.linspace(0, open_steps.size - 1, _MOMENTS).astype(int))
    for now in open_steps[places]:
        target = observe(own.run.until(int(now)), thresholds)
        kept = (
            one for one in comparable(observed, target) if one.configuration != own.configuration
        )
        advice = stop_advice(target, earlier_runs(tuple(kept), target.stated))
        if advice is not None and advice.stop:
            return float((last - now) / max(last - start, 1))
    return None
