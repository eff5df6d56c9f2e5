"""Delays regressed on settings alone, where the law's conditions fail: a log-normal survival
regression that keeps the runs which had not switched when they were stopped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from nht_theory.forecasting.bayesian_ridge import RESIDUAL_SD, Array
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.group_folds import GroupFolds, ridge, select_forward
from nht_theory.forecasting.log_delay_model import LogDelayModel, prior_penalty
from nht_theory.inference.distributions import normal_hazard

BETWEEN_SD = 1.0
"""Prior standard deviation of ln delay between configurations, when no law ties them."""
MINIMUM_EMPIRICAL = 5
"""Earlier runs below which a regression without the law is not attempted."""
_ITERATIONS = 30


@lru_cache(maxsize=64)
def survival_regression(
    used: tuple[ObservedRun, ...], names: tuple[str, ...], *, clock: bool
) -> LogDelayModel | None:
    """:func:`fit_empirical_model`, fitted once; None with too few delays."""
    if len(delayed(used)) < MINIMUM_EMPIRICAL:
        return None
    return fit_empirical_model(used, names, clock=clock)


def delayed(observations: Sequence[ObservedRun]) -> list[ObservedRun]:
    """Runs that show a delay."""
    return [one for one in observations if one.delay is not None]


def fit_empirical_model(
    observations: Sequence[ObservedRun], names: tuple[str, ...], *, clock: bool
) -> LogDelayModel | None:
    """Fit ln delay = ln(1/r) + a linear form in the logarithms of chosen settings.

    The offset ln(1/r), r the pure-decay rate, is kept where ``clock`` is asked for and every run
    has one (delays stretch with the clock even where the law fails); else it is zero. A run that
    memorised and had not switched enters as right-censored, by expectation maximisation; one that
    logs no held-out accuracy is unknown and does not enter. A switch
    that came within one evaluation of memorisation counts as half an evaluation interval.

    Returns:
        The model, or None when no run shows a delay.

    Source: Tobin (1958) in logarithms, fitted by the EM algorithm of Schmee and Hahn (1979).
    """
    used = [
        one
        for one in observations
        if one.memorization_step is not None and one.generalization is not None
    ]
    seen = np.array([one.generalization_step is not None for one in used], dtype=bool)
    if not seen.any():
        return None
    observed = np.log([_shown_delay(one) for one in used])
    logs = np.log([[one.settings[name] for name in names] for one in used])
    logs = logs.reshape(len(used), len(names))
    centre = logs.mean(axis=0)
    design = np.column_stack([np.ones(len(used)), logs - centre])
    rates = [one.decay_rate for one in used]
    with_clock = clock and all(rate is not None for rate in rates)
    log_rate = np.log([rate if with_clock and rate is not None else 1.0 for rate in rates])
    target = _impute(design, observed + log_rate, seen)
    folds = GroupFolds.of([one.configuration for one in used])
    chosen = _select(design, target, folds, seen) if folds.count > 1 else ()
    columns = (0, *(one + 1 for one in chosen))
    penalty = prior_penalty(len(columns))
    kept = design[:, columns]
    coefficients = ridge(kept, target, penalty)
    held_out = folds.held_out(kept, target, penalty) if folds.count > 1 else kept @ coefficients

    def log_delay(centred: Array, decay_rate: float | None) -> float:
        row = np.concatenate([[1.0], centred])[list(columns)]
        return float(row @ coefficients) - (
            float(np.log(decay_rate)) if with_clock and decay_rate is not None else 0.0
        )

    return LogDelayModel(
        names=names,
        centre=centre,
        log_delay=log_delay,
        held_out=held_out - log_rate,
        errors=target - held_out,
        observations=tuple(used),
        parameters=len(columns),
        method=f"survival regression of the delay on "
        f"({', '.join(names[one] for one in chosen) or 'nothing'})"
        f"{', in units of 1/r' if with_clock else ''}, {int((~seen).sum())} runs censored",
        between_sd=BETWEEN_SD,
    )


def _shown_delay(one: ObservedRun) -> float:
    """Steps of delay, or the steps for which the run was seen not to switch."""
    least = max(0.5 * one.evaluation_interval, 0.5)
    if one.delay is not None:
        return max(one.delay, least)
    if one.generalization_step is not None:
        return least
    start = one.memorization_time or 0.0
    return max(float(one.run.steps[-1]) - start, least)


def _impute(design: Array, observed: Array, seen: Array) -> Array:
    """Censored values replaced by their expectation beyond the censoring point."""
    target = observed.copy()
    if seen.all():
        return target
    penalty = prior_penalty(design.shape[1])
    for _ in range(_ITERATIONS):
        mean = design @ ridge(design, target, penalty)
        variance = np.mean((target - mean)[seen] ** 2)
        scale = np.sqrt(max(float(variance), RESIDUAL_SD**2))
        z = (observed - mean) / scale
        target = np.where(seen, observed, mean + scale * normal_hazard(z))
    return target


def _select(design: Array, target: Array, folds: GroupFolds, seen: Array) -> tuple[int, ...]:
    def error(subset: tuple[int, ...]) -> float:
        columns = design[:, [0, *(one + 1 for one in subset)]]
        predicted = folds.held_out(columns, target, prior_penalty(columns.shape[1]))
        return float(np.abs(target - predicted)[seen].mean())

    return select_forward(design.shape[1] - 1, error, most=max(folds.count - 2, 0))
