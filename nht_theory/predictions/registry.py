"""Every claim that ``nht validate`` judges, in the order in which it reports them."""

from __future__ import annotations

from nht_theory.errors import InputError
from nht_theory.predictions import law, necessity, p1, p2, prefactor
from nht_theory.predictions.verdict import Prediction

PREDICTIONS: tuple[Prediction, ...] = (
    law.PREDICTION,
    prefactor.PREDICTION_BOUND,
    prefactor.PREDICTION_PURE_DECAY,
    necessity.PREDICTION,
    p1.PREDICTION,
    p2.PREDICTION,
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
