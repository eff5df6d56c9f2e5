"""BatchNorm: contraction is amplified, so that the norm peaks earlier."""

from __future__ import annotations

import math

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.norms import turning_step
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.binomial import median_estimate, sign_test
from nht_theory.inference.results import Alternative
from nht_theory.predictions import selection
from nht_theory.predictions.rules import by_direction, more_for_p
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "batch_norm"
SETTING = "normalization"
NEEDS = (
    "the norm of runs with batch normalisation and with none, all else (and the seed) equal, "
    "whose norm turns"
)


def judge(study: StudyEstimates) -> Verdict:
    """Sign test over pairs of one seed: the step of the peak with BatchNorm and without."""
    pairs = matched_pairs(study)
    if not pairs:
        return not_applicable(NAME, f"needs {NEEDS}")
    gaps = [
        math.log(max(with_batch, 1) / max(without, 1)) for (with_batch, _), (without, _) in pairs
    ]
    earlier = sign_test(gaps, alternative=Alternative.LESS)
    later = sign_test(gaps, alternative=Alternative.GREATER)
    verdict, p_value = by_direction(earlier.p_value, later.p_value)
    median = median_estimate(gaps, unit="1")
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=median.value,
        statistic_name="ln of the peak's step with BatchNorm over that without, median of pairs",
        interval=median.interval,
        p_value=p_value,
        n=2 * len(pairs),
        n_censored=0,
        rule=f"the peak comes earlier with BatchNorm in {sum(gap < 0 for gap in gaps)} of "
        f"{len(pairs)} pairs of one seed; exact sign test, p = {p_value:.3g}",
        details=(
            "weights before BatchNorm are scale-invariant: their norm sets the effective learning "
            "rate, and its fall is no fall of the function (THEORY.md, section 5)",
        ),
        power=more_for_p(p_value, len(pairs), "pairs")
        if verdict is VerdictKind.INCONCLUSIVE
        else "",
        runs=tuple(name for pair in pairs for _, name in pair),
    )


def matched_pairs(study: StudyEstimates) -> list[tuple[tuple[int, str], tuple[int, str]]]:
    """(peak step, run) with BatchNorm, and without, of runs that differ in nothing else."""
    sides: dict[str, dict[str, tuple[int, str]]] = {}
    for run, _ in study.pairs():
        kind = selection.setting(run, SETTING)
        peak = turning_step(run)
        if kind is None or peak is None:
            continue
        side = {"batch": "batch", "batchnorm": "batch", "bn": "batch", "none": "none"}.get(
            str(kind).lower()
        )
        if side is not None:
            block = selection.block(run, SETTING, "parameter_count")
            sides.setdefault(block, {})[side] = (peak, run.name)
    return [(own["batch"], own["none"]) for own in sides.values() if len(own) == 2]


PREDICTION = Prediction(
    name=NAME,
    claim="BatchNorm amplifies contraction (by 1/sigma^2 of each channel), so that the norm peaks "
    "earlier.",
    needs=NEEDS,
    rule="supported when the peak comes earlier with BatchNorm in the pairs of one seed (exact "
    "sign test, one-sided), refuted when later",
    references=("arXiv:2603.07323",),
    formulas=("scale_invariant_contraction", "effective_learning_rate", "variance_exponent"),
    against="pairs of one seed in which the norm peaks later with BatchNorm",
    in_favour="pairs of one seed in which the norm peaks earlier with BatchNorm",
    judge=judge,
    uses_thresholds=False,
)
