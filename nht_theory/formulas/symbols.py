"""The quantities of the theory: letter, argument name, LaTeX, unit and domain, each once."""

from __future__ import annotations

from dataclasses import replace

from nht_theory.formulas.formula import Symbol

LEARNING_RATE = Symbol(
    "eta", "learning_rate", r"\eta", "1/step", "learning rate", lower=0.0, lower_open=True
)
WEIGHT_DECAY = Symbol("lam", "weight_decay", r"\lambda", "1", "weight decay coefficient", lower=0.0)
POSITIVE_WEIGHT_DECAY = replace(WEIGHT_DECAY, lower_open=True)
RATE = Symbol(
    "gamma_V",
    "contraction_rate",
    r"\gamma_V",
    "1/step",
    "contraction rate of V: -ln of its one-step ratio",
    lower=0.0,
)
POSITIVE_RATE = replace(RATE, lower_open=True)
EFFICIENCY = Symbol("c", "efficiency", "c", "1", "efficiency: gamma_V / (2 eta lambda)")
SQUARED_NORM = Symbol(
    "V", "squared_norm", "V", "V", "squared norm of the parameters", lower=0.0, lower_open=True
)
SHORTCUT_NORM = Symbol(
    "V_sc",
    "squared_norm_shortcut",
    r"V_{\mathrm{sc}}",
    "V",
    "squared norm on the shortcut",
    lower=0.0,
    lower_open=True,
)
STRUCTURED_NORM = Symbol(
    "V_st",
    "squared_norm_structured",
    r"V_{\mathrm{st}}",
    "V",
    "squared norm at which the structured solution is reached",
    lower=0.0,
    lower_open=True,
)
NORM_FLOOR = Symbol(
    "V_inf",
    "squared_norm_floor",
    r"V_\infty",
    "V",
    "squared norm at which decay and gradient noise balance",
    lower=0.0,
)
ALIGNMENT = Symbol(
    "A",
    "update_alignment",
    r"\langle\theta,u\rangle",
    "V",
    "inner product of the parameters with the update",
)
UPDATE_NORM = Symbol(
    "U2", "update_squared_norm", r"\lVert u\rVert^2", "V", "squared norm of the update", lower=0.0
)
NOISE = Symbol(
    "S",
    "noise_trace",
    "S",
    "V",
    "trace of the long-run covariance of the update",
    lower=0.0,
)
INITIAL_NORM = Symbol(
    "V_0", "squared_norm_initial", "V_0", "V", "squared norm at step 0", lower=0.0, lower_open=True
)
CONTRACTION = Symbol("C", "contraction", "1 - V'/V", "1/step", "one-step contraction of V")
PARAMETER_COUNT = Symbol(
    "d", "parameter_count", "d", "1", "number of decayed parameters", lower=1.0, integer=True
)
UPDATE_BOUND = Symbol(
    "u_max",
    "update_bound",
    r"u_{\max}",
    "1",
    "bound on the size of one coordinate of the update",
    lower=0.0,
    lower_open=True,
)
BUDGET = Symbol(
    "T_max", "total_steps", r"T_{\max}", "step", "training budget", lower=0.0, lower_open=True
)
LOG_RATIO = Symbol(
    "y", "log_ratio", "y", "1", "ln(V_sc/V_st), positive", lower=0.0, lower_open=True
)
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

AUXILIARY = Symbol(
    "s", "auxiliary", "s", "1", "covers 0 < x < 1 as x = s/(1 + s)", 0.0, lower_open=True
)
DECAY_PER_STEP = Symbol("x", "decay_per_step", "x", "1", "eta lambda", lower=0.0, lower_open=True)
