"""Contraction rate of V per step, optimiser by optimiser, with zero loss gradient."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.conditions import DECAY_BELOW_ONE, PENALTY_BELOW_HALF
from nht_theory.formulas.derivation import Equal, Induction, Limit, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol

TOPIC = "rates"
TITLE = "Contraction rate of each optimiser"

_MOMENTUM = Symbol("mu", "momentum", r"\mu", "1", "momentum", lower=0.0, upper=1.0, upper_open=True)
_COUPLED = Symbol(
    "w", "weight_decay", "w", "1", "PyTorch's weight_decay", lower=0.0, lower_open=True
)
_SECOND_MOMENT = Symbol(
    "v",
    "second_moment",
    "v_i",
    "1",
    "Adam's second moment of the gradient, one coordinate",
    lower=0.0,
    lower_open=True,
)
_ROOT = Symbol("z", "root", "z", "1", "root of the characteristic polynomial")
_DISCRIMINANT = Symbol("disc", "discriminant", r"\Delta", "1", "(1 + mu - eta w)^2 - 4 mu")
_SPEED = Symbol(
    "speed", "speed", r"\lvert\dot\theta_i\rvert", "1/step", "decrease of |theta_i| per step"
)
_COORDINATE = Symbol("theta", "theta", r"\theta", "1", "a coordinate", lower=0.0, lower_open=True)
_BELOW_ONE = {"mu": "1/(1 + s)"}
_DECAY_EXAMPLE = {"learning_rate": 1e-3, "weight_decay": 1.0}

decoupled_rate = Formula(
    name="decoupled_rate",
    topic=TOPIC,
    title="Decoupled decay (AdamW, Lion, Muon, SGDW; SGD without momentum in PyTorch)",
    gives=s.RATE,
    expression="-2*log1p(-eta*lam)",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY),
    statement="With u = 0, V_t = V_0 a^(2t), so gamma_V = -2 ln(1 - eta lambda) whatever the "
    "optimiser: twice the rate of N.",
    source="derived here; arXiv 2603.07323 states eta lambda",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Induction(
            "V_0*exp(-t*result)",
            initial="V_0",
            successor="(1 - eta*lam)**2*state",
            because="each step multiplies theta by a = 1 - eta lambda, V by a^2",
        ),
        Limit(
            "result",
            "x",
            "0",
            "0",
            "no decay, no contraction",
            given={"eta": "x/lam"},
        ),
        Limit(
            "result/x",
            "x",
            "0",
            "2",
            "to first order 2 eta lambda",
            given={"eta": "x/lam"},
        ),
    ),
    local=(s.STEP, s.INITIAL_NORM, s.DECAY_PER_STEP),
    example=_DECAY_EXAMPLE,
)

l2_penalty_rate = Formula(
    name="l2_penalty_rate",
    topic=TOPIC,
    title="L2 penalty lambda ||theta||^2, the paper's form",
    gives=s.RATE,
    expression="-2*log1p(-2*eta*lam)",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY),
    statement="The penalty's gradient is 2 lambda theta: theta' = (1 - 2 eta lambda) theta, so "
    "gamma_V = -2 ln(1 - 2 eta lambda) = 4 eta lambda + O((eta lambda)^2).",
    source="arXiv 2603.07323, equation 2 (update rule); the rate is derived here",
    conditions=(PENALTY_BELOW_HALF,),
    derivation=(
        Induction(
            "V_0*exp(-t*result)",
            initial="V_0",
            successor="(1 - 2*eta*lam)**2*state",
            because="theta' = theta - eta 2 lambda theta",
        ),
        Limit("result/x", "x", "0", "4", "to first order 4 eta lambda", given={"eta": "x/lam"}),
    ),
    local=(s.STEP, s.INITIAL_NORM, s.DECAY_PER_STEP),
    notes=("PyTorch's weight_decay is 2 lambda in this form.",),
    example=_DECAY_EXAMPLE,
)

momentum_root = Formula(
    name="momentum_root",
    topic=TOPIC,
    title="SGD with momentum: the dominant root",
    gives=_ROOT,
    expression="(1 + mu - eta*w + sqrt((1 + mu - eta*w)**2 - 4*mu))/2",
    symbols=(s.LEARNING_RATE, _COUPLED, _MOMENTUM),
    statement="Decay passes through the momentum buffer, so theta obeys "
    "theta'' = (1 + mu - eta w) theta' - mu theta; where the roots of "
    "z^2 - (1 + mu - eta w) z + mu are real, the larger one governs.",
    source="derived here from PyTorch's SGD",
    conditions=(
        Condition(
            "eta*w <= (1 - sqrt(mu))**2",
            otherwise="the roots are complex: theta oscillates",
            remedy="use momentum_oscillating_rate, or lower eta*w below (1 - sqrt(mu))^2",
        ),
    ),
    derivation=(
        Root(
            "z**2 - (1 + mu - eta*w)*z + mu",
            "0",
            "z",
            "result",
            "characteristic polynomial of the two-step recursion",
        ),
        Equal(
            "(1 + mu - eta*w)**2 - 4*mu",
            "(1 + mu - eta*w - 2*sqrt(mu))*(1 + mu - eta*w + 2*sqrt(mu))",
            "the discriminant changes sign where eta w = (1 - sqrt(mu))^2",
        ),
        Equal(
            "(1 - result)*(1 - mu + eta*w + sqrt((1 + mu - eta*w)**2 - 4*mu))",
            "2*eta*w",
            "so 1 - z = 2 eta w/(1 - mu + eta w + root), about eta w/(1 - mu)",
        ),
    ),
    local=(_ROOT,),
    example={"learning_rate": 0.1, "weight_decay": 5e-4, "momentum": 0.9},
)

momentum_rate = Formula(
    name="momentum_rate",
    topic=TOPIC,
    title="SGD with momentum, real roots",
    gives=s.RATE,
    expression="-2*log1p(-eta*w*2/(1 - mu + eta*w + sqrt((1 - mu + eta*w)**2 - 4*eta*w)))",
    symbols=(s.LEARNING_RATE, _COUPLED, _MOMENTUM),
    statement="gamma_V = -2 ln z with z the larger root of z^2 - (1 + mu - eta w) z + mu; about "
    "2 eta w/(1 - mu). The expression is written so that no digits cancel.",
    source="derived here from PyTorch's SGD",
    conditions=momentum_root.conditions,
    derivation=(
        Root(
            "z**2 - (1 + mu - eta*w)*z + mu",
            "0",
            "z",
            "exp(-result/2)",
            "e^(-gamma_V/2) is a root of the characteristic polynomial",
        ),
        Limit(
            "result/w",
            "w",
            "0",
            "2*eta/(1 - mu)",
            "to first order 2 eta w/(1 - mu), which tells it from the smaller root",
            given=_BELOW_ONE,
        ),
    ),
    local=(_ROOT, s.AUXILIARY),
    example={"learning_rate": 0.1, "weight_decay": 5e-4, "momentum": 0.9},
)

momentum_oscillating_rate = Formula(
    name="momentum_oscillating_rate",
    topic=TOPIC,
    title="SGD with momentum, complex roots",
    gives=s.RATE,
    expression="-log(mu)",
    symbols=(s.LEARNING_RATE, _COUPLED, _MOMENTUM),
    statement="Where (1 - sqrt(mu))^2 < eta w < (1 + sqrt(mu))^2 theta oscillates inside an "
    "envelope of modulus sqrt(mu) a step: gamma_V = -ln mu, independent of w.",
    source="derived here from PyTorch's SGD",
    conditions=(
        Condition(
            "eta*w > (1 - sqrt(mu))**2",
            otherwise="the roots are real: there is no oscillation",
            remedy="use momentum_rate",
        ),
        Condition(
            "eta*w < (1 + sqrt(mu))**2",
            otherwise="the recursion diverges or alternates with a real negative root",
            remedy="lower eta*w below (1 + sqrt(mu))^2",
        ),
    ),
    derivation=(
        Equal(
            "(z + I*q)*(z - I*q)",
            "exp(-result)",
            "the product of the two conjugate roots, their squared modulus, is mu",
            given={"q": "sqrt(4*mu - (1 + mu - eta*w)**2)/2", "z": "(1 + mu - eta*w)/2"},
        ),
    ),
    local=(_ROOT, Symbol("q", "imaginary", "q", "1", "imaginary part of the root")),
    notes=("V itself is the envelope times a periodic factor; the rate is that of the envelope.",),
    example={"learning_rate": 0.1, "weight_decay": 1.0, "momentum": 0.9},
)

adam_coupled_noise_rate = Formula(
    name="adam_coupled_noise_rate",
    topic=TOPIC,
    title="Adam with coupled L2, gradient noise dominates",
    gives=s.RATE,
    expression="-2*log1p(-eta*w/sqrt(v))",
    symbols=(s.LEARNING_RATE, _COUPLED, _SECOND_MOMENT),
    statement="Where the gradient noise g fills Adam's denominator, sqrt(v_i) >> w |theta_i|, the "
    "mean update is w theta_i/sqrt(v_i): each coordinate decays at 2 eta w/sqrt(v_i), slower where "
    "its gradients are large.",
    source="derived here; Loshchilov and Hutter, arXiv 1711.05101, section 2 (the effect)",
    assumptions=(
        "zero-mean gradient noise of stationary second moment v_i, much larger than w theta_i",
    ),
    conditions=(
        Condition(
            "eta*w < sqrt(v)",
            otherwise="one step removes the whole coordinate",
            remedy="lower the learning rate or the weight decay",
        ),
    ),
    derivation=(
        Induction(
            "V_0*exp(-t*result)",
            initial="V_0",
            successor="(1 - eta*w/sqrt(v))**2*state",
            because="E theta_i' = theta_i - eta w theta_i/sqrt(v_i)",
        ),
        Limit("result/eta", "eta", "0", "2*w/sqrt(v)", "to first order 2 eta w/sqrt(v_i)"),
    ),
    local=(s.STEP, s.INITIAL_NORM),
    example={"learning_rate": 1e-3, "weight_decay": 1e-3, "second_moment": 1.0},
)

adam_coupled_speed = Formula(
    name="adam_coupled_speed",
    topic=TOPIC,
    title="Adam with coupled L2, on the manifold",
    gives=_SPEED,
    expression="eta",
    symbols=(s.LEARNING_RATE,),
    statement="With zero loss gradient the only gradient is w theta_i, which Adam divides by "
    "its own size: |theta_i| falls at the constant speed eta, independent of w, to first "
    "order in eta.",
    source="derived here",
    assumptions=("eps << w |theta_i|", "theta_i changes little within 1/(1 - beta_2) steps"),
    derivation=(
        Equal(
            "theta - result",
            "theta - eta*(w*theta)/sqrt((w*theta)**2)",
            "m_hat = w theta and v_hat = (w theta)^2 when theta hardly moves",
        ),
    ),
    local=(_COUPLED, _COORDINATE),
    notes=("V then falls to zero in finite time: there is no exponential law and no log ratio.",),
    example={"learning_rate": 1e-3},
)

tangential_rate = Formula(
    name="tangential_rate",
    topic=TOPIC,
    title="Decay on a curved zero-loss manifold",
    gives=s.RATE,
    expression="2*eta*lam*V_tan/V",
    symbols=(
        s.LEARNING_RATE,
        s.WEIGHT_DECAY,
        Symbol(
            "V_tan",
            "squared_norm_tangential",
            r"\lVert P\theta\rVert^2",
            "V",
            "squared norm of theta's projection on the tangent space",
            lower=0.0,
        ),
        s.SQUARED_NORM,
    ),
    statement="The loss undoes the normal part of the decay, so that theta flows along the "
    "manifold as theta' = -lambda P theta: gamma_V = 2 eta lambda ||P theta||^2/||theta||^2 "
    "<= 2 eta lambda.",
    source="derived here (continuous time); the excess V - V_star, not V, is what decays",
    assumptions=("small steps: gradient flow stays on the manifold",),
    conditions=(
        Condition(
            "V_tan <= V",
            otherwise="the projection is longer than the vector",
            remedy="check both norms",
        ),
    ),
    derivation=(
        Equal(
            "result*(p**2 + q**2)",
            "2*eta*lam*p**2",
            "dV/dt = 2 <theta, theta'> = -2 lambda <theta, P theta> = -2 lambda ||P theta||^2",
            given={"V_tan": "p**2", "V": "p**2 + q**2"},
        ),
        Positive(
            "2*eta*lam - result",
            "never faster than pure decay",
            strict=False,
            given={"V": "V_tan + q**2"},
        ),
    ),
    local=(
        Symbol(
            "p", "tangential", r"\lVert P\theta\rVert", "1", "tangential part", 0.0, lower_open=True
        ),
        Symbol(
            "q", "normal", r"\lVert (1-P)\theta\rVert", "1", "normal part", 0.0, lower_open=True
        ),
    ),
    example={**_DECAY_EXAMPLE, "squared_norm_tangential": 2500.0, "squared_norm": 3900.0},
)

FORMULAS = (
    decoupled_rate,
    l2_penalty_rate,
    momentum_root,
    momentum_rate,
    momentum_oscillating_rate,
    adam_coupled_noise_rate,
    adam_coupled_speed,
    tangential_rate,
)
