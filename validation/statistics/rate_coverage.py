"""Do the intervals of contraction rates cover, whatever the residuals' autocorrelation?

    python validation/statistics/rate_coverage.py [SIMULATIONS] > rate_coverage.json

Two tables. ``slope``: ln V = a - r t + e, the rate of V itself. ``excess``: V = floor + excess
exp(-c t), with t in units of the time of pure decay, so that the rate of the excess is c; for each
height of V over its floor at the start, how many runs tell c at all (an interval no wider than
1/2), the mean of c over those, how many intervals hold it and how many lie wholly below 1/2. A
height of 0 means that there is no floor. Every run switches, and in one row its floor falls then.

e is a first-order autoregression with correlation rho between neighbouring evaluations, stationary
but for rho = 1, which walks at random.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import numpy as np

from nht_theory.claims.prefactor import WIDEST
from nht_theory.claims.rules import PAPER_EFFICIENCY
from nht_theory.estimators.contraction import Window, contraction_rate, log_linear_slope
from nht_theory.estimators.results import Estimate
from nht_theory.runs.run import Run

EVALUATIONS = (12, 20, 50, 200)
CORRELATIONS = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 1.0)
INTERVAL = 1000
"""Steps between evaluations."""
TRUTHS = (
    (0.95, 1.0, 1.0),
    (0.95, 1.1, 1.0),
    (0.95, 1.5, 1.0),
    (0.95, 3.0, 1.0),
    (0.95, 10.0, 1.0),
    (0.95, 10.0, 0.3),
    (0.7, 0.0, 1.0),
    (0.3, 0.0, 1.0),
)
"""c; V over its floor at the start, 0 where there is no floor; what the switch multiplies the floor
by."""
SWITCH = 0.4
"""Share of the log after which the run has switched."""
GRIDS = ((20, 3.0), (20, 8.0), (60, 6.0), (200, 20.0))
"""Evaluations, and the span of the log in units of the time of pure decay."""
NOISE = ((0.0, 0.01), (0.6, 0.02), (0.9, 0.02))
"""Correlation and standard deviation of the noise of ln V."""


def autoregression(
    n: int, correlation: float, simulations: int, generator: np.random.Generator
) -> np.ndarray:
    """Noise of unit variance (innovations of unit variance at correlation 1), [simulations, n]."""
    shocks = generator.normal(size=(simulations, n))
    if correlation == 1:
        return np.cumsum(shocks, axis=1)
    noise = np.empty_like(shocks)
    noise[:, 0] = shocks[:, 0]
    for place in range(1, n):
        noise[:, place] = (
            correlation * noise[:, place - 1] + np.sqrt(1 - correlation**2) * shocks[:, place]
        )
    return noise


def slope_row(n: int, correlation: float, simulations: int) -> dict[str, object]:
    """Coverage of the slope's interval; its width in units of the mean fall over the log."""
    generator = np.random.default_rng([n, round(100 * correlation)])
    steps, rate = INTERVAL * np.arange(n, dtype=float), 1e-5
    inside, width = 0, 0.0
    for noise in autoregression(n, correlation, simulations, generator):
        slope, _, spread = log_linear_slope(steps, 8.0 - rate * steps + 0.02 * noise)
        assert spread is not None
        inside += abs(-slope - rate) <= spread.half_width
        width += 2 * spread.half_width / simulations
    return {
        "evaluations": n,
        "correlation": correlation,
        "coverage": round(inside / simulations, 4),
        "mean_width": float(f"{width:.4g}"),
    }


def excess_row(
    truth: tuple[float, float, float],
    grid: tuple[int, float],
    noise: tuple[float, float],
    simulations: int,
) -> dict[str, object]:
    """How many runs tell c, what c they tell, and whether their intervals hold it."""
    (c, height, later), (n, span), (correlation, size) = truth, grid, noise
    generator = np.random.default_rng(
        [round(100 * c), round(100 * height), n, round(10 * span), round(100 * correlation)]
    )
    steps = INTERVAL * np.arange(n)
    elapsed, pure = np.linspace(0, span, n), span / float(steps[-1])
    floor, start = (1.0, height) if height else (0.0, 20.0)
    switch = int(steps[round(SWITCH * (n - 1))])
    turn = switch * pure
    at_turn = floor + (start - floor) * np.exp(-c * turn)
    clean = np.where(
        elapsed <= turn,
        floor + (start - floor) * np.exp(-c * elapsed),
        later * floor + (at_turn - later * floor) * np.exp(-c * (elapsed - turn)),
    )
    told, held, below = [], 0, 0
    for one in autoregression(n, correlation, simulations, generator):
        run = Run("simulated", None, steps, {"squared_norm": clean * np.exp(size * one)})
        rate = contraction_rate(run, Window(0, int(steps[-1]), "simulated"), switch)
        if not isinstance(rate, Estimate) or rate.interval is None:
            continue
        low, high = rate.interval.low / pure, rate.interval.high / pure
        if high - low <= WIDEST:
            told.append(rate.value / pure)
            held += low <= c <= high
            below += high < PAPER_EFFICIENCY
    count = len(told)
    return {
        "c": c,
        "height": height,
        "floor_after_switch": later,
        "evaluations": n,
        "span": span,
        "correlation": correlation,
        "noise": size,
        "tell": round(count / simulations, 4),
        "mean_c": round(float(np.mean(told)), 4) if told else None,
        "coverage": round(held / count, 4) if count else None,
        "below_half": round(below / simulations, 4),
    }


def tables(
    simulations: int,
    evaluations: Iterable[int] = EVALUATIONS,
    truths: Iterable[tuple[float, float, float]] = TRUTHS,
    grids: Iterable[tuple[int, float]] = GRIDS,
) -> dict[str, list[dict[str, object]]]:
    """Both tables."""
    grids = tuple(grids)
    return {
        "slope": [
            slope_row(n, correlation, simulations)
            for n in evaluations
            for correlation in CORRELATIONS
        ],
        "excess": [
            excess_row(truth, grid, noise, simulations)
            for truth in truths
            for grid in grids
            for noise in NOISE
        ],
    }


if __name__ == "__main__":
    print(json.dumps(tables(int(sys.argv[1]) if len(sys.argv) > 1 else 1000), indent=1))
