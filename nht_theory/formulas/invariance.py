"""Homogeneous losses and scale-invariant groups: what fixes the alignment term."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Equal, Limit, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import DECAY_ACTS, DECAY_BELOW_ONE

TOPIC = "invariance"
TITLE = "Homogeneity, scale invariance, batch normalisation"

_DEGREE = positive("k", "degree", "k", "1", "degree of homogeneity")
_OUTPUT = Symbol("z", "margin", "z", "1", "margin, homogeneous of degree k in theta")
_SLOPE = Symbol("slope", "loss_slope", r"\frac{dL}{dz}", "1", "derivative of the loss in z")
_INNER = Symbol(
    "A_L", "gradient_alignment", r"\langle\theta,\nabla L\rangle", "1", "gradient along theta"
)
_UNIT_GRADIENT = nonnegative(
    "G2",
    "unit_gradient_squared_norm",
    r"\lVert\nabla L(\hat\theta)\rVert^2",
    "1",
    "squared gradient norm at the direction theta/N",
)
_EQUILIBRIUM = nonnegative("V_eq", "squared_norm_equilibrium", r"V_{\mathrm{eq}}", "V", "balance")
_EFFECTIVE = nonnegative(
    "eta_eff", "effective_learning_rate", r"\eta_{\mathrm{eff}}", "1/step", "rate on the sphere"
)
_RATE_1 = positive("g_1", "rate_1", r"\gamma_1", "1/step", "rate of channel 1")
_RATE_2 = positive("g_2", "rate_2", r"\gamma_2", "1/step", "rate of channel 2")
_VAR_1 = positive("v_1", "variance_1", r"\sigma_1^2", "1", "batch variance of channel 1")
_VAR_2 = positive("v_2", "variance_2", r"\sigma_2^2", "1", "batch variance of channel 2")
_EXPONENT = Symbol("b", "variance_exponent", "b", "1", "gamma_c proportional to sigma_c^(-2b)")
_AMPLIFICATION = Symbol(
    "ratio_12",
    "amplification",
    r"\frac{\gamma_1}{\gamma_2}",
    "1",
    "contraction of channel 1 over that of channel 2",
)
_P = positive("p", "theta_1", r"\theta_1", "1", "first coordinate of theta")
_Q = positive("q", "theta_2", r"\theta_2", "1", "second coordinate of theta")
_EXAMPLE = {"learning_rate": 1e-3, "weight_decay": 1.0}

euler_alignment = Formula(
    name="euler_alignment",
    topic=TOPIC,
    title="Euler's relation for a homogeneous network",
    gives=_INNER,
    expression="k*z*slope",
    symbols=(_DEGREE, _OUTPUT, _SLOPE),
    statement="If the margin z is positively homogeneous of degree k in theta then <theta, grad "
    "L> = k z dL/dz, summed over the examples: negative for a decreasing loss once margins "
    "are positive, so the loss then pushes the norm up.",
    source="Euler; Lyu and Li, arXiv 1906.05890 (use for margins)",
    derivation=(
        Equal(
            "p*diff(p**k*h(q/p), p) + q*diff(p**k*h(q/p), q)",
            "k*p**k*h(q/p)",
            "every homogeneous function of two coordinates is p^k h(q/p), with h arbitrary",
        ),
        Equal(
            "p*diff(log(1 + exp(-p**k*h(q/p))), p) + q*diff(log(1 + exp(-p**k*h(q/p))), q)",
            "result",
            "the chain rule, for the logistic loss: dL/dz = -1/(1 + e^z)",
            given={"slope": "-1/(1 + exp(z))", "z": "p**k*h(q/p)"},
        ),
        Positive(
            "-result",
            "a positive margin and a decreasing loss: the gradient step lengthens theta",
            given={"z": "p", "slope": "-q"},
        ),
    ),
    local=(_P, _Q),
    example={"degree": 2.0, "margin": 3.0, "loss_slope": -0.05},
)

scale_invariant_contraction = Formula(
    name="scale_invariant_contraction",
    topic=TOPIC,
    title="Contraction of a scale-invariant group",
    gives=s.CONTRACTION,
    expression="eta*lam*(2 - eta*lam) - eta**2*U2/V",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY, s.SQUARED_NORM, s.UPDATE_NORM),
    statement="For weights before a normalisation layer the loss does not depend on their "
    "length, so <theta, grad L> = 0 exactly and, for plain gradient updates, only decay and "
    "diffusion remain.",
    source="derived here; van Laarhoven, arXiv 1706.05350",
    assumptions=("u is the gradient itself (SGD); preconditioning brings the alignment back",),
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Equal(
            "p*diff(h(q/p), p) + q*diff(h(q/p), q)",
            "0",
            "a function of the direction alone, h(q/p), has no gradient along theta",
        ),
        Equal(
            "result",
            "eta*lam*(2 - eta*lam) + 2*eta*(1 - eta*lam)*A/V - eta**2*U2/V",
            "the one-step identity with <theta, u> = 0",
            given={"A": "0"},
        ),
    ),
    local=(s.ALIGNMENT, _P, _Q),
    example={**_EXAMPLE, "squared_norm": 100.0, "update_squared_norm": 5.0},
)

scale_invariant_equilibrium = Formula(
    name="scale_invariant_equilibrium",
    topic=TOPIC,
    title="Equilibrium norm of a scale-invariant group",
    gives=_EQUILIBRIUM,
    expression="sqrt(eta*G2/(lam*(2 - eta*lam)))",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, _UNIT_GRADIENT),
    statement="The gradient of a scale-invariant loss is grad L(theta/N)/N, so ||u||^2 = G2/V: "
    "decay and diffusion balance at V_eq = sqrt(eta G2/(lambda (2 - eta lambda))), not at "
    "the norm of a solution. Crossing a norm threshold then says nothing about the function.",
    source="derived here; cf. Wan et al., arXiv 2006.08419",
    assumptions=(
        "u is the gradient itself (SGD), and its squared norm at unit length, G2, is stationary: "
        "V_eq moves with G2 while the direction is still learning",
    ),
    conditions=(DECAY_BELOW_ONE, DECAY_ACTS),
    derivation=(
        Equal(
            "diff(h((c*q)/(c*p)), p)",
            "diff(h(q/p), p)",
            "f(c theta) = f(theta), hence c grad f(c theta) = grad f(theta): the gradient falls "
            "as 1/N",
        ),
        Root(
            "V_eq",
            "(1 - eta*lam)**2*V_eq + eta**2*G2/V_eq",
            "V_eq",
            "result",
            "the fixed point of V' = a^2 V + eta^2 G2/V",
        ),
    ),
    local=(_EQUILIBRIUM, _P, _Q, positive("c", "scale", "c", "1", "a scale")),
    example={**_EXAMPLE, "unit_gradient_squared_norm": 4.0},
)

effective_learning_rate = Formula(
    name="effective_learning_rate",
    topic=TOPIC,
    title="Effective learning rate of a scale-invariant group",
    gives=_EFFECTIVE,
    expression="eta/V",
    symbols=(s.LEARNING_RATE, s.SQUARED_NORM),
    statement="The direction theta/N moves by eta/V times the gradient at unit length: as decay "
    "shrinks V the function learns faster, without any change of what it can express.",
    source="van Laarhoven, arXiv 1706.05350",
    derivation=(
        Limit(
            "((q - eta*g/p)/p - q/p)/(-g)/eta",
            "eta",
            "0",
            "1/p**2",
            "at theta = (p, 0) the gradient is g/p across it: theta/N turns by eta g/p^2, V = p^2",
            given={"q": "0"},
        ),
        Equal("result", "eta*(1/p**2)", "with V = p^2", given={"V": "p**2"}),
    ),
    local=(
        _P,
        _Q,
        positive("g", "unit_gradient", "g", "1", "gradient at unit length"),
    ),
    example={"learning_rate": 1e-3, "squared_norm": 100.0},
)

variance_exponent = Formula(
    name="variance_exponent",
    topic=TOPIC,
    title="Batch normalisation: the paper's amplification, as a quantity to measure",
    gives=_EXPONENT,
    expression="log_ratio(g_1, g_2)/log_ratio(v_2, v_1)",
    symbols=(_RATE_1, _RATE_2, _VAR_1, _VAR_2),
    statement="The paper says that channel c contracts 1/sigma_c^2 times faster. Hypothesis: "
    "gamma_c proportional to sigma_c^(-2b); from two channels b = ln(g_1/g_2)/ln(v_2/v_1). "
    "The paper's formula predicts b = 1, its text (high variance amplified) b = -1, decay of "
    "scale-invariant weights alone b = 0.",
    source="arXiv 2603.07323 (claim); the test is derived here",
    conditions=(
        Condition(
            "v_1 != v_2",
            otherwise="two equal variances say nothing about the exponent",
            remedy="compare channels of different variance",
        ),
    ),
    derivation=(
        Root(
            "g_2*(v_2/v_1)**b",
            "g_1",
            "b",
            "result",
            "solve gamma_1/gamma_2 = (sigma_2^2/sigma_1^2)^b",
        ),
        Equal(
            "diff((p*q)/sqrt(p**2*v_1), p)",
            "0",
            "the normalised channel w x/sqrt(w^2 var x) does not depend on the length of w: with a "
            "silent loss each channel contracts at 1 - a^2, whatever its variance",
        ),
    ),
    local=(_EXPONENT, _P, _Q),
    notes=("A hypothesis, reported as such: measure b with its interval over channels.",),
    example={"rate_1": 4e-3, "rate_2": 2e-3, "variance_1": 0.5, "variance_2": 1.0},
)

batchnorm_amplification = Formula(
    name="batchnorm_amplification",
    topic=TOPIC,
    title="Batch normalisation: the paper's text against its formula",
    gives=_AMPLIFICATION,
    expression="v_2/v_1",
    symbols=(_VAR_1, _VAR_2),
    statement="The paper's formula amplifies the contraction of channel c by 1/sigma_c^2, so that "
    "channel 1 contracts v_2/v_1 times as fast as channel 2. Its text says that channels of high "
    "variance are amplified, which would be v_1/v_2. The two say opposite things of every pair of "
    "channels whose variances differ: where one is above 1, the other is below.",
    source="arXiv 2603.07323 (text and formula contradict each other); shown here",
    assumptions=("both channels have the same learning rate and weight decay",),
    derivation=(
        Equal(
            "result",
            "(1/v_1)/(1/v_2)",
            "the formula: the amplification of channel 1 over that of channel 2",
        ),
        Positive(
            "1 - result",
            "with v_1 = (1 + p) v_2 the formula slows channel 1, the one of higher variance",
            given={"v_1": "(1 + p)*v_2"},
        ),
        Positive(
            "1/result - 1",
            "while the text, whose ratio is the inverse, speeds it up",
            given={"v_1": "(1 + p)*v_2"},
        ),
        Root(
            "result",
            "1/result",
            "v_1",
            "v_2",
            "they agree for equal variances only, where neither amplifies anything",
        ),
        Equal(
            "diff((p*q)/sqrt(p**2*v_1), p)",
            "0",
            "a third answer: the normalised channel does not depend on the length of its weight, "
            "so that decay alone contracts every channel alike, ratio 1",
        ),
    ),
    local=(_P, _Q),
    notes=(
        "Measure it: variance_exponent gives b = 1 under the formula, -1 under the text and 0 "
        "under decay alone.",
        "Neither is taken for granted anywhere in this toolkit.",
    ),
    example={"variance_1": 2.0, "variance_2": 0.5},
)

FORMULAS = (
    euler_alignment,
    scale_invariant_contraction,
    scale_invariant_equilibrium,
    effective_learning_rate,
    variance_exponent,
    batchnorm_amplification,
)
