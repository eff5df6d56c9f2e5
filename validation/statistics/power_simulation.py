"""Does the power table say how often a sweep would really decide?

    python validation/statistics/power_simulation.py [SIMULATIONS] > power_simulation.json

Each row is a planned sweep of weight decay (spread, seeds per level, budget): the probability
that the slope of ln T is called supported (its 95 % interval inside 0.8-1.25) or refuted
(wholly outside), as computed by nht_theory.inference.power, beside the share of simulated
studies that our censored regression calls so. Slopes: 1, the law; 0.5, a rival. Plans without a
budget are simulated ten times as often.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from scipy import stats

from nht_theory.errors import NhtError
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.power import SlopeDesign

LOW, HIGH = 0.8, 1.25
PLANS = [
    (spread, seeds, slope, budget)
    for spread in (4.0, 16.0)
    for seeds in (3, 5, 10)
    for slope, budget in ((1.0, None), (0.5, None), (1.0, 1500.0))
]


def simulated(design: SlopeDesign, seeds: int, simulations: int) -> tuple[float, float, int]:
    """Shares called supported and refuted, and the number of fits that failed."""
    level = np.repeat(design.log_levels(), seeds)
    generator = np.random.default_rng([seeds, int(design.spread), simulations])
    noise = design.scale * generator.normal(size=(simulations, level.size))
    log_time = np.log(design.median) + design.slope * level + noise
    if design.budget is None:
        low, high = least_squares_limits(level, log_time)
    else:
        limits = [censored_limits(level, row, design.budget) for row in log_time]
        low, high = np.array(limits).T
    supported = (design.low < low) & (high < design.high)
    refuted = (high < design.low) | (low > design.high)
    return float(supported.mean()), float(refuted.mean()), int(np.isnan(low).sum())


def least_squares_limits(x: np.ndarray, log_time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % limits of the slope of each row, to which the censored regression reduces (tested)."""
    centred = x - x.mean()
    spread = centred @ centred
    slope = log_time @ centred / spread
    residual = log_time - log_time.mean(axis=1, keepdims=True) - slope[:, None] * centred
    free = x.size - 2
    error = np.sqrt((residual**2).sum(axis=1) / free / spread)
    half = stats.t.ppf(0.975, free) * error
    return slope - half, slope + half


def censored_limits(x: np.ndarray, log_time: np.ndarray, budget: float) -> tuple[float, float]:
    """95 % limits of the slope of our censored regression; NaN (undecided) where it has none."""
    time = np.exp(log_time)
    times = CensoredTimes.right_censored(np.minimum(time, budget), time <= budget)
    design = np.column_stack([np.ones_like(x), x])
    try:
        fit = fit_censored_regression(times, design, ["constant", "slope"])
    except NhtError:
        return np.nan, np.nan
    interval = fit.coefficient("slope").interval
    return interval.low, interval.high


def table(simulations: int, plans: list[tuple] | None = None) -> list[dict]:
    """One row for each plan."""
    rows = []
    for spread, seeds, slope, budget in PLANS if plans is None else plans:
        design = SlopeDesign(
            spread=spread, levels=5, scale=0.25, low=LOW, high=HIGH, slope=slope, budget=budget
        )
        computed = design.decide(seeds)
        count = simulations if budget else 10 * simulations
        supported, refuted, failed = simulated(design, seeds, count)
        rows.append(
            {
                "spread": spread,
                "seeds": seeds,
                "slope": slope,
                "budget": budget,
                "censored": round(computed.censored, 3),
                "supported_computed": round(computed.supported, 4),
                "supported_simulated": round(supported, 4),
                "refuted_computed": round(computed.refuted, 4),
                "refuted_simulated": round(refuted, 4),
                "simulations": count,
                "failed_fits": failed,
            }
        )
    return rows


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    json.dump(table(count), sys.stdout, indent=1)
    sys.stdout.write("\n")
