"""Head monitor: the head's norm turns before the total norm and before the switch."""

from __future__ import annotations

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.head_monitor import HeadLead, head_lead
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.binomial import median_estimate, sign_test
from nht_theory.inference.results import Alternative
from nht_theory.predictions import selection
from nht_theory.predictions.rules import by_direction, more_for_p
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "head_monitor"
NEEDS = (
    "squared norms of the head and of all parameters in memorised runs with a delay whose head "
    "norm turns"
)


def judge(study: StudyEstimates) -> Verdict:
    """Sign tests of the head's lead over the total norm and over the switch."""
    by_run = {
        run.name: lead
        for run, own in selection.with_transition(study)
        if isinstance(lead := head_lead(run, own), HeadLead)
    }
    leads = list(by_run.values())
    over_total = [float(lead.over_total) for lead in leads]
    over_switch = [float(lead.over_switch) for lead in leads if lead.over_switch is not None]
    if not leads:
        return not_applicable(NAME, f"needs {NEEDS}")
    if not any(over_total):
        return not_applicable(NAME, "the head peaks at the evaluation at which the total does")
    verdict, p_value = _signs(over_total)
    if over_switch and verdict is VerdictKind.SUPPORTED:
        second, second_p = _signs(over_switch)
        verdict = second if second is not VerdictKind.SUPPORTED else verdict
        p_value = max(p_value, second_p)
    median = median_estimate(over_total, unit="step")
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=median.value,
        statistic_name="lead of the head's peak over the total's, median in steps",
        interval=median.interval,
        p_value=p_value,
        n=len(leads),
        n_censored=len(leads) - len(over_switch),
        rule=f"the head leads the total in {sum(x > 0 for x in over_total)} of {len(leads)} runs, "
        f"and the switch in {sum(x > 0 for x in over_switch)} of {len(over_switch)}; exact sign "
        f"tests, p = {p_value:.3g}",
        details=(f"ties with the total: {sum(x == 0 for x in over_total)}",),
        power=more_for_p(p_value, len(leads), "runs")
        if verdict is VerdictKind.INCONCLUSIVE
        else "",
        runs=tuple(by_run),
    )


def _signs(leads: list[float]) -> tuple[VerdictKind, float]:
    earlier = sign_test(leads, alternative=Alternative.GREATER)
    later = sign_test(leads, alternative=Alternative.LESS)
    return by_direction(earlier.p_value, later.p_value)


PREDICTION = Prediction(
    name=NAME,
    claim="The norm of the classification head warns earlier than the total norm.",
    needs=NEEDS,
    rule="supported when the head's peak comes before the total's and before generalisation "
    "(exact sign tests), refuted when it comes after",
    references=("arXiv:2603.07323",),
    formulas=("weighted_contraction", "layer_rate"),
    against="runs whose head peaks after the total norm or after generalising",
    in_favour="runs whose head peaks before the total norm and before generalising",
    judge=judge,
)
