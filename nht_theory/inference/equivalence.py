"""Equivalence: evidence that an effect lies inside a stated range, not merely "no difference"."""

from __future__ import annotations

import math

from scipy import stats

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import DomainError
from nht_theory.inference.results import Alternative, HypothesisTest, Interval


def equivalence_test(
    estimate: float,
    standard_error: float,
    low: float,
    high: float,
    *,
    n: int,
    degrees_of_freedom: float | None = None,
    coverage: float = CONFIDENCE,
) -> HypothesisTest:
    """Two one-sided tests (TOST) that the true value lies inside (low, high).

    The null hypothesis is that it lies outside; a small p-value shows equivalence. At level
    alpha = 1 - ``coverage`` the test rejects exactly when the interval returned, whose coverage
    is 1 - 2 alpha, lies inside (low, high).

    Args:
        estimate, standard_error: of the quantity, in one unit.
        low, high: the equivalence margins, fixed before looking at the data.
        n: independent observations behind the estimate.
        degrees_of_freedom: of Student's t; None uses the normal distribution.

    Raises:
        DomainError: low >= high, or the standard error is negative or not finite.

    References:
        Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.

    Example:
        >>> test = equivalence_test(1.02, 0.05, 0.8, 1.25, n=40)
        >>> test.p_value < 0.001, 0.8 < test.interval.low < test.interval.high < 1.25
        (True, True)
    """
    if not low < high:
        raise DomainError(f"margins {low:g} and {high:g} are not in order", source="low, high")
    if not (math.isfinite(estimate) and math.isfinite(standard_error) and standard_error >= 0):
        raise DomainError(
            f"estimate {estimate:g} with standard error {standard_error:g}", source="standard_error"
        )
    law = stats.norm if degrees_of_freedom is None else stats.t(degrees_of_freedom)
    if standard_error == 0:
        p_value = 0.0 if low < estimate < high else 1.0
    else:
        above_low = law.sf((estimate - low) / standard_error)
        below_high = law.cdf((estimate - high) / standard_error)
        p_value = float(max(above_low, below_high))
    half = float(law.ppf(coverage)) * standard_error
    return HypothesisTest(
        statistic=estimate,
        statistic_name="estimate",
        p_value=p_value,
        n=n,
        alternative=Alternative.TWO_SIDED,
        method=f"two one-sided tests of equivalence within ({low:g}, {high:g})",
        interval=Interval(estimate - half, estimate + half, 2 * coverage - 1, "Wald, TOST"),
        references=("schuirmann1987",),
    )
