"""How good forecasts are: what they said about runs whose end is known, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import FORECAST_COVERAGE
from nht_theory.estimators.results import Interval
from nht_theory.forecasting.bayesian_ridge import Array
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.group_folds import GroupFolds

RESAMPLES = 2000


@dataclass(frozen=True)
class DelayForecast:
    """One forecast of a delay.

    Attributes:
        delay: median, in steps; None when refused.
        interval: the 90 % interval, None where the method gives none.
        basis: law, empirical, refused; or the name of a baseline's kind.
    """

    delay: float | None
    interval: Interval | None
    basis: str


@dataclass(frozen=True)
class ScoreRow:
    """The score of one method at one stage.

    Attributes:
        stage: 0 before training, "memorisation", or the elapsed share of the delay.
        method: its name.
        default: whether the tool uses it at this stage.
        regime: "in" or "out": whether the configurations obeyed the law.
        run_error: mean absolute error of a run's delay, as a share of the delay.
        run_error_interval: 95 % interval under resampling of configurations.
        configuration_error: mean absolute error of a configuration's geometric mean delay.
        coverage: share of runs whose delay lay in the 90 % interval.
        interval_score: mean, of ln delay (Gneiting and Raftery 2007): width plus 20 times the
            distance by which the truth lay outside.
        parameters: fitted parameters, mean over the left-out configurations.
        bases: how often each basis was claimed.
        refused: runs for which no number was given.
        n_runs, n_configurations: that were to be forecast.
    """

    stage: float | str
    method: str
    default: bool
    regime: str
    run_error: float | None
    run_error_interval: Interval | None
    configuration_error: float | None
    coverage: float | None
    interval_score: float | None
    parameters: float | None
    bases: Mapping[str, int]
    refused: int
    n_runs: int
    n_configurations: int


def score_row(
    runs: Sequence[ObservedRun],
    said: Sequence[DelayForecast],
    *,
    stage: float | str,
    method: str,
    default: bool,
    regime: str,
    parameters: float | None,
) -> ScoreRow:
    """Score forecasts of the delays that evaluations recorded.

    Args:
        runs: runs whose delay is known and positive.
        said: one forecast a run.
        stage, method, default, regime, parameters: copied into the row.
    """
    answered = [(run, one) for run, one in zip(runs, said, strict=True) if one.delay is not None]
    folds = GroupFolds.of([run.configuration for run, _ in answered])
    truth = np.array([run.recorded_delay for run, _ in answered], dtype=np.float64)
    median = np.array([one.delay for _, one in answered], dtype=np.float64)
    ranges = [(run, one.interval) for run, one in answered if one.interval is not None]
    errors = np.abs(median / truth - 1.0)
    return ScoreRow(
        stage=stage,
        method=method,
        default=default,
        regime=regime,
        run_error=float(errors.mean()) if answered else None,
        run_error_interval=_resampled(errors, folds) if folds.count > 1 else None,
        configuration_error=configuration_error(median, truth, folds) if answered else None,
        coverage=_coverage(ranges),
        interval_score=_interval_score(ranges),
        parameters=parameters,
        bases=dict(sorted(Counter(one.basis for one in said).items())),
        refused=len(said) - len(answered),
        n_runs=len(said),
        n_configurations=len({run.configuration for run in runs}),
    )


def configuration_error(median: Array, truth: Array, folds: GroupFolds) -> float:
    """Mean over configurations of |geometric mean forecast / geometric mean truth - 1|.

    Example:
        >>> folds = GroupFolds.of(["a", "a"])
        >>> configuration_error(np.array([2.0, 8.0]), np.array([4.0, 4.0]), folds)
        0.0
    """
    sums = np.bincount(folds.fold, np.log(median / truth), minlength=folds.count)
    means = sums / np.bincount(folds.fold, minlength=folds.count)
    return float(np.abs(np.expm1(means)).mean())


def same_configuration(runs: Sequence[ObservedRun]) -> list[DelayForecast]:
    """Geometric mean delay of the other runs of the same configuration: the floor that seeds and
    the evaluation grid set. Refused where a run has no replicate."""
    said = []
    for own in runs:
        others = [
            float(one.recorded_delay)
            for one in runs
            if one is not own and one.configuration == own.configuration and one.recorded_delay
        ]
        mean = float(np.exp(np.mean(np.log(others)))) if others else None
        said.append(DelayForecast(mean, None, "baseline" if others else "refused"))
    return said


def _coverage(ranges: Sequence[tuple[ObservedRun, Interval]]) -> float | None:
    if not ranges:
        return None
    return float(np.mean([float(run.recorded_delay or 0) in interval for run, interval in ranges]))


def _interval_score(ranges: Sequence[tuple[ObservedRun, Interval]]) -> float | None:
    """None where an interval is unbounded: its score would be infinite."""
    if not ranges:
        return None
    table = np.log(
        [[run.recorded_delay or 1, max(one.low, 1.0), max(one.high, 1.0)] for run, one in ranges]
    )
    truth, low, high = table.T
    outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    score = float(np.mean(high - low + 2.0 / (1.0 - FORECAST_COVERAGE) * outside))
    return score if np.isfinite(score) else None


def _resampled(errors: Array, folds: GroupFolds) -> Interval:
    """95 % interval of the mean error, whole configurations resampled."""
    sums = np.bincount(folds.fold, errors, minlength=folds.count)
    sizes = np.bincount(folds.fold, minlength=folds.count)
    drawn = np.random.default_rng(0).integers(folds.count, size=(RESAMPLES, folds.count))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(low), float(high), 0.95, "bootstrap over configurations")
