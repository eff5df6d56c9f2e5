"""The pure-decay rate of SGD with momentum, against the recursion of PyTorch's SGD itself."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from nht_theory.conventions import DecayForm
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.results import Missing
from nht_theory.runs.run import Hyperparameters, Run

WHOLE = Window(0, 100, "whole run")


def _rate_of_late_steps(
    decay_per_step: float, momentum: float, dampening: float = 0.0, *, nesterov: bool = False
) -> float:
    """-ln of the ratio of V at two late steps of the recursion as PyTorch documents it."""
    theta, buffer, before = 1.0, 0.0, 1.0
    for step in range(600):
        gradient = decay_per_step * theta
        buffer = gradient if step == 0 else momentum * buffer + (1 - dampening) * gradient
        before, theta = theta, theta - (gradient + momentum * buffer if nesterov else buffer)
    return -2 * math.log(theta / before)


def _pure(form: DecayForm = DecayForm.COUPLED, **extra: object) -> float | Missing:
    settings = Hyperparameters(
        optimizer="sgd",
        learning_rate=0.1,
        weight_decay=0.02,
        momentum=0.9,
        decay_form=form,
        extra=extra,
    )
    return pure_decay_rate(
        Run("r", Path("r"), np.array([0, 100]), {"squared_norm": np.array([1.0, 0.5])}, settings),
        WHOLE,
    )


@pytest.mark.parametrize(
    ("extra", "dampening", "nesterov"),
    [
        ({}, 0.0, False),
        ({"dampening": 0.5}, 0.5, False),
        ({"optimizer.dampening": "0.5", "nesterov": False}, 0.5, False),
        ({"nesterov": True}, 0.0, True),
        ({"optimizer.nesterov": "True"}, 0.0, True),
    ],
)
def test_the_settings_of_the_buffer_set_the_rate(
    extra: dict[str, object], dampening: float, nesterov: bool
) -> None:
    expected = _rate_of_late_steps(0.002, 0.9, dampening, nesterov=nesterov)
    assert _pure(**extra) == pytest.approx(expected, rel=1e-9)


def test_the_penalty_passes_through_the_buffer_too() -> None:
    """The L2 penalty lambda is PyTorch's weight_decay of 2 lambda."""
    made = _pure(DecayForm.L2_PENALTY, dampening=0.5)
    assert made == pytest.approx(_rate_of_late_steps(0.004, 0.9, 0.5), rel=1e-9)


def test_without_momentum_dampening_does_nothing() -> None:
    """PyTorch's SGD has no buffer then."""
    settings = Hyperparameters(
        "sgd", 0.1, 0.02, DecayForm.COUPLED, momentum=0.0, extra={"dampening": 0.5}
    )
    run = Run("r", Path("r"), np.array([0, 100]), {"squared_norm": np.ones(2)}, settings)
    assert pure_decay_rate(run, WHOLE) == pytest.approx(2 * 0.002)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"dampening": 0.5, "nesterov": True}, "allows no dampening"),
        ({"dampening": "some"}, "no number"),
        ({"dampening": 2.0}, "dampening is 2"),
    ],
)
def test_settings_that_no_optimizer_has_give_no_rate(extra: dict[str, object], words: str) -> None:
    made = _pure(**extra)
    assert isinstance(made, Missing)
    assert words in made.detail
