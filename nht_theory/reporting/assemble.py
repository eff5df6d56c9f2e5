"""From a validation to everything that its report shows."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from nht_theory.claims.registry import CLAIMS
from nht_theory.claims.validate import Validation
from nht_theory.estimators.results import StudyEstimates
from nht_theory.forecasting.backtest import ScoredForecast, backtest
from nht_theory.reporting.content import ReportContent


def report_content(
    validation: Validation, forecasts: Sequence[ScoredForecast] | None = None, note: str = ""
) -> ReportContent:
    """Everything a report shows.

    Args:
        validation: the study with its estimates and verdicts.
        forecasts: forecasts that were really made before the switch; None makes them now, in
            retrospect, from the other runs of the study.
        note: how the given forecasts were made.
    """
    estimated = StudyEstimates(validation.study, validation.estimates, validation.thresholds)
    if forecasts is None:
        forecasts, note = backtest(estimated)
    return ReportContent(
        estimated=estimated,
        verdicts=validation.verdicts,
        claims={claim.name: claim for claim in CLAIMS},
        forecasts=tuple(forecasts),
        forecasts_note=note,
        version=version("nht"),
    )
