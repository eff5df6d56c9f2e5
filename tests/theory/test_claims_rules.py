"""The rules by which verdicts are given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from nht_theory.claims import ordering
from nht_theory.claims.delays import Delays
from nht_theory.claims.judging import family_wise
from nht_theory.claims.law import _ratio_term
from nht_theory.claims.ordering import OrderedOutcome
from nht_theory.claims.rules import decide, more_data
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import VerdictKind
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes

SUPPORTED, REFUTED, INCONCLUSIVE = (
    VerdictKind.SUPPORTED,
    VerdictKind.REFUTED,
    VerdictKind.INCONCLUSIVE,
)


def test_holm_overrules_a_single_small_p_value() -> None:
    own = ordering.test_order(
        "x",
        [OrderedOutcome("a", float(level), float(level)) for level in range(5)],
        falls=False,
        statistic_name="share",
    )
    assert own.verdict is SUPPORTED
    assert own.p_value == pytest.approx(2 / 120)
    family = family_wise(
        [own, *(Verdict(f"y{i}", INCONCLUSIVE, 0.0, "", None, 0.5, 9, 0, "") for i in range(3))]
    )
    assert family[0].verdict is INCONCLUSIVE
    assert family[0].holm_p_value == pytest.approx(8 / 120)
    assert "Holm" in family[0].rule


def test_an_interval_decides_as_often_as_it_should() -> None:
    """On the limit the claim is refuted in one study of forty, and never more."""
    generator = np.random.default_rng(1)
    kinds = [
        decide(generator.normal(0.8, 0.05), 0.05, math.inf, (0.8, 1.25)).verdict
        for _ in range(2000)
    ]
    assert kinds.count(REFUTED) / 2000 == pytest.approx(0.025, abs=0.012)
    assert kinds.count(SUPPORTED) / 2000 == pytest.approx(0.025, abs=0.012)


def test_the_note_on_power_is_the_normal_sample_size() -> None:
    own = decide(0.9, 0.1, math.inf, (0.8, math.inf))
    needed = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2
    assert own.more == pytest.approx(needed)
    assert "about 79 runs" in more_data(own.more, 10, "runs")


def test_a_fit_without_the_ratio_that_has_no_maximum_is_a_remark_not_an_error() -> None:
    """Found by the optimisers' study: every delay fits into its evaluation interval."""
    rate = np.array([0.0, 0.0, 0.0, 0.1, 0.1, 0.1])
    rows = Delays(
        runs=(None,) * 6,  # type: ignore[arg-type]
        times=CensoredTimes.of([100.0] * 6, [200.0] * 6),
        log_inverse_rate=rate,
        log_log_ratio=rate,
        configurations=tuple("abcdef"),
        squared_norm_start=np.ones(6),
        squared_norm_star=np.ones(6),
        outside=(),
        left_out=(),
    )
    exact = np.array([100.0, 130.0, 90.0, 120.0, 150.0, 110.0])
    fit = fit_censored_regression(
        CensoredTimes.of(exact, exact), np.column_stack([np.ones(6), rate]), ("constant", "rate")
    )
    assert _ratio_term(rows, fit).startswith("none: censored log-normal regression: no maximum")
