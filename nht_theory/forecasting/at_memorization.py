"""A forecast made when a run has memorised: its own V, and everything else from earlier runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, FORECAST_COVERAGE, Thresholds
from nht_theory.estimators.results import Interval
from nht_theory.forecasting.calibration import Observation, observe, observe_all
from nht_theory.forecasting.forecast import Basis, Forecast, Stage
from nht_theory.forecasting.hull import Hull, comparable, hull
from nht_theory.forecasting.shrunken_regression import Array, ShrunkenRegression
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

MINIMUM_LAW = 2
"""Earlier runs that the law needs: one to place V_star and c, one to show that they repeat."""
MINIMUM_EMPIRICAL = 5
"""Earlier runs below which a regression without the law is not attempted."""
_GRID = (np.arange(200) + 0.5) / 200


def forecast_at_memorization(
    run: Run, calibration: Study, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> Forecast:
    """When a run that has memorised will generalise, from what is known at memorisation.

    Nothing after the run's memorisation is used, whatever the run holds. V_star and the
    efficiency c come from ``calibration``, whose runs are compared first: the run itself,
    repeats of it and runs of another optimiser or task are left out.

    The law's delay is ln(V_mem/V_star) / (c rate) with rate the pure-decay rate of V. ln V_star
    and ln c are regressed on the logarithms of the settings that differ, with slopes shrunk
    towards zero; the forecast is the distribution that their two predictive distributions give.
    Where the law's conditions fail the delay itself is regressed, and the basis is empirical.

    Args:
        run: a run, still training or not.
        calibration: earlier runs.
        thresholds: what counts as memorised and as generalised.

    Returns:
        The forecast; its basis is ``refused`` (with reason and remedy) when nothing stands.

    Source: arXiv 2603.07323, theorem 3.1, in the exact form of THEORY.md section 3.
    """
    whole = observe(run, thresholds)
    made_at = whole.memorization_step
    if made_at is None:
        last = int(run.steps[-1]) if len(run) else 0
        return _refused(
            run.name,
            last,
            f"training accuracy has not reached {thresholds.train_accuracy:g} by step {last}",
            "wait until the run memorises, or forecast before training with nht predict --from",
        )
    target = observe(run.until(made_at), thresholds)
    earlier = comparable(observe_all(calibration.runs, thresholds), target)
    return forecast_from_observations(target, earlier)


def forecast_from_observations(target: Observation, earlier: Sequence[Observation]) -> Forecast:
    """The forecast of :func:`forecast_at_memorization` once the runs have been read.

    Args:
        target: the run, cut at its memorisation.
        earlier: comparable runs, without the run itself.
    """
    name, made_at = target.run.name, target.memorization_step
    assert made_at is not None
    delayed = [one for one in earlier if one.delay is not None and one.delay > 0]
    budget = _steps_left(target.run, made_at)
    law = _by_law(target, delayed)
    if isinstance(law, _Distribution):
        return _forecast(name, made_at, Basis.LAW, law, budget)
    empirical = _by_regression(target, delayed)
    if isinstance(empirical, _Distribution):
        reason = f"the law does not apply: {law}; the delay itself is regressed on the settings"
        return _forecast(name, made_at, Basis.EMPIRICAL, replace(empirical, reason=reason), budget)
    left = f" ({len(earlier) - len(delayed)} more show no delayed switch)"
    return _refused(
        name,
        made_at,
        f"{law}; {empirical}{left if len(earlier) > len(delayed) else ''}",
        "add finished runs with the same optimiser and task, and with settings near this run's",
    )


@dataclass(frozen=True, eq=False)
class _Distribution:
    """Equally probable delays in steps, sorted, infinite where no switch is foreseen."""

    delays: Array
    calibration: tuple[str, ...]
    method: str
    reason: str = ""


def _by_law(target: Observation, delayed: Sequence[Observation]) -> _Distribution | str:
    """The law's distribution of the delay, or why it does not apply."""
    if target.squared_norm_memorization is None:
        return "the run logs no squared norm at memorisation"
    if target.decay_rate is None:
        return "the run's settings give no pure-decay rate (learning rate, weight decay, form)"
    measured = [(one, law) for one in delayed if (law := _measured(one)) is not None]
    if len(measured) < MINIMUM_LAW:
        return f"{len(measured)} earlier runs show V_star and a delay; {MINIMUM_LAW} are needed"
    contracted = [(one, law) for one, law in measured if law.log_ratio > 0]
    if 2 * len(contracted) <= len(measured):
        return (
            f"the norm fell between memorisation and switch in only {len(contracted)} of "
            f"{len(measured)} earlier runs"
        )
    around = hull([one for one, _ in contracted], target)
    if around.outside():
        return f"outside the calibration runs: {'; '.join(around.outside())}"
    return _law_distribution(
        np.log(target.squared_norm_memorization), target.decay_rate, around, contracted
    )


