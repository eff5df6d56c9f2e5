"""Every claim that ``nht validate`` judges, in the order in which it reports them."""

from __future__ import annotations

from nht_theory.claims import (
    batch_norm,
    carrier,
    clamped_norm,
    clean_separation,
    crossing_not_sufficient,
    emergence,
    escape_order,
    failure_prediction,
    final_norm_order,
    head_monitor,
    intermediate_decay,
    inverse_decay,
    law,
    logit_scale,
    necessity,
    one_kappa,
    optimizer_dependence,
    part_whole,
    prefactor,
    rival_laws,
    shortcut_strength,
    three_regimes,
)
from nht_theory.claims.verdict import Claim
from nht_theory.errors import InputError

CLAIMS: tuple[Claim, ...] = (
    law.PREDICTION_WHERE_ORDERED,
    law.PREDICTION_EVERYWHERE,
    prefactor.PREDICTION_BOUND,
    prefactor.PREDICTION_PURE_DECAY,
    necessity.CLAIM,
    rival_laws.CLAIM,
    part_whole.CLAIM,
    carrier.CLAIM,
    final_norm_order.CLAIM,
    three_regimes.CLAIM,
    intermediate_decay.CLAIM,
    escape_order.CLAIM,
    clean_separation.CLAIM,
    inverse_decay.CLAIM,
    batch_norm.CLAIM,
    shortcut_strength.CLAIM,
    failure_prediction.CLAIM,
    emergence.RATIO,
    emergence.DECAY,
    emergence.EVENTS,
    emergence.SHARPNESS,
    head_monitor.CLAIM,
    optimizer_dependence.CLAIM,
    one_kappa.CLAIM,
    crossing_not_sufficient.CLAIM,
    clamped_norm.CLAIM,
    logit_scale.CLAIM,
)


def claim_named(name: str) -> Claim:
    """The prediction of that name.

    Raises:
        InputError: there is none; the message lists them.

    Example:
        >>> claim_named("P1").name
        'P1'
    """
    for candidate in CLAIMS:
        if candidate.name == name:
            return candidate
    raise InputError(
        f"no prediction named {name!r}",
        remedy=f"the predictions are {', '.join(p.name for p in CLAIMS)}",
    )
