"""A forecast made when a run has memorised, whatever else of it is known."""

from __future__ import annotations

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.estimators.transitions import memorization
from nht_theory.forecasting.forecast import Basis, Forecast, Stage
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.forecasting.grounds import Ground, GroundKind
from nht_theory.runs import columns
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
        ground = (
            Ground(GroundKind.UNLOGGED, count=last, names=(columns.TRAIN_ACCURACY,))
            if event is None
            else Ground(GroundKind.NOT_MEMORIZED_YET, value=thresholds.train_accuracy, count=last)
        )
        return Forecast(
            run=run.name,
            stage=Stage.MEMORIZATION,
            made_at=last,
            basis=Basis.REFUSED,
            median=None,
            interval=None,
            probability_within_budget=None,
            reason=str(ground),
            remedy="wait until the run memorises, or forecast it as it is with nht forecast",
            calibration=(),
            method="",
            grounds=(ground,),
        )
    return forecast_run(run, calibration, at=event.step, thresholds=thresholds)
