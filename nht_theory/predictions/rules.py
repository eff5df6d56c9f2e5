"""The limits that verdicts are decided by, and how an interval decides against them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nht_theory.conventions import CONFIDENCE, VerdictKind
from nht_theory.estimators.results import Interval

ALPHA = 1 - CONFIDENCE
"""Level of every test, before and after the Holm correction."""
EQUIVALENCE = (0.8, 1.25)
"""A slope or a factor within a quarter of its predicted value counts as equal to it."""
NECESSITY_TOLERANCE = 0.05
"""Share of counter-examples that a claim of necessity may show before it counts as refuted."""
PAPER_EFFICIENCY = 0.5
"""gamma >= eta lambda (arXiv 2603.07323, the law for AdamW) is c >= 1/2."""
CLEAN_SEPARATION = 0.8
"""Lower limit of S above which a separation may be called clean."""
CLEAN_SHARPNESS = 0.5
"""W below which the switch may be called sharp."""


@dataclass(frozen=True)
class Decision:
    """A verdict, the p-value that belongs to it, and the interval that decided."""

    verdict: VerdictKind
    p_value: float
    interval: Interval


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
    return Decision(VerdictKind.INCONCLUSIVE, min(outside, inside), interval)


def by_direction(predicted: float, opposite: float) -> tuple[VerdictKind, float]:
    """Verdict and p-value from two one-sided tests of an ordering.

    Args:
        predicted: p-value against "no order" in the predicted direction.
        opposite: the same in the opposite direction.

    Example:
        >>> by_direction(0.01, 0.99)[0].value, by_direction(0.3, 0.7)[0].value
        ('supported', 'inconclusive')
    """
    if predicted <= ALPHA:
        return VerdictKind.SUPPORTED, predicted
    if opposite <= ALPHA:
        return VerdictKind.REFUTED, opposite
    return VerdictKind.INCONCLUSIVE, min(predicted, opposite)
