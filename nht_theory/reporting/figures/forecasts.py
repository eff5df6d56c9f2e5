"""Forecasts against what happened."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nht_theory.forecasting.backtest import ScoredForecast
from nht_theory.forecasting.forecast import Basis
from nht_theory.reporting.marks import INK, Axis, Figure, Line, Mark, Panel, Points, Undrawn

BASES = {
    Basis.LAW: (0, "circle", "from the law"),
    Basis.EMPIRICAL: (1, "square", "empirical"),
}


def forecast_against_actual(scored: Sequence[ScoredForecast]) -> Figure | Undrawn:
    """Delay that was forecast, with its 90 % interval, against the delay that happened."""
    name, title = "forecasts", "Delay: forecast against what happened"
    drawn = [item for item in scored if item.forecast.median is not None]
    if not drawn:
        return Undrawn(name, title, _why_none(scored))
    marks: list[Mark] = []
    for basis, (colour, symbol, label) in BASES.items():
        for censored in (False, True):
            chosen = [
                item
                for item in drawn
                if item.forecast.basis is basis and (item.happened_at is None) is censored
            ]
            if chosen:
                legend = f"{label}, not yet switched" if censored else label
                shape = "cross" if censored else symbol
                marks.append(_points(chosen, colour, shape, legend))
    places = [mark.x for mark in marks if isinstance(mark, Points)]
    both = np.concatenate([*places, *(m.y for m in marks if isinstance(m, Points))])
    both = both[np.isfinite(both) & (both > 0)]
    shown = (float(both.min()) / 2, float(both.max()) * 2) if both.size else (1.0, 10.0)
    ends = np.array(shown)
    marks.insert(0, Line("forecast = actual", ends, ends, colour=INK, dash="dashed"))
    refused = len(scored) - len(drawn)
    caption = (
        f"{len(drawn)} forecasts, each made when its run memorised and from other runs only; the "
        "bars are the 90 % intervals, and a forecast that came true exactly lies on the dashed "
        "line. A cross stands at the last step seen of a run that has not switched: the truth "
        f"lies to its right. Bars that leave the figure are longer. Refused: {refused}."
    )
    panel = Panel(
        Axis("steps from memorisation to generalisation", log=True, limits=shown),
        # Intervals may reach to infinity; the medians and the truth set the scale.
        Axis("forecast of these steps", log=True, limits=shown),
        tuple(marks),
    )
    return Figure(name, title, caption, (panel,))


def _why_none(scored: Sequence[ScoredForecast]) -> str:
    if not scored:
        return "no forecast was made"
    reasons = list(dict.fromkeys(item.forecast.reason for item in scored))
    return f"all {len(scored)} forecasts were refused: {'; '.join(reasons[:3])}"


def _points(chosen: list[ScoredForecast], colour: int, symbol: str, legend: str) -> Points:
    start = np.array([float(item.memorization_step or 0) for item in chosen])
    end = np.array(
        [float(item.last_seen if item.happened_at is None else item.happened_at) for item in chosen]
    )
    median = np.array([float(item.forecast.median or np.nan) for item in chosen])
    intervals = [item.forecast.interval for item in chosen]
    low = np.array([np.nan if i is None else i.low for i in intervals])
    high = np.array([np.nan if i is None else i.high for i in intervals])
    return Points(
        keys=tuple(item.forecast.run for item in chosen),
        x=end - start,
        y=median - start,
        low=np.maximum(low - start, 1.0),
        high=high - start,
        colour=colour,
        symbol=symbol,
        legend=legend,
    )
