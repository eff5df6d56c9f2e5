"""The claim on delays under a held norm, on studies whose exponent is known."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # validation/ is not installed

from nht_theory.claims import clamped_norm
from validation.statistics.later_claims import (
    RATIOS,
    constant,
    estimated,
    falling,
    held_norms,
    recorded,
)


def exponential(alpha: float) -> Callable[[float], float]:
    return lambda ratio: 1500 * math.exp(alpha * (ratio - 1.1))


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_reported_exponent_is_supported_and_measured() -> None:
    verdict = clamped_norm.test(held_norms(generator(), exponential(7.5)))
    assert verdict.verdict.value == "supported", verdict.rule
    assert verdict.statistic == pytest.approx(7.5, abs=0.4)
    assert (verdict.units, verdict.unit) == (12, "configurations")
    assert "7.5 inside" in verdict.rule


def test_censored_delays_leave_the_exponent_where_it_is() -> None:
    verdict = clamped_norm.test(held_norms(generator(), exponential(7.5), budget=20_000.0))
    assert verdict.n_censored > 3
    assert verdict.statistic == pytest.approx(7.5, abs=0.5)


@pytest.mark.parametrize("alpha", [0.0, 3.0, 12.0, -4.0])
def test_another_exponent_is_refuted(alpha: float) -> None:
    verdict = clamped_norm.test(held_norms(generator(), exponential(alpha)))
    assert verdict.verdict.value == "refuted", verdict.rule
    assert verdict.statistic == pytest.approx(alpha, abs=0.5)


def test_a_power_law_of_the_same_mean_growth_is_not_supported() -> None:
    """ln T rises by 7.5 over a rise of one in rho, but as a logarithm does."""
    ratios = (0.6, 0.8, 1.0, 1.4, 1.8, 2.2)
    power = 7.5 * 1.6 / math.log(2.2 / 0.6)
    study = held_norms(
        generator(), lambda ratio: 2000 * ratio**power, ratios=ratios, scatter=0.05, budget=1e6
    )
    verdict = clamped_norm.test(study)
    assert verdict.verdict.value in ("inconclusive", "refuted"), verdict.rule
    assert "power law" in verdict.rule


@pytest.mark.parametrize(("alpha", "wrong"), [(7.5, "refuted"), (10.5, "supported")])
def test_noise_that_configurations_share_seldom_decides_wrongly(alpha: float, wrong: str) -> None:
    said = [
        clamped_norm.test(
            held_norms(generator(seed), exponential(alpha), shared=0.3, moduli=(97,))
        ).verdict.value
        for seed in range(120)
    ]
    assert said.count(wrong) <= 6


def test_a_stated_clamp_that_the_norm_does_not_obey_is_none() -> None:
    verdict = clamped_norm.test(held_norms(generator(), exponential(7.5), wobble=0.1))
    assert verdict.verdict.value == "not applicable"
    assert "its norm is not held" in verdict.rule


def test_without_free_runs_the_ratio_is_known_only_where_it_is_stated() -> None:
    verdict = clamped_norm.test(held_norms(generator(), exponential(7.5), free=False))
    assert verdict.verdict.value == "not applicable"
    assert "no free run of the same settings generalises" in verdict.rule
    stated = [
        recorded(
            f"{ratio} {seed}",
            delay=exponential(7.5)(ratio) * (1 + 0.05 * seed),
            log_norm=constant(math.log(3.0 * ratio**2)),
            seed=seed,
            norm_cap={"rho": ratio},
        )
        for ratio in RATIOS
        for seed in range(3)
    ]
    assert clamped_norm.test(estimated(stated)).statistic == pytest.approx(7.5, abs=0.1)


def test_rho_without_a_clamp_is_the_strength_of_a_shortcut() -> None:
    runs = [
        recorded(str(rho), delay=900.0, log_norm=constant(5.0), rho=rho) for rho in (0.5, 0.8, 0.95)
    ]
    assert clamped_norm.test(estimated(runs)).verdict.value == "not applicable"


def test_a_ceiling_that_no_norm_reaches_is_a_free_run() -> None:
    """The settings of validation/studies/norm_clamp.toml."""
    clamp = {"squared_norm": 1e9, "mode": "ceiling", "from_step": 800}
    norm = falling(math.log(1000.0) + 1.6, 2e-4)  # 1000 after 8,000 steps of the delay
    control = recorded("control", delay=8000.0, log_norm=norm, norm_clamp=clamp)
    held = recorded(
        "held",
        delay=900.0,
        log_norm=lambda steps: np.where(steps <= 800, 9.0, math.log(1210.0)),
        norm_clamp={**clamp, "squared_norm": 1210.0, "mode": "hold"},
    )
    (row,), left_out = clamped_norm.held_runs(estimated([control, held]))
    assert not left_out
    assert row.ratio == pytest.approx(1.1, rel=0.01)
    assert (row.low, row.high) == (450.0, 500.0)  # from step 800 on, not from memorisation at 400
