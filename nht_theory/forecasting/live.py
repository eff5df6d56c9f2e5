"""Forecasts of a run from the rows that its trainer has logged so far, for its callbacks to log."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.forecasting.calibration import observe, observe_all
from nht_theory.forecasting.forecast_run import forecast_observation
from nht_theory.runs import columns
from nht_theory.runs.column_names import resolve
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study
from nht_theory.runs.trajectory import trajectory

_HERE = Path("the run that is training")


def live_forecast(
    calibration: Study,
    chosen: Hyperparameters,
    *,
    column_map: Mapping[str, str] | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> Callable[[Sequence[Mapping[str, float]]], dict[str, float]]:
    """A function that forecasts a run from its rows, for ``nht_train``'s trainer and callbacks.

    Args:
        calibration: earlier runs, read once.
        chosen: hyper-parameters of the run that trains; ``total_steps`` is its budget.
        column_map: our column -> theirs, where the well-known names do not do.
        thresholds: what counts as memorised and as generalised.

    Returns:
        From rows (column -> value, with ``step``; values not logged are left out) to the columns
        ``forecast_step``, ``forecast_low``, ``forecast_high`` and ``forecast_probability``; a
        value that is not finite is left out, and all are where the forecast is refused or the
        run has generalised.

    Raises:
        InputError: by the function, where the rows have no step.

    Example:
        >>> from nht_theory.runs.study import Study
        >>> forecast = live_forecast(Study(_HERE, (), ()), Hyperparameters("adamw", 1e-3, 1.0))
        >>> forecast([{"step": 0, "squared_norm": 900.0, "train_accuracy": 0.1, "val_acc": 0.1}])
        {}
    """
    known = observe_all(calibration.runs, thresholds)

    def forecast(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
        names = dict.fromkeys(name for row in rows for name in row)
        cells = {name: [row.get(name) for row in rows] for name in names}
        read = trajectory(cells, resolve(names, column_map or {}))
        run = Run(str(_HERE), _HERE, read.steps, read.values, chosen, settled=False)
        made = forecast_observation(observe(run, thresholds), known)
        interval = made.interval
        told = {
            columns.FORECAST_STEP: made.median,
            columns.FORECAST_LOW: None if interval is None else interval.low,
            columns.FORECAST_HIGH: None if interval is None else interval.high,
            columns.FORECAST_PROBABILITY: made.probability_within_budget,
        }
        return {
            name: value
            for name, value in told.items()
            if value is not None and math.isfinite(value)
        }

    return forecast
