"""What keeps the law from being claimed for a run: its own conditions, and whether earlier runs
show the V_sc, V_st and efficiency that a forecast of it needs."""

from __future__ import annotations

import math

import numpy as np

from nht_theory.conventions import OptimizerKind
from nht_theory.dynamics import OptimizerDynamics
from nht_theory.estimators.norms import usable
from nht_theory.forecasting.calibration import ObservedRun, setting_of
from nht_theory.forecasting.calibration_set import MINIMUM_LAW, CalibrationSet
from nht_theory.forecasting.grounds import Ground, GroundKind, Side
from nht_theory.forecasting.lawfulness import EXTRAPOLATION, too_far
from nht_theory.forecasting.scheduled_clock import schedule_objection
from nht_theory.runs import columns
from nht_theory.runs.run import Run

SCALE_INVARIANT = "scale_invariant"
"""Name of the group of weights before a normalisation layer, where it is logged."""
GROWTH = 0.05
"""Rise of ln V since memorisation beyond which a run is not one whose norm falls."""
FOREIGN = 0.99
"""Coverage of the interval in which V at step 0 lies when network and initialisation are those
of the earlier runs."""
SAME_START = 1.5
"""Factor within which V at step 0 must agree with the earlier runs to vouch for settings that one
side does not state: well below the V_mem/V_star that the law is about."""


def law_objection(target: ObservedRun, earlier: CalibrationSet) -> Ground | None:
    """Why the law may not be claimed for a run before anything is fitted; None when it may."""
    own = _own_objection(target)
    if own is not None:
        return own
    lawful, lawless = earlier.lawfulness.lawful, earlier.lawfulness.lawless
    if len(lawful) < MINIMUM_LAW:
        return Ground(
            GroundKind.FEW_LAWFUL, count=len(lawful), total=MINIMUM_LAW, lawless=len(lawless)
        )
    return (
        _unstated(target, earlier)
        or _untried(target, earlier)
        or earlier.lawfulness.objection(target.settings, target.configuration)
        or _foreign(target, earlier)
    )


def _own_objection(target: ObservedRun) -> Ground | None:
    """What the run itself holds against the law; None when nothing."""
    if target.memorization_time is not None and target.squared_norm_memorization is None:
        return Ground(GroundKind.NO_NORM_AT_MEMORIZATION)
    scheduled = schedule_objection(target.run)
    if scheduled is not None:
        return scheduled
    if target.decay_rate is None:
        return Ground(GroundKind.NO_DECAY_RATE)
    share = _scale_invariant_share(target.run)
    return Ground(GroundKind.SCALE_INVARIANT, value=share) if share > 0.5 else None


def _unstated(target: ObservedRun, earlier: CalibrationSet) -> Ground | None:
    """Settings of which one side says nothing, unless V at step 0 shows the same network."""
    names = tuple(setting_of(name) for name in earlier.unstated)
    if not names or _same_start(target, earlier):
        return None
    return Ground(GroundKind.UNSTATED, names=names)


def _untried(target: ObservedRun, earlier: CalibrationSet) -> Ground | None:
    """A setting that no earlier run varied, farther from theirs than the law reaches."""
    for name in earlier.unfamiliar(target):
        known = dict(earlier.constant)[name]
        if too_far(name, target.settings[name], known, known):
            return _outside_of(name, target.settings[name], known, known)
    return None


def _outside_of(name: str, value: float, low: float, high: float) -> Ground:
    side = Side.ABOVE if value > high else Side.BELOW
    return Ground(GroundKind.OUTSIDE_CALIBRATION, name, side, value, low, high)


def _foreign(target: ObservedRun, earlier: CalibrationSet) -> Ground | None:
    """V at step 0 that the settings do not explain: V_star is carried over in its units."""
    own, likely = target.initial_squared_norm, _likely_start(target, earlier)
    if own is None or likely is None:
        return None
    low, high = likely
    if low <= own <= high:
        return None
    return Ground(GroundKind.FOREIGN_START, value=own, low=low, high=high)


def _same_start(target: ObservedRun, earlier: CalibrationSet) -> bool:
    own, expected = target.initial_squared_norm, earlier.initial_norm(target)
    if own is None or expected is None:
        return False
    return abs(math.log(own) - expected.location) <= math.log(SAME_START)


def _likely_start(target: ObservedRun, earlier: CalibrationSet) -> tuple[float, float] | None:
    """V at step 0 that earlier runs make likely; None where it is not known of both sides."""
    expected = earlier.initial_norm(target)
    if target.initial_squared_norm is None or expected is None:
        return None
    tail = 0.5 * (1.0 - FOREIGN)
    low, high = np.exp(expected.quantiles(np.array([tail, 1.0 - tail])))
    return float(low), float(high)


def score_objection(earlier: CalibrationSet) -> Ground | None:
    """Whether a regression without the law does better on the earlier runs; None when not."""
    return Ground(GroundKind.REGRESSION_BETTER) if earlier.law_scores_worse else None


def norm_objection(target: ObservedRun, log_above: float, log_star: float) -> Ground | None:
    """What the norms themselves hold against the law; None when nothing."""
    star = float(np.exp(log_star))
    if log_above <= log_star:
        return Ground(GroundKind.NOT_ABOVE, value=float(np.exp(log_above)), low=star)
    if target.squared_norm_memorization is not None:
        growth = log_norm_now(target) - log_above
        if growth > GROWTH:
            return Ground(GroundKind.NORM_GREW, value=float(np.expm1(growth)))
    return _blocked(target, star)


def log_norm_now(target: ObservedRun) -> float:
    """ln V at the last evaluation that logs it."""
    return float(np.log(target.run.squared_norm[usable(target.run.squared_norm)][-1]))


def outside(target: ObservedRun, earlier: CalibrationSet) -> Ground | None:
    """A setting that lies too far outside the earlier runs for any forecast; None when none."""
    for name, factor in earlier.unfamiliar(target).items():
        if abs(factor) > math.log(EXTRAPOLATION) * (1 + 1e-12):
            known = dict(earlier.constant)[name]
            return _outside_of(name, target.settings[name], known, known)
    for name in earlier.names:
        known_values = [one.settings[name] for one in earlier.observations]
        value, low, high = target.settings[name], min(known_values), max(known_values)
        if max(value / high, low / value) > EXTRAPOLATION * (1 + 1e-12):
            return _outside_of(name, value, low, high)
    return None


def _scale_invariant_share(run: Run) -> float:
    """Share of V that weights before a normalisation layer carry; 0 where it is not logged."""
    column = columns.of_group(columns.SQUARED_NORM, SCALE_INVARIANT)
    if not run.has(column, columns.SQUARED_NORM):
        return 0.0
    share = run.column(column) / run.squared_norm
    known = share[np.isfinite(share)]
    return float(known[-1]) if known.size else 0.0


def _blocked(target: ObservedRun, star: float) -> Ground | None:
    """Whether the noise floor lies above V_star; None where it does not or is not known."""
    chosen = target.run.hyperparameters
    if (
        chosen.optimizer != OptimizerKind.ADAMW
        or chosen.parameter_count is None
        or chosen.learning_rate is None
        or not chosen.weight_decay
    ):
        return None
    dynamics = OptimizerDynamics(OptimizerKind.ADAMW, chosen.learning_rate, chosen.weight_decay)
    floor = float(dynamics.noise_floor(float(chosen.parameter_count)))
    return None if floor < star else Ground(GroundKind.BLOCKED, value=floor, low=star)
