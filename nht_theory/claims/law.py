"""The law: T = (1/gamma) ln(V_sc/V_st), tested on what is known without the run's own end.

Twice: where the separation is ordered, as the paper claims, and on every delayed run.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nht_theory.claims import selection, separations
from nht_theory.claims.delays import Delays, delays
from nht_theory.claims.rules import (
    EQUIVALENCE,
    POWER,
    Decision,
    all_of,
    decide,
    power_of,
)
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.censored_regression import (
    CensoredRegression,
    fit_censored_regression,
)
from nht_theory.inference.configuration_means import fit_configuration_means
from nht_theory.inference.information import likelihood_ratio_test
from nht_theory.inference.location_scale import Distribution
from nht_theory.inference.power import SlopeDesign, seeds_needed
from nht_theory.inference.samples import Vector

WHERE_ORDERED, EVERYWHERE = "law", "law_everywhere"
COLUMNS = CONSTANT, RATE, RATIO = "constant", "ln(1/gamma)", "ln ln(V_sc/V_st)"
FEWEST_RUNS = 6
COEFFICIENTS = 3
FEWEST_CONFIGURATIONS = COEFFICIENTS + 2
LEAST_SPREAD = 1e-6
NEEDS = (
    f"memorised runs with the norm logged in {FEWEST_CONFIGURATIONS} or more configurations, at "
    "two or more values of eta lambda and of V_sc/V_st, most of which generalise"
)


def test_where_ordered(study: StudyEstimates) -> Verdict:
    """The law in configurations whose separation V orders, or that have not switched yet."""
    settings = selection.varying_settings(study)
    rows = delays(study, separations.where_ordered(study))
    verdict = test_rows(WHERE_ORDERED, study, rows)
    return replace(
        verdict,
        details=(
            *verdict.details,
            separations.distinguishable_from_time(study).line,
            *(
                f"not ordered: {selection.shortened(name, settings)}: {separations.described(own)}"
                for name, own in separations.separations(study).items()
                if not separations.ordered(own)
            ),
        ),
    )


def test_everywhere(study: StudyEstimates) -> Verdict:
    """The law on every memorised run that it speaks about."""
    return test_rows(EVERYWHERE, study, delays(study))


def test_rows(name: str, study: StudyEstimates, rows: Delays | None) -> Verdict:
    """Slopes of ln T on ln(1/gamma) and on ln ln(V_sc/V_st), each against one."""
    if rows is None or rows.n < FEWEST_RUNS:
        return not_applicable(name, f"needs {NEEDS}; {0 if rows is None else rows.n} qualify")
    flat = [
        predictor
        for predictor, column in ((RATE, rows.log_inverse_rate), (RATIO, rows.log_log_ratio))
        if float(np.std(column)) < LEAST_SPREAD
    ]
    if flat:
        return not_applicable(name, f"needs {NEEDS}; {' and '.join(flat)} never varies")
    try:
        fit = fit_law(rows)
    except NhtError as error:
        return not_applicable(name, f"needs {NEEDS}; {error}")
    decisions = {predictor: against_one(fit, predictor) for predictor in (RATE, RATIO)}
    verdict, p_value, decisive = all_of(decisions)
    return Verdict(
        claim=name,
        verdict=verdict,
        statistic=fit.coefficient(decisive).value,
        statistic_name=f"slope of ln T on {decisive}, censored log-normal regression",
        interval=decisions[decisive].interval,
        p_value=p_value,
        n=rows.n,
        n_censored=rows.times.n_right_censored,
        units=fit.n,
        unit="configurations",
        rule="; ".join(
            f"slope on {predictor} {fit.coefficient(predictor).value:.3f} "
            f"[{own.interval.low:.3f}, {own.interval.high:.3f}] {own.verdict.value}"
            for predictor, own in decisions.items()
        )
        + f" against 1 within {EQUIVALENCE}; decided by the one on {decisive}, p = {p_value:.3g}",
        details=_details(study, rows, fit),
        power="; ".join(
            f"{predictor}: " + power_of_slope(own, fit, column, predictor)
            for (predictor, own), column in zip(
                decisions.items(), (rows.log_inverse_rate, rows.log_log_ratio), strict=True
            )
            if own.verdict is VerdictKind.INCONCLUSIVE
        ),
        runs=tuple(run.name for run in rows.runs),
    )


def fit_law(rows: Delays) -> CensoredRegression:
    """Regression of ln T on a constant, ln(1/gamma) and ln ln(V_sc/V_st), over configurations."""
    return fit_configuration_means(rows.times, design(rows), COLUMNS, rows.configurations)


def design(rows: Delays) -> Vector:
    """Predictors of each run, shape [n, 3]."""
    return np.column_stack([np.ones(rows.n), rows.log_inverse_rate, rows.log_log_ratio])


def power_of_slope(
    decision: Decision, fit: CensoredRegression, predictor: Vector, name: str
) -> str:
    """What would decide about a slope of one: more of the same, or a sweep of another spread.

    The sweep's configurations per value assume the scatter between configurations that the fit
    found; more seeds of one configuration do not stand for more configurations.
    """
    levels = min(len(np.unique(predictor.round(9))), fit.n)
    plans = []
    for spread in (float(np.exp(np.ptp(predictor))), 10.0, 30.0):
        sweep = SlopeDesign(
            spread=spread,
            levels=max(levels, 2),
            scale=fit.scale,
            low=EQUIVALENCE[0],
            high=EQUIVALENCE[1],
            coefficients=len(fit.names),
        )
        needed = seeds_needed(sweep, power=POWER)
        if needed is not None:  # fewer than coefficients + 2 configurations are not judged
            needed = max(needed, -(-(len(fit.names) + 2) // sweep.levels))
        plans.append(f"{needed or 'more than 1000'} over a factor of {spread:.3g}")
    return (
        f"{power_of(decision, fit.n, 'configurations')}; a sweep of {levels} values of {name} "
        f"with a true slope of 1 and a scatter of {fit.scale:.2f} in ln T between configurations "
        "needs, in configurations per value: " + ", ".join(plans)
    )


def against_one(fit: CensoredRegression, name: str) -> Decision:
    """A slope over configurations against one; the interval is the fit's own."""
    slope = fit.coefficient(name)
    assert slope.standard_error is not None  # a fitted coefficient always has both
    assert slope.interval is not None
    own = decide(slope.value, slope.standard_error, fit.degrees_of_freedom, EQUIVALENCE)
    return replace(own, interval=slope.interval)


