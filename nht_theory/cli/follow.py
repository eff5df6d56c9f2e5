"""``nht forecast --follow``: a forecast at each new evaluation of a run that is training."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from nht_theory.errors import InputError
from nht_theory.forecasting.forecast import Forecast
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

APPEARS_WITHIN = 30.0
"""Seconds in which a run that was just started makes its directory: importing torch takes some."""


def follow(place: Path, calibration: Study, *, every: float) -> Iterator[Forecast]:
    """The forecasts of :func:`watch`, without the run."""
    for _, made in watch(place, calibration, every=every):
        yield made


def watch(place: Path, calibration: Study, *, every: float) -> Iterator[tuple[Run, Forecast]]:
    """Forecast a run whenever it has been evaluated again, until it generalises or ends.

    Args:
        place: a run directory, which need not have been evaluated yet; one that is not there yet
            is waited for, :data:`APPEARS_WITHIN` seconds.
        calibration: earlier runs.
        every: seconds between two looks.

    Yields:
        the run as far as it is logged, and its forecast.

    Raises:
        InputError: there is no such place, or it holds more than one run.
    """
    deadline = time.monotonic() + APPEARS_WITHIN
    while not place.exists() and time.monotonic() < deadline:
        time.sleep(min(every, APPEARS_WITHIN))
    if not place.exists():
        raise InputError("no such run", source=place, remedy="start it, or check the path")
    seen = -1
    while True:
        run = _so_far(place)
        if run is not None and len(run) and int(run.steps[-1]) > seen:
            seen = int(run.steps[-1])
            made = forecast_run(run, calibration)
            yield run, made
            if run.settled or "generalised at step" in made.reason:
                return
        elif run is not None and run.settled:
            return
        time.sleep(every)


def _so_far(place: Path) -> Run | None:
    """The run as logged; None before its first evaluation."""
    try:
        found = load_study(place).runs
    except InputError:
        return None
    if len(found) > 1:
        raise InputError(
            f"{len(found)} runs found", source=place, remedy="follow one run directory"
        )
    return found[0] if found else None
