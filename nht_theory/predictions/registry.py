"""Every claim that ``nht validate`` judges, in the order in which it reports them."""

from __future__ import annotations

from nht_theory.errors import InputError
from nht_theory.predictions import (
    batch_norm,
    carrier,
    clamped_norm,
    crossing_not_sufficient,
    emergence,
    failure_prediction,
    head_monitor,
    law,
    logit_scale,
    necessity,
    one_kappa,
    optimizer_dependence,
    p1,
    p2,
    p3,
    p4,
    p5,
    p6,
    part_whole,
    prefactor,
    rivals,
    shortcut_strength,
)
from nht_theory.predictions.verdict import Prediction

PREDICTIONS: tuple[Prediction, ...] = (
    law.PREDICTION_WHERE_ORDERED,
    law.PREDICTION_EVERYWHERE,
    prefactor.PREDICTION_BOUND,
    prefactor.PREDICTION_PURE_DECAY,
    necessity.PREDICTION,
    rivals.PREDICTION,
    part_whole.PREDICTION,
    carrier.PREDICTION,
    p1.PREDICTION,
    p2.PREDICTION,
    p3.PREDICTION,
    p4.PREDICTION,
    p5.PREDICTION,
    p6.PREDICTION,
    batch_norm.PREDICTION,
    shortcut_strength.PREDICTION,
    failure_prediction.PREDICTION,
    emergence.RATIO,
    emergence.DECAY,
    emergence.EVENTS,
    emergence.SHARPNESS,
    head_monitor.PREDICTION,
    optimizer_dependence.PREDICTION,
    one_kappa.PREDICTION,
    crossing_not_sufficient.PREDICTION,
    clamped_norm.PREDICTION,
    logit_scale.PREDICTION,
)


def prediction(name: str) -> Prediction:
    """The prediction of that name.

    Raises:
        InputError: there is none; the message lists them.

    Example:
        >>> prediction("P1").name
        'P1'
    """
    for candidate in PREDICTIONS:
        if candidate.name == name:
            return candidate
    raise InputError(
        f"no prediction named {name!r}",
        remedy=f"the predictions are {', '.join(p.name for p in PREDICTIONS)}",
    )
