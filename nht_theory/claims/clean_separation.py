"""P5: the separation is clean: V tells shortcut from structure, and the switch is sharp."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nht_theory.claims import selection, separations
from nht_theory.claims.rules import (
    CLEAN_SEPARATION,
    CLEAN_SHARPNESS,
    Decision,
    decide,
    power_of,
)
from nht_theory.claims.separations import NO_MORE_THAN_TIME, AgainstTime
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import Estimate, StudyEstimates
from nht_theory.estimators.separation import Separation
from nht_theory.inference.concordance import MeanScore, mean_score

NAME = "P5"
FEWEST_RUNS = 3
NEEDS = (
    "the norm, and accuracies that tell the shortcut from the structure, in three or more runs "
    "that show both sides after memorising, two or more a configuration"
)


@dataclass(frozen=True)
class Outcome:
    """Which of the two estimates decided, and what that makes of the claim."""

    verdict: VerdictKind
    decision: Decision
    value: float
    name: str


def test(study: StudyEstimates) -> Verdict:
    """S against 0.8 and against that of a clock, and W against 0.5, over configurations."""
    by_name = {
        name: own for name, own in separations.separations(study).items() if own.within is not None
    }
    runs = tuple(run for own in by_name.values() for run in own.runs)
    score = mean_score([own.within for own in by_name.values() if own.within]) if by_name else None
    if len(runs) < FEWEST_RUNS or score is None:
        return not_applicable(NAME, f"needs {NEEDS}; {len(runs)} runs qualify")
    time = separations.against_time(by_name.values())
    widths = [s.sharpness.value for s in by_name.values() if isinstance(s.sharpness, Estimate)]
    width = float(np.median(widths)) if widths else float("nan")
    judged = combined(score, time, width)
    unit = "configurations" if len(by_name) > 1 else "runs of one configuration"
    ordering = score.interval()
    return Verdict(
        claim=NAME,
        verdict=judged.verdict,
        statistic=judged.value,
        statistic_name=judged.name,
        interval=judged.decision.interval,
        p_value=judged.decision.p_value,
        n=len(runs),
        n_censored=0,
        rule=f"S = {score.value:.3f} [{ordering.low:.3f}, {ordering.high:.3f}] over {score.units} "
        f"{unit} against {CLEAN_SEPARATION}; {_against_time(time)}; median W = {width:.2f} against "
        f"{CLEAN_SHARPNESS}; p = {judged.decision.p_value:.3g}",
        power=power_of(judged.decision, score.units, unit),
        details=_details(study, by_name),
        runs=runs,
        units=score.units,
        unit=unit,
    )


def combined(score: MeanScore, time: AgainstTime, width: float) -> Outcome:
    """S must clear 0.8 and the gain over a clock must clear zero; the weaker of the two decides.

    Both must hold, so neither p-value is corrected (intersection-union).
    """
    statistic = decide(score.against(CLEAN_SEPARATION), 1.0, score.freedom, (0.0, math.inf))
    ordering = Outcome(
        statistic.verdict,
        replace(statistic, interval=score.interval()),
        score.value,
        "separation score S between runs, mean over configurations",
    )
    if ordering.verdict is not VerdictKind.SUPPORTED or time.decision is None or time.gain is None:
        kept = ordering.verdict
        return ordering if kept is VerdictKind.REFUTED else _undecided(ordering)
    adds = Outcome(
        time.decision.verdict,
        time.decision,
        time.gain,
        "S of V less S of the better clock, mean over configurations",
    )
    if not time.distinguishable:
        return _undecided(adds)
    weaker = max(ordering, adds, key=lambda own: own.decision.p_value)
    return weaker if width < CLEAN_SHARPNESS else _undecided(weaker)


def _undecided(own: Outcome) -> Outcome:
    return replace(own, verdict=VerdictKind.INCONCLUSIVE)


def _against_time(time: AgainstTime) -> str:
    if time.gain is None or time.decision is None:
        return f"gain over a clock unknown: {NO_MORE_THAN_TIME}"
    inside = time.decision.interval
    said = "surely positive" if time.distinguishable else NO_MORE_THAN_TIME
    return f"gain over a clock {time.gain:.3f} [{inside.low:.3f}, {inside.high:.3f}]: {said}"


def _details(study: StudyEstimates, by_name: Mapping[str, Separation]) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    every = separations.separations(study)
    return (
        "the paper reports S of about 1.0 on modular arithmetic, 0.5-0.7 on coloured CIFAR-10, "
        "-0.11 on CelebA and 0.0 on Waterbirds, without a formula and without that of a clock",
        f"{sum(separations.clean(s) for s in by_name.values())} of {len(every)} "
        "configurations are clean",
        *(
            f"{selection.shortened(name, settings)}: {separations.described(own)}"
            for name, own in every.items()
        ),
        *(
            f"one level of V for all weight decays, {selection.shortened(name, settings)}: "
            f"{separations.across_line(own)}"
            for name, own in separations.across_decays(study).items()
            if isinstance(own.score, Estimate)
        ),
    )


CLAIM = Claim(
    name=NAME,
    statement="Norm separation is clean: the switch from shortcut to structure is monotone in V "
    "and sharp relative to the delay (definition 4.1), and V orders the two better than a clock.",
    needs=NEEDS,
    rule="S is Somers' D of V given reliance on the shortcut, over the checkpoints since "
    "memorisation, over pairs of two runs of one configuration. Beside it stands S of a clock: "
    "minus the time since memorisation, or minus the training step, whichever orders the two sides "
    f"better. Supported when the 95 % interval of the mean S lies above {CLEAN_SEPARATION}, that "
    f"of the mean gain of V over the clock above zero, and the median W below {CLEAN_SHARPNESS}; "
    f"refuted when the interval of S lies below {CLEAN_SEPARATION}; without a gain inconclusive: "
    f"{NO_MORE_THAN_TIME}. Both intervals hold the error between configurations and that within. "
    "S near one is necessary for timing, not sufficient",
    references=("arXiv:2603.07323", "somers1962", "wilson1927", "arvesen1969"),
    against=f"configurations whose S lies surely below {CLEAN_SEPARATION}, in which a clock orders "
    f"the two sides as well as V, or whose switch is slow (W above {CLEAN_SHARPNESS})",
    in_favour=f"configurations whose S lies surely above {CLEAN_SEPARATION} and above that of a "
    f"clock, and whose switch is sharp (W below {CLEAN_SHARPNESS})",
    undecidable="a norm that only time moves, alike in the runs of a configuration: V then is a "
    "clock; and two to nineteen configurations, which leave room for an S of 0.8 even where "
    "every run agrees",
    test=test,
)
