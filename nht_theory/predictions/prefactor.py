"""The prefactor: how fast V falls in a delayed run, in units of the optimiser's pure decay.

Two claims about c = gamma_V / (2 eta lambda): the paper's gamma >= eta lambda, which is
c >= 1/2, and pure decay, c = 1. Both are judged over configurations, because the runs of one
configuration share whatever makes c what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.contraction import rate_window, signed_rate
from nht_theory.estimators.efficiency import efficiency
from nht_theory.estimators.results import Missing, StudyEstimates
from nht_theory.inference.holm import holm
from nht_theory.predictions import selection
from nht_theory.predictions.rules import ALPHA, EQUIVALENCE, PAPER_EFFICIENCY, decide, power_of
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable
from nht_theory.runs.run import Run

SMALLEST_ERROR = 1e-9
"""Of c, where runs agree to the last digit."""
BOUND = "prefactor"
PURE_DECAY = "prefactor_pure_decay"
NEEDS = (
    "delayed runs with the norm logged at two evaluations between the transitions, and the "
    "learning rate, weight decay and form of decay known"
)


@dataclass(frozen=True)
class Efficiencies:
    """c of each delayed run (negative where the norm grows), and the runs that have none."""

    of_run: tuple[tuple[Run, float], ...]
    left_out: tuple[str, ...]

    def by_configuration(self) -> dict[str, list[float]]:
        """c of the runs of each configuration."""
        groups: dict[str, list[float]] = {}
        for run, value in self.of_run:
            groups.setdefault(selection.stratum(run), []).append(value)
        return groups


def efficiencies(study: StudyEstimates) -> Efficiencies:
    """c of every delayed run, of either sign: a growing norm counts against the claim."""
    found: list[tuple[Run, float]] = []
    left_out: dict[str, int] = {}
    for run, own in selection.delayed(study):
        window = rate_window(run, own.memorization, own.generalization)
        rate = window if isinstance(window, Missing) else signed_rate(run, window)
        value = efficiency(run, window, rate)
        if isinstance(value, Missing):
            reason = f"{value.reason.value}: {value.detail}"
            left_out[reason] = left_out.get(reason, 0) + 1
        else:
            found.append((run, value.value))
    censored = len(selection.memorized_but_censored(study))
    notes = [f"left out: {count} runs, {reason}" for reason, count in left_out.items()]
    if censored:
        notes.append(f"left out: {censored} memorised runs that had not generalised (censored)")
    return Efficiencies(tuple(found), tuple(notes))


def mean_over_configurations(groups: dict[str, list[float]]) -> tuple[float, float, int] | None:
    """Mean of the configurations' means, its standard error and degrees of freedom.

    With a single configuration its runs are the units. None where fewer than two units exist.
    """
    units = [float(np.mean(values)) for values in groups.values()]
    if len(units) == 1:
        units = next(iter(groups.values()))
    if len(units) < 2:
        return None
    error = float(np.std(units, ddof=1)) / math.sqrt(len(units))
    return float(np.mean(units)), max(error, SMALLEST_ERROR), len(units) - 1


def judge_bound(study: StudyEstimates) -> Verdict:
    """c >= 1/2 in every configuration, as the paper claims for AdamW."""
    own = efficiencies(study)
    groups, settings = own.by_configuration(), selection.varying_settings(study)
    summary = mean_over_configurations(groups)
    if summary is None:
        return not_applicable(BOUND, f"needs {NEEDS}; {_why(own)}")
    overall = decide(*summary, (PAPER_EFFICIENCY, math.inf))
    tested = {name: values for name, values in groups.items() if len(values) >= 3}
    adjusted = dict(zip(tested, holm([_below_half(v) for v in tested.values()]), strict=True))
    failing = [name for name, p in adjusted.items() if p <= ALPHA]
    if failing:
        verdict, p_value = VerdictKind.REFUTED, float(min(adjusted.values()))
        why = f"c is below 1/2 in {len(failing)} of {len(groups)} configurations (Holm)"
    else:
        verdict, p_value = overall.verdict, overall.p_value
        why = f"mean over {len(groups)} configurations, no single one significantly below 1/2"
    return Verdict(
        prediction=BOUND,
        verdict=verdict,
        statistic=summary[0],
        statistic_name="c = gamma_V/(2 eta lambda), mean over configurations",
        interval=overall.interval,
        p_value=p_value,
        n=len(own.of_run),
        n_censored=0,
        rule=f"c = {summary[0]:.3f} [{overall.interval.low:.3f}, {overall.interval.high:.3f}] "
        f"against the paper's c >= 1/2: {why}; p = {p_value:.3g}",
        power=power_of(overall, len(groups), "configurations")
        if verdict is VerdictKind.INCONCLUSIVE
        else "",
        details=(
            *(
                f"counter-example: {selection.shortened(name, settings)}: mean c = "
                f"{np.mean(groups[name]):.3f}"
                for name in failing
            ),
            *own.left_out,
        ),
        runs=tuple(run.name for run, _ in own.of_run),
    )


def judge_pure_decay(study: StudyEstimates) -> Verdict:
    """c equivalent to 1: the norm falls as under decay alone."""
    own = efficiencies(study)
    groups, settings = own.by_configuration(), selection.varying_settings(study)
    summary = mean_over_configurations(groups)
    if summary is None:
        return not_applicable(PURE_DECAY, f"needs {NEEDS}; {_why(own)}")
    decision = decide(*summary, EQUIVALENCE)
    return Verdict(
        prediction=PURE_DECAY,
        verdict=decision.verdict,
        statistic=summary[0],
        statistic_name="c = gamma_V/(2 eta lambda), mean over configurations",
        interval=decision.interval,
        p_value=decision.p_value,
        n=len(own.of_run),
        n_censored=0,
        rule=f"95 % interval of c over {len(groups)} configurations "
        f"[{decision.interval.low:.3f}, {decision.interval.high:.3f}] against equivalence to 1 "
        f"within {EQUIVALENCE}; p = {decision.p_value:.3g}",
        power=power_of(decision, len(groups), "configurations"),
        details=(
            *(
                f"{selection.shortened(name, settings)}: mean c = {np.mean(values):.3f} over "
                f"{len(values)} runs"
                for name, values in groups.items()
            ),
            *own.left_out,
        ),
        runs=tuple(run.name for run, _ in own.of_run),
    )


def _below_half(values: list[float]) -> float:
    """One-sided p-value of Student's test that the mean of c is at least 1/2."""
    from scipy import stats

    if np.ptp(values) == 0:
        return float(values[0] >= PAPER_EFFICIENCY)
    return float(stats.ttest_1samp(values, PAPER_EFFICIENCY, alternative="less").pvalue)


