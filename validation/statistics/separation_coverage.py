"""Does the interval of the separation score S cover, and how wide is it?

    python validation/statistics/separation_coverage.py [SIMULATIONS] > separation_coverage.json

Each run has eight checkpoints, over which phi falls (binary: four shortcut, four structured;
continuous: in eight levels). ln V = m phi + a + e, with a normal offset a of the run and normal e
of the checkpoint, each with half of a variance of one; m is solved for so that S between runs is
as wanted. The last rows are the worst case for few runs: a share of them holds the order upside
down, the others hold it perfectly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import numpy as np
from scipy import optimize, stats

from nht_theory.inference.concordance import clustered_somers_d

CHECKPOINTS = 8
SCORES = (0.0, 0.5, 0.8, 0.95, 0.98)
RUNS = (5, 10, 20, 50)
PHI = {
    "binary": np.repeat([1.0, 0.0], CHECKPOINTS // 2),
    "continuous": np.linspace(1, 0, CHECKPOINTS),
}
INVERTED = (0.05, 0.25)
SPREAD = np.sqrt(0.5)


def strength(score: float, phi: np.ndarray) -> float:
    """m at which S between two runs is ``score``: ln V of two checkpoints differs by
    N(m (phi - phi'), 2)."""
    gaps = (phi[:, None] - phi[None, :])[phi[:, None] > phi[None, :]]

    def excess(m: float) -> float:
        return float(np.mean(2 * stats.norm.cdf(m * gaps / np.sqrt(2)) - 1)) - score

    return 0.0 if score == 0 else float(optimize.brentq(excess, 0, 1000))


def covered(
    truth: float, phi: np.ndarray, slopes: np.ndarray, generator: np.random.Generator
) -> dict[str, float]:
    """Share of simulations [simulations, runs] of slopes whose interval holds the truth."""
    simulations, runs = slopes.shape
    cluster, given = np.repeat(np.arange(runs), phi.size), np.tile(phi, runs)
    inside, width, perfect = 0, 0.0, 0
    for slope in slopes:
        offset = SPREAD * generator.normal(size=(runs, 1))
        noise = SPREAD * generator.normal(size=(runs, phi.size))
        log_norm = slope[:, None] * phi + offset + noise
        found = clustered_somers_d(log_norm.ravel(), given, cluster)
        inside += truth in found.interval
        width += found.interval.high - found.interval.low
        perfect += found.value == 1
    return {
        "coverage": round(inside / simulations, 4),
        "mean_width": round(width / simulations, 3),
        "no_run_disagrees": round(perfect / simulations, 3),
    }


def table(
    simulations: int, scores: Iterable[float] = SCORES, runs: Iterable[int] = RUNS
) -> list[dict[str, object]]:
    """One row for each kind of phi, S and number of runs, then the inverted shares."""
    rows: list[dict[str, object]] = []
    runs = tuple(runs)
    for kind, phi in PHI.items():
        for score in scores:
            m = strength(score, phi)
            for n in runs:
                generator = np.random.default_rng([n, round(1000 * score), phi.size, len(rows)])
                found = covered(score, phi, np.full((simulations, n), m), generator)
                rows.append({"phi": kind, "score": score, "runs": n, **found})
    for share in INVERTED:
        # A shortcut checkpoint of a run beats a structured one of another where both are
        # upright, loses where both are inverted, and otherwise ties but for offset and noise.
        score = (1 - share) ** 2 - share**2
        for n in runs:
            generator = np.random.default_rng([n, round(1000 * share)])
            slopes = np.where(generator.random((simulations, n)) < share, -1.0, 1.0)
            phi = PHI["binary"] - 0.5
            found = covered(score, phi, 1000 * slopes, generator)
            kind = f"binary, {share:.0%} of runs inverted"
            rows.append({"phi": kind, "score": round(score, 3), "runs": n, **found})
    return rows


if __name__ == "__main__":
    print(json.dumps(table(int(sys.argv[1]) if len(sys.argv) > 1 else 1000), indent=1))
