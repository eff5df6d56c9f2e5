"""Do the intervals of the censored regression cover, and what do dropping and filling do?

    python validation/statistics/censoring_coverage.py [SIMULATIONS] > censoring_coverage.json

Each simulated study is a sweep of 54 runs: 6 contraction rates over a factor 16, 3 norm ratios,
3 seeds, under the law ln T = 1.5 + 1 ln(1/gamma) + 1 ln ln(V_sc/V_st) + 0.25 W, W standard normal,
read every 200 steps and stopped at one budget, chosen so that 0, 30 or 60 % of the runs have not
switched. The same study is fitted three ways; each row gives, for the two slopes (true value 1),
the mean estimate and the share of 95 % intervals that hold the true value.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from nht_theory.errors import NhtError
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes

TRUE_SLOPE = 1.0
GRID = 200.0
SCATTER = 0.25
NAMES = ["constant", "ln(1/gamma)", "ln ln ratio"]
TREATMENTS = ("censored likelihood", "censored runs dropped", "budget in place of T")


def design() -> np.ndarray:
    """Columns constant, ln(1/gamma), ln ln(V_sc/V_st) of the 54 runs."""
    rate = np.geomspace(2.5e-4, 4e-3, 6)
    ratio = np.array([2.0, 4.0, 10.0])
    gamma, r, _ = (axis.ravel() for axis in np.meshgrid(rate, ratio, np.arange(3)))
    return np.column_stack([np.ones(gamma.size), np.log(1 / gamma), np.log(np.log(r))])


def budget_for(share: float, x: np.ndarray) -> float:
    """The budget that leaves an expected ``share`` of runs without their switch."""
    if share == 0:
        return np.inf
    generator = np.random.default_rng(12345)
    many = location(x)[:, None] + SCATTER * generator.normal(size=(len(x), 4000))
    return float(GRID * np.ceil(np.exp(np.quantile(many, 1 - share)) / GRID))


def location(x: np.ndarray) -> np.ndarray:
    """ln T under the law."""
    return np.asarray(1.5 + TRUE_SLOPE * x[:, 1] + TRUE_SLOPE * x[:, 2])


def treated(
    treatment: str, time: np.ndarray, budget: float, x: np.ndarray
) -> tuple[CensoredTimes, np.ndarray]:
    """The study as one way of handling censored runs sees it."""
    upper = GRID * np.ceil(time / GRID)
    late = upper > budget
    low = upper - GRID
    if treatment == "censored likelihood":
        return CensoredTimes.of(np.where(late, budget, low), np.where(late, np.inf, upper)), x
    if treatment == "censored runs dropped":
        return CensoredTimes.of(low[~late], upper[~late]), x[~late]
    filled = np.where(late, budget, upper)
    return CensoredTimes.of(np.where(late, budget, low), filled), x


def simulate(simulations: int, shares: tuple[float, ...] = (0.0, 0.3, 0.6)) -> list[dict]:
    """One row for each share of censoring, treatment and slope."""
    x = design()
    rows = []
    for share in shares:
        budget = budget_for(share, x)
        outcome = {t: {name: [] for name in NAMES[1:]} for t in TREATMENTS}
        failures = dict.fromkeys(TREATMENTS, 0)
        censored = []
        for seed in range(simulations):
            generator = np.random.default_rng([2026, int(100 * share), seed])
            time = np.exp(location(x) + SCATTER * generator.normal(size=len(x)))
            censored.append(float(np.mean(GRID * np.ceil(time / GRID) > budget)))
            for treatment in TREATMENTS:
                try:
                    fit = fit_censored_regression(*treated(treatment, time, budget, x), NAMES)
                except NhtError:
                    failures[treatment] += 1
                    continue
                for name in NAMES[1:]:
                    estimate = fit.coefficient(name)
                    outcome[treatment][name].append(
                        (estimate.value, TRUE_SLOPE in estimate.interval)
                    )
        for treatment in TREATMENTS:
            for name in NAMES[1:]:
                values, covered = np.array(outcome[treatment][name]).T
                rows.append(
                    {
                        "censored": round(float(np.mean(censored)), 3),
                        "treatment": treatment,
                        "slope": name,
                        "mean_estimate": round(float(values.mean()), 4),
                        "bias": round(float(values.mean()) - TRUE_SLOPE, 4),
                        "coverage": round(float(covered.mean()), 4),
                        "simulations": simulations,
                        "failed_fits": failures[treatment],
                    }
                )
    return rows


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    json.dump(simulate(count), sys.stdout, indent=1)
    sys.stdout.write("\n")
