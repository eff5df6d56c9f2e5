"""BatchNorm: contraction is amplified, so that the norm peaks earlier."""

from __future__ import annotations

import math

from nht_theory.claims import selection
from nht_theory.claims.configuration_signs import signed_configurations
from nht_theory.claims.rules import more_for_p
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.norms import turning_step
from nht_theory.estimators.results import StudyEstimates

NAME = "batch_norm"
SETTING = "normalization"
NEEDS = (
    "the norm of runs with batch normalisation and with none, all else (and the seed) equal, "
    "whose norm turns"
)
Side = tuple[int, str]
"""Step of the peak, and name of the run."""


def test(study: StudyEstimates) -> Verdict:
    """Sign test over configurations: the step of the peak with BatchNorm and without."""
    pairs, peakless = matched_pairs(study)
    if not pairs:
        told = f"; {peakless} runs have no peak" if peakless else ""
        return not_applicable(NAME, f"needs {NEEDS}{told}")
    gaps = {
        configuration: [math.log(without / with_batch) for (with_batch, _), (without, _) in own]
        for configuration, own in pairs.items()
    }
    found = signed_configurations(gaps, unit="1")
    alone = "; one configuration decides nothing beyond it" if found.n == 1 else ""
    runs = tuple(name for own in pairs.values() for pair in own for _, name in pair)
    return Verdict(
        claim=NAME,
        verdict=found.verdict,
        statistic=found.estimate.value,
        statistic_name="ln of the peak's step without BatchNorm over that with it, median of "
        "configurations",
        interval=found.estimate.interval,
        p_value=found.p_value,
        n=len(runs),
        n_censored=0,
        rule=f"the peak comes earlier with BatchNorm in {found.positive} of {found.n} "
        f"configurations (median over pairs of one seed); exact two-sided sign test over "
        f"configurations, p = {found.p_value:.3g}{alone}",
        details=(
            "weights before BatchNorm are scale-invariant: their norm sets the effective learning "
            "rate, and its fall is no fall of the function (THEORY.md, section 5)",
            f"left out: {peakless} runs whose norm has no peak",
        ),
        power=more_for_p(found.p_value / 2, found.n, "configurations")
        if found.verdict is VerdictKind.INCONCLUSIVE
        else "",
        runs=runs,
        units=found.n,
        unit="configurations",
    )


def matched_pairs(study: StudyEstimates) -> tuple[dict[str, list[tuple[Side, Side]]], int]:
    """For each configuration but the normalisation, its pairs of runs that differ in nothing else:
    (peak step, run) with BatchNorm, and without; and how many runs have no peak."""
    sides: dict[tuple[selection.Stratum, int | None], dict[str, Side]] = {}
    peakless = 0
    for run, _ in study.pairs():
        kind = selection.setting(run, SETTING)
        side = {"batch": "batch", "batchnorm": "batch", "bn": "batch", "none": "none"}.get(
            str(kind).lower()
        )
        if kind is None or side is None:
            continue
        peak = turning_step(run)
        if peak is None:
            peakless += 1
            continue
        stratum = selection.stratum(run, SETTING, "parameter_count")
        sides.setdefault((stratum, run.hyperparameters.seed), {})[side] = (peak, run.name)
    pairs: dict[str, list[tuple[Side, Side]]] = {}
    for (stratum, _), own in sides.items():
        if len(own) == 2:
            pairs.setdefault(stratum, []).append((own["batch"], own["none"]))
    return pairs, peakless


CLAIM = Claim(
    name=NAME,
    statement="BatchNorm amplifies contraction (by 1/sigma^2 of each channel), so that the norm "
    "peaks earlier.",
    needs=NEEDS,
    rule="supported when the peak comes earlier with BatchNorm in more configurations than chance "
    "gives (exact two-sided sign test; a configuration counts by the median of its pairs of one "
    "seed), refuted when later",
    references=("arXiv:2603.07323",),
    formulas=("scale_invariant_contraction", "effective_learning_rate", "variance_exponent"),
    against="configurations in which the norm peaks later with BatchNorm",
    in_favour="configurations in which the norm peaks earlier with BatchNorm",
    undecidable="fewer than six configurations, or norms that do not rise and then fall on both "
    "sides",
    test=test,
    uses_thresholds=False,
)
