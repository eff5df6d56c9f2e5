"""Quantities and conditions that several formulas share, each with its words."""

from __future__ import annotations

from dataclasses import replace

from nht_theory.formulas.formula import Condition, Symbol, nonnegative, positive

LEARNING_RATE = positive("eta", "learning_rate", r"\eta", "1/step", "learning rate")
WEIGHT_DECAY = nonnegative("lam", "weight_decay", r"\lambda", "1", "weight decay coefficient")
POSITIVE_WEIGHT_DECAY = replace(WEIGHT_DECAY, lower_open=True)
RATE = nonnegative(
    "gamma_V",
    "contraction_rate",
    r"\gamma_V",
    "1/step",
    "contraction rate of V: -ln of its one-step ratio",
)
POSITIVE_RATE = replace(RATE, lower_open=True)
EFFICIENCY = Symbol("c", "efficiency", "c", "1", "efficiency: gamma_V / (2 eta lambda)")
SQUARED_NORM = positive("V", "squared_norm", "V", "V", "squared norm of the parameters")
SHORTCUT_NORM = positive(
    "V_sc", "squared_norm_shortcut", r"V_{\mathrm{sc}}", "V", "squared norm on the shortcut"
)
STRUCTURED_NORM = positive(
    "V_st",
    "squared_norm_structured",
    r"V_{\mathrm{st}}",
    "V",
    "squared norm at which the structured solution is reached",
)
NORM_FLOOR = nonnegative(
    "V_inf",
    "squared_norm_floor",
    r"V_\infty",
    "V",
    "squared norm at which decay and gradient noise balance",
)
ALIGNMENT = Symbol(
    "A",
    "update_alignment",
    r"\langle\theta,u\rangle",
    "V",
    "inner product of the parameters with the update",
)
UPDATE_NORM = nonnegative(
    "U2", "update_squared_norm", r"\lVert u\rVert^2", "V", "squared norm of the update"
)
NOISE = nonnegative("S", "noise_trace", "S", "V", "trace of the long-run covariance of the update")
INITIAL_NORM = positive("V_0", "squared_norm_initial", "V_0", "V", "squared norm at step 0")
CONTRACTION = Symbol("C", "contraction", "1 - V'/V", "1/step", "one-step contraction of V")
PARAMETER_COUNT = Symbol(
    "d", "parameter_count", "d", "1", "number of decayed parameters", lower=1.0, integer=True
)
UPDATE_BOUND = positive(
    "u_max", "update_bound", r"u_{\max}", "1", "bound on the size of one coordinate of the update"
)
BUDGET = positive("T_max", "total_steps", r"T_{\max}", "step", "training budget")
LOG_RATIO = positive("y", "log_ratio", "y", "1", "ln(V_sc/V_st), positive")
TIME = Symbol("T", "steps", "T", "step", "number of steps", lower=0.0, infinite=True)
MEAN_CROSSING = Symbol(
    "T_mean",
    "steps_of_mean",
    r"T_{\mathrm{mean}}",
    "step",
    "steps until E V_t, the mean over runs, is at V_st; not a run's own hitting time",
    lower=0.0,
    infinite=True,
)
STEP = Symbol("t", "step", "t", "step", "step", lower=0.0, integer=True)

AUXILIARY = positive("s", "auxiliary", "s", "1", "covers 0 < x < 1 as x = s/(1 + s)")
DECAY_PER_STEP = positive("x", "decay_per_step", "x", "1", "eta lambda")

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
