"""The one-step identity: how decay, alignment and diffusion share one step of contraction.

Exact for any optimiser with decoupled decay, theta' = a theta - eta u with a = 1 - eta lambda.
"""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Derivative, Equal, Limit, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol
from nht_theory.formulas.symbols import DECAY_BELOW_ONE

TOPIC = "identity"
TITLE = "One-step identity and efficiency"

_DECAY = Symbol("D", "decay", r"D", "1/step", "decay term of the identity")
_ALIGNMENT = Symbol("B", "alignment", r"B", "1/step", "alignment term of the identity")
_DIFFUSION = Symbol("Q", "diffusion", r"Q", "1/step", "diffusion term of the identity")
_COORDINATES = (
    Symbol("p", "theta_1", r"\theta_1", "1", "first coordinate of theta"),
    Symbol("q", "theta_2", r"\theta_2", "1", "second coordinate of theta"),
    Symbol("g", "update_1", r"u_1", "1", "first coordinate of u"),
    Symbol("h", "update_2", r"u_2", "1", "second coordinate of u"),
)
_TWO_COORDINATES = {"V": "p**2 + q**2", "A": "p*g + q*h", "U2": "g**2 + h**2"}
_STEP_NORM = "((1 - eta*lam)*p - eta*g)**2 + ((1 - eta*lam)*q - eta*h)**2"
_EXAMPLE = {"learning_rate": 1e-3, "weight_decay": 1.0}

decay_term = Formula(
    name="decay_term",
    topic=TOPIC,
    title="Decay term",
    gives=_DECAY,
    expression="eta*lam*(2 - eta*lam)",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY),
    statement="Decoupled decay alone contracts V by 1 - a^2 = eta lambda (2 - eta lambda) a step, "
    "about 2 eta lambda.",
    source="derived here; arXiv 2603.07323 writes eta lambda",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Equal("result", "1 - (1 - eta*lam)**2", "with u = 0, V' = a^2 V"),
        Limit("result/(eta*lam)", "lam", "0", "2", "the rate of V is twice that of N"),
        Positive(
            "result",
            "it contracts whenever 0 < eta lambda < 1",
            given={"eta": "s/((1 + s)*x)", "lam": "x"},
        ),
    ),
    local=(s.AUXILIARY, s.DECAY_PER_STEP),
    example=_EXAMPLE,
)

alignment_term = Formula(
    name="alignment_term",
    topic=TOPIC,
    title="Alignment term",
    gives=_ALIGNMENT,
    expression="2*eta*(1 - eta*lam)*A/V",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY, s.SQUARED_NORM, s.ALIGNMENT),
    statement="The part of the update along theta contracts V by 2 eta a <theta, u> / V; it is "
    "negative while the loss pushes the norm up.",
    source="derived here",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Derivative(
            "-((1 - eta*lam)**2*V - 2*eta*(1 - eta*lam)*A + eta**2*U2)/V",
            "A",
            "result/A",
            "the only term of V'/V that is linear in the alignment",
        ),
    ),
    local=(s.UPDATE_NORM,),
    example={**_EXAMPLE, "squared_norm": 3900.0, "update_alignment": -1300.0},
)

diffusion_term = Formula(
    name="diffusion_term",
    topic=TOPIC,
    title="Diffusion term",
    gives=_DIFFUSION,
    expression="-eta**2*U2/V",
    symbols=(s.LEARNING_RATE, s.SQUARED_NORM, s.UPDATE_NORM),
    statement="The size of the update alone expands V by eta^2 ||u||^2 / V a step.",
    source="derived here",
    derivation=(
        Equal(
            "result",
            "1 - ((p - eta*g)**2 + (q - eta*h)**2)/V - 2*eta*A/V",
            "without decay, what the alignment term leaves of 1 - V'/V, in two coordinates",
            given=_TWO_COORDINATES,
        ),
        Positive("-result", "it never contracts", strict=False),
    ),
    local=(s.ALIGNMENT, *_COORDINATES),
    example={"learning_rate": 1e-3, "squared_norm": 3900.0, "update_squared_norm": 2e4},
)

one_step_contraction = Formula(
    name="one_step_contraction",
    topic=TOPIC,
    title="One-step identity",
    gives=s.CONTRACTION,
    expression="eta*lam*(2 - eta*lam) + 2*eta*(1 - eta*lam)*A/V - eta**2*U2/V",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY, s.SQUARED_NORM, s.ALIGNMENT, s.UPDATE_NORM),
    statement="1 - V'/V is exactly decay + alignment + diffusion, for any optimiser with "
    "decoupled decay and any update u.",
    source="derived here",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Equal(
            "result",
            f"1 - ({_STEP_NORM})/V",
            "expand ||a theta - eta u||^2 in the plane spanned by theta and u: two coordinates "
            "are all that the three inner products need",
            given=_TWO_COORDINATES,
        ),
    ),
    local=_COORDINATES,
    example={
        **_EXAMPLE,
        "squared_norm": 3900.0,
        "update_alignment": -1300.0,
        "update_squared_norm": 2e4,
    },
)

efficiency = Formula(
    name="efficiency",
    topic=TOPIC,
    title="Efficiency of the contraction",
    gives=s.EFFICIENCY,
    expression="gamma_V/(2*eta*lam)",
    symbols=(
        Symbol("gamma_V", "contraction_rate", r"\gamma_V", "1/step", "contraction rate of V"),
        s.LEARNING_RATE,
        s.POSITIVE_WEIGHT_DECAY,
    ),
    statement="c compares a measured rate of V with pure decoupled decay: 1 is decay alone, less "
    "is resistance by the loss, more is help by it.",
    source="derived here",
    conditions=(Condition("eta*lam > 0", "eta*lambda underflows to zero", "rescale"),),
    derivation=(
        Limit(
            "result",
            "x",
            "0",
            "1",
            "pure decay has c = 1 to first order",
            given={"gamma_V": "-2*log1p(-x)", "eta": "x/lam"},
        ),
        Root(
            "gamma_V/(eta*lam)",
            "c_published",
            "c_published",
            "2*result",
            "the companion's amplification gamma_V/(eta lambda) is 2c",
        ),
    ),
    local=(
        s.DECAY_PER_STEP,
        Symbol("c_published", "amplification", r"2c", "1", "companion's ratio"),
    ),
    notes=(
        "The companion's 'amplification 1.41' is gamma_V/(eta lambda): c = 0.70, a resistance.",
    ),
    example={"contraction_rate": 1.4e-3, **_EXAMPLE},
)

FORMULAS = (decay_term, alignment_term, diffusion_term, one_step_contraction, efficiency)
