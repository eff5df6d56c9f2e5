"""Runs that stay below V_star: shown by one that is sure, never by scatter."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # validation/ is not installed

from nht_theory.claims import crossing_not_sufficient as claim
from validation.statistics.later_claims import below_star


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_run_far_below_for_long_supports_it() -> None:
    verdict = claim.test(below_star(generator(), [0.5]))
    assert verdict.verdict.value == "supported", verdict.rule
    assert verdict.statistic == pytest.approx(0.5, rel=0.1)
    assert "stays below" in verdict.details[0]
    assert (verdict.units, verdict.unit) == (3, "configurations")


def test_the_p_value_is_that_of_one_more_draw() -> None:
    """Student's t of a new draw from the normal of the others' ln V_star, by hand."""
    study = below_star(generator(), [0.5], configurations=1, scatter=0.1)
    logs, low = [], None
    for run, own in study.pairs():
        if own.censored:
            low = float(np.log(run.squared_norm[-1]))
        else:
            logs.append(float(np.log(own.squared_norm_generalization.value)))
    (stay,) = [own for own in claim.stays_of(study) if own.pair[1].censored]
    n = len(logs)
    t = (low - np.mean(logs)) / (np.std(logs, ddof=1) * np.sqrt(1 + 1 / n))
    assert stay.highest == pytest.approx(np.exp(low))
    # The grid adds a little to the scatter of the others.
    assert stay.p_value == pytest.approx(stats.t.cdf(t, n - 1), rel=0.2)
    assert stay.p_value > stats.t.cdf(t, n - 1)


def test_a_run_that_generalises_in_the_end_counts_as_well() -> None:
    verdict = claim.test(below_star(generator(), [0.5], switches=True))
    assert verdict.verdict.value == "supported", verdict.rule


def test_a_run_not_watched_for_twice_the_delay_says_nothing() -> None:
    """After a delay and a half of waiting it stood below V_star for half a delay."""
    verdict = claim.test(below_star(generator(), [0.5], longer=1.5))
    assert verdict.verdict.value == "not applicable"


def test_a_run_that_stays_above_says_nothing_for_it() -> None:
    verdict = claim.test(below_star(generator(), [1.5]))
    assert verdict.verdict.value == "inconclusive"


def test_many_configurations_without_one_refute_it() -> None:
    verdict = claim.test(below_star(generator(), [], configurations=75, seeds=4))
    assert verdict.verdict.value == "refuted", verdict.rule
    assert verdict.statistic == 0.0
    fewer = claim.test(below_star(generator(), [], configurations=70, seeds=4))
    assert fewer.verdict.value == "not applicable"  # 0.95^70 = 0.028, half of the level is 0.025


def test_scatter_of_v_star_seldom_counts_as_staying_below() -> None:
    """Further runs that rest at a V_star of their own, drawn as the others' are."""
    said = []
    for seed in range(120):
        own = generator(seed)
        lows = list(np.exp(0.1 * own.normal(size=2)))
        said.append(claim.test(below_star(own, lows, seeds=5, scatter=0.1)).verdict.value)
    assert said.count("supported") + said.count("refuted") <= 6


def test_few_others_do_not_tell_the_scatter() -> None:
    verdict = claim.test(below_star(generator(), [0.3], seeds=2))
    assert verdict.verdict.value == "not applicable"
