"""Necessity: delayed generalisation comes with a fall of the norm, V_sc > V_star.

A universal claim falls with counter-examples, so only their error rate needs a tolerance. V_sc is
read twice, as V at memorisation and as the peak of V since; where the two verdicts differ, the
claim hangs on that choice and is not decided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.rules import (
    ALPHA,
    FALSE_COUNTEREXAMPLES,
    NECESSITY_TOLERANCE,
    by_direction,
)
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Estimate, Interval, Missing, RunEstimate, StudyEstimates
from nht_theory.estimators.rise_and_fall import rise_and_fall
from nht_theory.inference.binomial import binomial_test
from nht_theory.inference.results import Alternative
from nht_theory.runs.run import Run

NAME = "necessity"
AT_MEMORIZATION, SINCE = "V at memorisation", "peak of V since memorisation"


@dataclass(frozen=True)
class Fall:
    """V_sc over V_star of one delayed run, with V_sc read in one of the two ways.

    Attributes:
        run: the run.
        ratio: V_sc/V_star.
        highest_ratio: the largest that the evaluation grid leaves open.
    """

    run: Run
    ratio: float
    highest_ratio: float

    @property
    def against(self) -> bool:
        """Whether V_sc does not exceed V_star."""
        return self.ratio <= 1

    @property
    def definite(self) -> bool:
        """Whether it lies below wherever between evaluations the events happened."""
        return self.highest_ratio < 1


@dataclass(frozen=True)
class Outcome:
    """The verdict with V_sc read in one way.

    Attributes:
        verdict, p_value: by configuration.
        share: of configurations that are counter-examples.
        interval: of that share, or of the definite ones where these decided.
        against, definite: configurations that are counter-examples, and definite ones.
        n: configurations.
        first_rule, first_p_value: of all counter-examples against the one tolerance of 5 %.
    """

    verdict: VerdictKind
    p_value: float
    share: float
    interval: Interval | None
    against: tuple[str, ...]
    definite: tuple[str, ...]
    n: int
    first_rule: VerdictKind
    first_p_value: float


def test(study: StudyEstimates) -> Verdict:
    """Definite counter-examples against 1 %, all against 5 %, of configurations, for both V_sc."""
    delayed = [(run, own) for run, own in selection.delayed(study) if _ratio(own) is not None]
    if not delayed:
        return not_applicable(
            NAME, "needs runs that generalise after they memorise, with the norm logged"
        )
    falls = [fall_since_memorization(run, own) for run, own in delayed]
    peaks = [fall_since_peak(run, own) for run, own in delayed]
    first, second = _judged(falls), _judged(peaks)
    agree = first.verdict is second.verdict
    verdict = first.verdict if agree else VerdictKind.INCONCLUSIVE
    # the verdict of both rests on the reading for which the evidence is weaker
    chosen, source = (
        (first, AT_MEMORIZATION) if first.p_value >= second.p_value else (second, SINCE)
    )
    against = sum(fall.against for fall in falls)
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=chosen.share,
        statistic_name="share of delayed configurations that are "
        + ("definite " if chosen.verdict is VerdictKind.REFUTED else "")
        + f"counter-examples, by the {source}",
        interval=chosen.interval,
        p_value=chosen.p_value,
        n=len(falls),
        n_censored=0,
        rule=f"{against} of {len(falls)} delayed runs generalise with V_mem not above V_star, "
        f"{sum(fall.definite for fall in falls)} of them whatever the evaluation grid; by "
        f"configuration, {_counted(first)}; with the peak since memorisation, {_counted(second)}"
        + ("" if agree else "; the two readings of V_sc disagree"),
        details=_details(study, falls, peaks, first, second),
        runs=tuple(fall.run.name for fall in falls),
        power="" if verdict is not VerdictKind.INCONCLUSIVE else _power(chosen, agree=agree),
        units=chosen.n,
        unit="configurations",
    )


def fall_since_memorization(run: Run, own: RunEstimate) -> Fall:
    """V at memorisation over V_star of a delayed run that logs its norm."""
    start, star = _norms(own)
    return Fall(run, start.value / star.value, _high(start) / _low(star))


def fall_since_peak(run: Run, own: RunEstimate) -> Fall:
    """Peak of V since memorisation over V_star.

    The peak is one that rises and falls beyond the noise of V between the two events
    (:func:`nht_theory.estimators.rise_and_fall.rise_and_fall`); without one V_sc stays V at
    memorisation. With too few evaluations to tell, it is the largest V.
    """
    start, star = _norms(own)
    memorized, switched = own.memorization_step, own.generalization_step
    assert own.generalization is not None  # the caller selects delayed runs
    assert memorized is not None
    assert switched is not None
    found = rise_and_fall(run, since=memorized, until=switched)
    if not isinstance(found, Missing) and found.peak_step is None:
        return fall_since_memorization(run, own)
    since = usable(run.squared_norm) & (run.steps >= memorized)
    before = since & (run.steps <= own.generalization.earlier_step)
    surely = since & (run.steps < own.generalization.earlier_step)
    peak = _largest(run.squared_norm[before], start.value)
    highest = _largest(run.squared_norm[surely], _high(start))
    return Fall(run, peak / star.value, highest / _low(star))


def _largest(series: np.ndarray, otherwise: float) -> float:
    return max(float(series.max()), otherwise) if series.size else otherwise


def _norms(own: RunEstimate) -> tuple[Estimate, Estimate]:
    start, star = own.squared_norm_memorization, own.squared_norm_generalization
    assert not isinstance(start, Missing)  # the caller selects runs that have both
    assert not isinstance(star, Missing)
    return start, star


def _ratio(own: RunEstimate) -> float | None:
    return selection.norm_ratio(own)


def _high(value: Estimate) -> float:
    return value.value if value.interval is None else value.interval.high


def _low(value: Estimate) -> float:
    return value.value if value.interval is None else value.interval.low


def _judged(falls: Sequence[Fall]) -> Outcome:
    """Judge by configuration: one is a counter-example when more than half of its runs are, since
    its seeds err together."""
    configurations: dict[str, list[Fall]] = {}
    for fall in falls:
        configurations.setdefault(selection.stratum(fall.run), []).append(fall)
    against = _of_most(configurations, lambda fall: fall.against)
    definite = _of_most(configurations, lambda fall: fall.definite)
    n = len(configurations)
    universal = binomial_test(
        len(definite), n, probability=FALSE_COUNTEREXAMPLES, alternative=Alternative.GREATER
    )
    rare = binomial_test(
        len(against), n, probability=NECESSITY_TOLERANCE, alternative=Alternative.LESS
    )
    common = binomial_test(
        len(against), n, probability=NECESSITY_TOLERANCE, alternative=Alternative.GREATER
    )
    first_rule, first_p_value = by_direction(rare.p_value, common.p_value)
    verdict, p_value = VerdictKind.INCONCLUSIVE, min(rare.p_value, universal.p_value)
    share, interval = rare.statistic, rare.interval
    # at most one of the two can be wrong, whatever the true share: 5 % each is 5 % in all
    if universal.p_value <= ALPHA:
        verdict, p_value = VerdictKind.REFUTED, universal.p_value
        share, interval = universal.statistic, universal.interval
    elif rare.p_value <= ALPHA:
        verdict, p_value = VerdictKind.SUPPORTED, rare.p_value
    return Outcome(
        verdict, p_value, share, interval, against, definite, n, first_rule, first_p_value
    )


def _of_most(
    configurations: dict[str, list[Fall]], shown: Callable[[Fall], bool]
) -> tuple[str, ...]:
    """Configurations of which more than half of the runs show it."""
    return tuple(
        label for label, own in configurations.items() if 2 * sum(map(shown, own)) > len(own)
    )


def _counted(own: Outcome) -> str:
    return (
        f"{len(own.against)} of {own.n} counter-examples, {len(own.definite)} definite: "
        f"{own.verdict.value}, p = {own.p_value:.3g}"
    )


def _details(
    study: StudyEstimates,
    falls: Sequence[Fall],
    peaks: Sequence[Fall],
    first: Outcome,
    second: Outcome,
) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    lines = [
        f"counter-example: {selection.described(fall.run, settings)}: V_mem/V_star = "
        f"{fall.ratio:.3f}, with the peak since memorisation {peak.ratio:.3f}"
        for fall, peak in zip(falls, peaks, strict=True)
        if fall.against
    ]
    lines += _by_configuration(falls, settings)
    lines += [
        f"under the first rule (all counter-examples against {NECESSITY_TOLERANCE:.0%} alone), by "
        f"the {name}: {own.first_rule.value}, p = {own.first_p_value:.3g}; under the present rule: "
        f"{own.verdict.value}, p = {own.p_value:.3g}"
        for name, own in ((AT_MEMORIZATION, first), (SINCE, second))
    ]
    lines += [
        f"generalises without weight decay: {selection.described(run, settings)}"
        for run, own in study.pairs()
        if own.generalization_step is not None and run.hyperparameters.weight_decay == 0
    ]
    same = sum(own.delay is not None and own.delay <= 0 for _, own in study.pairs())
    censored = len(selection.memorized_but_censored(study))
    return (
        *lines,
        f"left out: {same} runs that generalise no later than they memorise on their grid",
        f"left out: {censored} runs that memorised and had not generalised (censored): they "
        "can neither show nor contradict a fall of the norm at generalisation",
    )


def _by_configuration(falls: Sequence[Fall], settings: tuple[str, ...]) -> list[str]:
    """Counter-examples and runs of each configuration that has one."""
    runs: dict[str, list[Fall]] = {}
    for fall in falls:
        runs.setdefault(selection.stratum(fall.run), []).append(fall)
    some = {label: own for label, own in runs.items() if any(fall.against for fall in own)}
    if not some:
        return []
    total = sum(fall.against for own in some.values() for fall in own)
    return [
        f"counter-examples by configuration: {total} runs in {len(some)} of {len(runs)} "
        "configurations",
        *(
            f"configuration {selection.shortened(label, settings)}: "
            f"{sum(fall.against for fall in own)} of {len(own)} runs, "
            f"{sum(fall.definite for fall in own)} definite"
            for label, own in some.items()
        ),
    ]


def _power(own: Outcome, *, agree: bool) -> str:
    if not agree:
        return "runs whose norm does not rise between memorising and switching"
    if own.against:
        return ""
    needed = math.ceil(math.log(ALPHA) / math.log(1 - NECESSITY_TOLERANCE))
    return f"{needed} delayed configurations without a counter-example would show it"


CLAIM = Claim(
    name=NAME,
    statement="Delayed generalisation needs the norm to fall: V at memorisation exceeds V at "
    "generalisation (assumption A4 of the law).",
    needs="training and held-out accuracy and the norm, in runs that generalise after memorising",
    rule=f"refuted when more than {FALSE_COUNTEREXAMPLES:.0%} of the delayed configurations are "
    "definite counter-examples (V_sc below V_star at either evaluation around both events, in "
    "more than half of the runs; exact binomial, one-sided), else supported when fewer than "
    f"{NECESSITY_TOLERANCE:.0%} are counter-examples at all; judged with V_sc at memorisation and "
    "with the peak since, and inconclusive where the two disagree",
    references=("arXiv:2603.07323", "arXiv:2603.13331", "clopper1934"),
    formulas=("law_steps", "radial_update_rate"),
    against="more configurations that generalise with V at memorisation, and its peak since, below "
    "V_star at both evaluations around each event",
    in_favour="finer evaluations that undo the counter-examples, or many more delayed "
    "configurations without one",
    undecidable="runs whose norm rises after memorising and falls before the switch, which the two "
    "readings of V_sc judge differently; and fewer than 59 delayed configurations without a "
    "counter-example",
    test=test,
)
