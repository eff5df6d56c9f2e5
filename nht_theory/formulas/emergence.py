"""Emergence: the smallest model that switches within the budget, and what moves it."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Derivative, Equal, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import DECAY_BELOW_ONE

TOPIC = "emergence"
TITLE = "Emergence: the critical size"

_SIZE = positive("N", "model_size", "N", "1", "size of the model")
_CRITICAL = nonnegative("N_star", "critical_size", "N^*", "1", "smallest size that switches")
_LOG_CRITICAL = Symbol("ell", "log_critical_size", r"\ln N^*", "1", "logarithm of N*")
_RATIO = positive("r_1", "unit_ratio", "r_1", "1", "V_sc/V_st at size 1")
_EXPONENT = positive("b", "ratio_exponent", "b", "1", "exponent of the ratio")
_SLOPE = Symbol("dN", "log_size_slope", r"\frac{d\ln N^*}{d\lambda}", "1", "sensitivity to decay")
_RATIO_SENSITIVITY = Symbol(
    "g",
    "ratio_sensitivity",
    r"\frac{d\ln(V_{\mathrm{sc}}/V_{\mathrm{st}})}{d\lambda}",
    "1",
    "change of ln(V_sc/V_st) with lambda at fixed size",
)
_ERROR = nonnegative(
    "se", "log_size_error", r"\mathrm{se}(\ln N^*)", "1", "standard error of ln N*"
)
_VAR_A = nonnegative(
    "va", "log_ratio_variance", r"\mathrm{var}(\ln r_1)", "1", "variance of ln r_1"
)
_VAR_B = nonnegative("vb", "exponent_variance", r"\mathrm{var}(b)", "1", "variance of b")
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
    assumptions=(
        "the norm ratio falls with size as a power law",
        "the rate gamma is the same at every size and step, and the budget is counted from V_sc: "
        "steps before memorising shorten it",
    ),
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
    title="When stronger decay lowers the critical size",
    gives=_SLOPE,
    expression="(g - 2*eta*T_max/(1 - eta*lam))/b",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, _EXPONENT, s.BUDGET, _RATIO_SENSITIVITY),
    statement="d ln N*/d lambda = (g - 2 eta T_max/(1 - eta lambda))/b under decoupled decay, with "
    "g = d ln(V_sc/V_st)/d lambda at N*. Stronger decay lowers the critical size exactly when g < "
    "2 eta T_max/(1 - eta lambda); the paper's sign takes g = 0, a norm ratio that does not "
    "depend on lambda, for granted.",
    source="arXiv 2603.07323, section 6.2 (sign, for g = 0); derived here",
    assumptions=(
        "V_sc/V_st falls with size as N^(-b) near N*, and moves with lambda at the rate g there",
        "the contraction is that of pure decoupled decay (u = 0)",
    ),
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Derivative(
            "y + g*lam - b*ell + 2*T_max*log(1 - eta*lam)",
            "lam",
            "g - 2*eta*T_max/(1 - eta*lam)",
            "N* is where the margin ln(V_sc/V_st) + 2 T_max ln(1 - eta lambda) is zero; with ell = "
            "ln N it moves with lambda by this",
        ),
        Derivative(
            "y + g*lam - b*ell + 2*T_max*log(1 - eta*lam)",
            "ell",
            "-b",
            "and with ln N by -b",
        ),
        Root(
            "g - 2*eta*T_max/(1 - eta*lam) - b*slope",
            "0",
            "slope",
            "result",
            "so that the margin stays zero along N*(lambda) (implicit differentiation)",
        ),
        Positive(
            "-result",
            "negative for a ratio that does not depend on lambda",
            given={"eta": "s/((1 + s)*lam)", "g": "0"},
        ),
        Positive(
            "result",
            "and positive where the ratio grows faster with lambda than the clock",
            given={"eta": "s/((1 + s)*lam)", "g": "2*s*T_max/lam + p"},
        ),
    ),
    local=(
        _LOG_CRITICAL,
        s.AUXILIARY,
        Symbol("y", "log_ratio", "y", "1", "ln(V_sc/V_st) at size 1 and no decay"),
        positive("p", "excess", "p", "1", "a positive excess"),
        Symbol("slope", "slope", "b_N", "1", "slope of ln N* in lambda"),
    ),
    notes=(
        "In the companion (arXiv 2603.13331) V_mem/V_post is 6.9, 10.6, 11.0 and 10.0 at lambda "
        "0.1, 0.3, 0.5 and 1.0: the ratio does depend on lambda.",
    ),
    example={
        "learning_rate": 1e-3,
        "weight_decay": 1.0,
        "ratio_exponent": 0.8,
        "total_steps": 2000,
        "ratio_sensitivity": 0.4,
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
    assumptions=("gamma T_max is known without error, and the line holds up to N*",),
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
