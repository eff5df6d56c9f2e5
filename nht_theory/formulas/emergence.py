"""Emergence: the smallest model that switches within the budget, and what moves it."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.conditions import DECAY_BELOW_ONE
from nht_theory.formulas.derivation import Derivative, Equal, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol

TOPIC = "emergence"
TITLE = "Emergence: the critical size"

_SIZE = Symbol("N", "model_size", "N", "1", "size of the model", 0.0, lower_open=True)
_CRITICAL = Symbol("N_star", "critical_size", "N^*", "1", "smallest size that switches", 0.0)
_LOG_CRITICAL = Symbol("ell", "log_critical_size", r"\ln N^*", "1", "logarithm of N*")
_RATIO = Symbol("r_1", "unit_ratio", "r_1", "1", "V_sc/V_st at size 1", 0.0, lower_open=True)
_EXPONENT = Symbol("b", "ratio_exponent", "b", "1", "exponent of the ratio", 0.0, lower_open=True)
_SLOPE = Symbol("dN", "log_size_slope", r"\frac{d\ln N^*}{d\lambda}", "1", "sensitivity to decay")
_ERROR = Symbol(
    "se", "log_size_error", r"\mathrm{se}(\ln N^*)", "1", "standard error of ln N*", 0.0
)
_VAR_A = Symbol(
    "va", "log_ratio_variance", r"\mathrm{var}(\ln r_1)", "1", "variance of ln r_1", 0.0
)
_VAR_B = Symbol("vb", "exponent_variance", r"\mathrm{var}(b)", "1", "variance of b", 0.0)
_COV = Symbol("cab", "covariance", r"\mathrm{cov}(\ln r_1, b)", "1", "covariance of the two")
_A = Symbol("alpha_1", "log_unit_ratio", r"\ln r_1", "1", "ln r_1")
_EXAMPLE = {
    "unit_ratio": 1e4,
    "ratio_exponent": 0.8,
    "contraction_rate": 2e-3,
    "total_steps": 2000,
}

critical_size = Formula(
    name="critical_size",
    topic=TOPIC,
    title="Critical size",
    gives=_CRITICAL,
    expression="exp((log(r_1) - gamma_V*T_max)/b)",
    symbols=(_RATIO, _EXPONENT, s.RATE, s.BUDGET),
    statement="If V_sc/V_st = r_1 N^(-b), the switch falls within the budget exactly for N >= N* = "
    "(r_1 e^(-gamma T_max))^(1/b).",
    source="arXiv 2603.07323, section 6.2 (idea); derived here",
    assumptions=("the norm ratio falls with size as a power law",),
    derivation=(
        Root(
            "r_1*N**(-b)",
            "exp(gamma_V*T_max)",
            "N",
            "result",
            "the log ratio just fits the clock of the budget",
        ),
        Derivative(
            "r_1*N**(-b)",
            "N",
            "-b*(r_1*N**(-b))/N",
            "the ratio falls with N, so larger models fit too",
        ),
    ),
    local=(_SIZE,),
    example=_EXAMPLE,
)

critical_size_slope = Formula(
    name="critical_size_slope",
    topic=TOPIC,
    title="Stronger decay lowers the critical size",
    gives=_SLOPE,
    expression="-2*eta*T_max/(b*(1 - eta*lam))",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, _EXPONENT, s.BUDGET),
    statement="d ln N*/d lambda = -2 eta T_max/(b (1 - eta lambda)) < 0 under decoupled decay.",
    source="arXiv 2603.07323, section 6.2 (sign); derived here",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Derivative(
            "(log(r_1) + 2*T_max*log(1 - eta*lam))/b",
            "lam",
            "result",
            "differentiate ln N* with gamma_V = -2 ln(1 - eta lambda)",
        ),
        Positive("-result", "negative throughout", given={"eta": "s/((1 + s)*lam)"}),
    ),
    local=(_RATIO, s.AUXILIARY),
    example={
        "learning_rate": 1e-3,
        "weight_decay": 1.0,
        "ratio_exponent": 0.8,
        "total_steps": 2000,
    },
)

critical_size_error = Formula(
    name="critical_size_error",
    topic=TOPIC,
    title="Standard error of the critical size",
    gives=_ERROR,
    expression="sqrt(va - 2*ell*cab + ell**2*vb)/b",
    symbols=(_EXPONENT, _LOG_CRITICAL, _VAR_A, _VAR_B, _COV),
    statement="From the fitted line ln r = ln r_1 - b ln N, to first order (delta method): "
    "var(ln N*) = (var(ln r_1) - 2 ln N* cov + (ln N*)^2 var(b))/b^2.",
    source="derived here",
    conditions=(
        Condition(
            "cab**2 <= va*vb",
            otherwise="the covariance exceeds what the variances allow",
            remedy="pass the covariance matrix of one fit",
        ),
    ),
    derivation=(
        Derivative(
            "(alpha_1 - gamma_V*T_max)/b",
            "alpha_1",
            "1/b",
            "ln N* moves with ln r_1",
        ),
        Derivative(
            "(alpha_1 - gamma_V*T_max)/b",
            "b",
            "-((alpha_1 - gamma_V*T_max)/b)/b",
            "and with b by -ln N*/b",
        ),
        Equal(
            "result**2",
            "(1/b)**2*va + 2*(1/b)*(-ell/b)*cab + (-ell/b)**2*vb",
            "the quadratic form of the two derivatives",
        ),
    ),
    local=(_A, s.RATE, s.BUDGET),
    example={
        "ratio_exponent": 0.8,
        "log_critical_size": 6.5,
        "log_ratio_variance": 0.04,
        "exponent_variance": 0.001,
        "covariance": 0.005,
    },
)

FORMULAS = (critical_size, critical_size_slope, critical_size_error)
