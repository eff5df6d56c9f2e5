"""Models of the delay before training that compete with the law on the total V, and their stacking.

Each is fitted to the same lawful runs and judged by its errors on the configurations left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from nht_theory.estimators.norms import usable
from nht_theory.forecasting.bayesian_ridge import Array
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.empirical_model import survival_regression
from nht_theory.forecasting.group_folds import ridge
from nht_theory.forecasting.law_model import fit_law_model
from nht_theory.forecasting.log_delay_model import LogDelayModel, prior_penalty

OFFSETS = (0.2, 0.4, 0.6, 0.8)
"""T_0 tried, as shares of the shortest delay."""
BELOW_STAR = 0.9
"""A norm counts as the floor only below this share of V_star: the run went on after its switch."""
TOTAL = "law on the total V"
EXCESS = "law on the excess of V over its final value"
OFFSET = "T_0 + law"
SURVIVAL = "survival regression on the settings, in units of 1/r"


@lru_cache(maxsize=64)
def candidate_models(
    lawful: tuple[ObservedRun, ...], names: tuple[str, ...]
) -> Mapping[str, LogDelayModel]:
    """Every candidate that these runs support, by name.

    Args:
        lawful: runs with a delay, both norms and a decay rate, in four configurations or more.
        names: settings that differ among them.
    """
    made = {
        TOTAL: fit_law_model(lawful, names).delays,
        EXCESS: law_on_excess(lawful, names),
        OFFSET: law_with_offset(lawful, names),
        SURVIVAL: survival_regression(lawful, names, clock=True),
    }
    return {name: model for name, model in made.items() if model is not None}


def law_forms(models: Mapping[str, LogDelayModel]) -> list[LogDelayModel]:
    """The candidates that are forms of the law."""
    return [model for name, model in models.items() if name != SURVIVAL]


def law_on_excess(lawful: Sequence[ObservedRun], names: tuple[str, ...]) -> LogDelayModel | None:
    """The law for V - V_inf, V_inf the final V of earlier runs as a power of the settings.

    Only the excess over the end of the descent decays where the zero-loss set is curved. The
    final V of a run that ended at its switch says nothing, so it is taken from the others.

    Returns:
        None where fewer runs than settings and intercept went on after their switch.

    Source: arXiv 2603.07323, theorem 3.1 (V_inf); the tangential form is derived here.
    """
    finals = [
        (one, float(one.run.squared_norm[usable(one.run.squared_norm)][-1])) for one in lawful
    ]
    shown = [
        (one, final)
        for one, final in finals
        if final < BELOW_STAR * (one.squared_norm_generalization or 0.0)
    ]
    if len(shown) <= len(names) + 1:
        return None
    centre = _logs([one for one, _ in shown], names).mean(axis=0)

    def design(runs: Sequence[ObservedRun]) -> Array:
        return np.column_stack([np.ones(len(runs)), _logs(runs, names) - centre])

    rows = design([one for one, _ in shown])
    fitted = ridge(rows, np.log([final for _, final in shown]), prior_penalty(rows.shape[1]))
    floors = np.exp(design(lawful) @ fitted)
    excess = []
    for one, floor in zip(lawful, floors, strict=True):
        above, star = one.squared_norm_memorization or 0.0, one.squared_norm_generalization or 0.0
        below = min(float(floor), BELOW_STAR * star)
        excess.append(
            replace(
                one,
                squared_norm_memorization=above - below,
                squared_norm_generalization=star - below,
            )
        )
    model = fit_law_model(excess, names).delays
    return replace(model, observations=tuple(lawful), parameters=model.parameters + rows.shape[1])


def law_with_offset(lawful: Sequence[ObservedRun], names: tuple[str, ...]) -> LogDelayModel:
    """T_0 + ln(V_mem/V_star)/(c r), T_0 chosen by the error on configurations left out.

    Source: THEORY.md section 3, the general nested law.
    """
    shortest = min(one.delay or 0.0 for one in lawful)
    tried = [_with_offset(lawful, names, share * shortest) for share in OFFSETS]
    return min(tried, key=held_out_error)


def _with_offset(
    lawful: Sequence[ObservedRun], names: tuple[str, ...], offset: float
) -> LogDelayModel:
    shifted = [
        replace(one, memorization_time=(one.memorization_time or 0.0) + offset) for one in lawful
    ]
    model = fit_law_model(shifted, names).delays
    log_delays = model.held_out + model.errors
    held_out = np.log(offset + np.exp(model.held_out))

    def log_delay(centred: Array, decay_rate: float | None) -> float:
        return float(np.log(offset + np.exp(model.log_delay(centred, decay_rate))))

    return replace(
        model,
        log_delay=log_delay,
        held_out=held_out,
        errors=np.log(offset + np.exp(log_delays)) - held_out,
        observations=tuple(lawful),
        parameters=model.parameters + 1,
        method=f"{offset:.3g} + {model.method}",
    )


def stacked(models: Sequence[LogDelayModel]) -> LogDelayModel:
    """The mixture of ln delay whose held-out error is least: weights not negative, summing to one.

    Source: Breiman (1996), Stacked regressions, Machine Learning 24, 49-64.
    """
    from scipy import optimize

    first = models[0]
    table = np.column_stack([model.held_out for model in models])
    log_delays = first.held_out + first.errors
    # A heavy row makes the sum of the weights one.
    heavy = 1e4
    rows = np.vstack([table - log_delays[:, None], heavy * np.ones(len(models))])
    target = np.concatenate([np.zeros(len(log_delays)), [heavy]])
    weights, _ = optimize.nnls(rows, target)
    weights = weights / weights.sum()
    held_out = table @ weights

    def log_delay(centred: Array, decay_rate: float | None) -> float:
        told = [model.log_delay(centred, decay_rate) for model in models]
        return float(np.dot(weights, told))

    return replace(
        first,
        log_delay=log_delay,
        held_out=held_out,
        errors=log_delays - held_out,
        parameters=sum(model.parameters for model in models) + len(models) - 1,
        method=" + ".join(
            f"{weight:.2f} ({model.method})"
            for weight, model in zip(weights, models, strict=True)
            if weight > 0
        ),
    )


def held_out_error(model: LogDelayModel) -> float:
    """Mean absolute log error of a run plus that of a configuration's mean, left out."""
    folds = model.folds
    sums = np.bincount(folds.fold, model.errors, minlength=folds.count)
    sizes = np.bincount(folds.fold, minlength=folds.count)
    return float(np.abs(model.errors).mean() + np.abs(sums / sizes).mean())


def configuration_errors(model: LogDelayModel) -> Array:
    """Mean absolute log error of each configuration when it was left out, shape [K].

    A rule of one standard error of their differences is that of Breiman, Friedman, Olshen and
    Stone (1984), Classification and Regression Trees, section 3.4.3.
    """
    folds = model.folds
    sums = np.bincount(folds.fold, np.abs(model.errors), minlength=folds.count)
    return np.asarray(sums / np.bincount(folds.fold, minlength=folds.count))


def _logs(runs: Sequence[ObservedRun], names: tuple[str, ...]) -> Array:
    return np.log([[one.settings[name] for name in names] for one in runs]).reshape(
        len(runs), len(names)
    )
