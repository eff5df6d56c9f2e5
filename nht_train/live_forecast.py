"""Rows of a run as they are logged, and a forecast of it at each.

The forecast itself comes from outside (``nht_theory.forecasting.live.live_forecast`` makes one):
training knows nothing of how it is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

from nht_theory.errors import NhtError
from nht_theory.runs import columns

Row = Mapping[str, float]
Forecast = Callable[[Sequence[Row]], Mapping[str, float]]
"""From the rows so far to the columns to log beside them."""


class ForecastLog:
    """Keeps the rows of a run and asks for a forecast at each new one.

    Args:
        forecast: None asks for nothing.
        rows: logged before, where a run is resumed.

    Example:
        >>> log = ForecastLog(lambda rows: {"forecast_step": 100.0 * len(rows)})
        >>> log.add({"step": 0, "squared_norm": 5.0})
        {'forecast_step': 100.0}
    """

    def __init__(self, forecast: Forecast | None, rows: Iterable[Row] = ()) -> None:
        self.forecast = forecast
        self.rows: list[Row] = list(rows) if forecast is not None else []
        self._warned = False

    def add(self, row: Row) -> dict[str, float]:
        """The columns to log beside a row: none without a forecast, or where it fails, which is
        warned of once and never ends the training."""
        if self.forecast is None:
            return {}
        self.rows.append(row)
        try:
            return dict(self.forecast(self.rows))
        except NhtError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(f"no forecast at step {row.get(columns.STEP)}: {error}", stacklevel=2)
            return {}
