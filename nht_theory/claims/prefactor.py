"""The prefactor: how fast V falls in a delayed run, in units of the optimiser's pure decay.

Two claims about c = gamma_V / (2 eta lambda): the paper's gamma >= eta lambda, which is
c >= 1/2, and pure decay, c = 1. gamma_V is the rate at which the excess of V over its floor falls
(:func:`~nht_theory.estimators.contraction.contraction_rate`), the floor, one before and
one after the switch, fitted to the whole trajectory from memorisation on: near its floor V hardly
falls whatever c is.

A run tells of c where the 95 % interval of its c is no wider than the distance from 1/2 to 1, the
two values that it has to tell apart. That is a rule about precision, the same for every c. Runs
whose V stands still within its scatter, or rises from below its floor, have no excess that could
fall. They are out of scope and listed.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.rules import (
    ALPHA,
    EQUIVALENCE,
    PAPER_EFFICIENCY,
    Decision,
    decide,
    power_of,
)
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import CONFIDENCE, VerdictKind
from nht_theory.estimators.contraction import descent_window, levels_off, signed_rate
from nht_theory.estimators.efficiency import efficiency
from nht_theory.estimators.results import (
    Estimate,
    Interval,
    Missing,
    RunEstimate,
    StudyEstimates,
    Unavailable,
)
from nht_theory.runs.run import Run

WIDEST = 1.0 - PAPER_EFFICIENCY
"""Width of the interval of a run's c up to which the run tells of c."""
FEWEST_CONFIGURATIONS = 3
"""Configurations that a mean over them needs."""
FEWEST_RUNS = 3
"""Runs that a statement about one configuration needs."""
SAME = 1e-6
"""Standard deviation of c below which units agree to the last digit fitted and tell no error."""
BOUND = "prefactor"
PURE_DECAY = "prefactor_pure_decay"
NEEDS = (
    f"{FEWEST_CONFIGURATIONS} configurations, or {FEWEST_RUNS} runs of one, that memorise and "
    "generalise later, with V logged at 12 or more evaluations from memorisation on, and the "
    "learning rate, weight decay and form of decay known"
)
UNDECIDABLE = (
    "A study whose runs memorise with V at its floor or log V fewer than 12 times afterwards (a "
    "floor cannot be told from none, so c is only bounded from below); one whose c itself changes "
    "at the switch, because one rate is fitted before and after it; two configurations or a single "
    "one can refute the claim for themselves but never support it."
)


@dataclass(frozen=True)
class Efficiencies:
    """c of each delayed run that tells it (negative where V grows), and the runs that do not."""

    of_run: tuple[tuple[Run, float], ...]
    left_out: tuple[str, ...]

    def by_configuration(self) -> dict[str, list[float]]:
        """c of the runs of each configuration."""
        groups: dict[str, list[float]] = {}
        for run, value in self.of_run:
            groups.setdefault(selection.stratum(run), []).append(value)
        return groups


@dataclass(frozen=True)
class Statement:
    """What one test says of c, and what it rests on.

    Attributes:
        decision: verdict, p-value and interval; both corrected where several were asked.
        value: estimate of c.
        units, unit: independent units behind it.
        configuration: the one it is about; "" for the mean over configurations.
    """

    decision: Decision
    value: float
    units: int
    unit: str
    configuration: str = ""


def efficiencies(study: StudyEstimates) -> Efficiencies:
    """c of every delayed run that tells it, of either sign: a growing norm counts against."""
    found: list[tuple[Run, float]] = []
    left_out: Counter[str] = Counter()
    for run, own in selection.delayed(study):
        value = signed_efficiency(run, own)
        silent = _silent(value)
        if silent:
            left_out[silent] += 1
        elif isinstance(value, Estimate):
            found.append((run, value.value))
    censored = len(selection.memorized_but_censored(study))
    notes = [f"left out: {count} runs, {reason}" for reason, count in left_out.items()]
    if censored:
        notes.append(f"left out: {censored} memorised runs that had not generalised (censored)")
    return Efficiencies(tuple(found), tuple(notes))


def signed_efficiency(run: Run, own: RunEstimate) -> Estimate | Missing:
    """c of a run, also below zero where its norm grows; Missing where it rises from below its
    floor."""
    if isinstance(own.efficiency, Estimate) or own.efficiency.reason is not Unavailable.GROWING:
        return own.efficiency
    window = descent_window(run, own.memorization, own.collapse_step)
    if isinstance(window, Missing):
        return window
    if levels_off(run, window):
        return Missing(Unavailable.GROWING, "it levels off, so V lies below its floor")
    return efficiency(run, window, signed_rate(run, window))


