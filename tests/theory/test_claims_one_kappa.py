"""One kappa for every configuration, on studies whose kappa is known."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # validation/ is not installed

from nht_theory.claims import one_kappa
from nht_theory.claims.one_kappa import Kappas, judged_scatter
from validation.statistics.later_claims import calibrated, with_delays_of_their_own


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_one_kappa_is_supported_and_found() -> None:
    verdict = one_kappa.test(calibrated(generator(), lambda place: 0.65))
    assert verdict.verdict.value == "supported", verdict.rule
    (said,) = [line for line in verdict.details if "geometric mean" in line]
    assert float(said.split()[2].rstrip(",")) == pytest.approx(0.65, rel=0.05)
    assert (verdict.units, verdict.unit) == (8, "configurations")


def test_a_kappa_of_each_configurations_own_is_refuted_by_the_scatter() -> None:
    """Factors of 0.4 to 2.5 in no order of the weight decay: the slope stays near one."""
    own = (0.4, 2.5, 2.0, 0.5, 0.45, 2.2, 2.4, 0.42)
    verdict = one_kappa.test(calibrated(generator(), lambda place: own[place]))
    assert verdict.verdict.value == "refuted", verdict.rule
    assert verdict.statistic_name.startswith("standard deviation of ln kappa")
    assert verdict.statistic == pytest.approx(float(np.std(np.log(own), ddof=1)), rel=0.1)
    assert verdict.interval is not None
    assert verdict.interval.low < verdict.statistic < verdict.interval.high
    assert "chi-square, 7 degrees of freedom" in verdict.interval.method


@pytest.mark.parametrize("exponent", [0.4, 0.0])
def test_delays_out_of_proportion_are_refuted(exponent: float) -> None:
    verdict = one_kappa.test(calibrated(generator(), lambda place: 0.65, exponent=exponent))
    assert verdict.verdict.value == "refuted", verdict.rule


def test_the_scatter_has_the_chi_square_interval_of_a_variance() -> None:
    """Without scatter between seeds: sqrt((n - 1) s^2 / quantile), quantiles of 9 degrees of
    freedom from a table: 2.700 and 19.023."""
    logs = np.linspace(-0.1, 0.1, 10)
    kappas = Kappas(tuple("abcdefghij"), logs, 0.0, 30, ())
    own = judged_scatter(kappas)
    squares = 9 * float(logs.var(ddof=1))
    assert own.interval.low == pytest.approx(math.sqrt(squares / 19.023), rel=1e-4)
    assert own.interval.high == pytest.approx(math.sqrt(squares / 2.700), rel=1e-3)
    assert own.verdict.value == "supported"
    assert own.p_value <= 0.05


def test_what_configurations_share_seldom_decides_wrongly() -> None:
    """A scatter of ln kappa of 0.15 (one kappa, as the claim counts) and of 0.35 (not one)."""
    wrong = {"refuted": 0, "supported": 0}
    for seed in range(120):
        for shared, verdict in ((0.15, "refuted"), (0.35, "supported")):
            study = calibrated(generator(seed), lambda place: 0.65, shared=shared, configurations=6)
            wrong[verdict] += one_kappa.test(study).verdict.value == verdict
    assert max(wrong.values()) <= 6, wrong


def test_what_it_cannot_be_decided_on() -> None:
    few = one_kappa.test(calibrated(generator(), lambda place: 0.65, configurations=3))
    assert few.verdict.value == "not applicable"
    alone = one_kappa.test(calibrated(generator(), lambda place: 0.65, seeds=1))
    assert alone.verdict.value == "not applicable"


def test_configurations_that_memorise_near_v_star_say_nothing_of_kappa() -> None:
    """The fall of ln V is 0.05 in two of eight, V_star scatters by 0.05: their "kappa" is noise."""
    own = generator()
    study = calibrated(own, lambda place: 0.65, star_scatter=0.05, small_falls=2)
    verdict = one_kappa.test(study)
    assert verdict.units == 6
    assert verdict.verdict.value == "inconclusive"  # two of eight configurations do not count
    assert sum("hardly above" in line for line in verdict.details) == 2


def test_near_v_star_the_law_is_not_refuted() -> None:
    said = [
        one_kappa.test(
            calibrated(generator(seed), lambda place: 0.65, star_scatter=0.05, small_falls=3)
        ).verdict.value
        for seed in range(60)
    ]
    assert said.count("refuted") <= 3


@pytest.mark.parametrize("exponent", [0.7, 1.4])
def test_v_at_the_switch_does_not_make_the_formula_true(exponent: float) -> None:
    """With V_star = V(T) the formula gives T back, whatever set T."""
    said = [
        one_kappa.test(with_delays_of_their_own(generator(seed), exponent)).verdict.value
        for seed in range(40)
    ]
    assert said.count("supported") <= 2
