"""The paper's assumptions A1 to A5 and its definition 4.1, each as a quantity that can be measured.

An assumption holds or fails on a range of its quantity; the entry says which, what follows where
it fails, and where the paper's own settings lie.
"""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Equal, Limit, Monotone, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import HIERARCHY

TOPIC = "premises"
TITLE = "Assumptions A1 to A5 and definition 4.1"

_SMOOTHNESS = nonnegative("L", "smoothness", "L", "1", "Lipschitz constant of the loss gradient")
_GRADIENT_CHANGE = nonnegative(
    "G",
    "gradient_change",
    r"\lVert\nabla L(\theta)-\nabla L(\theta')\rVert",
    "1",
    "distance of the loss gradients at two points",
)
_DISTANCE = positive(
    "D", "distance", r"\lVert\theta-\theta'\rVert", "1", "distance of the two points"
)
_FIRST = nonnegative("T_sc", "steps_shortcut", r"T_{\mathrm{sc}}", "step", "step at the shortcut")
_SECOND = nonnegative(
    "T_st", "steps_structured", r"T_{\mathrm{st}}", "step", "step at the structured solution"
)
_LEAD = Symbol("lead", "lead", r"T_{\mathrm{st}}-T_{\mathrm{sc}}", "step", "lead of the shortcut")
_WIDTH = Symbol("W", "relative_width", "W", "1", "duration of the switch over that of the escape")
_HIGH = positive(
    "V_hi",
    "squared_norm_switch_begins",
    r"V_{\mathrm{hi}}",
    "V",
    "V at which phi leaves 1 (say 0.9)",
)
_LOW = positive(
    "V_lo",
    "squared_norm_switch_ends",
    r"V_{\mathrm{lo}}",
    "V",
    "V at which phi arrives at 0 (say 0.1)",
)
_MORE = positive("m", "more", "m", "1", "a positive difference")
_P = Symbol("p", "component_1", "p", "1", "first component of theta - theta'")
_Q = Symbol("q", "component_2", "q", "1", "second component of theta - theta'")
_CURVATURE = nonnegative("c", "curvature", "c", "1", "smaller curvature of a quadratic")

a1_smoothness = Formula(
    name="a1_smoothness",
    topic=TOPIC,
    title="A1: the loss is L-smooth",
    gives=_SMOOTHNESS,
    expression="G/D",
    symbols=(_GRADIENT_CHANGE, _DISTANCE),
    relation=">=",
    statement="A1: ||grad L(theta) - grad L(theta')|| <= L ||theta - theta'|| for all theta, "
    "theta'. Any two points measured bound L from below; no finite number of them bounds it from "
    "above, so data can refute a claimed L and never confirm it.",
    source="arXiv 2603.07323, assumption A1; Nesterov 2004, section 1.2 (smoothness)",
    assumptions=(
        "the loss is differentiable: networks with ReLU are not, and homogeneous ones of degree "
        "k > 2 are L-smooth for no L on all of parameter space",
    ),
    derivation=(
        Root("L*D", "G", "L", "result", "the two points need at least this L"),
        Positive(
            "(c + m)**2*(p**2 + q**2) - (c**2*p**2 + (c + m)**2*q**2)",
            "for a quadratic loss of curvatures c < c + m no pair needs more than the larger",
            strict=False,
            squares=(("m*(2*c + m)", "p"),),
        ),
    ),
    local=(_SMOOTHNESS, _CURVATURE, _MORE, _P, _Q),
    notes=("What the paper uses of L is A3 (a3_step_size).",),
    example={"gradient_change": 0.3, "distance": 0.01},
)

