"""Regimes before training: the inequality that decides each, and the weight decay at its edge."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Derivative, Equal, Induction, Limit, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import DECAY_BELOW_ONE, HIERARCHY

TOPIC = "regimes"
TITLE = "Regimes before training"

_WEAK = nonnegative(
    "lam_weak", "weak_boundary", r"\lambda_{\mathrm{weak}}", "1", "edge of weak decay"
)
_BLOCKED = nonnegative(
    "lam_blocked", "blocked_boundary", r"\lambda_{\mathrm{blocked}}", "1", "edge of the floor"
)
_STRONG = nonnegative(
    "lam_strong", "strong_boundary", r"\lambda_{\mathrm{strong}}", "1", "edge of the box"
)
_CLOCK = nonnegative("B", "clock_budget", "B", "1", "regularisation clock at the end of training")
_WALL = nonnegative(
    "wall", "coordinate_bound", r"\sup\lvert\theta_i\rvert", "1", "bound on |theta_i|"
)
_BOX = nonnegative("V_box", "squared_norm_box", r"V_{\mathrm{box}}", "V", "largest V in the box")
_START = positive(
    "start",
    "largest_coordinate",
    r"\max\lvert\theta_i(0)\rvert",
    "1",
    "largest |theta_i| at the start",
)
_INSIDE = (
    "|u_i| <= u_max at every step and eta lambda <= 1 (adamw_box)",
    "the run starts inside the box: |theta_i(0)| <= u_max/lambda for every i",
)
_MARGIN = Symbol("M", "clock_margin", "M", "1", "clock minus log ratio")

clock_margin = Formula(
    name="clock_margin",
    topic=TOPIC,
    title="Weak decay: the clock against the log ratio",
    gives=_MARGIN,
    expression="B - log_ratio(V_sc, V_st)",
    symbols=(_CLOCK, s.SHORTCUT_NORM, s.STRUCTURED_NORM),
    statement="With zero loss gradient V(T_max) <= V_st exactly when the clock B = tau(T_max) "
    "covers ln(V_sc/V_st): decay is weak when the margin is negative, under any schedule.",
    source="derived here",
    assumptions=("u = 0 from V_sc on; the clock is counted from there",),
    conditions=(HIERARCHY,),
    derivation=(
        Equal(
            "log_ratio(V_st, V_sc*exp(-B))",
            "result",
            "V(T_max) = V_sc e^(-B), so the margin is ln(V_st/V(T_max)): its sign says which is "
            "larger",
        ),
    ),
    example={
        "clock_budget": 2.0,
        "squared_norm_shortcut": 3900.0,
        "squared_norm_structured": 1150.0,
    },
)

weak_boundary = Formula(
    name="weak_boundary",
    topic=TOPIC,
    title="Edge of weak decay, constant learning rate",
    gives=_WEAK,
    expression="-expm1(-log_ratio(V_sc, V_st)/(2*T_max))/eta",
    symbols=(s.LEARNING_RATE, s.BUDGET, s.SHORTCUT_NORM, s.STRUCTURED_NORM),
    statement="Below lambda_weak = (1 - (V_st/V_sc)^(1/(2 T_max)))/eta, about ln(V_sc/V_st)/(2 "
    "eta T_max), decay cannot reach V_st within T_max steps. A cosine to zero halves the "
    "clock and doubles the edge.",
    source="derived here",
    assumptions=(
        "u = 0 from V_sc on: a loss that pulls the norm down can be faster (radial_update_rate)",
        "the whole budget is spent at or below V_sc: steps before memorising shorten it and raise "
        "the edge",
    ),
    conditions=(HIERARCHY,),
    derivation=(
        Root(
            "-2*T_max*log1p(-eta*lam)",
            "log_ratio(V_sc, V_st)",
            "lam",
            "result",
            "the clock T_max gamma_V just covers the log ratio",
        ),
        Limit(
            "result*2*eta*T_max/log_ratio(V_sc, V_st)",
            "y",
            "0",
            "1",
            "to first order ln(V_sc/V_st)/(2 eta T_max)",
            given={"T_max": "log_ratio(V_sc, V_st)/(2*y)"},
        ),
    ),
    local=(
        s.POSITIVE_WEIGHT_DECAY,
        positive("y", "needed_rate", "y", "1", "log ratio per 2 T_max"),
    ),
    example={
        "learning_rate": 1e-3,
        "total_steps": 50_000,
        "squared_norm_shortcut": 3900.0,
        "squared_norm_structured": 1150.0,
    },
)

blocked_boundary = Formula(
    name="blocked_boundary",
    topic=TOPIC,
    title="Edge of the noise floor",
    gives=_BLOCKED,
    expression="eta*S/(V_st*(1 + sqrt(1 - eta**2*S/V_st)))",
    symbols=(s.LEARNING_RATE, s.NOISE, s.STRUCTURED_NORM),
    statement="Below lambda_blocked, about eta S/(2 V_st), the floor V_inf lies at or above "
    "V_st: the mean of V does not fall to V_st however long one trains.",
    source="derived here",
    assumptions=(
        "as noise_floor: zero-mean updates uncorrelated with theta, of a trace S that does not "
        "depend on lambda",
        "many alike coordinates, so that V stays near its mean: with few, a run falls below V_st "
        "by chance however high the floor",
    ),
    conditions=(
        Condition(
            "eta**2*S < V_st",
            otherwise="one step of noise alone exceeds V_st: it is blocked at every weight decay",
            value=float("inf"),
        ),
    ),
    derivation=(
        Root(
            "eta*S/(lam*(2 - eta*lam))",
            "V_st",
            "lam",
            "result",
            "the floor equals V_st",
            given={"V_st": "eta**2*S*(1 + s)"},
        ),
        Limit("result/eta", "eta", "0", "S/(2*V_st)", "to first order eta S/(2 V_st)"),
        Derivative(
            "eta*S/(lam*(2 - eta*lam))",
            "lam",
            "-2*eta*S*(1 - eta*lam)/(lam*(2 - eta*lam))**2",
            "the floor falls as lambda grows below 1/eta, so blocked means below the edge",
        ),
    ),
    local=(s.POSITIVE_WEIGHT_DECAY, s.AUXILIARY),
    example={"learning_rate": 1e-3, "noise_trace": 2e5, "squared_norm_structured": 1150.0},
)

adamw_box = Formula(
    name="adamw_box",
    topic=TOPIC,
    title="The box that AdamW cannot leave",
    gives=_WALL,
    expression="u_max/lam",
    symbols=(s.POSITIVE_WEIGHT_DECAY, s.UPDATE_BOUND),
    relation="<=",
    statement="If |u_i| <= u_max at every step then |theta_i(t)| <= a^t |theta_i(0)| + (1 - "
    "a^t) u_max/lambda: every coordinate ends inside |theta_i| <= u_max/lambda and, once "
    "there, stays.",
    source="derived here; cf. Xie and Li, arXiv 2404.04454 (AdamW's implicit l-infinity "
    "constraint)",
    assumptions=(
        "|u_i| <= u_max at every step",
        "eta lambda <= 1, so that a = 1 - eta lambda is not negative",
    ),
    derivation=(
        Induction(
            "result + (wall - result)*(1 - eta*lam)**t",
            initial="wall",
            successor="(1 - eta*lam)*state + eta*u_max",
            because="|theta'| <= a |theta| + eta u_max: the largest trajectory relaxes to "
            "u_max/lambda",
        ),
        Equal(
            "(1 - eta*lam)*result + eta*u_max",
            "result",
            "the wall itself is the fixed point",
        ),
    ),
    local=(s.LEARNING_RATE, _WALL, s.STEP),
    example={"weight_decay": 1.0, "update_bound": 7.27},
)

strong_boundary = Formula(
    name="strong_boundary",
    topic=TOPIC,
    title="Edge of surely strong decay, from a start inside the box",
    gives=_STRONG,
    expression="u_max*sqrt(d/V_sc)",
    symbols=(s.UPDATE_BOUND, s.PARAMETER_COUNT, s.SHORTCUT_NORM),
    statement="Above lambda_strong = u_max sqrt(d/V_sc) the whole box holds less norm than the "
    "shortcut needs, d (u_max/lambda)^2 < V_sc: a run that starts inside the box cannot memorise. "
    "Sufficient, not necessary. A run that starts outside passes through larger norms on its way "
    "in, and may memorise there (box_norm_from_outside).",
    source="derived here",
    assumptions=(*_INSIDE, "memorising needs V >= V_sc"),
    derivation=(
        Root(
            "d*(u_max/lam)**2",
            "V_sc",
            "lam",
            "result",
            "the corner of the box has exactly the norm of the shortcut",
        ),
        Positive(
            "V_sc - d*(u_max/lam)**2",
            "beyond it the box is smaller",
            given={"lam": "result*(1 + s)"},
        ),
        Equal(
            "d*(u_max/result)**2 - V_sc",
            "0",
            "a start inside the box has |theta_i(0)| <= u_max/lambda < sqrt(V_sc/d) for every "
            "lambda beyond the edge: no coordinate may start above the shortcut's root mean square",
        ),
    ),
    local=(s.POSITIVE_WEIGHT_DECAY, s.AUXILIARY),
    example={"update_bound": 7.27, "parameter_count": 226_816, "squared_norm_shortcut": 3900.0},
)

box_norm = Formula(
    name="box_norm",
    topic=TOPIC,
    title="Largest norm inside the box",
    gives=_BOX,
    expression="d*(u_max/lam)**2",
    symbols=(s.POSITIVE_WEIGHT_DECAY, s.UPDATE_BOUND, s.PARAMETER_COUNT),
    relation="<=",
    statement="Every coordinate at the wall: V <= d (u_max/lambda)^2, at every step of a run that "
    "starts inside the box.",
    source="derived here",
    assumptions=_INSIDE,
    derivation=(
        Equal(
            "result",
            "d*wall**2",
            "d coordinates of at most u_max/lambda each",
            given={"wall": "u_max/lam"},
        ),
        Derivative("result", "lam", "-2*result/lam", "it falls as lambda grows"),
    ),
    local=(_WALL,),
    example={"weight_decay": 1.0, "update_bound": 7.27, "parameter_count": 226_816},
)

box_norm_from_outside = Formula(
    name="box_norm_from_outside",
    topic=TOPIC,
    title="Largest norm on the way into the box, from any start",
    gives=_BOX,
    expression="d*(u_max/lam + (start - u_max/lam)*exp(t*log1p(-eta*lam)))**2",
    symbols=(
        s.LEARNING_RATE,
        s.POSITIVE_WEIGHT_DECAY,
        s.UPDATE_BOUND,
        s.PARAMETER_COUNT,
        _START,
        s.STEP,
    ),
    relation="<=",
    statement="From a start with max |theta_i(0)| outside the box, V_t <= d (u_max/lambda + "
    "(max |theta_i(0)| - u_max/lambda) a^t)^2: the run may hold the shortcut's norm until this "
    "falls below V_sc, even beyond lambda_strong.",
    source="derived here",
    assumptions=("|u_i| <= u_max at every step",),
    conditions=(
        DECAY_BELOW_ONE,
        Condition(
            "start >= u_max/lam",
            otherwise="the start is inside the box",
            remedy="use box_norm",
        ),
    ),
    derivation=(
        Induction(
            "u_max/lam + (start - u_max/lam)*(1 - eta*lam)**t",
            initial="start",
            successor="(1 - eta*lam)*state + eta*u_max",
            because="|theta'| <= a |theta| + eta u_max, from the largest coordinate",
        ),
        Equal("result", "d*start**2", "at step 0 it is the start's", given={"t": "0"}),
        Limit(
            "result",
            "t",
            "oo",
            "d*(u_max/lam)**2",
            "and in the end the box's",
            given={"eta": "(1 - 1/(1 + s))/lam"},
        ),
    ),
    local=(s.AUXILIARY,),
    example={
        "learning_rate": 1e-3,
        "weight_decay": 100.0,
        "update_bound": 7.27,
        "parameter_count": 226_816,
        "largest_coordinate": 1.0,
        "step": 10,
    },
)

FORMULAS = (
    clock_margin,
    weak_boundary,
    blocked_boundary,
    adamw_box,
    box_norm,
    box_norm_from_outside,
    strong_boundary,
)
