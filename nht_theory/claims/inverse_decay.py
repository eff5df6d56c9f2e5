"""P6: the delay scales as 1/lambda."""

from __future__ import annotations

import numpy as np

from nht_theory.claims import selection, separations
from nht_theory.claims.law import against_one, power_of_slope
from nht_theory.claims.rules import EQUIVALENCE
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.transitions import delay_bounds
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.configuration_means import fit_configuration_means
from nht_theory.runs.run import Run

NAME = "P6"
SLOPE = "ln(1/lambda)"
FEWEST_LEVELS = 3
NEEDS = (
    f"memorised runs at {FEWEST_LEVELS} or more weight decays, all else equal, in configurations "
    "whose separation is ordered (S above 0.8, or not yet switched), two more of them than there "
    "are groups of equal settings and a slope"
)


def test(study: StudyEstimates) -> Verdict:
    """Slope of ln T on ln(1/lambda) with an intercept for each group of equal settings."""
    rows, unclean = qualifying(study)
    settings = selection.varying_settings(study)
    if len(rows) < 2 * FEWEST_LEVELS:
        return not_applicable(NAME, f"needs {NEEDS}; {len(rows)} runs qualify")
    runs = [run for run, _, _ in rows]
    strata = [selection.stratum(run, "weight_decay") for run in runs]
    names = sorted(set(strata))
    times = CensoredTimes.of([low for _, low, _ in rows], [high for _, _, high in rows])
    slope = np.array([-np.log(run.hyperparameters.weight_decay or 1.0) for run in runs])
    design = np.column_stack([[s == name for s in strata] for name in names] + [slope])
    configurations = [selection.stratum(run) for run in runs]
    try:
        fit = fit_configuration_means(
            times,
            design.astype(np.float64),
            (*(f"intercept {place}" for place in range(len(names))), SLOPE),
            configurations,
        )
    except NhtError as error:
        return not_applicable(NAME, f"needs {NEEDS}; {error}")
    estimate, decision = fit.coefficient(SLOPE), against_one(fit, SLOPE)
    return Verdict(
        claim=NAME,
        verdict=decision.verdict,
        statistic=estimate.value,
        statistic_name=f"slope of ln T on {SLOPE}, censored log-normal regression",
        interval=decision.interval,
        p_value=decision.p_value,
        n=times.n,
        n_censored=times.n_right_censored,
        units=fit.n,
        unit="configurations",
        rule=f"slope {estimate.value:.3f} [{decision.interval.low:.3f}, "
        f"{decision.interval.high:.3f}] against 1 within {EQUIVALENCE}, within {len(names)} groups "
        f"of equal settings, over {fit.n} configurations; p = {decision.p_value:.3g}",
        details=(
            separations.distinguishable_from_time(study).line,
            *(
                f"left out, separation not ordered: {selection.shortened(name, settings)}"
                for name in unclean
            ),
        ),
        power=power_of_slope(decision, fit, slope, SLOPE)
        if decision.verdict is VerdictKind.INCONCLUSIVE
        else "",
        runs=tuple(run.name for run in runs),
    )


def qualifying(study: StudyEstimates) -> tuple[list[tuple[Run, float, float]], list[str]]:
    """Runs with the bounds of their delay, and the configurations whose separation is unclean."""
    ordered = separations.where_ordered(study)
    rows: list[tuple[Run, float, float]] = []
    unclean: dict[str, None] = {}
    for run, own in study.pairs():
        decay = run.hyperparameters.weight_decay
        if own.memorization is None or own.generalization is None or not decay:
            continue
        bounds = delay_bounds(own.memorization, own.generalization)
        if bounds is None or bounds[1] == 0 or (bounds[0] == 0 and np.isinf(bounds[1])):
            continue
        if ordered(run):
            rows.append((run, *bounds))
        else:
            unclean[selection.stratum(run)] = None
    levels: dict[str, set[float | None]] = {}
    for run, _, _ in rows:
        levels.setdefault(selection.stratum(run, "weight_decay"), set()).add(
            run.hyperparameters.weight_decay
        )
    kept = [row for row in rows if len(levels[selection.stratum(row[0], "weight_decay")]) > 1]
    swept = {run.hyperparameters.weight_decay for run, _, _ in kept}
    return (kept if len(swept) >= FEWEST_LEVELS else []), list(unclean)


CLAIM = Claim(
    name=NAME,
    statement="The delay from memorisation to the switch scales as 1/lambda.",
    needs=NEEDS,
    rule=f"interval- and right-censored log-normal regression of ln T on {SLOPE} with an intercept "
    "for each group of equal settings, over configurations (each the mean of its seeds); slope "
    f"equivalent to 1 within {EQUIVALENCE}",
    references=("arXiv:2603.07323", "arXiv:2603.13331", "kalbfleisch2002"),
    formulas=("exact_hitting_time", "decoupled_rate"),
    against=f"delays whose slope on ln(1/lambda) lies surely outside {EQUIVALENCE}",
    in_favour=f"delays whose slope on ln(1/lambda) lies surely within {EQUIVALENCE}",
    undecidable="three weight decays of one task, however many seeds; weight decays over less than "
    "a factor of about ten; evaluations as far apart as the delays",
    test=test,
)
