"""Three later results of the authors of arXiv 2603.07323, each with what it takes for granted.

The first is a waiting time that is necessary and not sufficient, the second an empirical law of
runs whose norm is held, the third the relation of norm and logits that an intervention undoes.
"""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Derivative, Equal, Induction, Limit, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive

TOPIC = "later_results"
TITLE = "Later results: kappa, a clamped norm, the logit scale"

_DELAY = nonnegative(
    "T_delay", "delay", r"T_{\mathrm{delay}}", "step", "steps from memorising to generalising"
)
_LEFT = positive("T_left", "steps_left", r"T_{\mathrm{left}}", "step", "steps still to go")
_KAPPA = positive(
    "kappa",
    "efficiency",
    r"\kappa",
    "1",
    "contraction rate of V over that of pure decay, to first order: c of the formula efficiency",
)
_MEMORISED = positive(
    "V_mem",
    "squared_norm_memorised",
    r"V_{\mathrm{mem}}",
    "V",
    "squared norm when the run memorises",
)
_CRITICAL = positive(
    "V_star",
    "squared_norm_critical",
    r"V^*",
    "V",
    "squared norm above which no run of the configuration generalises",
)
_REFERENCE_DELAY = positive(
    "T_ref",
    "reference_delay",
    r"T_{\mathrm{ref}}",
    "step",
    "delay of a run whose norm is held at the reference ratio",
)
_SENSITIVITY = Symbol(
    "alpha", "norm_sensitivity", r"\alpha", "1", "growth of ln T per unit of the radius ratio"
)
_RADIUS = positive(
    "rho",
    "radius_ratio",
    r"\rho",
    "1",
    "held norm N over the norm at which free runs generalise (N, not V)",
)
_REFERENCE_RADIUS = positive(
    "rho_ref",
    "reference_radius_ratio",
    r"\rho_{\mathrm{ref}}",
    "1",
    "radius ratio of the reference run",
)
_LOGIT_SCALE = nonnegative(
    "Z", "logit_scale", "Z", "1", "root mean square of the centred logits that the loss sees"
)
_UNIT_SCALE = positive(
    "z_1",
    "unit_logit_scale",
    "z_1",
    "1",
    "logit scale of the direction theta/N: at norm one and temperature one",
)
_DEGREE = nonnegative("k", "degree", "k", "1", "degree of homogeneity of the logits in theta")
_TEMPERATURE = positive(
    "tau", "temperature", r"\tau", "1", "what the logits are divided by before the loss"
)
_P = positive("p", "theta_1", r"\theta_1", "1", "first coordinate of theta")
_Q = positive("q", "theta_2", r"\theta_2", "1", "second coordinate of theta")
_SCALE = positive("m", "scale", "m", "1", "factor on theta")

kappa_delay = Formula(
    name="kappa_delay",
    topic=TOPIC,
    title="Delay at efficiency kappa: necessary, not sufficient",
    gives=_DELAY,
    expression="log_ratio(V_mem, V_star)/(2*kappa*eta*lam)",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, _KAPPA, _MEMORISED, _CRITICAL),
    relation=">=",
    statement="A norm that falls at the constant rate 2 kappa eta lambda needs ln(V_mem/V*)/(2 "
    "kappa eta lambda) steps from V_mem to V*. If no run generalises above V*, no run generalises "
    "earlier. The delay equals that time only if every run also generalises as soon as it is "
    "there.",
    source="arXiv 2605.18845 (the time, called necessary and not sufficient); the inequality is "
    "derived here",
    assumptions=(
        "the rate of V is 2 kappa eta lambda from memorising on, with kappa constant",
        "V* bounds the norms at which this configuration generalises (necessity)",
        "V_mem and V* are measured on other runs than the one that is judged: V* read at a run's "
        "own transition makes the equality an identity",
    ),
    conditions=(
        Condition(
            "V_star <= V_mem",
            otherwise="the run memorises below V*: the norm has no way to go",
            remedy="the result applies to V_mem > V* only",
        ),
        Condition("eta*lam > 0", "the decay of one step is zero", "give a positive decay"),
    ),
    derivation=(
        Induction(
            "V_mem*exp(-2*kappa*eta*lam*t)",
            initial="V_mem",
            successor="exp(-2*kappa*eta*lam)*state",
            because="a constant rate of 2 kappa eta lambda a step",
        ),
        Root(
            "V_mem*exp(-2*kappa*eta*lam*T_delay)",
            "V_star",
            "T_delay",
            "result",
            "the norm is at V* at that time",
        ),
        Positive(
            "V_mem*(exp(-2*kappa*eta*lam*(result - T_left)) - exp(-2*kappa*eta*lam*result))",
            "T_left > 0 steps before that time the norm is still above V*, where no run "
            "generalises",
            given={"T_left": "log(1 + s)/(2*kappa*eta*lam)"},
        ),
        Derivative(
            "result", "kappa", "-result/kappa", "the weaker the contraction, the longer the delay"
        ),
    ),
    local=(s.STEP, s.AUXILIARY, _DELAY, _LEFT),
    notes=(
        "With kappa = 1 it is the first-order form of exact_hitting_time: the paper's prefactor "
        "1/(eta lambda) is 1/(2 kappa eta lambda) at kappa = 1/2.",
        "An observed delay below the bound refutes the premise; a longer one refutes nothing.",
    ),
    example={
        "learning_rate": 1e-3,
        "weight_decay": 1.0,
        "efficiency": 0.7,
        "squared_norm_memorised": 3900.0,
        "squared_norm_critical": 1150.0,
    },
)

