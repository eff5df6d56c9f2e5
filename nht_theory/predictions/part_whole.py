"""Part and whole: how much of a delay's "prediction" is the delay itself.

The published fits regress T on ln(V_mem/V_star)/gamma with gamma and V_star measured over that
same T. The predictor then contains T, and R^2 is high whatever the norms do.
"""

from __future__ import annotations

import math

import numpy as np

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.contraction import rate_window, signed_rate
from nht_theory.estimators.results import Missing, StudyEstimates
from nht_theory.inference.permutation import part_whole_null
from nht_theory.inference.samples import Vector
from nht_theory.predictions import selection
from nht_theory.predictions.rules import ALPHA
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "part_whole"
FEWEST_RUNS = 8
NEEDS = f"{FEWEST_RUNS} or more delayed runs with a contraction rate and V_mem above V_star"


def judge(study: StudyEstimates) -> Verdict:
    """R^2 of the delay on its own prediction, beside the R^2 that the shared delay alone gives."""
    rows = measured(study)
    if len(rows) < FEWEST_RUNS:
        return not_applicable(NAME, f"needs {NEEDS}; {len(rows)} qualify")
    delay, log_ratio, rate = (np.array(column) for column in zip(*rows.values(), strict=True))
    fall = rate * delay  # what the rate, measured over the delay, says that ln V lost

    def predicted(part: Vector, rest: Vector) -> tuple[Vector, Vector]:
        """The prediction with the delay in its rate, from a log-ratio, and the delay."""
        return np.log(part * rest / fall), np.log(part)

    null = part_whole_null(delay, log_ratio, predicted)
    if null.p_value <= ALPHA:
        verdict = VerdictKind.SUPPORTED
    elif null.r_squared < null.null_median:
        verdict = VerdictKind.REFUTED
    else:
        verdict = VerdictKind.INCONCLUSIVE
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=null.r_squared,
        statistic_name="R^2 of ln T on ln of the prediction whose rate was measured over T",
        interval=None,
        p_value=null.p_value,
        n=null.n,
        n_censored=0,
        rule=f"R^2 = {null.r_squared:.3f}; with the log-ratios shuffled between runs the shared "
        f"delay alone gives a median of {null.null_median:.3f} and a 95 % quantile of "
        f"{null.null_upper:.3f} over {null.permutations} permutations, p = {null.p_value:.3g}",
        details=("a high R^2 here is no evidence for the law by itself: compare it with the null",),
        runs=tuple(rows),
    )


def measured(study: StudyEstimates) -> dict[str, tuple[float, float, float]]:
    """Each delayed run whose norm falls -> delay, ln(V_mem/V_star), log-linear rate over it."""
    rows = {}
    for run, own in selection.delayed(study):
        window = rate_window(run, own.memorization, own.generalization)
        rate = window if isinstance(window, Missing) else signed_rate(run, window)
        ratio = selection.norm_ratio(own)
        if own.delay is None or ratio is None or isinstance(rate, Missing):
            continue
        if ratio > 1 and rate.value > 0:
            rows[run.name] = (float(own.delay), math.log(ratio), rate.value)
    return rows


PREDICTION = Prediction(
    name=NAME,
    claim="ln(V_mem/V_star)/gamma, measured on the run itself, explains the delay beyond what it "
    "shares with it.",
    needs=NEEDS,
    rule="supported when R^2 exceeds its permutation null (log-ratios shuffled between runs), "
    "refuted when it lies below the null's median",
    references=("phipson2010", "arXiv:2603.13331"),
    formulas=("law_steps",),
    against="log-ratios that explain no more than they do when shuffled between the runs",
    in_favour="log-ratios that explain more than they do when shuffled between the runs",
    judge=judge,
)
