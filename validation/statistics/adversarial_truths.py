"""Does any claim get a wrong verdict where the truth is known and awkward?

    python -m validation.statistics.adversarial_truths [SIMULATIONS] [--keep FILE] [--minutes M]

prints the table that adversarial_truths.json holds; with --keep it goes on where it stopped.

Each truth of truths.py is simulated with 3 to 16 configurations of four seeds in turn, and every
claim is judged on each study. A verdict is counted as the claim's own test gives it and, since
that is what is printed, after Holm over the claims of the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nht_theory.claims.judging import family_wise, test_each
from nht_theory.claims.registry import CLAIMS
from nht_theory.inference.binomial import binomial_test
from validation.statistics.resumable import run_script
from validation.statistics.truths import TRUTHS, Truth

CONFIGURATIONS = (3, 4, 6, 8, 12, 16)
"""Taken in turn, so that each number of configurations has as many studies."""
AFTER_HOLM = " (Holm)"
DECIDED = ("supported", "refuted")
BY_NAME = {truth.name: truth for truth in TRUTHS}


def configurations_of(simulation: int) -> int:
    """Number of configurations of a simulation.

    Example:
        >>> [configurations_of(n) for n in range(7)]
        [3, 4, 6, 8, 12, 16, 3]
    """
    return CONFIGURATIONS[simulation % len(CONFIGURATIONS)]


def judged(name: str, simulation: int) -> dict[str, str]:
    """Claim -> verdict on one simulated study, and with " (Holm)" behind the name after Holm."""
    place = list(BY_NAME).index(name)
    generator = np.random.default_rng([place, simulation])
    study = BY_NAME[name].simulate(generator, configurations_of(simulation))
    verdicts = test_each(CLAIMS, study)
    broken = [f"{own.claim}: {own.failure}" for own in verdicts if own.failure]
    if broken:
        raise RuntimeError(f"{name}, simulation {simulation}: {'; '.join(broken)}")
    return {own.claim: own.verdict.value for own in verdicts} | {
        own.claim + AFTER_HOLM: own.verdict.value for own in family_wise(verdicts)
    }


def table(said: Mapping[str, Sequence[Mapping[str, str]]]) -> list[dict[str, object]]:
    """One row a truth and claim on which a verdict can be wrong.

    ``wrong`` counts the studies in which the claim's own test decided wrongly, ``wrong_at_most``
    is the upper end of the exact 95 % interval of that probability (Clopper and Pearson), and
    ``by_configurations`` gives, for each number of configurations, studies, wrong verdicts, and
    verdicts that decided rightly, on the claim's own and after Holm.
    """
    return [
        row(BY_NAME[name], claim, studies)
        for name, studies in said.items()
        for claim in BY_NAME[name].judged
    ]


def row(truth: Truth, claim: str, studies: Sequence[Mapping[str, str]]) -> dict[str, object]:
    """How often each verdict was given, and how often it was wrong."""
    own = [study[claim] for study in studies]
    printed = [study[claim + AFTER_HOLM] for study in studies]
    wrong = [truth.is_wrong(claim, verdict) for verdict in own]
    limit = binomial_test(sum(wrong), len(own)).interval
    by_size = {}
    for size in CONFIGURATIONS:
        there = [n for n in range(len(own)) if configurations_of(n) == size]
        by_size[str(size)] = {
            "studies": len(there),
            "wrong": sum(wrong[n] for n in there),
            "right": sum(own[n] in DECIDED and not wrong[n] for n in there),
            "right_after_holm": sum(
                printed[n] in DECIDED and not truth.is_wrong(claim, printed[n]) for n in there
            ),
        }
    return {
        "truth": truth.name,
        "claim": claim,
        "studies": len(own),
        **{kind: own.count(kind) for kind in (*DECIDED, "inconclusive", "not applicable")},
        "wrong": sum(wrong),
        "wrong_after_holm": sum(truth.is_wrong(claim, verdict) for verdict in printed),
        "wrong_at_most": None if limit is None else round(limit.high, 4),
        "by_configurations": by_size,
    }


if __name__ == "__main__":
    run_script(__doc__, list(BY_NAME), judged, table)
