"""Do the intervals of slopes over configurations cover, from three configurations to sixteen?

    python validation/statistics/slope_coverage.py [SIMULATIONS] > slope_coverage.json

Each simulated study has G configurations over a factor of ten in the first predictor, of which ln T
has slope 1, and, with two slopes, a second predictor of two values that alternate. The scatter of
ln T is 0.2 between configurations and 0.1 between the runs of one, which are five, or one to five
at random ("unequal"). One budget leaves an expected 0, 30 or 50 % of the runs without their switch.

Each row gives the share of 95 % intervals that hold the true value, with Wilson's interval, the
median width, and how many studies were refused. Without censoring it also gives both for the two
ways that were not kept: CR2 with Satterthwaite's degrees of freedom (Bell and McCaffrey 2002), on
the runs, and the sandwich without correction (CR0) with Student's t of G - 1.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nht_theory.errors import NhtError
from nht_theory.inference.binomial import wilson_interval
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.configuration_means import fit_configuration_means

TRUE_SLOPE = 1.0
SPREAD = 10.0
BETWEEN, WITHIN, SEEDS = 0.2, 0.1, 5
SECOND = (-0.5, 0.9)
"""ln ln(V_sc/V_st) of ratios of about 1.8 and 12."""
NAMES = ("constant", "first", "second")
CONFIGURATIONS = (3, 4, 5, 6, 8, 12, 16)

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Setup:
    """One cell of the simulation.

    Attributes:
        configurations, slopes: how many.
        censored: expected share of runs without their switch.
        unequal: whether configurations have one to five seeds, instead of five.
    """

    configurations: int
    slopes: int
    censored: float
    unequal: bool

    def study(
        self, generator: np.random.Generator
    ) -> tuple[CensoredTimes, Array, NDArray[np.int64]]:
        """Times, design and configuration of the runs of one study."""
        count = self.configurations
        seeds = generator.integers(1, SEEDS + 1, count) if self.unequal else np.full(count, SEEDS)
        code = np.repeat(np.arange(count), seeds)
        means = self.design()
        location = means[:, 1:].sum(axis=1) * TRUE_SLOPE + BETWEEN * generator.normal(size=count)
        log_time = location[code] + WITHIN * generator.normal(size=code.size)
        budget = np.inf if self.censored == 0 else self.log_budget()
        low, late = np.exp(np.minimum(log_time, budget)), log_time > budget
        times = CensoredTimes.of(low, np.where(late, np.inf, low))
        return times, means[code], code

    def design(self) -> Array:
        """Constant and predictors of each configuration; two of them share a value of the first
        where there are two slopes."""
        count = self.configurations
        levels = count if self.slopes == 1 else -(-count // 2)
        first = np.linspace(0, np.log(SPREAD), levels)
        columns = [np.ones(count), np.repeat(first, 1 if self.slopes == 1 else 2)[:count]]
        if self.slopes == 2:
            columns.append(np.resize(SECOND, count))
        return np.column_stack(columns)

    def log_budget(self) -> float:
        """ln of the budget that leaves the expected share without their switch."""
        location = TRUE_SLOPE * self.design()[:, 1:].sum(axis=1)
        noise = np.hypot(BETWEEN, WITHIN) * np.random.default_rng(12345).normal(size=(4000, 1))
        return float(np.quantile(location + noise, 1 - self.censored))


def robust_limits(
    log_time: Array, design: Array, code: Codes, place: int, *, reduced: bool
) -> tuple[float, float]:
    """Interval of one slope by least squares on runs: CR2 where ``reduced``, else CR0."""
    inverse = np.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    residual_maker = np.eye(len(design)) - hat
    weights = inverse[place]
    columns = []
    for own in np.unique(code):
        rows = code == own
        share = design[rows] @ weights
        if reduced:
            values, vectors = np.linalg.eigh(residual_maker[np.ix_(rows, rows)])
            root = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-12)), 0.0)
            share = vectors @ (root * (vectors.T @ share))
        columns.append(residual_maker[:, rows] @ share)
    parts = np.array(columns).T
    error = float(np.sqrt(((parts.T @ log_time) ** 2).sum()))
    gram = parts.T @ parts
    count = len(columns)
    freedom = float(np.trace(gram) ** 2 / (gram**2).sum()) if reduced else count - 1
    if not reduced:
        error *= np.sqrt(count / (count - 1))
    value = float(weights @ design.T @ log_time)
    half = float(stats.t.ppf(0.975, freedom)) * error
    return value - half, value + half


def simulate(setup: Setup, simulations: int) -> list[dict[str, object]]:
    """One row for each slope of a setup."""
    kinds = ("configuration means",) + (() if setup.censored else ("CR2", "CR0"))
    names = NAMES[: setup.slopes + 1]
    found: dict[tuple[str, str], list[tuple[float, float]]] = {
        key: [] for key in product(kinds, names[1:])
    }
    refused = 0
    for seed in range(simulations):
        generator = np.random.default_rng(
            [2026, setup.configurations, setup.slopes, int(100 * setup.censored), seed]
        )
        times, design, code = setup.study(generator)
        try:
            fit = fit_configuration_means(times, design, names, code.tolist())
        except NhtError:
            refused += 1
        else:
            for name in names[1:]:
                interval = fit.coefficient(name).interval
                assert interval is not None
                found["configuration means", name].append((interval.low, interval.high))
        for kind, place in product(kinds[1:], range(1, len(names))):
            limits = robust_limits(np.log(times.lower), design, code, place, reduced=kind == "CR2")
            found[kind, names[place]].append(limits)
    return [
        {
            "configurations": setup.configurations,
            "slopes": setup.slopes,
            "censored": setup.censored,
            "seeds": "unequal" if setup.unequal else "equal",
            "slope": name,
            "method": kind,
            **_summary(limits),
            "studies": simulations,
            "refused": refused if kind == kinds[0] else 0,
        }
        for (kind, name), limits in found.items()
    ]


def _summary(limits: list[tuple[float, float]]) -> dict[str, object]:
    if not limits:
        return {"coverage": None, "coverage_interval": None, "median_width": None}
    low, high = np.array(limits).T
    covered = int(((low <= TRUE_SLOPE) & (high >= TRUE_SLOPE)).sum())
    interval = wilson_interval(covered, len(limits))
    return {
        "coverage": round(covered / len(limits), 4),
        "coverage_interval": [round(interval.low, 4), round(interval.high, 4)],
        "median_width": round(float(np.median(high - low)), 3),
    }


def main(simulations: int) -> list[dict[str, object]]:
    """Rows of every setup."""
    return [
        row
        for slopes, censored, unequal, configurations in product(
            (1, 2), (0.0, 0.3, 0.5), (False, True), CONFIGURATIONS
        )
        for row in simulate(Setup(configurations, slopes, censored, unequal), simulations)
    ]


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    json.dump(main(count), sys.stdout, indent=1)
    sys.stdout.write("\n")
