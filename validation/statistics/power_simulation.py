"""Does the power table say how often a sweep would really decide?

    python validation/statistics/power_simulation.py [SIMULATIONS] > power_simulation.json

Each row is a planned sweep of weight decay (spread, seeds per level, budget): the probability
that the slope of ln T is called supported (its 95 % interval inside 0.8-1.25) or refuted
(wholly outside), as computed by nht_theory.inference.power, beside the share of simulated
studies that our censored regression calls so. Slopes: 1, the law; 0.5, a rival.
"""

from __future__ import annotations

import json
import sys

import numpy as np

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
    x = np.column_stack([np.ones_like(level), level])
    budget = np.inf if design.budget is None else design.budget
    supported = refuted = failed = 0
    for seed in range(simulations):
        generator = np.random.default_rng([seeds, int(design.spread), seed])
        time = design.median * np.exp(
            design.slope * level + design.scale * generator.normal(size=level.size)
        )
        times = CensoredTimes.right_censored(np.minimum(time, budget), time <= budget)
        try:
            interval = (
                fit_censored_regression(times, x, ["constant", "slope"])
                .coefficient("slope")
                .interval
            )
        except NhtError:
            failed += 1  # no verdict: counted as undecided
            continue
        supported += design.low < interval.low and interval.high < design.high
        refuted += interval.high < design.low or interval.low > design.high
    return supported / simulations, refuted / simulations, failed


def table(simulations: int, plans: list[tuple] | None = None) -> list[dict]:
    """One row for each plan."""
    rows = []
    for spread, seeds, slope, budget in PLANS if plans is None else plans:
        design = SlopeDesign(
            spread=spread, levels=5, scale=0.25, low=LOW, high=HIGH, slope=slope, budget=budget
        )
        computed = design.decide(seeds)
        supported, refuted, failed = simulated(design, seeds, simulations)
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
                "simulations": simulations,
                "failed_fits": failed,
            }
        )
    return rows


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    json.dump(table(count), sys.stdout, indent=1)
    sys.stdout.write("\n")
