"""A forecast made when a run has memorised, whatever else of it is known."""

from __future__ import annotations

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.estimators.transitions import memorization
from nht_theory.forecasting.forecast import Basis, Forecast, Stage
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study


def forecast_at_memorization(
    run: Run, calibration: Study, thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> Forecast:
    """:func:`forecast_run` at the evaluation that saw the run memorise: nothing later is used.

    Returns:
        The forecast; refused when the run has not memorised.
    """
    event = memorization(run, thresholds)
    if event is None or event.step is None:
        last = int(run.steps[-1]) if len(run) else 0
        return Forecast(
            run=run.name,
            stage=Stage.MEMORIZATION,
            made_at=last,
            basis=Basis.REFUSED,
            median=None,
            interval=None,
            probability_within_budget=None,
            reason="no training accuracy is logged: it is unknown whether the run has memorised"
            if event is None
            else f"training accuracy has not reached {thresholds.train_accuracy:g} by step {last}",
            remedy="wait until the run memorises, or forecast it as it is with nht forecast",
            calibration=(),
            method="",
        )
    return forecast_run(run, calibration, at=event.step, thresholds=thresholds)