def _silent(value: Estimate | Missing) -> str:
    """Why a run tells nothing of c; empty where it does."""
    if isinstance(value, Missing):
        standing = value.reason is Unavailable.FLAT
        return (
            "V stands at its floor (no more than its scatter)"
            if standing
            else (f"{value.reason.value}: {value.detail}")
        )
    if value.interval is None:
        return "c is only bounded: a floor cannot be told from none"
    if value.interval.high - value.interval.low > WIDEST:
        return f"c is only bounded: its 95 % interval is wider than {WIDEST:g}"
    return ""


def statements(groups: dict[str, list[float]], limits: tuple[float, float]) -> list[Statement]:
    """The mean over configurations, if there are three, then each configuration of three runs.

    Units that agree to the last digit tell no error, and nothing is said from them.
    """
    asked: list[tuple[list[float], str, str]] = []
    if len(groups) >= FEWEST_CONFIGURATIONS:
        means = [float(np.mean(values)) for values in groups.values()]
        asked.append((means, "configurations", ""))
    asked += [
        (values, "runs of one configuration", name)
        for name, values in groups.items()
        if len(values) >= FEWEST_RUNS
    ]
    found = []
    for values, unit, name in asked:
        spread = float(np.std(values, ddof=1))
        if spread > SAME:
            error = spread / math.sqrt(len(values))
            decision = decide(float(np.mean(values)), error, len(values) - 1, limits)
            found.append(Statement(decision, float(np.mean(values)), len(values), unit, name))
    return found


def corrected(statement: Statement, tests: int) -> Statement:
    """A refuting statement as the smallest of several p-values: Holm's first step.

    Its interval is widened to match, so that it leaves the limits exactly when p <= 5 %.
    """
    from scipy import stats

    decision, freedom = statement.decision, statement.units - 1
    coverage = 1 - (1 - CONFIDENCE) / tests
    usual = (decision.interval.high - decision.interval.low) / 2
    half = usual * float(
        stats.t.ppf(0.5 + coverage / 2, freedom) / stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)
    )
    method = f"Student, {freedom} degrees of freedom, over {statement.unit}"
    interval = Interval(
        statement.value - half,
        statement.value + half,
        coverage,
        f"{method}; Bonferroni over {tests} tests" if tests > 1 else method,
    )
    p_value = min(1.0, tests * decision.p_value)
    verdict = VerdictKind.REFUTED if p_value <= ALPHA else VerdictKind.INCONCLUSIVE
    return Statement(
        Decision(verdict, p_value, interval, decision.more),
        statement.value,
        statement.units,
        statement.unit,
        statement.configuration,
    )


def test_bound(study: StudyEstimates) -> Verdict:
    """c >= 1/2 in every configuration, as the paper claims for AdamW."""
    limits = (PAPER_EFFICIENCY, math.inf)
    return _judge(study, BOUND, limits, f"the paper's c >= {PAPER_EFFICIENCY:g}")


def test_pure_decay(study: StudyEstimates) -> Verdict:
    """c equivalent to 1 in every configuration: the norm falls as under decay alone."""
    return _judge(study, PURE_DECAY, EQUIVALENCE, f"equivalence to 1 within {EQUIVALENCE}")


