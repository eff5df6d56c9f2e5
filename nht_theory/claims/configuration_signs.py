"""Sign test over configurations: the seeds of one share its settings and are no further units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.claims.rules import by_direction
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import Estimate
from nht_theory.inference.binomial import median_estimate, sign_test
from nht_theory.inference.results import Alternative


@dataclass(frozen=True)
class SignedConfigurations:
    """The median of each configuration, and the exact sign test over them.

    Attributes:
        medians: configuration -> median over its runs (or pairs of runs).
        verdict: supported where medians are positive beyond chance, refuted where negative.
        p_value: two-sided.
        estimate: median over configurations, with its interval of order statistics.
    """

    medians: Mapping[str, float]
    verdict: VerdictKind
    p_value: float
    estimate: Estimate

    @property
    def positive(self) -> int:
        """Configurations whose median is positive."""
        return sum(median > 0 for median in self.medians.values())

    @property
    def negative(self) -> int:
        """Configurations whose median is negative."""
        return sum(median < 0 for median in self.medians.values())

    @property
    def n(self) -> int:
        """Number of configurations."""
        return len(self.medians)


def signed_configurations(
    values: Mapping[str, Sequence[float]], *, unit: str
) -> SignedConfigurations:
    """Judge whether a quantity is positive in more configurations than chance gives.

    A configuration counts by the median of its runs; a median of zero is a tie and is left out of
    the test.

    Args:
        values: configuration -> the quantity in each of its runs, at least one.
        unit: of the quantity.

    Example:
        >>> found = signed_configurations({name: [1.0, 2.0, -1.0] for name in "abcdef"}, unit="1")
        >>> found.verdict.value, found.p_value, found.n
        ('supported', 0.03125, 6)
    """
    medians = {name: float(np.median(own)) for name, own in values.items()}
    signs = list(medians.values())
    positive = sign_test(signs, alternative=Alternative.GREATER)
    negative = sign_test(signs, alternative=Alternative.LESS)
    verdict, p_value = by_direction(positive.p_value, negative.p_value)
    return SignedConfigurations(medians, verdict, p_value, median_estimate(signs, unit=unit))
