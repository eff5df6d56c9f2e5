"""The limits that verdicts are decided by, and how an interval decides against them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from nht_theory.conventions import CONFIDENCE, VerdictKind
from nht_theory.estimators.results import Interval

ALPHA = 1 - CONFIDENCE
"""Level of every test, before and after the Holm correction."""
EQUIVALENCE = (0.8, 1.25)
"""A slope or a factor within a quarter of its predicted value counts as equal to it."""
FALSE_COUNTEREXAMPLES = 0.01
"""Share of definite counter-examples that a universal claim may show by accident of measurement."""
NECESSITY_TOLERANCE = 0.05
"""Share of counter-examples, doubtful ones included, below which necessity counts as shown."""
POWER = 0.8
"""Probability of deciding that a note on power plans for."""
PAPER_EFFICIENCY = 0.5
"""gamma >= eta lambda (arXiv 2603.07323, the law for AdamW) is c >= 1/2."""
CLEAN_SEPARATION = 0.8
"""Lower limit of S above which a separation may be called clean."""
CLEAN_SHARPNESS = 0.5
"""W below which the switch may be called sharp."""


@dataclass(frozen=True)
class Decision:
    """A verdict, the p-value that belongs to it, and the interval that decided.

    ``more`` is how many times as many independent units would decide with 80 % probability if
    the estimate stayed where it is: 1 where it decided already, infinite on a limit.
    """

    verdict: VerdictKind
    p_value: float
    interval: Interval
    more: float = 1.0


def decide(
    value: float, standard_error: float, freedom: float, limits: tuple[float, float]
) -> Decision:
    """Judge an estimate against limits that a claim sets for it.

    Supported when the 95 % interval lies inside the limits, refuted when it lies wholly outside,
    else inconclusive. The p-value is twice the one-sided one, so that it falls below 0.05 exactly
    when the interval clears the limit that matters: against "the value lies outside" for
    supported (Schuirmann's two one-sided tests), against "it lies inside" for refuted, and the
    smaller of the two for inconclusive.

    Args:
        value, standard_error: the estimate.
        freedom: degrees of freedom of Student's t; infinity uses the normal distribution.
        limits: lowest and highest value that the claim allows; either may be infinite.

    Example:
        >>> decide(1.0, 0.05, math.inf, (0.8, 1.25)).verdict.value
        'supported'
        >>> decide(0.75, 0.05, math.inf, (0.8, math.inf)).verdict.value
        'inconclusive'
        >>> decide(0.3, 0.05, 12, (0.5, math.inf)).verdict.value
        'refuted'
    """
    from scipy import stats

    low, high = limits
    law = stats.norm if math.isinf(freedom) else stats.t(freedom)
    value, standard_error = float(value), float(standard_error)
    below_low, above_high = (value - low) / standard_error, (value - high) / standard_error
    outside = min(1.0, 2 * float(max(law.sf(below_low), law.cdf(above_high))))
    inside = min(1.0, 2 * float(min(law.cdf(below_low), law.sf(above_high))))
    half = float(law.ppf(0.5 + CONFIDENCE / 2)) * standard_error
    name = "normal" if math.isinf(freedom) else f"Student, {freedom:g} degrees of freedom"
    interval = Interval(value - half, value + half, CONFIDENCE, name)
    if outside <= ALPHA:
        return Decision(VerdictKind.SUPPORTED, outside, interval)
    if inside <= ALPHA:
        return Decision(VerdictKind.REFUTED, inside, interval)
    margin = min(abs(value - limit) for limit in limits)
    z = margin / standard_error
    return Decision(VerdictKind.INCONCLUSIVE, min(outside, inside), interval, _more(z, ALPHA / 2))


def _more(z: float, level: float) -> float:
    """Factor on the sample at which a normal statistic, now at ``z``, decides one-sided."""
    from scipy import stats

    if z <= 0:
        return math.inf
    wanted = float(stats.norm.ppf(1 - level) + stats.norm.ppf(POWER))
    return max(1.0, (wanted / z) ** 2)


def more_data(factor: float, n: int, unit: str) -> str:
    """What would decide an inconclusive test, as a sentence.

    Example:
        >>> more_data(2.5, 10, "runs")
        'about 25 runs like these, instead of 10, would decide with probability 0.8 if the estimate
        stays'
        >>> more_data(math.inf, 10, "runs")
        'no number of runs decides while the estimate sits on the limit'
    """
    if not math.isfinite(factor) or factor * n > 1e6:
        return f"no number of {unit} decides while the estimate sits on the limit"
    return (
        f"about {math.ceil(factor * n)} {unit} like these, instead of {n}, would decide with "
        f"probability {POWER} if the estimate stays"
    )


def more_for_p(p_value: float, n: int, unit: str) -> str:
    """The same for a one-sided test that gave ``p_value`` on ``n`` units.

    Example:
        >>> more_for_p(0.2, 10, "pairs")
        'about 88 pairs like these, instead of 10, would decide with probability 0.8 if the estimate
        stays'
    """
    from scipy import stats

    return more_data(_more(float(stats.norm.isf(p_value)), ALPHA), n, unit)


def by_direction(predicted: float, opposite: float) -> tuple[VerdictKind, float]:
    """Verdict and p-value from the two one-sided tests of an ordering.

    Without any order one of the two falls below 5 % in a tenth of all studies, so the p-value is
    twice the smaller one, and the side is that of the smaller.

    Args:
        predicted: one-sided p-value against "no order" in the predicted direction.
        opposite: the same in the opposite direction.

    Example:
        >>> by_direction(0.01, 0.99)[0].value, by_direction(0.03, 0.97)[0].value
        ('supported', 'inconclusive')
        >>> by_direction(0.98, 0.02)
        (<VerdictKind.REFUTED: 'refuted'>, 0.04)
    """
    p_value = min(1.0, 2 * min(predicted, opposite))
    if p_value > ALPHA:
        return VerdictKind.INCONCLUSIVE, p_value
    return (VerdictKind.SUPPORTED if predicted < opposite else VerdictKind.REFUTED), p_value


def power_of(decision: Decision, n: int, unit: str) -> str:
    """The note on power of an interval's decision; empty where it decided."""
    if decision.verdict is not VerdictKind.INCONCLUSIVE:
        return ""
    return more_data(decision.more, n, unit)


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
