"""Slopes of ln T over configurations, and verdicts that rest on several decisions at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

from nht_theory.conventions import VerdictKind
from nht_theory.inference.censored_regression import CensoredRegression
from nht_theory.predictions.rules import ALPHA, Decision, decide


def judged_slope(
    fit: CensoredRegression, name: str, limits: tuple[float, float]
) -> tuple[float, Decision]:
    """A coefficient, and its decision against the limits that a claim sets for it.

    Args:
        fit: with the configurations as clusters.
        name: of the coefficient.
        limits: lowest and highest value that the claim allows.
    """
    slope = fit.coefficient(name)
    assert slope.standard_error is not None  # a fitted coefficient always has one
    assert fit.clusters is not None
    # The predictors differ between configurations alone: each coefficient costs one of these.
    free = fit.clusters - len(fit.names)
    error = slope.standard_error * math.sqrt((fit.clusters - 1) / free)
    return slope.value, decide(slope.value, error, free, limits)


def all_of(decisions: Mapping[str, Decision]) -> tuple[VerdictKind, float, str]:
    """Verdict, p-value and name of the deciding one where all of several must hold.

    Refuted when one is (Bonferroni over all), supported when all are, and then only as surely as
    the least sure of them.

    Example:
        >>> sure = decide(1.0, 0.01, 20, (0.8, 1.25))
        >>> wrong = decide(0.0, 0.01, 20, (0.8, 1.25))
        >>> all_of({"slope": sure, "scatter": wrong})[::2]
        (<VerdictKind.REFUTED: 'refuted'>, 'scatter')
        >>> all_of({"slope": sure, "scatter": decide(1.0, 0.08, 20, (0.8, 1.25))})[::2]
        (<VerdictKind.SUPPORTED: 'supported'>, 'scatter')
    """
    against = {
        name: own.p_value for name, own in decisions.items() if own.verdict is VerdictKind.REFUTED
    }
    if against:
        name = min(against, key=lambda each: against[each])
        p_value = min(1.0, len(decisions) * against[name])
        if p_value <= ALPHA:
            return VerdictKind.REFUTED, p_value, name
        return VerdictKind.INCONCLUSIVE, p_value, name
    open_ones = {
        name: own for name, own in decisions.items() if own.verdict is VerdictKind.INCONCLUSIVE
    }
    name = max(open_ones or decisions, key=lambda each: decisions[each].p_value)
    verdict = VerdictKind.INCONCLUSIVE if open_ones else VerdictKind.SUPPORTED
    return verdict, decisions[name].p_value, name


def wanting(missing: str, verdict: VerdictKind) -> VerdictKind:
    """The verdict, but inconclusive where something is missing for "supported".

    Example:
        >>> wanting("no power law fitted", VerdictKind.SUPPORTED).value
        'inconclusive'
        >>> wanting("", VerdictKind.SUPPORTED).value
        'supported'
    """
    if missing and verdict is VerdictKind.SUPPORTED:
        return VerdictKind.INCONCLUSIVE
    return verdict
