"""Logit scale or norm: studies in which it is known which of the two sets the delay."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # validation/ is not installed

from nht_theory.claims import logit_scale
from validation.statistics.later_claims import estimated, moved_logits


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def by_scale(norm: float, scale: float) -> float:
    return 2.5 * scale


def by_norm(norm: float, scale: float) -> float:
    return 2.5 * norm


def by_neither(norm: float, scale: float) -> float:
    return 0.0


def test_the_logit_scale_under_cross_entropy_is_supported() -> None:
    verdict = logit_scale.test(estimated(moved_logits(generator(), by_scale)))
    assert verdict.verdict.value == "supported", verdict.rule
    assert "nothing is said about squared error" in verdict.rule
    assert verdict.statistic_name.startswith("under cross-entropy: effect of the logit scale")
    assert (verdict.units, verdict.unit) == (9, "configurations")


def test_the_effect_is_that_of_a_standard_deviation() -> None:
    """With little scatter, slope 2.5 times the standard deviation of ln(logit scale)."""
    study = estimated(moved_logits(generator(), by_scale, scatter=0.02, scale_scatter=1e-4))
    rows = logit_scale.rows_of(study, logit_scale.CROSS_ENTROPY)
    assert rows is not None
    own = logit_scale.exceeds(rows.without("norm"), "logit scale", "norm")
    assert own.value == pytest.approx(2.5 * rows.spread("logit scale"), rel=0.05)
    both = logit_scale.exceeds(rows, "logit scale", "norm", 4.0, sign=1)
    assert both.value == pytest.approx(2.5 * rows.spread("logit scale"), rel=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_the_norm_under_cross_entropy_is_refuted(seed: int) -> None:
    study = estimated(moved_logits(generator(seed), by_norm, configurations=12))
    verdict = logit_scale.test(study)
    assert verdict.verdict.value == "refuted", verdict.rule


def test_the_norm_under_squared_error_is_supported_and_the_scale_refuted() -> None:
    for mechanism, expected in ((by_norm, "supported"), (by_scale, "refuted")):
        runs = moved_logits(generator(), mechanism, loss="mse_loss", configurations=12)
        verdict = logit_scale.test(estimated(runs))
        assert verdict.verdict.value == expected, verdict.rule
        assert "nothing is said about cross-entropy" in verdict.rule


def test_a_logit_scale_that_the_loss_holds_fast_explains_nothing() -> None:
    runs = moved_logits(generator(), by_norm, loss="mse", configurations=12)
    held = [
        type(run)(**{**vars(run), "values": {**run.values, "logit_scale": 0 * run.steps + 0.1}})
        for run in runs
    ]
    verdict = logit_scale.test(estimated(held))
    assert verdict.verdict.value == "supported", verdict.rule


def test_both_halves_must_hold() -> None:
    entropy = moved_logits(generator(0), by_scale, configurations=12)
    right = moved_logits(generator(1), by_norm, loss="mse", configurations=12)
    wrong = moved_logits(generator(2), by_scale, loss="mse", configurations=12)
    assert logit_scale.test(estimated([*entropy, *right])).verdict.value == "supported"
    both = logit_scale.test(estimated([*entropy, *wrong]))
    assert both.verdict.value == "refuted"
    assert both.statistic_name.startswith("under squared error")
    assert both.units == 24


def test_scale_and_norm_that_move_together_are_not_told_apart() -> None:
    """As weight decay alone or a clamp alone moves them; in 40 studies of either mechanism."""
    for mechanism in (by_scale, by_norm):
        for seed in range(40):
            runs = moved_logits(generator(seed), mechanism, apart=0.0, scale_scatter=0.01)
            verdict = logit_scale.test(estimated(runs)).verdict.value
            assert verdict in ("inconclusive", "not applicable")


def test_a_clock_of_the_weight_decay_is_no_logit_scale() -> None:
    """T goes as 1/lambda over a factor of thirty and nothing else moves it."""
    said = [
        logit_scale.test(
            estimated(
                moved_logits(
                    generator(seed), by_neither, configurations=10, decays=(0.05, 0.3, 1.5)
                )
            )
        ).verdict.value
        for seed in range(40)
    ]
    assert set(said) <= {"inconclusive", "not applicable"}


@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
def test_noise_seldom_decides(loss: str) -> None:
    said = [
        logit_scale.test(
            estimated(
                moved_logits(generator(seed), by_neither, loss=loss, shared=0.3, configurations=8)
            )
        ).verdict.value
        for seed in range(120)
    ]
    assert said.count("supported") + said.count("refuted") <= 6


@pytest.mark.parametrize(
    ("stated", "loss"),
    [
        ("cross_entropy", logit_scale.CROSS_ENTROPY),
        ("torch.nn.CrossEntropyLoss", logit_scale.CROSS_ENTROPY),
        ("MSE", logit_scale.SQUARED_ERROR),
        ("hinge", None),
        (0.31, None),  # a result, not a setting
    ],
)
def test_the_loss_by_its_names(stated: object, loss: str | None) -> None:
    (run,) = moved_logits(generator(), by_scale, configurations=1, seeds=1, loss=stated)  # type: ignore[arg-type]
    assert logit_scale.loss_of(run) == loss


def test_an_unknown_loss_is_not_judged() -> None:
    verdict = logit_scale.test(estimated(moved_logits(generator(), by_scale, loss="hinge")))
    assert verdict.verdict.value == "not applicable"


def test_a_logit_scale_that_only_seeds_move_is_not_judged() -> None:
    runs = moved_logits(generator(), by_norm, scale_scatter=1.0)
    verdict = logit_scale.test(estimated(runs))
    assert verdict.verdict.value == "not applicable"
    assert "reliability" in verdict.rule


def test_reliability_is_the_intraclass_share() -> None:
    """Means over four of two normals with variances one and a quarter: 1/(1 + 1/16)."""
    own = generator()
    values = np.repeat(own.normal(size=400), 4) + 0.5 * own.normal(size=1600)
    labels = tuple(np.repeat(np.arange(400), 4).astype(str).tolist())
    assert logit_scale.reliability(values, labels) == pytest.approx(16 / 17, abs=0.015)
    shared = np.repeat(own.normal(size=400), 4)
    with_shared = logit_scale.reliability(values + 3 * shared, labels, [shared])
    assert with_shared == pytest.approx(16 / 17, abs=0.015)
    assert math.isnan(logit_scale.reliability(np.arange(2.0), ("a", "b")))