a2_zero_gradient = Formula(
    name="a2_zero_gradient",
    topic=TOPIC,
    title="A2: the loss gradient is zero on the interpolating manifold",
    gives=s.EFFICIENCY,
    expression="1 + A/(lam*V)",
    symbols=(s.POSITIVE_WEIGHT_DECAY, s.ALIGNMENT, s.SQUARED_NORM),
    statement="A2: grad L = 0 on M, so that decay alone moves theta there. To first order in eta, "
    "without diffusion, the efficiency is c = 1 + <theta, u>/(lambda V): A2 says <theta, u> = 0, "
    "c = 1. A measured c below 1 means that the loss still pushes the norm up, and A2 fails.",
    source="arXiv 2603.07323, assumption A2; the measure is derived here",
    assumptions=(
        "decoupled decay, and updates small enough that eta^2 ||u||^2 is negligible against V",
    ),
    derivation=(
        Limit(
            "(eta*lam*(2 - eta*lam) + 2*eta*(1 - eta*lam)*A/V)/(2*eta*lam)",
            "eta",
            "0",
            "1 + A/(lam*V)",
            "the decay and alignment terms of the one-step identity over 2 eta lambda",
        ),
        Equal("result - 1", "A/(lam*V)", "what is not decay alone is the alignment"),
        Equal("result", "1", "on M, where u = 0", given={"A": "0"}),
    ),
    local=(s.LEARNING_RATE,),
    notes=(
        "Cross-entropy has no minimum at a finite norm: its gradient is zero nowhere, and its "
        "alignment is negative once examples are fitted (euler_alignment).",
        "Companion (arXiv 2603.13331), lambda 1: c = 0.70, so the alignment is -0.30 lambda V.",
    ),
    example={"weight_decay": 1.0, "update_alignment": -1170.0, "squared_norm": 3900.0},
)

a3_step_size = Formula(
    name="a3_step_size",
    topic=TOPIC,
    title="A3: the learning rate is at most lambda/L",
    gives=_SMOOTHNESS,
    expression="lam/eta",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY),
    relation="<=",
    statement="A3: eta <= lambda/L, which allows curvatures up to L = lambda/eta only. Gradient "
    "descent on networks raises the largest curvature to about 2/eta (edge of stability), where "
    "A3 needs lambda >= 2.",
    source="arXiv 2603.07323, assumption A3; Cohen et al., arXiv 2103.00065 (edge of stability)",
    assumptions=(
        "for the second half of the statement: training without preconditioning at the edge of "
        "stability",
    ),
    derivation=(
        Root("eta", "lam/L", "L", "result", "the largest L that A3 allows"),
        Root("result", "2/eta", "lam", "2", "at the edge of stability A3 holds from lambda = 2"),
    ),
    local=(_SMOOTHNESS,),
    notes=(
        "At eta 1e-3 and lambda 1e-3, one of the paper's settings, A3 needs L <= 1.",
        "No result of this toolkit uses A3: the one-step identity needs no smoothness.",
    ),
    example={"learning_rate": 1e-3, "weight_decay": 1e-3},
)

a4_norm_hierarchy = Formula(
    name="a4_norm_hierarchy",
    topic=TOPIC,
    title="A4: the shortcut has the larger norm",
    gives=s.LOG_RATIO,
    expression="log_ratio(V_sc, V_st)",
    symbols=(s.SHORTCUT_NORM, s.STRUCTURED_NORM),
    statement="A4: V_sc > V_st. The law's numerator ln(V_sc/V_st) is positive exactly then, and "
    "the clock has to cover it.",
    source="arXiv 2603.07323, assumption A4",
    assumptions=(
        "V_sc and V_st are norms of the same training settings: a ratio of norms across weight "
        "decays is another quantity",
    ),
    conditions=(HIERARCHY,),
    derivation=(
        Root("V_sc*exp(-y)", "V_st", "y", "result", "the clock y takes V_sc to V_st"),
        Monotone("log(1 + m)", "m", "V_sc = (1 + m) V_st: positive for m > 0"),
        Equal("result", "log(1 + m)", "and that is the log ratio", given={"V_sc": "(1 + m)*V_st"}),
    ),
    local=(s.LOG_RATIO, _MORE),
    notes=(
        "The paper's 37-fold ratio is one across weight decays on CelebA (20,198 at lambda 0.001, "
        "546 at 1.0), no V_sc/V_st.",
        "V_st is the norm when the structured solution is reached; read long after, it overstates "
        "the ratio (companion, lambda 1: about 270 against 1,150).",
    ),
    example={"squared_norm_shortcut": 3900.0, "squared_norm_structured": 1150.0},
)

