"""The law: T = (1/gamma) ln(V_sc/V_st), with a delay that nobody measured the answer on."""

from __future__ import annotations

import math

import numpy as np

from nht_theory.conventions import VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.censored_regression import (
    CensoredRegression,
    fit_censored_regression,
)
from nht_theory.inference.information import likelihood_ratio_test
from nht_theory.inference.location_scale import Distribution
from nht_theory.predictions import selection
from nht_theory.predictions.delays import Delays, delays
from nht_theory.predictions.rules import ALPHA, EQUIVALENCE, Decision, decide
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "law"
CONSTANT, RATE, RATIO = "constant", "ln(1/gamma)", "ln ln(V_sc/V_st)"
FEWEST_RUNS = 6
FEWEST_CLUSTERS = 5
"""Configurations below which a cluster sandwich has nothing to stand on."""
LEAST_SPREAD = 1e-6
NEEDS = (
    f"{FEWEST_RUNS} or more memorised runs with the norm logged, at two or more values of "
    "eta lambda and of V_sc/V_st, most of which generalise"
)


def judge(study: StudyEstimates) -> Verdict:
    """Slopes of ln T on ln(1/gamma) and on ln ln(V_sc/V_st), each against one."""
    rows = delays(study)
    if rows is None or rows.n < FEWEST_RUNS:
        return not_applicable(NAME, f"needs {NEEDS}; {0 if rows is None else rows.n} qualify")
    flat = [
        name
        for name, column in ((RATE, rows.log_inverse_rate), (RATIO, rows.log_log_ratio))
        if float(np.std(column)) < LEAST_SPREAD
    ]
    if flat:
        return not_applicable(NAME, f"needs {NEEDS}; {' and '.join(flat)} never varies")
    try:
        fit = fit_law(rows)
    except NhtError as error:
        return not_applicable(NAME, f"needs {NEEDS}; {error}")
    decisions = {name: _against_one(fit, name) for name in (RATE, RATIO)}
    verdict, p_value = both(decisions[RATE], decisions[RATIO])
    slope = fit.coefficient(RATE)
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=slope.value,
        statistic_name=f"slope of ln T on {RATE}, censored log-normal regression",
        interval=decisions[RATE].interval,
        p_value=p_value,
        n=rows.n,
        n_censored=rows.times.n_right_censored,
        rule="; ".join(
            f"slope on {name} {fit.coefficient(name).value:.3f} "
            f"[{own.interval.low:.3f}, {own.interval.high:.3f}] {own.verdict.value}"
            for name, own in decisions.items()
        )
        + f" against 1 within {EQUIVALENCE}; p = {p_value:.3g}",
        details=_details(study, rows, fit),
    )


def fit_law(
    rows: Delays, distribution: Distribution = Distribution.LOG_NORMAL
) -> CensoredRegression:
    """Censored regression of ln T on a constant, ln(1/gamma) and ln ln(V_sc/V_st).

    Errors are the sandwich over configurations where there are five or more.
    """
    clustered = len(set(rows.configurations)) >= FEWEST_CLUSTERS
    return fit_censored_regression(
        rows.times,
        np.column_stack([np.ones(rows.n), rows.log_inverse_rate, rows.log_log_ratio]),
        (CONSTANT, RATE, RATIO),
        distribution=distribution,
        clusters=rows.configurations if clustered else None,
    )


def both(first: Decision, second: Decision) -> tuple[VerdictKind, float]:
    """Two decisions that must both hold: refuted when either is (Bonferroni), else the weaker.

    Example:
        >>> sure = decide(1.0, 0.01, math.inf, (0.8, 1.25))
        >>> wrong = decide(0.0, 0.01, math.inf, (0.8, 1.25))
        >>> both(sure, wrong)[0].value, both(sure, sure)[0].value
        ('refuted', 'supported')
    """
    against = [own.p_value for own in (first, second) if own.verdict is VerdictKind.REFUTED]
    if against and 2 * min(against) <= ALPHA:
        return VerdictKind.REFUTED, 2 * min(against)
    weaker = max(first.p_value, second.p_value)
    if first.verdict is second.verdict is VerdictKind.SUPPORTED:
        return VerdictKind.SUPPORTED, weaker
    return VerdictKind.INCONCLUSIVE, weaker


def _against_one(fit: CensoredRegression, name: str) -> Decision:
    slope = fit.coefficient(name)
    assert slope.standard_error is not None  # a fitted coefficient always has one
    return decide(slope.value, slope.standard_error, fit.degrees_of_freedom, EQUIVALENCE)


def _details(study: StudyEstimates, rows: Delays, fit: CensoredRegression) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    reduced = fit_censored_regression(
        rows.times,
        np.column_stack([np.ones(rows.n), rows.log_inverse_rate]),
        (CONSTANT, RATE),
    )
    ratio_term = likelihood_ratio_test(
        fit.log_likelihood, reduced.log_likelihood, extra_parameters=1, n=rows.n
    )
    weibull = fit_law(rows, Distribution.WEIBULL)
    constant = fit.coefficient(CONSTANT)
    return (
        f"prefactor exp(constant) = {math.exp(constant.value):.3f}: the law says 1/c",
        f"likelihood ratio of the log-ratio term: p = {ratio_term.p_value:.3g}",
        f"Weibull: slopes {weibull.coefficient(RATE).value:.3f} and "
        f"{weibull.coefficient(RATIO).value:.3f}",
        *(
            f"outside the law, V_mem not above the V_star of other runs: "
            f"{selection.described(run, settings)}"
            for run in rows.outside
        ),
        *rows.left_out,
    )


PREDICTION = Prediction(
    name=NAME,
    claim="The delay from memorisation to generalisation is (1/gamma) ln(V_sc/V_st).",
    needs=NEEDS,
    rule=f"interval- and right-censored log-normal regression of ln T; both slopes equivalent to 1 "
    f"within {EQUIVALENCE}: supported; one of them outside: refuted. gamma is the pure-decay rate "
    "and V_st comes from other runs",
    references=("arXiv:2603.07323", "arXiv:2603.13331", "kalbfleisch2002", "schuirmann1987"),
    judge=judge,
)
