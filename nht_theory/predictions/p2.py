"""P2: three regimes of weight decay: the shortcut persists, a delayed switch, suppression."""

from __future__ import annotations

import itertools
import math

import numpy as np

from nht_theory.conventions import Regime, VerdictKind
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates
from nht_theory.inference.binomial import binomial_test
from nht_theory.inference.results import Alternative
from nht_theory.predictions import selection
from nht_theory.predictions.rules import ALPHA, more_for_p
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable
from nht_theory.runs.run import Run

NAME = "P2"
ORDER = {Regime.WEAK: 0, Regime.INTERMEDIATE: 1, Regime.STRONG: 2}
AGREEMENT = 0.8
"""Share of runs that must behave as their regime says."""


def judge(study: StudyEstimates) -> Verdict:
    """Do the regimes appear in the order of weight decay, and do runs behave accordingly?"""
    labelled = [
        (run, own)
        for run, own in study.pairs()
        if own.regime in ORDER
        and own.generalization is not None
        and run.hyperparameters.weight_decay is not None
    ]
    seen = {own.regime for _, own in labelled}
    decays = {run.hyperparameters.weight_decay for run, _ in labelled}
    if len(seen) < 2 or len(decays) < 3:
        return not_applicable(
            NAME,
            "needs at least two regimes over at least three weight decays, with accuracies and "
            f"the norm; {len(seen)} regimes over {len(decays)} weight decays were seen",
        )
    right = [pair for pair in labelled if behaves(pair[1])]
    share, n = len(right), len(labelled)
    above = binomial_test(share, n, probability=AGREEMENT, alternative=Alternative.GREATER)
    below = binomial_test(share, n, probability=AGREEMENT, alternative=Alternative.LESS)
    disorder = disordered(labelled)
    missing = [regime.value for regime in ORDER if regime not in seen]
    if below.p_value <= ALPHA:
        verdict, p_value = VerdictKind.REFUTED, below.p_value
    elif above.p_value <= ALPHA and not disorder and not missing:
        verdict, p_value = VerdictKind.SUPPORTED, above.p_value
    else:
        verdict, p_value = VerdictKind.INCONCLUSIVE, min(above.p_value, below.p_value)
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=share / n,
        statistic_name="share of runs that behave as their regime says",
        interval=above.interval,
        p_value=p_value,
        n=n,
        n_censored=sum(own.censored for _, own in labelled),
        rule=f"{share} of {n} runs behave as their regime says, exact binomial against "
        f"{AGREEMENT:.0%}: p = {p_value:.3g}; regimes not seen: {', '.join(missing) or 'none'}; "
        f"settings whose regimes are out of order in weight decay: {len(disorder)}",
        details=_details(study, labelled, disorder),
        power=more_for_p(p_value, n, "runs")
        if verdict is VerdictKind.INCONCLUSIVE and not (disorder or missing)
        else "",
    )


def behaves(own: RunEstimate) -> bool:
    """Weak and strong runs do not generalise; intermediate ones do, after memorising."""
    if own.regime is Regime.INTERMEDIATE:
        return own.delay is not None and own.delay >= 0
    return own.censored


def disordered(labelled: list[selection.Pair]) -> list[str]:
    """Settings in which the median regime moves back as weight decay grows."""
    found = []
    for name, pairs in selection.by_configuration(labelled, without=("weight_decay",)).items():
        places: dict[float, list[int]] = {}
        for run, own in pairs:
            decay = run.hyperparameters.weight_decay
            assert decay is not None  # the caller selects runs that have one
            places.setdefault(decay, []).append(ORDER[own.regime])
        medians = [float(np.median(places[decay])) for decay in sorted(places)]
        if any(later < earlier for earlier, later in itertools.pairwise(medians)):
            found.append(name)
    return found


def predicted_weak(study: StudyEstimates) -> tuple[list[selection.Pair], float] | None:
    """Runs whose whole regularisation budget is below the log-ratio that a transition needs.

    The ratio is the median of ln(V_mem/V_star) over the delayed runs of the study; the budget
    is the pure-decay rate times the number of steps trained.

    Returns:
        (runs, ratio), or None where no run gives a ratio.

    Source: THEORY.md section 4.
    """
    ratios = [selection.norm_ratio(own) for _, own in selection.delayed(study)]
    logs = [math.log(ratio) for ratio in ratios if ratio is not None and ratio > 1]
    if not logs:
        return None
    needed = float(np.median(logs))
    return [
        (run, own)
        for run, own in study.pairs()
        if (budget := clock_budget(run)) is not None and budget < needed
    ], needed


def clock_budget(run: Run) -> float | None:
    """Regularisation clock at the run's last evaluation; None where its rate is not known."""
    if not len(run):
        return None
    last = int(run.steps[-1])
    rate = pure_decay_rate(run, Window(0, last, "whole run"))
    return None if isinstance(rate, Missing) else rate * last


def _details(
    study: StudyEstimates, labelled: list[selection.Pair], disorder: list[str]
) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    lines = [
        f"{regime.value}: {sum(own.regime is regime for _, own in labelled)} runs, "
        f"{sum(own.regime is regime and not own.censored for _, own in labelled)} generalise"
        for regime in ORDER
    ]
    lines += [
        f"counter-example: {selection.described(run, settings)}: {own.regime.value}, "
        f"{'did not generalise' if own.censored else 'generalises'}"
        for run, own in labelled
        if not behaves(own)
    ]
    lines += [f"out of order: {selection.shortened(name, settings)}" for name in disorder]
    weak = predicted_weak(study)
    if weak is not None:
        pairs, needed = weak
        against = [pair for pair in pairs if not pair[1].censored]
        lines.append(
            f"a-priori boundary: the clock of {len(pairs)} runs stays below the median log-ratio "
            f"{needed:.2f}; {len(pairs) - len(against)} of them do not generalise"
        )
        lines += [
            f"against the boundary: {selection.described(run, settings)}" for run, _ in against
        ]
    return tuple(lines)


PREDICTION = Prediction(
    name=NAME,
    claim="Three regimes: under weak decay the norm grows and the shortcut persists, under "
    "intermediate decay the norm peaks and falls and the switch is delayed, under strong decay "
    "norm and learning are suppressed.",
    needs="accuracies and the norm of runs at three or more weight decays, two regimes or more",
    rule=f"supported when more than {AGREEMENT:.0%} of the runs behave as the regime of their norm "
    "says (exact binomial), all three regimes are seen, and they are ordered by weight decay; "
    "refuted when fewer do",
    references=("arXiv:2603.07323", "clopper1934"),
    judge=judge,
)
