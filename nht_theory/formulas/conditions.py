"""Conditions that several formulas share, each with its words and its remedy."""

from __future__ import annotations

from nht_theory.formulas.formula import Condition

DECAY_BELOW_ONE = Condition(
    "eta*lam < 1",
    otherwise="one step of decay removes the whole weight",
    remedy="lower the learning rate or the weight decay until eta*lambda < 1",
)
DECAY_ACTS = Condition(
    "eta*lam > 0",
    otherwise="the decay of one step is zero: the norm never contracts",
    remedy="give a positive learning rate and weight decay",
)
PENALTY_BELOW_HALF = Condition(
    "eta*lam < 1/2",
    otherwise="one step of the L2 penalty removes the whole weight",
    remedy="lower the learning rate or the weight decay until 2*eta*lambda < 1",
)
HIERARCHY = Condition(
    "V_st <= V_sc",
    otherwise="there is no norm hierarchy (A4): the structured norm exceeds the shortcut's",
    remedy="the law applies to V_sc > V_st only; check that both are squared and not exchanged",
)
