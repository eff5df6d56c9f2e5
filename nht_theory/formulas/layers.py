"""Layers: how the groups' contractions make the total's, and which group escapes first."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Derivative, Equal, Limit, Positive, Root
from nht_theory.formulas.formula import Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import HIERARCHY

TOPIC = "layers"
TITLE = "Layers and escape order"

_FIRST = positive("V_1", "squared_norm_1", "V_1", "V", "V of the first group")
_SECOND = positive("V_2", "squared_norm_2", "V_2", "V", "V of the second group")
_CONTRACTION_1 = Symbol("C_1", "contraction_1", "C_1", "1/step", "contraction of the first group")
_CONTRACTION_2 = Symbol("C_2", "contraction_2", "C_2", "1/step", "contraction of the second group")
_ALPHA = nonnegative(
    "alpha", "gradient_share", r"\alpha_\ell", "1", "layer's share of the gradient"
)
_KAPPA = nonnegative("kappa", "curvature", r"\kappa_\ell", "1", "layer's curvature")
_RATE_N = nonnegative("gamma_N", "norm_rate", r"\gamma_N", "1/step", "contraction rate of N")
_MORE = positive("m", "advantage", "m", "1", "how much larger alpha kappa is")
_DEPTH = (s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, _ALPHA, _KAPPA)
_EXAMPLE = {
    "learning_rate": 1e-3,
    "weight_decay": 1.0,
    "gradient_share": 0.5,
    "curvature": 2.0,
}

weighted_contraction = Formula(
    name="weighted_contraction",
    topic=TOPIC,
    title="The total is the V-weighted mean of its groups",
    gives=s.CONTRACTION,
    expression="(V_1*C_1 + V_2*C_2)/(V_1 + V_2)",
    symbols=(_FIRST, _CONTRACTION_1, _SECOND, _CONTRACTION_2),
    statement="1 - V'/V = sum over groups of (V_l/V)(1 - V_l'/V_l), for any optimiser: a heavy "
    "early layer that grows hides a contracting head. Two groups shown; merging two into "
    "one gives any number.",
    source="derived here",
    derivation=(
        Equal(
            "result",
            "1 - ((1 - C_1)*V_1 + (1 - C_2)*V_2)/(V_1 + V_2)",
            "V' = V_1' + V_2', with V_l' = (1 - C_l) V_l",
        ),
        Equal(
            "(V_1 + V_2)*result + C_3*V_3",
            "C_1*V_1 + C_2*V_2 + C_3*V_3",
            "a merged pair enters a third group's mean with its own weight",
        ),
        Positive(
            "-result",
            "with C_1 = -s and V_2 C_2 < V_1 s the total grows although the second group contracts",
            given={"C_1": "-s", "C_2": "V_1*s/(2*V_2)"},
        ),
    ),
    local=(
        s.AUXILIARY,
        Symbol("C_3", "contraction_3", "C_3", "1/step", "contraction of a third group"),
        positive("V_3", "squared_norm_3", "V_3", "V", "V of a third group"),
    ),
    example={
        "squared_norm_1": 2900.0,
        "contraction_1": 1.8e-3,
        "squared_norm_2": 1000.0,
        "contraction_2": 5e-4,
    },
)

layer_rate = Formula(
    name="layer_rate",
    topic=TOPIC,
    title="Rate of a layer, of V",
    gives=s.RATE,
    expression="2*eta*lam + 2*eta*alpha*kappa",
    symbols=_DEPTH,
    statement="Linearised on the shortcut manifold, theta_l' = theta_l - eta (lambda + alpha_l "
    "kappa_l) theta_l: V_l contracts at 2 eta lambda + 2 eta alpha_l kappa_l to first order.",
    source="arXiv 2603.07323, proposition 4.2 (form); convention derived here",
    assumptions=("the loss acts on the layer as a linear pull alpha_l kappa_l theta_l",),
    derivation=(
        Limit(
            "-2*log(1 - eta*(lam + alpha*kappa))/eta",
            "eta",
            "0",
            "2*(lam + alpha*kappa)",
            "the exact rate of V is -2 ln(1 - eta (lambda + alpha kappa))",
        ),
        Equal("result", "eta*(2*(lam + alpha*kappa))", "its first-order term"),
    ),
    notes=(
        "The paper's text has eta lambda + eta alpha kappa (the rate of N), its appendix "
        "2 eta alpha kappa (that of V): the two conventions mixed.",
    ),
    example=_EXAMPLE,
)

layer_norm_rate = Formula(
    name="layer_norm_rate",
    topic=TOPIC,
    title="Rate of a layer, of N",
    gives=_RATE_N,
    expression="eta*lam + eta*alpha*kappa",
    symbols=_DEPTH,
    statement="N_l = sqrt(V_l) contracts at half the rate of V_l: eta lambda + eta alpha_l "
    "kappa_l.",
    source="arXiv 2603.07323, proposition 4.2",
    assumptions=layer_rate.assumptions,
    derivation=(
        Equal(
            "log(exp(t*2*result))/2",
            "t*(2*eta*lam + 2*eta*alpha*kappa)/2",
            "ln N = (1/2) ln V at every step",
        ),
        Equal("2*result", "2*eta*lam + 2*eta*alpha*kappa", "twice it is layer_rate"),
    ),
    local=(s.STEP,),
    example=_EXAMPLE,
)

layer_escape_time = Formula(
    name="layer_escape_time",
    topic=TOPIC,
    title="Escape time of a layer",
    gives=s.TIME,
    expression="log_ratio(V_sc, V_st)/(2*eta*(lam + alpha*kappa))",
    symbols=(*_DEPTH, s.SHORTCUT_NORM, s.STRUCTURED_NORM),
    statement="T_l = ln(V_sc,l/V_st,l)/(2 eta (lambda + alpha_l kappa_l)): at equal log ratios the "
    "layer with the larger alpha_l kappa_l escapes first.",
    source="arXiv 2603.07323, proposition 4.2 (order); derived here",
    assumptions=layer_rate.assumptions,
    conditions=(HIERARCHY,),
    derivation=(
        Root(
            "V_sc*exp(-2*eta*(lam + alpha*kappa)*T)",
            "V_st",
            "T",
            "result",
            "the layer's own law",
        ),
        Derivative(
            "result",
            "kappa",
            "-alpha*result/(lam + alpha*kappa)",
            "it falls as alpha kappa grows",
        ),
        Positive(
            "y/(2*eta*(lam + alpha*kappa)) - y/(2*eta*(lam + alpha*kappa + m))",
            "a layer whose alpha kappa is larger by m escapes earlier, at any log ratio y > 0",
        ),
    ),
    local=(
        s.TIME,
        _MORE,
        s.LOG_RATIO,
    ),
    example={**_EXAMPLE, "squared_norm_shortcut": 600.0, "squared_norm_structured": 200.0},
)

FORMULAS = (weighted_contraction, layer_rate, layer_norm_rate, layer_escape_time)
