"""The estimators on models with a closed form (THEORY.md section 7): they must find it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims.validate import validate
from nht_theory.conventions import DecayForm, VerdictKind
from nht_theory.estimators.contraction import Window, contraction_rate
from nht_theory.estimators.efficiency import efficiency
from nht_theory.estimators.floored_decay import decay_to_floor
from nht_theory.estimators.results import Estimate, Missing, Unavailable
from nht_theory.estimators.summary import estimate_run
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study
from tests.solvable.logistic_bias import LogisticBias
from tests.solvable.pure_noise import PureNoise
from tests.solvable.ridge import NullSpaceRidge
from tests.solvable.two_weights import TwoWeights

WHOLE = Window(0, 10**9, "whole run")


def test_null_space_ridge_decays_at_efficiency_one_and_switches_on_time() -> None:
    generator = np.random.default_rng(0)
    model = NullSpaceRidge(generator.normal(size=(50, 150)), generator.normal(size=150), 1e-2, 0.5)
    error = 1e-2
    theta, curvature, grid = model.initial.copy(), model.features.T @ model.features / 50, 10
    norms = []
    for _ in range(1200):
        norms.append(float(theta @ theta))
        theta = (1 - 1e-2 * 0.5) * theta - 1e-2 * curvature @ theta
    squared_norm = np.array(norms)[::grid]
    run = Run(
        "ridge",
        Path("ridge"),
        np.arange(0, 1200, grid),
        {
            "squared_norm": squared_norm,
            "heldout_accuracy": (squared_norm / 150 <= error).astype(float),
            "train_accuracy": np.ones(squared_norm.size),
        },
        Hyperparameters(
            optimizer="sgd",
            learning_rate=1e-2,
            weight_decay=0.5,
            decay_form=DecayForm.DECOUPLED,
        ),
    )
    own = estimate_run(run)
    assert own.generalization is not None
    assert own.generalization.step is not None
    truth = model.simulate(heldout_error=error, most=2000)
    assert truth is not None
    assert own.generalization.earlier_step < truth <= own.generalization.step
    late = Window(300, 1200, "after the data directions have died")
    c = efficiency(run, late, contraction_rate(run, late))
    assert isinstance(c, Estimate)
    assert c.value == pytest.approx(1.0, rel=5e-3)


def test_on_the_two_weight_manifold_the_floor_tells_that_v_is_the_wrong_coordinate() -> None:
    model = TwoWeights(2.0, 0.0, learning_rate=1e-2, weight_decay=0.1)
    rate = -2 * math.log(1 - 2e-3)
    steps = np.arange(0, 3001, 100)
    squared_norm = model.smallest_squared_norm + model.excess * np.exp(-rate * steps)
    fit = decay_to_floor(steps.astype(float), np.log(squared_norm))
    assert not isinstance(fit, Missing)
    assert fit.rate == pytest.approx(rate, rel=1e-6)
    assert fit.floor == pytest.approx(model.smallest_squared_norm, rel=1e-6)
    run = Run(
        "manifold",
        Path("manifold"),
        steps,
        {"squared_norm": squared_norm},
        Hyperparameters(
            optimizer="sgd",
            learning_rate=1e-2,
            weight_decay=0.1,
            decay_form=DecayForm.L2_PENALTY,
        ),
    )
    c = efficiency(run, WHOLE, contraction_rate(run, WHOLE))
    assert isinstance(c, Estimate)
    assert "floor" in c.method
    assert c.value == pytest.approx(1.0, rel=5e-3)


def test_adamw_on_pure_noise_relaxes_to_its_floor_at_the_pure_decay_rate() -> None:
    model = PureNoise(parameter_count=400, learning_rate=5e-3, weight_decay=1.0, initial=0.3)
    norms = model.simulate(1500)
    steps = np.arange(200, 1501, 20)  # once the second moment has warmed up
    fit = decay_to_floor(steps.astype(float), np.log(norms[steps]))
    assert not isinstance(fit, Missing)
    assert fit.rate == pytest.approx(-2 * math.log(1 - 5e-3), rel=0.15)
    assert fit.floor == pytest.approx(model.floor(), rel=0.2)


def test_generalisation_with_a_growing_norm_is_never_given_a_rate() -> None:
    """The negative control: refuted or not applicable, never a number."""
    memorised, generalised, squared_norm = LogisticBias().transition(most=20_000)
    steps = np.unique(np.linspace(0, 20_000, 201).astype(int))
    run = Run(
        "bias",
        Path("bias"),
        steps,
        {
            "squared_norm": squared_norm[steps],
            "train_accuracy": (steps >= memorised).astype(float),
            "heldout_accuracy": (steps >= generalised).astype(float),
        },
        Hyperparameters(optimizer="sgd", learning_rate=0.05, weight_decay=0.0, seed=0),
    )
    own = estimate_run(run)
    assert isinstance(own.contraction_rate, Missing)
    assert own.contraction_rate.reason is Unavailable.GROWING
    assert isinstance(own.efficiency, Missing)
    verdicts = {
        verdict.claim: verdict
        for verdict in validate(Study(Path("bias"), (run,), (run,)), stability=False).verdicts
    }
    for name in ("law", "law_everywhere", "rival_laws", "P6", "prefactor"):
        assert verdicts[name].verdict is VerdictKind.NOT_APPLICABLE
        assert verdicts[name].statistic is None
    assert verdicts["necessity"].verdict is not VerdictKind.SUPPORTED
    assert any("counter-example: bias" in line for line in verdicts["necessity"].details)
