"""What the paper's bounds are worth: validity, looseness, and when nothing can be faster."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Equal, Induction, Limit, Monotone, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import (
    DECAY_ACTS,
    DECAY_BELOW_ONE,
    HIERARCHY,
    PENALTY_BELOW_HALF,
)

TOPIC = "bounds"
TITLE = "Bounds: validity, looseness, optimality"

_RATE_SYMBOLS = (s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY)
_LOOSENESS = Symbol("L", "looseness", "L", "1", "bound divided by the true time")
_SLACK = Symbol("slack", "slack", r"\Delta", "1", "right-hand minus left-hand side")
_MARGIN = Symbol("M", "excess_norm", "V' - a^2 V", "V", "next V beyond pure decay's")
_PULL = nonnegative("k", "radial_pull", "k", "1", "u = k theta")
_CONFIDENCE = Symbol(
    "delta", "failure_probability", r"\delta", "1", "allowed probability", 0.0, 1.0, lower_open=True
)
_OFFSET = Symbol("T_0", "offset", "T_0", "step", "time that does not depend on decay")
_CONSTANT = Symbol("c_0", "decay_constant", "c_0", "1", "time in units of 1/(eta lambda)")
_POSITIVE = nonnegative("q", "pull", "q", "V", "minus the alignment")
_EXAMPLE = {"learning_rate": 1e-3, "weight_decay": 1.0}
_NORMS = {"squared_norm_shortcut": 3900.0, "squared_norm_structured": 1150.0}
_COORDINATES = (
    Symbol("p", "theta_1", r"\theta_1", "1", "first coordinate of theta"),
    Symbol("r", "theta_2", r"\theta_2", "1", "second coordinate of theta"),
    Symbol("g", "update_1", "u_1", "1", "first coordinate of u"),
    Symbol("h_2", "update_2", "u_2", "1", "second coordinate of u"),
)

paper_contraction_slack = Formula(
    name="paper_contraction_slack",
    topic=TOPIC,
    title="The paper's contraction inequality",
    gives=_SLACK,
    expression="eta*lam*(3 - 4*eta*lam)",
    symbols=_RATE_SYMBOLS,
    statement="1 - eta lambda - (1 - 2 eta lambda)^2 = eta lambda (3 - 4 eta lambda): the paper's "
    "inequality holds exactly for 0 <= eta lambda <= 3/4.",
    source="arXiv 2603.07323, theorem 3.1",
    derivation=(
        Equal("result", "1 - eta*lam - (1 - 2*eta*lam)**2", "expand the square"),
        Positive(
            "result",
            "positive inside (0, 3/4): eta lambda = (3/4) s/(1 + s)",
            given={"eta": "3*s/(4*(1 + s)*lam)"},
        ),
        Positive(
            "-result",
            "negative beyond 3/4: eta lambda = 3/4 + s",
            given={"eta": "(3/4 + s)/lam"},
        ),
    ),
    local=(s.AUXILIARY,),
    example=_EXAMPLE,
)

looseness_for_penalty = Formula(
    name="looseness_for_penalty",
    topic=TOPIC,
    title="Looseness of the paper's bound, its own update",
    gives=_LOOSENESS,
    expression="-2*log1p(-2*eta*lam)/(eta*lam)",
    symbols=_RATE_SYMBOLS,
    statement="Under the paper's own L2 update the true time is ln(V_sc/V_st)/(-2 ln(1 - 2 eta "
    "lambda)): the bound ln(V_sc/V_st)/(eta lambda) is too long by a factor above 4.",
    source="derived here",
    conditions=(PENALTY_BELOW_HALF, DECAY_ACTS),
    derivation=(
        Equal(
            "result",
            "(y/(eta*lam))/(y/(-2*log(1 - 2*eta*lam)))",
            "the bound over the time, for any log ratio y",
        ),
        Limit("result", "x", "0", "4", "four for small eta lambda", given={"eta": "x/lam"}),
        Monotone(
            "-2*log(1 - x) - 2*x",
            "x",
            "and more otherwise: -2 ln(1 - x) > 2x at x = 2 eta lambda",
            given={"x": "s/(1 + s)"},
        ),
    ),
    local=(
        s.AUXILIARY,
        s.DECAY_PER_STEP,
        s.LOG_RATIO,
    ),
    example=_EXAMPLE,
)

looseness_for_decoupled = Formula(
    name="looseness_for_decoupled",
    topic=TOPIC,
    title="Looseness of the paper's bound, decoupled decay",
    gives=_LOOSENESS,
    expression="-2*log1p(-eta*lam)/(eta*lam)",
    symbols=_RATE_SYMBOLS,
    statement="Under decoupled decay the paper's bound is too long by a factor above 2.",
    source="derived here",
    conditions=(DECAY_BELOW_ONE, DECAY_ACTS),
    derivation=(
        Equal(
            "result",
            "(y/(eta*lam))/(y/(-2*log(1 - eta*lam)))",
            "the bound over the time, for any log ratio y",
        ),
        Limit("result", "x", "0", "2", "two for small eta lambda", given={"eta": "x/lam"}),
        Monotone(
            "-2*log(1 - x) - 2*x",
            "x",
            "and more otherwise",
            given={"x": "s/(1 + s)"},
        ),
    ),
    local=looseness_for_penalty.local,
    example=_EXAMPLE,
)

no_faster_margin = Formula(
    name="no_faster_margin",
    topic=TOPIC,
    title="When no regularised method is faster than pure decay",
    gives=_MARGIN,
    expression="eta**2*U2 - 2*eta*(1 - eta*lam)*A",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY, s.ALIGNMENT, s.UPDATE_NORM),
    statement="V' >= a^2 V at a step exactly when 2 a <theta, u> <= eta ||u||^2. A method that "
    "meets this premise at every step needs at least the exact hitting time; <theta, u> <= "
    "0 (the loss does not pull the norm down) suffices. This is the premise that the claim "
    "'no first-order regularised method is faster' needs.",
    source="arXiv 2603.07323, theorem 3.4 (claim); premise derived here",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Equal(
            "result",
            "((1 - eta*lam)*p - eta*g)**2 + ((1 - eta*lam)*r - eta*h_2)**2"
            " - (1 - eta*lam)**2*(p**2 + r**2)",
            "expand ||a theta - eta u||^2 - a^2 ||theta||^2 in the plane of theta and u",
            given={"A": "p*g + r*h_2", "U2": "g**2 + h_2**2"},
        ),
        Positive(
            "result",
            "with <theta, u> = -q <= 0 the next norm is never below pure decay's",
            strict=False,
            given={"A": "-q", "eta": "s/((1 + s)*lam)"},
        ),
    ),
    local=(s.POSITIVE_WEIGHT_DECAY, s.AUXILIARY, _POSITIVE, *_COORDINATES),
    example={**_EXAMPLE, "update_alignment": -1300.0, "update_squared_norm": 2e4},
)

radial_update_rate = Formula(
    name="radial_update_rate",
    topic=TOPIC,
    title="Counter-example: a loss that pulls towards the origin",
    gives=s.RATE,
    expression="-2*log1p(-eta*(lam + k))",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY, _PULL),
    statement="With u = k theta (a loss with gradient k theta on the way) a first-order "
    "regularised method contracts at -2 ln(1 - eta (lambda + k)), faster than decay alone "
    "by any factor: without the premise of no_faster_margin the claim is false.",
    source="derived here",
    conditions=(
        Condition(
            "eta*(lam + k) < 1",
            otherwise="one step removes the whole weight",
            remedy="lower the learning rate, the weight decay or the pull",
        ),
    ),
    derivation=(
        Induction(
            "V_0*exp(-t*result)",
            initial="V_0",
            successor="(1 - eta*lam - eta*k)**2*state",
            because="theta' = a theta - eta k theta",
        ),
        Limit(
            "result/(-2*log(1 - eta*lam))",
            "eta",
            "0",
            "1 + k/lam",
            "1 + k/lambda times faster: any factor",
        ),
    ),
    local=(s.STEP, s.INITIAL_NORM),
    example={**_EXAMPLE, "radial_pull": 10.0},
)

high_probability_time = Formula(
    name="high_probability_time",
    topic=TOPIC,
    title="Hitting time with high probability",
    gives=s.TIME,
    expression="log_ratio(V_0 - V_inf, delta*V_st - V_inf)/(-2*log1p(-eta*lam))",
    symbols=(*_RATE_SYMBOLS, s.INITIAL_NORM, s.STRUCTURED_NORM, s.NORM_FLOOR, _CONFIDENCE),
    relation="<=",
    statement="Once E V_t <= delta V_st, Markov's inequality gives P(V_t > V_st) <= delta. That "
    "is so after ln((V_0 - V_inf)/(delta V_st - V_inf)) / (-2 ln a) steps: with probability at "
    "least 1 - delta a run's hitting time is at most that, rounded up. When delta V_st <= V_inf "
    "the inequality gives no such time.",
    source="derived here",
    assumptions=("updates uncorrelated with theta, of stationary covariance",),
    conditions=(
        DECAY_BELOW_ONE,
        DECAY_ACTS,
        Condition(
            "V_inf < delta*V_st",
            otherwise="the floor leaves more than delta of the probability above V_st",
            value=float("inf"),
        ),
        Condition(
            "delta*V_st <= V_0",
            otherwise="the initial norm is already below delta V_st",
            value=0.0,
        ),
    ),
    derivation=(
        Root(
            "V_inf + (V_0 - V_inf)*(1 - eta*lam)**(2*T)",
            "delta*V_st",
            "T",
            "result",
            "solve E V_T = delta V_st",
            given={"V_0": "V_inf + p", "V_st": "(V_inf + q)/delta"},
        ),
        Equal(
            "(V_inf + (V_0 - V_inf)*(1 - eta*lam)**(2*result))/V_st",
            "delta",
            "Markov: P(V_T > V_st) <= E V_T/V_st",
            given={"V_0": "V_inf + p", "V_st": "(V_inf + q)/delta"},
        ),
    ),
    local=(
        s.TIME,
        positive("p", "fall", r"\Delta_0", "V", "V_0 - V_inf"),
        positive("q", "margin", r"\Delta_1", "V", "delta V_st - V_inf"),
    ),
    example={
        **_EXAMPLE,
        "squared_norm_initial": 3900.0,
        "squared_norm_structured": 1150.0,
        "squared_norm_floor": 20.0,
        "failure_probability": 0.05,
    },
)

nested_law = Formula(
    name="nested_law",
    topic=TOPIC,
    title="The general law to fit and test",
    gives=Symbol("T", "steps", "T", "step", "number of steps"),
    expression="T_0 + log_ratio(V_sc, V_st)/gamma_V + c_0/(eta*lam)",
    symbols=(
        _OFFSET,
        s.POSITIVE_RATE,
        s.SHORTCUT_NORM,
        s.STRUCTURED_NORM,
        _CONSTANT,
        *_RATE_SYMBOLS,
    ),
    statement="T = T_0 + (1/gamma) ln(V_sc/V_st) + c/(eta lambda) holds the rival laws: the law "
    "itself (T_0 = c = 0), a pure 1/(eta lambda) law (V_sc = V_st) and a constant delay (no "
    "decay term).",
    source="derived here, as the family in which the law is tested",
    conditions=(HIERARCHY, DECAY_ACTS),
    derivation=(
        Equal(
            "result",
            "log_ratio(V_sc, V_st)/gamma_V",
            "the law is the member without offset and constant",
            given={"T_0": "0", "c_0": "0"},
        ),
        Equal(
            "result",
            "T_0 + c_0/(eta*lam)",
            "T_0 + A/(eta lambda) is the member without a norm gap",
            given={"V_sc": "V_st"},
        ),
        Equal(
            "result",
            "T_0 + (log_ratio(V_sc, V_st)/2 + c_0)/(eta*lam)",
            "at the first-order rate 2 eta lambda both terms scale alike: only a varied ratio "
            "tells them apart",
            given={"gamma_V": "2*eta*lam"},
        ),
    ),
    example={
        "offset": 100.0,
        "contraction_rate": 1.4e-3,
        **_NORMS,
        "decay_constant": 0.5,
        **_EXAMPLE,
    },
)

FORMULAS = (
    paper_contraction_slack,
    looseness_for_penalty,
    looseness_for_decoupled,
    high_probability_time,
    no_faster_margin,
    radial_update_rate,
    nested_law,
)