class _Measured(NamedTuple):
    """What a finished run says about the law."""

    log_star: float
    log_ratio: float
    clock: float


def _measured(one: Observation) -> _Measured | None:
    above, star = one.squared_norm_memorization, one.squared_norm_generalization
    if above is None or star is None or one.decay_rate is None or one.delay is None:
        return None
    return _Measured(float(np.log(star)), float(np.log(above / star)), one.decay_rate * one.delay)


def _law_distribution(
    log_memorization: float,
    decay_rate: float,
    around: Hull,
    contracted: Sequence[tuple[Observation, _Measured]],
) -> _Distribution | str:
    table = np.array([law for _, law in contracted])
    star = ShrunkenRegression.fit(around.calibration, table[:, 0]).predict(around.target)
    log_efficiency = np.log(table[:, 1] / table[:, 2])
    c = ShrunkenRegression.fit(around.calibration, log_efficiency).predict(around.target)
    ratio = log_memorization - star.quantiles(_GRID)
    described = f"V_mem {np.exp(log_memorization):.4g}, V_star {np.exp(star.location):.4g}"
    if np.median(ratio) <= 0:
        return f"V at memorisation is not above V_star of earlier runs: {described}"
    rate = decay_rate * np.exp(c.quantiles(_GRID))
    delays = np.where(ratio[:, None] > 0, ratio[:, None] / rate, np.inf)
    return _Distribution(
        np.sort(delays, axis=None),
        tuple(one.run.name for one, _ in contracted),
        f"ln(V_mem/V_star)/(c rate): {described}, c {np.exp(c.location):.3g}, {_free(around)}",
        f"the norm falls and V_mem/V_star is {np.exp(np.median(ratio)):.3g}",
    )


def _by_regression(target: Observation, delayed: Sequence[Observation]) -> _Distribution | str:
    """The delay regressed on the settings; the law's 1/rate is kept where every run decays."""
    if len(delayed) < MINIMUM_EMPIRICAL:
        return (
            f"{len(delayed)} comparable earlier runs show a delayed switch; a regression "
            f"without the law needs {MINIMUM_EMPIRICAL}"
        )
    around = hull(delayed, target)
    if around.outside():
        return f"outside the calibration runs: {'; '.join(around.outside())}"
    delays = np.array([np.log(float(one.delay or 0)) for one in delayed])
    rates = [one.decay_rate for one in [*delayed, target]]
    clock = np.array([0.0 if None in rates else np.log(rate or 1.0) for rate in rates])
    fit = ShrunkenRegression.fit(around.calibration, delays + clock[:-1])
    predicted = fit.predict(around.target).quantiles(_GRID) - clock[-1]
    return _Distribution(
        np.exp(predicted),
        tuple(one.run.name for one in delayed),
        f"log delay regressed on the settings, {_free(around)}",
    )


def _free(around: Hull) -> str:
    count = 1 + len(around.names)
    return f"{count} shrunken parameters each ({', '.join(('level', *around.names))})"


def _steps_left(run: Run, made_at: int) -> float | None:
    total = run.hyperparameters.total_steps
    return None if total is None else float(total - made_at)


def _forecast(
    name: str,
    made_at: int,
    basis: Basis,
    distribution: _Distribution,
    budget: float | None,
) -> Forecast:
    tail = (1 - FORECAST_COVERAGE) / 2
    low, median, high = np.quantile(
        distribution.delays, [tail, 0.5, 1 - tail], method="inverted_cdf"
    )
    within = None if budget is None else float(np.mean(distribution.delays <= budget))
    return Forecast(
        run=name,
        stage=Stage.MEMORIZATION,
        made_at=made_at,
        basis=basis,
        median=float(made_at + median),
        interval=Interval(
            float(made_at + low), float(made_at + high), FORECAST_COVERAGE, distribution.method
        ),
        probability_within_budget=within,
        reason=distribution.reason,
        remedy="",
        calibration=distribution.calibration,
        method=distribution.method,
    )


def _refused(name: str, made_at: int, reason: str, remedy: str) -> Forecast:
    return Forecast(
        run=name,
        stage=Stage.MEMORIZATION,
        made_at=made_at,
        basis=Basis.REFUSED,
        median=None,
        interval=None,
        probability_within_budget=None,
        reason=reason,
        remedy=remedy,
        calibration=(),
        method="",
    )
