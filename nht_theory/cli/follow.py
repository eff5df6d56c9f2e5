"""``nht forecast --follow``: a forecast at each new evaluation of a run that is training."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from nht_theory.errors import InputError, UnmatchedOptionError
from nht_theory.forecasting.forecast import Forecast
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.forecasting.grounds import GroundKind
from nht_theory.runs.load import load_study
from nht_theory.runs.options import DEFAULT_OPTIONS, ReadOptions
from nht_theory.runs.run import Run
from nht_theory.runs.run_format import is_run_directory
from nht_theory.runs.study import Study

APPEARS_WITHIN = 30.0
"""Seconds in which a run that was just started makes its directory: importing torch takes some."""
SILENT_FOR = 600.0
"""Seconds without a new line after which a log that has no status counts as ended."""


def follow(
    place: Path, calibration: Study, options: ReadOptions = DEFAULT_OPTIONS, *, every: float
) -> Iterator[Forecast]:
    """The forecasts of :func:`watch`, without the run."""
    for _, made in watch(place, calibration, options, every=every):
        yield made


def watch(
    place: Path, calibration: Study, options: ReadOptions = DEFAULT_OPTIONS, *, every: float
) -> Iterator[tuple[Run, Forecast]]:
    """Forecast a run whenever it has been evaluated again, until it generalises or ends.

    Args:
        place: a run directory, which need not have been evaluated yet, or a log that grows; one
            that is not there yet is waited for, :data:`APPEARS_WITHIN` seconds. A log has no
            status: it counts as ended when nothing was written for :data:`SILENT_FOR` seconds.
        calibration: earlier runs.
        options: how the run is to be read.
        every: seconds between two looks.

    Yields:
        the run as far as it is logged, and its forecast.

    Raises:
        InputError: there is no such place, it cannot be read, or it holds more than one run.
    """
    deadline = time.monotonic() + APPEARS_WITHIN
    while not place.exists() and time.monotonic() < deadline:
        time.sleep(min(every, APPEARS_WITHIN))
    if not place.exists():
        raise InputError("no such run", source=place, remedy="start it, or check the path")
    seen = -1
    while True:
        run = _so_far(place, options, patient=time.monotonic() < deadline)
        if run is not None and len(run) and int(run.steps[-1]) > seen:
            seen = int(run.steps[-1])
            made = forecast_run(run, calibration)
            yield run, made
            if any(ground.kind is GroundKind.GENERALIZED for ground in made.grounds):
                return
        if run is not None and _has_ended(run):
            return
        time.sleep(every)


def _so_far(place: Path, options: ReadOptions, *, patient: bool) -> Run | None:
    """The run as logged; None before its first evaluation.

    Raises:
        InputError: it cannot be read, although it had the time to begin.
    """
    try:
        found = load_study(place, options).runs
    except UnmatchedOptionError:
        raise
    except InputError:
        if patient or is_run_directory(place):
            return None
        raise
    if len(found) > 1:
        raise InputError(
            f"{len(found)} runs found", source=place, remedy="follow one run directory or one log"
        )
    return found[0] if found else None


def _has_ended(run: Run) -> bool:
    """Whether a run has ended, as its status says or the silence of its log."""
    if is_run_directory(run.source):
        return run.settled
    files = [run.source] if run.source.is_file() else [*run.source.iterdir()]
    return time.time() - max(file.stat().st_mtime for file in files) > SILENT_FOR
