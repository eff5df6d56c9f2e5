"""Do the verdicts say what is true of studies whose truth is known?

    python -m validation.statistics.verdict_calibration [SIMULATIONS] [--keep FILE] [--minutes M]

prints the table that verdict_calibration.json holds; with --keep it goes on where it stopped.

Each simulated study sweeps learning rate, weight decay and task (18 configurations, four seeds),
with a scatter of runs and of configurations, an evaluation grid and a budget that censors some
runs. Its delays follow the law or one of its rivals. The table counts how often each verdict is
given: under the law it may be refuted, and under a rival the law may be supported, in at most one
study of twenty. P6 is true of every law here but the free power law and the held norm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from nht_theory.claims.registry import claim_named
from nht_theory.conventions import DecayForm
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.inference.binomial import binomial_test
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study
from validation.statistics.resumable import run_script

EFFICIENCY = 0.65
RUN_SCATTER, CONFIGURATION_SCATTER = 0.15, 0.05
BUDGET = 15_000
SEEDS = 4
RATIOS = {53: 6.0, 97: 2.5}
"""Modulus -> V_mem/V_star, so that the log-ratio varies apart from eta and lambda."""

Law = Callable[[float, float, float, float], float]
"""(eta, lambda, V_mem, V_star) -> delay in steps, without scatter."""


def law(eta: float, decay: float, start: float, star: float) -> float:
    return float(np.log(start / star) / (EFFICIENCY * 2 * eta * decay))


def inverse_decay(eta: float, decay: float, start: float, star: float) -> float:
    return 0.9 / (eta * decay)


def offset(eta: float, decay: float, start: float, star: float) -> float:
    return 300 + 700 / decay


def free_power(eta: float, decay: float, start: float, star: float) -> float:
    return float(20.0 * eta**-0.6 * decay**-0.6)


def excess(eta: float, decay: float, start: float, star: float) -> float:
    end = 0.8 * star
    return float(np.log((start - end) / (star - end)) / (2 * 2 * eta * decay))


def held_norm(eta: float, decay: float, start: float, star: float) -> float:
    return float(60 * np.exp(0.045 * np.sqrt(start)))


TRUE_LAW = "ln(V_sc/V_st)/gamma"
TRUTHS: dict[str, Law] = {
    TRUE_LAW: law,
    "A/(eta lambda)": inverse_decay,
    "T_0 + A/lambda": offset,
    "free power law": free_power,
    "excess norm": excess,
    "exponential of the held norm": held_norm,
}
JUDGED = ("law_everywhere", "law", "P6", "prefactor", "necessity")
SLOW, SLOW_EVERY = ("rival_laws",), 5
"""Judged on a fifth of the studies: it leaves each configuration out for each law."""
LAWS = ("law", "law_everywhere", "rival_laws")
"""Claims of the law itself, for which every truth but one makes "supported" an error."""


def simulated_study(truth: Law, seed: int) -> StudyEstimates:
    """A study whose delays follow ``truth``, with its estimates."""
    generator = np.random.default_rng(seed)
    runs = []
    for eta, decay, modulus in product((5e-4, 1e-3, 2e-3), (0.1, 0.3, 1.0), RATIOS):
        shared = CONFIGURATION_SCATTER * generator.normal()
        for replicate in range(SEEDS):
            start = 4000 * decay**-0.1 * np.exp(0.1 * generator.normal())
            star = 4000 / RATIOS[modulus] * np.exp(0.05 * generator.normal())
            scatter = shared + RUN_SCATTER * generator.normal()
            delay = truth(eta, decay, start, star) * np.exp(scatter)
            settings = Hyperparameters(
                optimizer="adamw",
                learning_rate=eta,
                weight_decay=decay,
                decay_form=DecayForm.DECOUPLED,
                seed=replicate,
                extra={"p": modulus},
            )
            runs.append(simulated_run(settings, delay, start, star, generator))
    study = Study(Path("simulated"), tuple(runs), tuple(runs))
    return estimate_study(study)


def simulated_run(
    settings: Hyperparameters,
    delay: float,
    start: float,
    star: float,
    generator: np.random.Generator,
) -> Run:
    """A run that memorises, whose ln V falls to ln V_star over the delay and goes on falling."""
    grid = 100 if delay < 4000 else 500
    memorized = generator.uniform(200, 600)
    last = min(BUDGET, memorized + 1.3 * delay + 2 * grid)
    steps = np.arange(0, last + grid, grid).astype(np.int64)
    after = (steps - memorized) / delay
    squared_norm = start * np.exp(-after * np.log(start / star))
    return Run(
        name=f"{settings.learning_rate} {settings.weight_decay} {settings.extra['p']} "
        f"{settings.seed}",
        source=Path("simulated"),
        steps=steps,
        values={
            "train_accuracy": np.clip(0.99 + 0.2 * (steps - memorized) / 600, 0, 1),
            "heldout_accuracy": np.clip(0.99 + 5 * (after - 1), 0, 1),
            "squared_norm": squared_norm * np.exp(0.01 * generator.normal(size=steps.size)),
        },
        hyperparameters=settings,
    )


def judged(truth: str, simulation: int) -> dict[str, str]:
    """Prediction -> verdict of one simulated study; the slow one on every fifth."""
    place = list(TRUTHS).index(truth)
    study = simulated_study(TRUTHS[truth], seed=1_000_000 * place + simulation)
    slow = SLOW if simulation % SLOW_EVERY == 0 else ()
    return {name: claim_named(name).test(study).verdict.value for name in (*JUDGED, *slow)}


def table(said: Mapping[str, Sequence[Mapping[str, str]]]) -> list[dict[str, object]]:
    """One row for each truth and prediction: how often each verdict was given.

    For the laws also ``wrong``, the share of the verdict that would be an error, and
    ``wrong_at_most``, the exact upper 95 % limit of its probability (Clopper and Pearson).
    """
    rows: list[dict[str, object]] = []
    for truth, studies in said.items():
        counts: dict[str, Counter[str]] = {}
        for verdicts in studies:
            for name, verdict in verdicts.items():
                counts.setdefault(name, Counter())[verdict] += 1
        for name, count in counts.items():
            total = sum(count.values())
            row: dict[str, object] = {"truth": truth, "prediction": name, "studies": total}
            row |= {verdict: round(seen / total, 4) for verdict, seen in sorted(count.items())}
            if name in LAWS:
                errors = count["refuted" if truth == TRUE_LAW else "supported"]
                limit = binomial_test(errors, total, coverage=0.9).interval
                row |= {
                    "wrong": round(errors / total, 4),
                    "wrong_at_most": None if limit is None else round(limit.high, 4),
                }
            rows.append(row)
    return rows


if __name__ == "__main__":
    run_script(__doc__, list(TRUTHS), judged, table)
