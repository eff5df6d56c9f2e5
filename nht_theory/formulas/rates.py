"""Contraction rate of V per step, optimiser by optimiser, with zero loss gradient."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Derivative, Equal, Induction, Limit, Positive
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import DECAY_BELOW_ONE, PENALTY_BELOW_HALF

TOPIC = "rates"
TITLE = "Contraction rate of each optimiser"

_COUPLED = positive("w", "weight_decay", "w", "1", "PyTorch's weight_decay")
_SECOND_MOMENT = positive(
    "v", "second_moment", "v_i", "1", "Adam's second moment of the gradient, one coordinate"
)
_SPEED = Symbol(
    "speed", "speed", r"\lvert\dot\theta_i\rvert", "1/step", "decrease of |theta_i| per step"
)
_COORDINATE = positive("theta", "theta", r"\theta", "1", "|theta_i| of the coordinate, now")
_BETA_1 = Symbol("b1", "beta_1", r"\beta_1", "1", "Adam's beta_1", 0.0, 1.0, upper_open=True)
_BETA_2 = Symbol("b2", "beta_2", r"\beta_2", "1", "Adam's beta_2", 0.0, 1.0, upper_open=True)
_SECOND_AUXILIARY = positive(
    "r", "second_auxiliary", "r", "1", "covers 0 < beta_1 < 1 as r/(1 + r)"
)
_BELOW_ONE = {"b2": "s/(1 + s)"}
_BOTH_BELOW_ONE = {"b1": "r/(1 + r)", "b2": "s/(1 + s)"}
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

adam_coupled_noise_rate = Formula(
    name="adam_coupled_noise_rate",
    topic=TOPIC,
    title="Adam with coupled L2, gradient noise dominates",
    gives=s.RATE,
    expression="-2*log1p(-eta*w/sqrt(v))",
    symbols=(s.LEARNING_RATE, _COUPLED, _SECOND_MOMENT),
    statement="Where the gradient noise g fills Adam's denominator, sqrt(v_i) >> w |theta_i|, the "
    "mean update is w theta_i/sqrt(v_i): the squared mean (E theta_i)^2 of each coordinate decays "
    "at 2 eta w/sqrt(v_i), slower where its gradients are large. E V adds the variance of theta "
    "and stops at a floor.",
    source="derived here; Loshchilov and Hutter, arXiv 1711.05101, section 2 (the effect)",
    assumptions=(
        "zero-mean gradient noise of stationary second moment v_i, sqrt(v_i) much larger than w "
        "|theta_i|",
        "v_hat has settled on v_i: beta_2 near 1, and more than 1/(1 - beta_2) steps have passed",
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
    expression="eta*(1 - eta*(b2/(1 - b2) - b1/(1 - b1))/theta)",
    symbols=(s.LEARNING_RATE, _COORDINATE, _BETA_1, _BETA_2),
    statement="With zero loss gradient the only gradient is w theta_i, which Adam divides by its "
    "own remembered size: while |theta_i| is much larger than eta/(1 - beta_2), it falls at a "
    "speed near eta, independent of w. To first order in eta/((1 - beta_2) |theta_i|) the speed "
    "is less by the drift of theta_i over the memories of v and m.",
    source="derived here",
    assumptions=(
        "zero loss gradient (u = 0)",
        "eps << w |theta_i|",
        "|theta_i| is much larger than eta/(1 - beta_2): below that the second moment remembers a "
        "larger theta_i, and the speed falls far below eta",
        "more than 1/(1 - beta_2) steps have passed; before, the memory is shorter and the speed "
        "nearer to eta",
    ),
    conditions=(
        Condition(
            "10*eta <= (1 - b2)*theta",
            otherwise="|theta| is not much larger than eta/(1 - beta_2): the first order, more "
            "than a tenth of the speed, says little",
            remedy="no closed form: simulate, or lower the learning rate",
        ),
    ),
    derivation=(
        Derivative(
            "1/(1 - b2)",
            "b2",
            "(1/(1 - b2))*(1/(1 - b2))",
            "sum of k b^(k-1) over the geometric memory: the mean age of what v remembers is "
            "b2/(1 - b2), and b1/(1 - b1) of what m remembers",
        ),
        Equal(
            "(1 - b2)*(b2*(1 + b2)/(1 - b2)**3) - (b2/(1 - b2))**2",
            "b2/(1 - b2)**2",
            "and the variance of that age",
            given=_BELOW_ONE,
        ),
        Limit(
            "((theta + eta*b1/(1 - b1))/sqrt((theta + eta*b2/(1 - b2))**2 + eta**2*b2/(1 - b2)**2)"
            " - 1)/eta",
            "eta",
            "0",
            "-(b2/(1 - b2) - b1/(1 - b1))/theta",
            "k steps ago theta was larger by k eta: m_hat is w (theta + eta b1/(1 - b1)), v_hat "
            "the mean of w^2 (theta + k eta)^2; their ratio to first order in eta",
            given=_BOTH_BELOW_ONE,
        ),
        Equal(
            "(result/eta - 1)/eta",
            "-(b2/(1 - b2) - b1/(1 - b1))/theta",
            "which is the formula's correction",
        ),
        Limit(
            "result/eta", "eta", "0", "1", "far from zero the speed is eta", given=_BOTH_BELOW_ONE
        ),
    ),
    local=(s.AUXILIARY, _SECOND_AUXILIARY),
    notes=(
        "No exponential law and no log ratio: V falls as (theta_0 - eta t)^2 until |theta_i| is "
        "near eta/(1 - beta_2), and then far slower; it does not reach zero at that speed.",
        "torch, eta 1e-3, beta_2 0.999, theta 0.05: 0.004 eta at step 100.",
    ),
    example={"learning_rate": 1e-5, "theta": 1.0, "beta_1": 0.9, "beta_2": 0.999},
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
        nonnegative(
            "V_tan",
            "squared_norm_tangential",
            r"\lVert P\theta\rVert^2",
            "V",
            "squared norm of theta's projection on the tangent space",
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
        positive("p", "tangential", r"\lVert P\theta\rVert", "1", "tangential part"),
        positive("q", "normal", r"\lVert (1-P)\theta\rVert", "1", "normal part"),
    ),
    example={**_DECAY_EXAMPLE, "squared_norm_tangential": 2500.0, "squared_norm": 3900.0},
)

FORMULAS = (
    decoupled_rate,
    l2_penalty_rate,
    adam_coupled_noise_rate,
    adam_coupled_speed,
    tangential_rate,
)