a5_shortcut_first = Formula(
    name="a5_shortcut_first",
    topic=TOPIC,
    title="A5: the shortcut is reached first",
    gives=_LEAD,
    expression="T_st - T_sc",
    symbols=(_FIRST, _SECOND),
    statement="A5: T_sc < T_st, observed as a positive lead. The paper argues for it from the "
    "proximity of the initial norm. Under A4 that argument is reversed for a start below both "
    "norms: V_0 < V_st < V_sc is nearer to the structured norm.",
    source="arXiv 2603.07323, assumption A5; the reversal is derived here",
    assumptions=("both are reached, and read on the same evaluations",),
    derivation=(
        Root("T_sc + lead", "T_st", "lead", "result", "how much later the second is reached"),
        Positive(
            "(V_sc - V_0) - (V_st - V_0)",
            "V_st = V_0 + p^2 and V_sc = V_st + m: from below, the structured norm is nearer by m",
            given={"V_st": "V_0 + p**2", "V_sc": "V_0 + p**2 + m"},
        ),
        Positive(
            "(V_0 - V_st) - (V_0 - V_sc)",
            "from above both, V_sc = V_st + m: there the shortcut's norm is nearer, as the paper "
            "says",
            given={"V_sc": "V_st + m"},
        ),
    ),
    local=(_LEAD, s.INITIAL_NORM, s.SHORTCUT_NORM, s.STRUCTURED_NORM, _MORE, _P),
    notes=(
        "Sparse parity in the companion has a delay <= 0 in 15 of 15 runs: A5 fails there, and the "
        "law has nothing to say.",
    ),
    example={"steps_shortcut": 400.0, "steps_structured": 2100.0},
)

clean_norm_separation = Formula(
    name="clean_norm_separation",
    topic=TOPIC,
    title="Definition 4.1: clean norm separation",
    gives=_WIDTH,
    expression="log_ratio(V_hi, V_lo)/log_ratio(V_sc, V_st)",
    symbols=(_HIGH, _LOW, s.SHORTCUT_NORM, s.STRUCTURED_NORM),
    statement="Definition 4.1 asks for a scalar phi that is 1 on the shortcut's manifold and 0 on "
    "the structured one, monotone in V, and whose switch is short against the escape. While V "
    "falls at a constant rate the switch takes W = ln(V_hi/V_lo)/ln(V_sc/V_st) of it: clean is W "
    "much less than 1.",
    source="arXiv 2603.07323, definition 4.1 (in words, with no threshold and no estimator); the "
    "measure is derived here",
    assumptions=(
        "phi depends on theta through V alone during the escape",
        "V falls at one rate throughout",
    ),
    conditions=(
        HIERARCHY,
        Condition(
            "V_st < V_sc",
            otherwise="there is no escape to compare with",
            remedy="the definition applies to V_sc > V_st only",
        ),
        Condition(
            "V_lo <= V_hi",
            otherwise="phi rises as the norm falls",
            remedy="exchange the two norms: phi is 1 on the shortcut",
        ),
    ),
    derivation=(
        Root("V_hi*exp(-gamma_V*T)", "V_lo", "T", "log_ratio(V_hi, V_lo)/gamma_V", "the switch"),
        Root("V_sc*exp(-gamma_V*T)", "V_st", "T", "log_ratio(V_sc, V_st)/gamma_V", "the escape"),
        Equal(
            "result",
            "(log_ratio(V_hi, V_lo)/gamma_V)/(log_ratio(V_sc, V_st)/gamma_V)",
            "the share of the escape that the switch takes: the rate cancels",
        ),
        Equal(
            "result",
            "log_ratio(V_hi**m, V_lo**m)/log_ratio(V_sc**m, V_st**m)",
            "any power of V has the same W, and so has the clock itself, in which W is the share "
            "of the escape's steps that the switch takes: W says how sharp the switch is, not "
            "that V causes it",
        ),
    ),
    local=(s.POSITIVE_RATE, s.TIME, _MORE),
    notes=(
        "The paper reports a score S without a formula; S of `nht validate` is defined in the "
        "documentation's page on separation, with a placebo that uses the clock in place of V.",
    ),
    example={
        "squared_norm_switch_begins": 1400.0,
        "squared_norm_switch_ends": 1150.0,
        "squared_norm_shortcut": 3900.0,
        "squared_norm_structured": 1000.0,
    },
)

FORMULAS = (
    a1_smoothness,
    a2_zero_gradient,
    a3_step_size,
    a4_norm_hierarchy,
    a5_shortcut_first,
    clean_norm_separation,
)
