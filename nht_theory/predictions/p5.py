"""P5: the separation is clean: V tells shortcut from structure, and the switch is sharp."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import stats

from nht_theory.conventions import CONFIDENCE, VerdictKind
from nht_theory.estimators.results import Estimate, StudyEstimates
from nht_theory.predictions import clean_separation, selection
from nht_theory.predictions.rules import (
    CLEAN_SEPARATION,
    CLEAN_SHARPNESS,
    Decision,
    decide,
    power_of,
)
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "P5"
SMALLEST_ERROR = 1e-9
"""Of S, where every resample gives the same value."""
NEEDS = (
    "the norm, and accuracies that tell the shortcut from the structure, in three or more runs "
    "that show both sides after memorising"
)


def judge(study: StudyEstimates) -> Verdict:
    """S against 0.8 and W against 0.5, over configurations."""
    by_name = clean_separation.separations(study)
    scores = {name: s.score for name, s in by_name.items() if isinstance(s.score, Estimate)}
    n = sum(score.n for score in scores.values())
    if n < 3:
        return not_applicable(NAME, f"needs {NEEDS}; {n} runs qualify")
    decision = _decide(list(scores.values()))
    widths = [s.sharpness.value for s in by_name.values() if isinstance(s.sharpness, Estimate)]
    width = float(np.median(widths)) if widths else float("nan")
    verdict = decision.verdict
    settings = selection.varying_settings(study)
    if verdict is VerdictKind.SUPPORTED and not width < CLEAN_SHARPNESS:
        verdict = VerdictKind.INCONCLUSIVE
    value = float(np.mean([score.value for score in scores.values()]))
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=value,
        statistic_name="separation score S, mean over configurations",
        interval=decision.interval,
        p_value=decision.p_value,
        n=n,
        n_censored=0,
        rule=f"S = {value:.3f} [{decision.interval.low:.3f}, {decision.interval.high:.3f}] over "
        f"{len(scores)} configurations against {CLEAN_SEPARATION}; median W = {width:.2f} against "
        f"{CLEAN_SHARPNESS}; p = {decision.p_value:.3g}",
        power=power_of(decision, len(scores), "configurations")
        if len(scores) > 1
        else power_of(decision, n, "runs"),
        details=(
            "the paper reports S of about 1.0 on modular arithmetic, 0.5-0.7 on coloured "
            "CIFAR-10, -0.11 on CelebA and 0.0 on Waterbirds, without a formula",
            f"{sum(clean_separation.clean(s) for s in by_name.values())} of {len(by_name)} "
            "configurations are clean",
            *(
                f"{selection.shortened(name, settings)}: {clean_separation.described(s)}"
                for name, s in by_name.items()
            ),
        ),
        runs=tuple(run for name in scores for run in by_name[name].runs),
    )


def _decide(scores: list[Estimate]) -> Decision:
    """Student over configurations; for a single one, its own interval over runs."""
    values = [score.value for score in scores]
    if len(values) > 1:
        error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        freedom = len(values) - 1
    else:
        error, freedom = _error_towards(scores[0], CLEAN_SEPARATION), scores[0].n - 1
    decision = decide(
        float(np.mean(values)), max(error, SMALLEST_ERROR), freedom, (CLEAN_SEPARATION, math.inf)
    )
    inside = decision.interval
    return replace(
        decision, interval=replace(inside, low=max(inside.low, -1.0), high=min(inside.high, 1.0))
    )


def _error_towards(score: Estimate, level: float) -> float:
    """The error with which Student's interval ends where the score's own does, on the level's side.

    Without an interval nothing is sure, and D is between -1 and 1.
    """
    if score.interval is None:
        return 2.0
    limit = score.interval.low if score.value > level else score.interval.high
    return abs(score.value - limit) / float(stats.t.ppf(0.5 + CONFIDENCE / 2, score.n - 1))


PREDICTION = Prediction(
    name=NAME,
    claim="Norm separation is clean: the switch from shortcut to structure is monotone in V and "
    "sharp relative to the delay (definition 4.1).",
    needs=NEEDS,
    rule=f"S is Somers' D of V given reliance on the shortcut, over the checkpoints since "
    f"memorisation, within configurations; supported when its 95 % interval lies above "
    f"{CLEAN_SEPARATION} and the median W below {CLEAN_SHARPNESS}, refuted when the interval lies "
    "below. S near one is necessary for timing, not sufficient",
    references=("arXiv:2603.07323", "somers1962", "wilson1927", "arvesen1969"),
    against=f"configurations whose S lies surely below {CLEAN_SEPARATION}, or whose switch is slow "
    f"(W above {CLEAN_SHARPNESS})",
    in_favour=f"configurations whose S lies surely above {CLEAN_SEPARATION} and whose switch is "
    f"sharp (W below {CLEAN_SHARPNESS})",
    judge=judge,
)
