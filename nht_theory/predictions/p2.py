"""P2: three regimes of weight decay: the shortcut persists, a delayed switch, suppression."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import Regime, VerdictKind
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.regime import rises_then_falls
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
    needed = log_ratio_needed(study)
    labelled = [
        Labelled(run, own, placed(run, own, needed))
        for run, own in study.pairs()
        if own.regime in ORDER
        and own.generalization is not None
        and run.hyperparameters.weight_decay is not None
    ]
    seen = {row.regime for row in labelled}
    decays = {row.run.hyperparameters.weight_decay for row in labelled}
    if len(seen) < 2 or len(decays) < 3:
        return not_applicable(
            NAME,
            "needs at least two regimes over at least three weight decays, with accuracies and "
            f"the norm; {len(seen)} regimes over {len(decays)} weight decays were seen",
        )
    right = [row for row in labelled if row.behaves]
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
        n_censored=sum(row.own.censored for row in labelled),
        rule=f"{share} of {n} runs behave as their regime says, exact binomial against "
        f"{AGREEMENT:.0%}: p = {p_value:.3g}; regimes not seen: {', '.join(missing) or 'none'}; "
        f"settings whose regimes are out of order in weight decay: {len(disorder)}",
        details=_details(study, labelled, disorder, needed),
        power=more_for_p(p_value, n, "runs")
        if verdict is VerdictKind.INCONCLUSIVE and not (disorder or missing)
        else "",
        runs=tuple(row.run.name for row in labelled),
    )


@dataclass(frozen=True)
class Labelled:
    """A run with the regime that its norm and its budget put it in."""

    run: Run
    own: RunEstimate
    regime: Regime

    @property
    def behaves(self) -> bool:
        """Weak and strong runs do not generalise; intermediate ones do, once they memorised."""
        if self.regime is Regime.INTERMEDIATE:
            return self.own.delay is not None and self.own.delay >= 0
        return self.own.censored


def placed(run: Run, own: RunEstimate, needed: float | None) -> Regime:
    """The regime of a run: its trajectory's label, but weak where its clock ran too short.

    A run whose whole regularisation clock stays below the log-ratio that a transition needs is
    weak before training (THEORY.md section 4), however its norm has begun to fall.
    """
    budget = clock_budget(run)
    short = needed is not None and budget is not None and budget < needed
    return Regime.WEAK if short and own.regime is Regime.INTERMEDIATE else own.regime


def log_ratio_needed(study: StudyEstimates) -> float | None:
    """Median ln(V_mem/V_star) over the delayed runs; None where no run gives one."""
    ratios = [selection.norm_ratio(own) for _, own in selection.delayed(study)]
    logs = [math.log(ratio) for ratio in ratios if ratio is not None and ratio > 1]
    return float(np.median(logs)) if logs else None


def disordered(labelled: list[Labelled]) -> list[str]:
    """Settings in which the median regime moves back as weight decay grows."""
    places: dict[str, dict[float, list[int]]] = {}
    for row in labelled:
        decay = row.run.hyperparameters.weight_decay
        assert decay is not None  # the caller selects runs that have one
        levels = places.setdefault(selection.stratum(row.run, "weight_decay"), {})
        levels.setdefault(decay, []).append(ORDER[row.regime])
    found = []
    for name, levels in places.items():
        medians = [float(np.median(levels[decay])) for decay in sorted(levels)]
        if any(later < earlier for earlier, later in itertools.pairwise(medians)):
            found.append(name)
    return found


def clock_budget(run: Run) -> float | None:
    """Regularisation clock at the run's last evaluation; None where its rate is not known."""
    if not len(run):
        return None
    last = int(run.steps[-1])
    rate = pure_decay_rate(run, Window(0, last, "whole run"))
    return None if isinstance(rate, Missing) else rate * last


def _details(
    study: StudyEstimates, labelled: list[Labelled], disorder: list[str], needed: float | None
) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    lines = []
    for regime in ORDER:
        rows = [row for row in labelled if row.regime is regime]
        switched = sum(not row.own.censored for row in rows)
        lines.append(f"{regime.value}: {len(rows)} runs, {switched} generalise")
    middle = [row for row in labelled if row.regime is Regime.INTERMEDIATE]
    peaks = sum(rises_then_falls(row.run) is True for row in middle)
    lines.append(
        f"the norm peaks and falls, rather than moving one way, in {peaks} of {len(middle)} "
        "intermediate runs (AICc of a broken line in ln V)"
    )
    if needed is not None:
        lines.append(
            f"a run is weak when its clock stays below {needed:.2f}, the median ln(V_mem/V_star) "
            "of the delayed runs, or its norm does not fall after memorising"
        )
    lines += [
        f"counter-example: {selection.described(row.run, settings)}: {row.regime.value}, "
        f"{'did not generalise' if row.own.censored else 'generalises'}"
        for row in labelled
        if not row.behaves
    ]
    lines += [f"out of order: {selection.shortened(name, settings)}" for name in disorder]
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
    formulas=("clock_margin", "weak_boundary", "blocked_boundary", "strong_boundary"),
    against="runs that behave otherwise than the regime of their norm says, or regimes out "
    "of order in weight decay",
    in_favour=f"more than {AGREEMENT:.0%} of the runs behaving as the regime of their norm says, "
    "in all three regimes",
    judge=judge,
)
