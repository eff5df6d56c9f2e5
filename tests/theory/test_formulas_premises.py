"""Assumptions, definition 4.1 and the later results: the figures they quote, and their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nht_theory.cli import COMMANDS, main
from nht_theory.errors import DomainError
from nht_theory.formulas import emergence, identity, invariance, later_results, premises, times


def test_smoothness_is_at_least_what_any_two_points_need() -> None:
    """A quadratic loss of known curvatures: no pair needs more than the largest."""
    generator = np.random.default_rng(0)
    curvatures = np.array([0.1, 1.0, 7.0])
    needed = []
    for _ in range(500):
        step = generator.normal(size=3)
        needed.append(
            premises.a1_smoothness.value(
                gradient_change=float(np.linalg.norm(curvatures * step)),
                distance=float(np.linalg.norm(step)),
            )
        )
    assert 6.5 < max(needed) <= 7.0 + 1e-12


def test_zero_gradient_is_efficiency_one_and_the_companion_is_below() -> None:
    """c of a2_zero_gradient against the one-step identity itself at a small learning rate."""
    eta, lam, norm, alignment = 1e-5, 1.0, 3900.0, -0.30 * 3900.0
    contraction = identity.one_step_contraction.value(
        learning_rate=eta,
        weight_decay=lam,
        squared_norm=norm,
        update_alignment=alignment,
        update_squared_norm=0.0,
    )
    made = premises.a2_zero_gradient.value(
        weight_decay=lam, update_alignment=alignment, squared_norm=norm
    )
    assert made == pytest.approx(0.70)
    assert contraction / (2 * eta * lam) == pytest.approx(made, rel=1e-4)


def test_the_papers_weakest_decay_allows_a_curvature_of_one() -> None:
    assert premises.a3_step_size.value(learning_rate=1e-3, weight_decay=1e-3) == 1.0
    assert premises.a3_step_size.value(learning_rate=1e-3, weight_decay=2.0) == 2 / 1e-3


def test_no_hierarchy_is_an_error_and_the_lead_may_be_negative() -> None:
    with pytest.raises(DomainError, match="no norm hierarchy"):
        premises.a4_norm_hierarchy(squared_norm_shortcut=1.0, squared_norm_structured=2.0)
    assert premises.a5_shortcut_first.value(steps_shortcut=900.0, steps_structured=700.0) == -200.0


def test_the_width_of_the_switch_is_its_share_of_the_escape_in_steps() -> None:
    """Counted on a trajectory; a clock (the step itself) gives the same share."""
    rate = 1e-3
    norms = 3900.0 * np.exp(-rate * np.arange(3000))
    begins, ends, there = (np.flatnonzero(norms <= v)[0] for v in (1400.0, 1150.0, 1000.0))
    made = premises.clean_norm_separation.value(**premises.clean_norm_separation.example)
    assert made == pytest.approx((ends - begins) / there, abs=2e-3)


def test_batchnorm_s_text_and_formula_contradict_each_other() -> None:
    """Channel 1 has four times the variance: the formula slows it, the text speeds it up."""
    variances = {"variance_1": 2.0, "variance_2": 0.5}
    by_formula = invariance.batchnorm_amplification.value(**variances)
    assert by_formula == 0.25
    exponent = {
        claim: invariance.variance_exponent.value(rate_1=ratio, rate_2=1.0, **variances)
        for claim, ratio in (("formula", by_formula), ("text", 1 / by_formula), ("decay", 1.0))
    }
    assert exponent == pytest.approx({"formula": 1.0, "text": -1.0, "decay": 0.0})
    for name in ("batchnorm_amplification", "variance_exponent"):
        assert "text" in getattr(invariance, name).statement


def test_stronger_decay_raises_the_critical_size_where_the_ratio_grows_faster() -> None:
    """The critical size by bisection on the margin, at two weight decays."""
    eta, steps, exponent = 1e-3, 2000, 0.8

    def log_critical(lam: float, sensitivity: float) -> float:
        low, high = -50.0, 50.0
        for _ in range(200):
            middle = (low + high) / 2
            margin = (
                math.log(1e4)
                + sensitivity * lam
                - exponent * middle
                + 2 * steps * math.log1p(-eta * lam)
            )
            low, high = (middle, high) if margin > 0 else (low, middle)
        return low

    for sensitivity in (0.0, 0.4, 6.0):
        slope = (log_critical(1.0001, sensitivity) - log_critical(0.9999, sensitivity)) / 2e-4
        made = emergence.critical_size_slope.value(
            learning_rate=eta,
            weight_decay=1.0,
            ratio_exponent=exponent,
            total_steps=float(steps),
            ratio_sensitivity=sensitivity,
        )
        assert made == pytest.approx(slope, rel=1e-5)
        assert (made < 0) == (sensitivity < 4.0)


def test_kappa_delay_is_the_exact_time_to_first_order() -> None:
    arguments = {"learning_rate": 1e-5, "weight_decay": 1.0}
    made = later_results.kappa_delay.value(
        **arguments, efficiency=1.0, squared_norm_memorised=3900.0, squared_norm_critical=1150.0
    )
    exact = times.exact_hitting_time.value(
        **arguments, squared_norm_shortcut=3900.0, squared_norm_structured=1150.0
    )
    assert made == pytest.approx(exact, rel=1e-4)
    with pytest.raises(DomainError, match="memorises below"):
        later_results.kappa_delay(
            **arguments, efficiency=1.0, squared_norm_memorised=1.0, squared_norm_critical=2.0
        )


def test_a_held_norm_gives_back_its_exponent() -> None:
    """ln T over rho from two held norms, and the paper's factor of 19."""
    short, long = (
        later_results.clamped_norm_delay.value(
            reference_delay=2000.0,
            norm_sensitivity=7.5,
            radius_ratio=rho,
            reference_radius_ratio=1.0,
        )
        for rho in (1.0, 1.0 + math.log(19) / 7.5)
    )
    assert long / short == pytest.approx(19)
    assert short == 2000.0


def test_the_logits_of_a_homogeneous_network_scale_with_its_norm() -> None:
    """Three matrices, ReLU, no biases: degree 3; a temperature N^3 undoes it."""
    generator = np.random.default_rng(4)
    inputs = generator.normal(size=(50, 8))
    weights = [generator.normal(size=shape) for shape in ((8, 16), (16, 16), (16, 5))]
    norm = math.sqrt(sum(float((w**2).sum()) for w in weights))

    def logit_scale(factor: float) -> float:
        values = inputs
        for place, weight in enumerate(weights):
            values = values @ (factor * weight)
            values = np.maximum(values, 0.0) if place < 2 else values
        centred = values - values.mean(axis=1, keepdims=True)
        return math.sqrt(float((centred**2).mean()))

    unit = logit_scale(1 / norm)
    for radius in (0.5, 2.0, 9.0):
        arguments = {"unit_logit_scale": unit, "squared_norm": radius**2, "degree": 3.0}
        made = later_results.logit_scale_homogeneity.value(**arguments, temperature=1.0)
        assert made == pytest.approx(logit_scale(radius / norm), rel=1e-12)
        undone = later_results.logit_scale_homogeneity.value(**arguments, temperature=radius**3)
        assert undone == pytest.approx(unit, rel=1e-12)


def test_the_example_in_the_help_of_derive_works(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(COMMANDS["derive"].example.split())
    assert stopped.value.code == 0
    assert "1 of 1 statements verified" in capsys.readouterr().out
