"""The forecasts that ours must beat: simple formulas fitted to the same earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.estimators.norms import squared_norm_at_time
from nht_theory.forecasting.bayesian_ridge import Array
from nht_theory.forecasting.calibration import ObservedRun

Fit = Callable[[Sequence[ObservedRun], tuple[str, ...], ObservedRun], float | None]
"""From earlier runs that obeyed the law, the settings that differ among them and the run
forecast: its delay in steps, or None where the formula does not apply."""

COMPANION_RATE = 1.41
"""Rate of V in units of eta lambda that arXiv 2603.13331 reports."""
_RATE, _DECAY = "learning_rate", "weight_decay"


@dataclass(frozen=True)
class Baseline:
    """A rival forecast.

    Attributes:
        name: the formula.
        forecast: see :data:`Fit`.
        parameters: number of fitted coefficients for a number of settings.
        at_memorization: whether it uses the run's state at memorisation.
    """

    name: str
    forecast: Fit
    parameters: Callable[[int], int]
    at_memorization: bool = False


def _inverse(*powers: tuple[str, float]) -> Callable[[ObservedRun], float]:
    """1 over a product of powers of settings."""
    return lambda one: float(np.prod([one.settings[name] ** -power for name, power in powers]))


def _relative_least_squares(
    columns: Callable[[ObservedRun, tuple[str, ...]], list[float]],
) -> Fit:
    """delay = linear form, fitted to the least sum of squared relative errors."""

    def forecast(
        earlier: Sequence[ObservedRun], names: tuple[str, ...], target: ObservedRun
    ) -> float | None:
        if not {_RATE, _DECAY} <= set(target.settings):
            return None
        design = np.array([columns(one, names) for one in earlier])
        delays = _recorded(earlier)
        fitted, *_ = np.linalg.lstsq(design / delays[:, None], np.ones(len(delays)), rcond=None)
        predicted = float(np.array(columns(target, names)) @ fitted)
        return predicted if predicted > 0 else None

    return forecast


def _log_linear(
    earlier: Sequence[ObservedRun], names: tuple[str, ...], target: ObservedRun
) -> float | None:
    return float(np.exp(_regress_log(earlier, names, target, np.log(_recorded(earlier)))))


def _companion(
    earlier: Sequence[ObservedRun], names: tuple[str, ...], target: ObservedRun
) -> float | None:
    """ln(V_mem/V_post)/gamma of arXiv 2603.13331: V_mem at the evaluation that saw the run
    memorise, V_post the norm at the end of earlier runs, gamma the published rate."""
    settings, seen = target.settings, target.memorization_step
    above = None if seen is None else squared_norm_at_time(target.run, float(seen))
    if above is None or not {_RATE, _DECAY} <= set(settings):
        return None
    final = np.log([one.run.squared_norm[-1] for one in earlier])
    log_ratio = float(np.log(above)) - _regress_log(earlier, names, target, final)
    gamma = COMPANION_RATE * settings[_RATE] * settings[_DECAY]
    return log_ratio / gamma if log_ratio > 0 else None


def _regress_log(
    earlier: Sequence[ObservedRun], names: tuple[str, ...], target: ObservedRun, logs: Array
) -> float:
    design = np.array([_log_row(one, names) for one in earlier])
    fitted, *_ = np.linalg.lstsq(design, logs, rcond=None)
    return float(np.array(_log_row(target, names)) @ fitted)


def _log_row(one: ObservedRun, names: tuple[str, ...]) -> list[float]:
    return [1.0, *(float(np.log(one.settings[name])) for name in names)]


def _recorded(earlier: Sequence[ObservedRun]) -> Array:
    return np.array([one.recorded_delay for one in earlier], dtype=np.float64)


def _sizes(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in (_RATE, _DECAY))


def _sized_row(one: ObservedRun, names: tuple[str, ...]) -> list[float]:
    clock = _inverse((_RATE, 1), (_DECAY, 1))(one)
    sizes = [float(np.log(one.settings[name])) * clock for name in _sizes(names)]
    return [_inverse((_RATE, 1))(one), clock, *sizes]


BASELINES = (
    Baseline(
        "T_0 + A/lambda",
        _relative_least_squares(lambda one, names: [1.0, _inverse((_DECAY, 1))(one)]),
        lambda settings: 2,
    ),
    Baseline(
        "A/(eta lambda)",
        _relative_least_squares(lambda one, names: [_inverse((_RATE, 1), (_DECAY, 1))(one)]),
        lambda settings: 1,
    ),
    Baseline(
        "A_0/eta + A/(eta lambda) + B ln size/(eta lambda)",
        _relative_least_squares(_sized_row),
        lambda settings: settings,
    ),
    Baseline("log-linear regression", _log_linear, lambda settings: 1 + settings),
    Baseline(
        "companion's formula with V_post",
        _companion,
        lambda settings: 1 + settings,
        at_memorization=True,
    ),
)
"""The formulas of THEORY.md section 10; the same-configuration mean is in the scores themselves."""