def _judge(study: StudyEstimates, name: str, limits: tuple[float, float], claim: str) -> Verdict:
    own = efficiencies(study)
    groups, settings = own.by_configuration(), selection.varying_settings(study)
    said = statements(groups, limits)
    if not said:
        return not_applicable(name, f"needs {NEEDS}; {_why(own, groups)}")
    refuting = [one for one in said if one.decision.verdict is VerdictKind.REFUTED]
    if refuting:
        chosen = corrected(min(refuting, key=lambda one: one.decision.p_value), len(said))
    elif said[0].configuration:  # no mean over configurations: the least sure of them
        chosen = max(said, key=lambda one: one.decision.p_value)
    else:
        chosen = said[0]
    outside = [key for key, own_c in groups.items() if not _within(own_c, limits)]
    verdict, why = _conclusion(chosen, outside, settings)
    shown = chosen.decision.interval
    counter_example = chosen.configuration if verdict is VerdictKind.REFUTED else ""
    of = selection.shortened(chosen.configuration, settings) if chosen.configuration else ""
    return Verdict(
        claim=name,
        verdict=verdict,
        statistic=chosen.value,
        statistic_name="c = gamma_V/(2 eta lambda), "
        + (f"mean of {of}" if of else "mean over configurations"),
        interval=shown,
        p_value=chosen.decision.p_value,
        n=len(own.of_run),
        n_censored=0,
        rule=f"c = {chosen.value:.3f} [{shown.low:.3f}, {shown.high:.3f}], "
        f"{shown.coverage:.4g} interval over {chosen.units} {chosen.unit}, against {claim}: {why}; "
        f"p = {chosen.decision.p_value:.3g}",
        power=power_of(chosen.decision, chosen.units, chosen.unit)
        if verdict is VerdictKind.INCONCLUSIVE
        else "",
        details=(
            *(
                f"{'counter-example: ' if key == counter_example else ''}"
                f"{selection.shortened(key, settings)}: mean c = {np.mean(values):.3f} over "
                f"{len(values)} runs"
                for key, values in groups.items()
            ),
            *own.left_out,
        ),
        runs=tuple(run.name for run, _ in own.of_run),
        units=chosen.units,
        unit=chosen.unit,
    )


def _within(values: list[float], limits: tuple[float, float]) -> bool:
    return limits[0] <= float(np.mean(values)) <= limits[1]


def _conclusion(
    chosen: Statement, outside: list[str], settings: tuple[str, ...]
) -> tuple[VerdictKind, str]:
    """The verdict, and why, of the statement that decides."""
    verdict = chosen.decision.verdict
    if verdict is VerdictKind.REFUTED:
        what = "this configuration" if chosen.configuration else "the mean over configurations"
        return verdict, f"{what} surely violates it"
    if verdict is VerdictKind.INCONCLUSIVE:
        return verdict, "the interval does not clear the limits"
    if chosen.configuration:
        return VerdictKind.INCONCLUSIVE, (
            f"it holds in this configuration, and fewer than {FEWEST_CONFIGURATIONS} cannot "
            "support a claim about every one"
        )
    if outside:
        named = selection.shortened(outside[0], settings)
        return VerdictKind.INCONCLUSIVE, (
            f"the mean holds it, and {len(outside)} configurations lie outside ({named})"
        )
    return verdict, "the mean over configurations surely holds it, and none lies outside"


def _why(own: Efficiencies, groups: dict[str, list[float]]) -> str:
    return "; ".join(
        [f"{len(own.of_run)} runs of {len(groups)} configurations qualify", *own.left_out]
    )


PREDICTION_BOUND = Claim(
    name=BOUND,
    statement="The effective contraction rate of AdamW is at least eta lambda, that is c >= 1/2.",
    needs=NEEDS,
    rule="c of the excess of V over its floor, runs as units within a configuration and "
    "configurations as units over them; refuted when the mean over configurations, or a "
    "configuration of three or more runs, lies surely below 1/2 (Student, two-sided, Holm over all "
    "that were asked); supported when the mean over three or more configurations lies surely above "
    "and no configuration's own mean below",
    references=("arXiv:2603.07323", "holm1979"),
    formulas=("one_step_contraction", "efficiency", "paper_contraction_slack"),
    against="a configuration of three or more runs that contracts surely slower than half "
    "of pure decay",
    in_favour="no configuration below one half, and a mean over configurations surely above it",
    undecidable=UNDECIDABLE,
    test=test_bound,
)
PREDICTION_PURE_DECAY = Claim(
    name=PURE_DECAY,
    statement="V contracts at the optimiser's pure-decay rate, c = 1.",
    needs=NEEDS,
    rule=f"equivalence of c to 1 within {EQUIVALENCE}: refuted when the mean over configurations, "
    "or a configuration of three or more runs, lies surely outside (Holm over all that were "
    "asked); supported when the mean over three or more configurations lies surely inside and no "
    "configuration's own mean outside",
    references=("arXiv:2603.13331", "schuirmann1987", "holm1979"),
    formulas=("one_step_contraction", "decoupled_rate", "efficiency"),
    against=f"a configuration, or the mean over configurations, surely outside {EQUIVALENCE}",
    in_favour=f"a mean over configurations surely within {EQUIVALENCE}, none outside",
    undecidable=UNDECIDABLE,
    test=test_pure_decay,
)
