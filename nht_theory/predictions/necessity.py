"""Necessity: delayed generalisation comes with a fall of the norm, V_mem > V_star.

A universal claim falls with counter-examples, so only their error rate needs a tolerance.
"""

from __future__ import annotations

import math

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates
from nht_theory.inference.binomial import binomial_test
from nht_theory.inference.results import Alternative
from nht_theory.predictions import selection
from nht_theory.predictions.rules import (
    ALPHA,
    FALSE_COUNTEREXAMPLES,
    NECESSITY_TOLERANCE,
    by_direction,
)
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable
from nht_theory.runs.run import Run

NAME = "necessity"


def judge(study: StudyEstimates) -> Verdict:
    """Definite counter-examples against 1 %, all counter-examples against 5 %."""
    ratios = [
        (run, own, ratio)
        for run, own in selection.delayed(study)
        if (ratio := selection.norm_ratio(own)) is not None
    ]
    if not ratios:
        return not_applicable(
            NAME, "needs runs that generalise after they memorise, with the norm logged"
        )
    against = [(run, ratio) for run, _, ratio in ratios if ratio <= 1]
    definite = [run for run, own, _ in ratios if definitely_below(own)]
    n = len(ratios)
    universal = binomial_test(
        len(definite), n, probability=FALSE_COUNTEREXAMPLES, alternative=Alternative.GREATER
    )
    rare = binomial_test(
        len(against), n, probability=NECESSITY_TOLERANCE, alternative=Alternative.LESS
    )
    verdict, p_value = by_direction(rare.p_value, universal.p_value)
    if universal.p_value <= ALPHA:
        verdict, p_value = VerdictKind.REFUTED, universal.p_value
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=len(against) / n,
        statistic_name="share of delayed runs with V_mem <= V_star",
        interval=rare.interval,
        p_value=p_value,
        n=n,
        n_censored=0,
        rule=f"{len(against)} of {n} delayed runs generalise with V_mem not above V_star, "
        f"{len(definite)} of them whatever the evaluation grid; exact binomial: more than "
        f"{FALSE_COUNTEREXAMPLES:.0%} definite ones p = {universal.p_value:.3g}, fewer than "
        f"{NECESSITY_TOLERANCE:.0%} in all p = {rare.p_value:.3g}",
        details=_details(study, against),
        runs=tuple(run.name for run, _, _ in ratios),
        power=""
        if verdict is not VerdictKind.INCONCLUSIVE or against
        else f"{math.ceil(math.log(ALPHA) / math.log(1 - NECESSITY_TOLERANCE))} delayed runs "
        "without a counter-example would show it",
    )


def definitely_below(own: RunEstimate) -> bool:
    """Whether V_mem lies below V_star wherever between evaluations the two events happened."""
    first, last = own.squared_norm_memorization, own.squared_norm_generalization
    if isinstance(first, Missing) or isinstance(last, Missing):
        return False
    highest = first.value if first.interval is None else first.interval.high
    lowest = last.value if last.interval is None else last.interval.low
    return highest < lowest


def _details(study: StudyEstimates, against: list[tuple[Run, float]]) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    lines = [
        f"counter-example: {selection.described(run, settings)}: V_mem/V_star = {ratio:.3f}"
        for run, ratio in against
    ]
    lines += [
        f"generalises without weight decay: {selection.described(run, settings)}"
        for run, own in study.pairs()
        if own.generalization_step is not None and run.hyperparameters.weight_decay == 0
    ]
    same = sum(own.delay is not None and own.delay <= 0 for _, own in study.pairs())
    censored = len(selection.memorized_but_censored(study))
    lines += [
        f"left out: {same} runs that generalise no later than they memorise on their grid",
        f"left out: {censored} runs that memorised and had not generalised (censored): they "
        "can neither show nor contradict a fall of the norm at generalisation",
    ]
    return tuple(lines)


PREDICTION = Prediction(
    name=NAME,
    claim="Delayed generalisation needs the norm to fall: V at memorisation exceeds V at "
    "generalisation (assumption A4 of the law).",
    needs="training and held-out accuracy and the norm, in runs that generalise after memorising",
    rule=f"refuted when more than {FALSE_COUNTEREXAMPLES:.0%} of the delayed runs are definite "
    "counter-examples (V_mem below V_star at either evaluation around both events; exact "
    f"binomial, one-sided), else supported when fewer than {NECESSITY_TOLERANCE:.0%} are "
    "counter-examples at all",
    references=("arXiv:2603.07323", "arXiv:2603.13331", "clopper1934"),
    formulas=("law_steps", "radial_update_rate"),
    against="more runs that generalise with V at memorisation below V_star at both "
    "evaluations around each event",
    in_favour="finer evaluations that undo the counter-examples, or many more delayed runs "
    "without one",
    judge=judge,
)
