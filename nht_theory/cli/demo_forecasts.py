"""Forecasts of the demonstration on disk: written when a run memorises, read at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from nht_theory.conventions import DEFAULT_THRESHOLDS
from nht_theory.errors import InputError
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.transitions import memorization
from nht_theory.forecasting.at_memorization import forecast_at_memorization
from nht_theory.forecasting.backtest import ScoredForecast
from nht_theory.forecasting.forecast import Forecast
from nht_theory.runs import columns
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Run
from nht_theory.runs.run_format import METRICS_FILE, write_atomically
from nht_theory.runs.study import Study


class ForecastRecord(BaseModel):
    """A forecast with the proof that it was made before the switch.

    Attributes:
        written_at: when, UTC.
        last_step_seen: last evaluation of the run at that moment.
        heldout_accuracy_seen: held-out accuracy at that evaluation.
        forecast: what was said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    written_at: datetime
    last_step_seen: int
    heldout_accuracy_seen: float
    forecast: Forecast


def run_so_far(directory: Path) -> Run | None:
    """A run as far as it has been logged; None before its first evaluation."""
    log = directory / METRICS_FILE
    if not log.exists() or b"\n" not in log.read_bytes():
        return None
    return load_study(directory).runs[0]


def earlier_runs(directories: list[Path]) -> Study:
    """The finished runs that a forecast may learn from, as one study."""
    studies = [load_study(directory) for directory in directories]
    runs = tuple(run for study in studies for run in study.runs)
    return Study(source=Path("earlier runs"), records=runs, runs=runs)


def write_forecast(run: Run, calibration: Study, path: Path) -> ForecastRecord | None:
    """Forecast a run and write it to ``path``; None when it has not memorised yet."""
    crossing = memorization(run, DEFAULT_THRESHOLDS)
    if crossing is None or crossing.censored:
        return None
    record = ForecastRecord(
        written_at=datetime.now(UTC),
        last_step_seen=int(run.steps[-1]),
        heldout_accuracy_seen=float(run.column(columns.HELDOUT_ACCURACY)[-1]),
        forecast=forecast_at_memorization(run, calibration),
    )
    write_atomically(path, record.model_dump_json(indent=2) + "\n")
    return record


def read_forecast(path: Path) -> ForecastRecord:
    """Read a forecast that was written.

    Raises:
        InputError: the file is malformed.
    """
    try:
        return ForecastRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"not a forecast ({first})", source=path, remedy="delete it") from None


def score_forecasts(
    records: Sequence[ForecastRecord], study: StudyEstimates
) -> list[ScoredForecast]:
    """The written forecasts beside what happened, in the order in which they were written."""
    happened = {run.name: (run, estimate) for run, estimate in study.pairs()}
    scored = []
    for record in sorted(records, key=lambda record: record.written_at):
        run, estimate = happened[record.forecast.run]
        scored.append(
            ScoredForecast(
                record.forecast,
                happened_at=estimate.generalization_step,
                last_seen=int(run.steps[-1]),
                memorization_step=estimate.memorization_step,
            )
        )
    return scored
