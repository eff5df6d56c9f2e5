"""Necessity: delayed generalisation comes with a fall of the norm, V_mem > V_star."""

from __future__ import annotations

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.binomial import binomial_test
from nht_theory.inference.results import Alternative
from nht_theory.predictions import selection
from nht_theory.predictions.rules import ALPHA, NECESSITY_TOLERANCE
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable
from nht_theory.runs.run import Run

NAME = "necessity"


def judge(study: StudyEstimates) -> Verdict:
    """Share of delayed runs with V_mem <= V_star, against a tolerance of 5 %."""
    ratios = [
        (run, ratio)
        for run, own in selection.delayed(study)
        if (ratio := selection.norm_ratio(own)) is not None
    ]
    if not ratios:
        return not_applicable(
            NAME, "needs runs that generalise after they memorise, with the norm logged"
        )
    against = [(run, ratio) for run, ratio in ratios if ratio <= 1]
    share, n = len(against), len(ratios)
    more = binomial_test(share, n, probability=NECESSITY_TOLERANCE, alternative=Alternative.GREATER)
    fewer = binomial_test(share, n, probability=NECESSITY_TOLERANCE, alternative=Alternative.LESS)
    if more.p_value <= ALPHA:
        verdict, p_value = VerdictKind.REFUTED, more.p_value
    elif fewer.p_value <= ALPHA:
        verdict, p_value = VerdictKind.SUPPORTED, fewer.p_value
    else:
        verdict, p_value = VerdictKind.INCONCLUSIVE, min(more.p_value, fewer.p_value)
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=share / n,
        statistic_name="share of delayed runs with V_mem <= V_star",
        interval=more.interval,
        p_value=p_value,
        n=n,
        n_censored=0,
        rule=f"{share} of {n} delayed runs generalise with V_mem not above V_star; exact "
        f"binomial against a tolerance of {NECESSITY_TOLERANCE:.0%}: "
        f"{'more' if verdict is VerdictKind.REFUTED else 'fewer'} than that, p = {p_value:.3g}",
        details=_details(study, against),
    )


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
    rule=f"refuted when the share of counter-examples exceeds {NECESSITY_TOLERANCE:.0%} (exact "
    "binomial, one-sided), supported when it lies below",
    references=("arXiv:2603.07323", "arXiv:2603.13331", "clopper1934"),
    judge=judge,
)
