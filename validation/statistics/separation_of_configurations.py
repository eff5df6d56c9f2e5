"""Does the interval of the mean separation score S over configurations cover?

    python validation/statistics/separation_of_configurations.py [SIMULATIONS] > FILE.json

Each run has eight checkpoints, four shortcut and four structured. ln V = m_g phi + a + e with
normal a of the run and e of the checkpoint, each with half of a variance of one. The strength m_g
of a configuration is log-normal around m with the scatter given, and m is solved for so that S,
mean over all configurations that there might be, is as wanted. In the last rows a share of the
configurations holds the order upside down and the others hold it perfectly: the worst case for
few configurations, since most samples show no inverted one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import numpy as np
from scipy import optimize, stats

from nht_theory.inference.concordance import group_score, mean_score

PHI = np.repeat([1.0, 0.0], 4)
SCORES = (0.0, 0.5, 0.8, 0.95, 0.98)
SCATTERS = (0.0, 0.5)
CONFIGURATIONS = (3, 4, 6, 8, 12, 16)
SEEDS = (2, 4)
INVERTED = (0.1, 0.25)
LEVEL = 0.8
SPREAD = np.sqrt(0.5)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


def strength(score: float, scatter: float) -> float:
    """m at which S between two runs, mean over configurations, is ``score``: ln V of two
    checkpoints of a configuration of strength m_g differs by N(m_g, 2)."""
    if score == 0:
        return 0.0

    def excess(m: float) -> float:
        of_configuration = 2 * stats.norm.cdf(m * np.exp(scatter * NODES) / np.sqrt(2)) - 1
        return float(WEIGHTS @ of_configuration / WEIGHTS.sum()) - score

    return float(optimize.brentq(excess, 0, 1000))


def covered(
    truth: float, strengths: np.ndarray, seeds: int, generator: np.random.Generator
) -> dict[str, float]:
    """Share of simulations [simulations, configurations] whose interval holds the truth, and of
    those whose interval lies above 0.8."""
    inside, above, width = 0, 0, 0.0
    run, given = np.repeat(np.arange(seeds), PHI.size), np.tile(PHI, seeds)
    for row in strengths:
        groups = []
        for m in row:
            offset = SPREAD * generator.normal(size=(seeds, 1))
            log_norm = m * PHI + offset + SPREAD * generator.normal(size=(seeds, PHI.size))
            groups.append(group_score(log_norm.ravel(), given, run))
        mean = mean_score([group for group in groups if group is not None])
        assert mean is not None
        interval = mean.interval()
        inside += truth in interval
        above += interval.low > LEVEL
        width += interval.high - interval.low
    n = len(strengths)
    return {
        "coverage": round(inside / n, 4),
        "mean_width": round(width / n, 3),
        "surely_above_0.8": round(above / n, 4),
    }


def table(
    simulations: int,
    scores: Iterable[float] = SCORES,
    configurations: Iterable[int] = CONFIGURATIONS,
    seeds: Iterable[int] = SEEDS,
) -> list[dict[str, object]]:
    """One row for each S, scatter, number of configurations and of seeds, then the inverted."""
    rows: list[dict[str, object]] = []
    configurations, seeds = tuple(configurations), tuple(seeds)
    for score in scores:
        for scatter in SCATTERS if score else SCATTERS[:1]:
            m = strength(score, scatter)
            for n in configurations:
                for of_each in seeds:
                    generator = np.random.default_rng([n, of_each, round(1000 * score), len(rows)])
                    chosen = m * np.exp(scatter * generator.normal(size=(simulations, n)))
                    found = covered(score, chosen, of_each, generator)
                    design = {"configurations": n, "seeds": of_each}
                    rows.append({"score": score, "scatter": scatter, **design, **found})
    for share in INVERTED:
        for n in configurations:
            generator = np.random.default_rng([n, round(1000 * share)])
            signs = np.where(generator.random((simulations, n)) < share, -1.0, 1.0)
            found = covered(1 - 2 * share, 1000 * signs, max(seeds), generator)
            design = {"configurations": n, "seeds": max(seeds)}
            rows.append({"score": 1 - 2 * share, "inverted": share, **design, **found})
    return rows


if __name__ == "__main__":
    print(json.dumps(table(int(sys.argv[1]) if len(sys.argv) > 1 else 400), indent=1))