def _details(study: StudyEstimates, rows: Delays, fit: CensoredRegression) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    constant = fit.coefficient(CONSTANT)
    return (
        f"prefactor exp(constant) = {math.exp(constant.value):.3f}: the law says 1/c",
        f"likelihood ratio of the log-ratio term: {_ratio_term(rows, fit)}",
        _weibull(rows),
        *(
            f"outside the law, V_mem not above the V_star of other runs: "
            f"{selection.described(run, settings)}"
            for run in rows.outside
        ),
        *rows.left_out,
    )


def _ratio_term(rows: Delays, fit: CensoredRegression) -> str:
    """p of the log-ratio term, as text; why there is none where the fit without it has no end."""
    try:
        reduced = fit_configuration_means(
            rows.times, design(rows)[:, :2], COLUMNS[:2], rows.configurations
        )
    except NhtError as error:
        return f"none: {error}"
    test = likelihood_ratio_test(
        fit.log_likelihood, reduced.log_likelihood, extra_parameters=1, n=fit.n
    )
    return f"p = {test.p_value:.3g}"


def _weibull(rows: Delays) -> str:
    """The slopes under the other distribution, over runs, as text."""
    try:
        fit = fit_censored_regression(
            rows.times, design(rows), COLUMNS, distribution=Distribution.WEIBULL
        )
    except NhtError as error:
        return f"Weibull: {error}"
    return (
        f"Weibull, over runs: slopes {fit.coefficient(RATE).value:.3f} and "
        f"{fit.coefficient(RATIO).value:.3f}"
    )


RULE = (
    "interval- and right-censored log-normal regression of ln T over configurations (each the mean "
    f"of its seeds); both slopes equivalent to 1 within {EQUIVALENCE}: supported; one of them "
    "outside: refuted. gamma is the pure-decay rate, and V_st comes from the other configurations "
    "of the same task"
)
AGAINST = (
    f"delays that follow the log-ratio of the norms, or the pure-decay rate, with a slope surely "
    f"outside {EQUIVALENCE}"
)
IN_FAVOUR = (
    "delays whose slopes on ln(1/gamma) and on ln ln(V_sc/V_st) both lie surely within "
    f"{EQUIVALENCE}"
)
UNDECIDABLE = (
    f"fewer than {FEWEST_CONFIGURATIONS} configurations, however many seeds; a sweep in which "
    "the rate and the ratio of the norms change together, or over less than a factor of about ten; "
    "evaluations as far apart as the delays"
)
REFERENCES = ("arXiv:2603.07323", "arXiv:2603.13331", "kalbfleisch2002", "schuirmann1987")
PREDICTION_WHERE_ORDERED = Claim(
    name=WHERE_ORDERED,
    statement="Where the separation is clean, the delay from memorisation to generalisation is "
    "(1/gamma) ln(V_sc/V_st).",
    needs=f"{NEEDS}, in configurations with S above 0.8 (or not yet switched)",
    rule=RULE,
    references=REFERENCES,
    formulas=("law_steps", "exact_hitting_time", "nested_law"),
    against=AGAINST,
    in_favour=IN_FAVOUR,
    undecidable=UNDECIDABLE,
    test=test_where_ordered,
)
PREDICTION_EVERYWHERE = Claim(
    name=EVERYWHERE,
    statement="The delay is (1/gamma) ln(V_sc/V_st) in every run that starts above V_st.",
    needs=NEEDS,
    rule=RULE,
    references=REFERENCES,
    formulas=("law_steps", "exact_hitting_time", "paper_upper_bound"),
    against=AGAINST,
    in_favour=IN_FAVOUR,
    undecidable=UNDECIDABLE,
    test=test_everywhere,
)
