"""Hitting times: how many steps from the shortcut's norm to the structured one."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import (
    Equal,
    Induction,
    Monotone,
    Positive,
    Root,
)
from nht_theory.formulas.formula import Condition, Formula, nonnegative, positive
from nht_theory.formulas.symbols import DECAY_ACTS, DECAY_BELOW_ONE, HIERARCHY

TOPIC = "times"
TITLE = "Hitting times"

_RATE_SYMBOLS = (s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY)
_LAW_SYMBOLS = (*_RATE_SYMBOLS, s.SHORTCUT_NORM, s.STRUCTURED_NORM)
_EXAMPLE = {
    "learning_rate": 1e-3,
    "weight_decay": 1.0,
    "squared_norm_shortcut": 3900.0,
    "squared_norm_structured": 1150.0,
}
_ON_MANIFOLD = ("zero loss gradient between the two norms (u = 0)",)
_FLOOR_REACHED = Condition(
    "V_inf < V_st",
    otherwise="blocked by the noise floor: the mean of V never falls to V_st",
    value=float("inf"),
)

exact_hitting_time = Formula(
    name="exact_hitting_time",
    topic=TOPIC,
    title="Exact hitting time",
    gives=s.TIME,
    expression="ceil(log_ratio(V_sc, V_st)/(-2*log1p(-eta*lam)))",
    symbols=_LAW_SYMBOLS,
    statement="On the manifold (u = 0) under decoupled decay, the first step at which V <= V_st is "
    "T = ceil( ln(V_sc/V_st) / (-2 ln(1 - eta lambda)) ): upper and lower bound at once.",
    source="derived here; arXiv 2603.07323 theorem 3.1 gives an upper bound",
    assumptions=_ON_MANIFOLD,
    conditions=(DECAY_BELOW_ONE, DECAY_ACTS, HIERARCHY),
    derivation=(
        Induction(
            "V_sc*(1 - eta*lam)**(2*t)",
            initial="V_sc",
            successor="(1 - eta*lam)**2*state",
            because="V_t = V_sc a^(2t), exactly",
        ),
        Root(
            "V_sc*(1 - eta*lam)**(2*T)",
            "V_st",
            "T",
            "log_ratio(V_sc, V_st)/(-2*log1p(-eta*lam))",
            "the real solution of V_T = V_st",
        ),
        Positive(
            "1 - (1 - x)**2",
            "V_t falls at every step, so V_t <= V_st exactly when t is at least that solution",
            given={"x": "s/(1 + s)"},
        ),
        Equal(
            "result",
            "ceil(log_ratio(V_sc, V_st)/(-2*log1p(-eta*lam)))",
            "the least whole number of steps that is at least the solution",
        ),
    ),
    local=(s.STEP, s.TIME, s.AUXILIARY, s.DECAY_PER_STEP),
    example=_EXAMPLE,
)

paper_upper_bound = Formula(
    name="paper_upper_bound",
    topic=TOPIC,
    title="The paper's upper bound, on the manifold",
    gives=s.TIME,
    expression="log_ratio(V_sc, V_st)/(eta*lam)",
    symbols=_LAW_SYMBOLS,
    relation="<=",
    statement="With u = 0, T <= ln(V_sc/V_st)/(eta lambda), up to rounding to whole steps. Valid "
    "for the paper's own update (L2 penalty) when eta lambda <= 3/4 and for decoupled decay "
    "always. With noise (u not 0) it bounds nothing: see paper_upper_bound_with_floor.",
    source="arXiv 2603.07323, theorem 3.1; validity and looseness derived here",
    assumptions=_ON_MANIFOLD,
    conditions=(
        DECAY_ACTS,
        Condition(
            "eta*lam <= 3/4",
            otherwise="the paper's inequality (1 - 2 eta lambda)^2 <= 1 - eta lambda fails",
            remedy="use exact_hitting_time",
        ),
        HIERARCHY,
    ),
    derivation=(
        Equal(
            "1 - x - (1 - 2*x)**2",
            "x*(3 - 4*x)",
            "hence (1 - 2 eta lambda)^2 <= 1 - eta lambda exactly when eta lambda <= 3/4",
        ),
        Positive(
            "x*(3 - 4*x)",
            "and it is strict inside: x = (3/4) s/(1 + s)",
            given={"x": "3*s/(4*(1 + s))"},
        ),
        Monotone(
            "-log(1 - x) - x",
            "x",
            "-ln(1 - x) > x, so a norm that falls by 1 - x a step takes at most y/x steps",
            given={"x": "s/(1 + s)"},
        ),
        Equal(
            "result*eta*lam",
            "log_ratio(V_sc, V_st)",
            "T <= ln(V_sc/V_st)/(-ln(1 - eta lambda)) <= ln(V_sc/V_st)/(eta lambda)",
        ),
    ),
    local=(s.AUXILIARY, s.DECAY_PER_STEP),
    notes=("Four times loose against its own update rule, twice against decoupled decay.",),
    example=_EXAMPLE,
)

hitting_time_with_floor = Formula(
    name="hitting_time_with_floor",
    topic=TOPIC,
    title="When the mean norm reaches V_st, above a noise floor",
    gives=s.MEAN_CROSSING,
    expression="log_ratio(V_0 - V_inf, V_st - V_inf)/(-2*log1p(-eta*lam))",
    symbols=(*_RATE_SYMBOLS, s.INITIAL_NORM, s.STRUCTURED_NORM, s.NORM_FLOOR),
    statement="With E V_t = V_inf + (V_0 - V_inf) a^(2t), the mean norm reaches V_st after "
    "ln((V_0 - V_inf)/(V_st - V_inf)) / (-2 ln a) steps; the mean never does when V_st <= V_inf. "
    "A single run's V scatters about that mean, at the floor by a relative sqrt(2/d) over d "
    "alike coordinates: for many parameters its own time is the mean's, for few it is not.",
    source="derived here",
    assumptions=(
        "updates uncorrelated with theta, of stationary covariance",
        "many coordinates, for a run's own hitting time to be near the mean's: with few, V also "
        "falls below V_st < V_inf by chance",
    ),
    conditions=(
        DECAY_BELOW_ONE,
        DECAY_ACTS,
        _FLOOR_REACHED,
        Condition(
            "V_st <= V_0",
            otherwise="there is no norm hierarchy (A4): V_st exceeds the initial norm",
            remedy="the law applies to V_0 > V_st only",
        ),
    ),
    derivation=(
        Induction(
            "V_inf + (V_0 - V_inf)*(1 - eta*lam)**(2*t)",
            initial="V_0",
            successor="(1 - eta*lam)**2*state + (1 - (1 - eta*lam)**2)*V_inf",
            because="E V' = a^2 E V + eta^2 S, with eta^2 S = (1 - a^2) V_inf",
        ),
        Root(
            "V_inf + (V_0 - V_inf)*(1 - eta*lam)**(2*T)",
            "V_st",
            "T",
            "result",
            "solve E V_T = V_st, T the time of the mean",
            given={"V_0": "V_st + p", "V_st": "V_inf + q"},
        ),
    ),
    local=(
        s.STEP,
        s.TIME,
        positive("p", "fall", r"\Delta", "V", "V_0 - V_st"),
        positive("q", "margin", r"\delta", "V", "V_st - V_inf"),
    ),
    example={
        "learning_rate": 1e-3,
        "weight_decay": 1.0,
        "squared_norm_initial": 3900.0,
        "squared_norm_structured": 1150.0,
        "squared_norm_floor": 113.0,
    },
)

bounded_update_lower_bound = Formula(
    name="bounded_update_lower_bound",
    topic=TOPIC,
    title="Lower bound with bounded updates",
    gives=s.TIME,
    expression="log_ratio(sqrt(V_sc) + U/lam, sqrt(V_st) + U/lam)/(-log1p(-eta*lam))",
    symbols=(
        *_LAW_SYMBOLS,
        nonnegative("U", "update_norm_bound", "U", r"V^{1/2}", "bound on ||u||"),
    ),
    relation=">=",
    statement="If ||u_t|| <= U at every step then N_{t+1} >= a N_t - eta U, so no run is at "
    "V_st before ln((N_sc + U/lambda)/(N_st + U/lambda)) / (-ln a) steps. No premise on the "
    "loss is needed.",
    source="derived here",
    assumptions=("||u_t|| <= U at every step, for the run itself",),
    conditions=(DECAY_BELOW_ONE, DECAY_ACTS, HIERARCHY),
    derivation=(
        Induction(
            "(N_0 + U/lam)*(1 - eta*lam)**t - U/lam",
            initial="N_0",
            successor="(1 - eta*lam)*state - eta*U",
            because="the fastest fall that the triangle inequality allows",
        ),
        Root(
            "(sqrt(V_sc) + U/lam)*(1 - eta*lam)**T - U/lam",
            "sqrt(V_st)",
            "T",
            "result",
            "that fall reaches N_st = sqrt(V_st) at T",
        ),
    ),
    local=(
        s.STEP,
        s.TIME,
        positive("N_0", "norm_initial", "N_0", r"V^{1/2}", "norm at step 0"),
    ),
    example={**_EXAMPLE, "update_norm_bound": 10.0},
)

law_steps = Formula(
    name="law_steps",
    topic=TOPIC,
    title="The law at a measured rate",
    gives=s.TIME,
    expression="log_ratio(V_sc, V_st)/gamma_V",
    symbols=(s.POSITIVE_RATE, s.SHORTCUT_NORM, s.STRUCTURED_NORM),
    statement="At a constant rate gamma_V the norm falls from V_sc to V_st in "
    "ln(V_sc/V_st)/gamma_V steps.",
    source="arXiv 2603.07323, theorem 3.2, with the rate of V",
    assumptions=("the rate of V is the same at every step between the two norms",),
    conditions=(HIERARCHY,),
    derivation=(
        Root(
            "V_sc*exp(-gamma_V*T)",
            "V_st",
            "T",
            "result",
            "solve V_T = V_st",
        ),
    ),
    local=(s.TIME,),
    example={
        "contraction_rate": 1.4e-3,
        "squared_norm_shortcut": 3900.0,
        "squared_norm_structured": 1150.0,
    },
)

FORMULAS = (
    exact_hitting_time,
    law_steps,
    hitting_time_with_floor,
    bounded_update_lower_bound,
    paper_upper_bound,
)