def _why(own: Efficiencies) -> str:
    return "; ".join([f"{len(own.of_run)} runs qualify", *own.left_out])


PREDICTION_BOUND = Prediction(
    name=BOUND,
    claim="The effective contraction rate of AdamW is at least eta lambda, that is c >= 1/2.",
    needs=NEEDS,
    rule="refuted when a configuration of three or more runs has mean c below 1/2 (Student, Holm "
    "over configurations) or the 95 % interval of the mean over configurations lies below; "
    "supported when that interval lies above",
    references=("arXiv:2603.07323", "holm1979"),
    formulas=("one_step_contraction", "efficiency", "paper_contraction_slack"),
    against="a configuration of three or more runs that contracts surely slower than half "
    "of pure decay",
    in_favour="no configuration below one half, and a mean over configurations surely above it",
    judge=judge_bound,
)
PREDICTION_PURE_DECAY = Prediction(
    name=PURE_DECAY,
    claim="V contracts at the optimiser's pure-decay rate, c = 1.",
    needs=NEEDS,
    rule=f"equivalence of the mean of c over configurations to 1 within {EQUIVALENCE}",
    references=("arXiv:2603.13331", "schuirmann1987"),
    formulas=("one_step_contraction", "decoupled_rate", "efficiency"),
    against=f"a mean of c over configurations surely outside {EQUIVALENCE}",
    in_favour=f"a mean of c over configurations surely within {EQUIVALENCE}",
    judge=judge_pure_decay,
)