clamped_norm_delay = Formula(
    name="clamped_norm_delay",
    topic=TOPIC,
    title="Delay of a run whose norm is held",
    gives=_DELAY,
    expression="T_ref*exp(alpha*(rho - rho_ref))",
    symbols=(_REFERENCE_DELAY, _SENSITIVITY, _RADIUS, _REFERENCE_RADIUS),
    statement="Empirical law: with the norm N held at rho times the norm at which free runs "
    "generalise, the delay is proportional to exp(alpha rho), alpha about 7.5 for MLPs on modular "
    "addition. Derived here is only what the law implies.",
    source="arXiv 2606.13753 (measured: alpha about 7.5 with one exponent at four moduli)",
    assumptions=(
        "ln T is linear in the held norm: a fit over the swept range, not a theorem",
        "the norm is held throughout by rescaling the weights, so that the logits are rescaled "
        "with it (see logit_scale_homogeneity)",
        "no final normalisation layer: with one the paper finds no dependence",
    ),
    derivation=(
        Equal("result", "T_ref", "at the reference ratio", given={"rho": "rho_ref"}),
        Derivative("log(result)", "rho", "alpha", "ln T grows by alpha per unit of rho"),
        Root(
            "result",
            "T_2",
            "alpha",
            "log_ratio(T_2, T_ref)/(rho - rho_ref)",
            "two held norms determine alpha",
        ),
        Derivative(
            "log(T_ref*exp(alpha*(exp(y/2) - rho_ref)))",
            "y",
            "alpha*exp(y/2)/2",
            "in ln V (rho = e^(y/2)) the exponent is alpha rho/2, about 3.75 at rho = 1: steeper "
            "the larger the norm, where a free norm's delay is logarithmic",
        ),
    ),
    local=(
        Symbol("y", "log_squared_ratio", "y", "1", "ln of the squared radius ratio"),
        positive("T_2", "second_delay", "T_2", "step", "delay at another ratio"),
    ),
    notes=(
        "The norm is N, not V: alpha about 7.5 multiplies the ratio of norms.",
        "The paper reports a factor of about 19 in the delay over its norms: exp(7.5 x 0.39).",
        "It holds under a clamp; a run whose norm falls freely is under kappa_delay instead.",
    ),
    example={
        "reference_delay": 2000.0,
        "norm_sensitivity": 7.5,
        "radius_ratio": 1.2,
        "reference_radius_ratio": 1.0,
    },
)

logit_scale_homogeneity = Formula(
    name="logit_scale_homogeneity",
    topic=TOPIC,
    title="The logit scale of a homogeneous network",
    gives=_LOGIT_SCALE,
    expression="z_1*V**(k/2)/tau",
    symbols=(_UNIT_SCALE, s.SQUARED_NORM, _DEGREE, _TEMPERATURE),
    statement="If the logits are positively homogeneous of degree k in theta, then at a fixed "
    "direction theta/N the logit scale is N^k times that of unit norm: norm and logit scale move "
    "together, and a temperature tau proportional to N^k separates them. Hypothesis of the source: "
    "under cross-entropy the delay depends on Z, not on N; under squared error it does not, since "
    "there the targets fix Z.",
    source="arXiv 2606.18465 (hypothesis and temperature); homogeneity: Euler, cf. Lyu and Li, "
    "arXiv 1906.05890",
    assumptions=(
        "the logits are homogeneous: no biases, no normalisation layer, ReLU-like activations; "
        "attention and GELU are not homogeneous, and k is then a measured exponent",
        "all of theta is rescaled: a layer that is rescaled alone has its own degree",
    ),
    derivation=(
        Equal(
            "(m*p)**k*h((m*q)/(m*p))",
            "m**k*(p**k*h(q/p))",
            "every homogeneous function of two coordinates is p^k h(q/p): theta -> m theta "
            "multiplies each logit, and so their root mean square, by m^k",
        ),
        Equal(
            "result",
            "m**k*z_1/tau",
            "from the unit direction to norm N = m, V = m^2",
            given={"V": "m**2"},
        ),
        Derivative("log(result)", "V", "k/(2*V)", "d ln Z/d ln V = k/2, hence d ln Z/d ln N = k"),
        Equal(
            "result",
            "z_1",
            "with tau = N^k the loss sees the same logits at every norm",
            given={"tau": "V**(k/2)"},
        ),
        Limit(
            "result",
            "k",
            "0",
            "z_1/tau",
            "degree 0 (a normalised output): the norm does not move the logits",
        ),
    ),
    local=(_P, _Q, _SCALE),
    notes=(
        "Regress ln(logit_scale) on ln N over runs to measure k; the definition of the column "
        "logit_scale takes each example's mean over the classes off, which keeps homogeneity.",
    ),
    example={
        "unit_logit_scale": 0.05,
        "squared_norm": 900.0,
        "degree": 2.0,
        "temperature": 1.0,
    },
)

FORMULAS = (kappa_delay, clamped_norm_delay, logit_scale_homogeneity)
