"""Head monitor: the head's norm turns before the total norm and before the switch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nht_theory.claims import selection
from nht_theory.claims.configuration_signs import (
    SignedConfigurations,
    signed_configurations,
)
from nht_theory.claims.rules import ALPHA, more_for_p
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.head_monitor import HeadLead, head_lead
from nht_theory.estimators.results import StudyEstimates
from nht_theory.runs.run import Run

NAME = "head_monitor"
NEEDS = (
    "accuracies and squared norms of the head and of all parameters, in memorised runs with a "
    "delay whose head norm rises and falls"
)
TOTAL, SWITCH = "the total's peak", "the switch"
Leads = Sequence[tuple[Run, HeadLead]]


def test(study: StudyEstimates) -> Verdict:
    """Sign tests over configurations, of the head's lead over the total norm and the switch."""
    leads, without = _leads(study)
    if not leads:
        return not_applicable(NAME, "; ".join([f"needs {NEEDS}", *without]))
    over_total = _signed(leads, switch=False)
    if over_total.positive + over_total.negative == 0:
        return not_applicable(NAME, "the head peaks at the evaluation at which the total does")
    over_switch = _signed(leads, switch=True) if _switched(leads) else None
    verdict, which, p_value = _decided(over_total, over_switch)
    chosen = over_total if which == TOTAL or over_switch is None else over_switch
    counted = [f"{TOTAL} in {over_total.positive} of {over_total.n} configurations"]
    if over_switch is not None:
        counted.append(f"{SWITCH} in {over_switch.positive} of {over_switch.n}")
    ties = sum(lead.over_total == 0 for _, lead in leads)
    alone = "; one configuration decides nothing beyond it" if over_total.n == 1 else ""
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=chosen.estimate.value,
        statistic_name=f"lead of the head's peak over {which}, in steps, median of configurations",
        interval=chosen.estimate.interval,
        p_value=p_value,
        n=len(leads),
        n_censored=len(leads) - len(_switched(leads)),
        rule=f"the head leads {', and '.join(counted)} (by the median of their runs); exact "
        f"two-sided sign tests over configurations, p = {p_value:.3g} for {which}{alone}",
        details=(f"ties with the total: {ties} runs", *without),
        power=more_for_p(p_value / 2, chosen.n, "configurations")
        if verdict is VerdictKind.INCONCLUSIVE
        else "",
        runs=tuple(run.name for run, _ in leads),
        units=chosen.n,
        unit="configurations",
    )


def _leads(study: StudyEstimates) -> tuple[Leads, tuple[str, ...]]:
    """Each run with its lead, and why the others that log the head have none."""
    leads, without = [], Counter[str]()
    for run, own in selection.with_transition(study):
        lead = head_lead(run, own)
        if isinstance(lead, HeadLead):
            leads.append((run, lead))
        else:
            without[f"{lead.reason.value} ({lead.detail})"] += 1
    unknown = len(selection.of_unknown_transition(study))
    if unknown:
        without["accuracies are not logged"] = unknown
    return leads, tuple(f"left out: {count} runs: {why}" for why, count in without.items())


def _switched(leads: Leads) -> Leads:
    return [(run, lead) for run, lead in leads if lead.over_switch is not None]


def _signed(leads: Leads, *, switch: bool) -> SignedConfigurations:
    values: dict[str, list[float]] = {}
    for run, lead in _switched(leads) if switch else leads:
        steps = lead.over_switch if switch else lead.over_total
        assert steps is not None  # runs without a switch were left out
        values.setdefault(selection.stratum(run), []).append(float(steps))
    return signed_configurations(values, unit="step")


def _decided(
    over_total: SignedConfigurations, over_switch: SignedConfigurations | None
) -> tuple[VerdictKind, str, float]:
    """The verdict, the comparison that decided it, and its p-value.

    Both must lead, so each at 5 % will do for supported; either may refute, so the smaller
    p-value is doubled for that.
    """
    found = {TOTAL: over_total} if over_switch is None else {TOTAL: over_total, SWITCH: over_switch}
    refuting = [name for name, own in found.items() if own.verdict is VerdictKind.REFUTED]
    if refuting:
        name = min(refuting, key=lambda one: found[one].p_value)
        p_value = min(1.0, len(found) * found[name].p_value)
        kind = VerdictKind.REFUTED if p_value <= ALPHA else VerdictKind.INCONCLUSIVE
        return kind, name, p_value
    name = max(found, key=lambda one: found[one].p_value)
    return found[name].verdict, name, found[name].p_value


CLAIM = Claim(
    name=NAME,
    statement="The norm of the classification head warns earlier than the total norm.",
    needs=NEEDS,
    rule="supported when the head's peak comes before the total's and before generalisation in "
    "more configurations than chance gives (exact two-sided sign tests, a configuration counting "
    "by the median of its runs), refuted when either comes first",
    references=("arXiv:2603.07323",),
    formulas=("weighted_contraction", "layer_rate"),
    against="configurations whose head peaks after the total norm or after generalising",
    in_favour="configurations whose head peaks before the total norm and before generalising",
    undecidable="fewer than six configurations, runs without accuracies, and heads or total norms "
    "that never rise beyond their noise",
    test=test,
)
