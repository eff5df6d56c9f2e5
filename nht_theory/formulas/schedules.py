"""The regularisation clock under schedules: tau(t) = sum of -2 ln(1 - eta_s lambda)."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Equal, Induction, Limit, Monotone, Positive
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import DECAY_BELOW_ONE

TOPIC = "schedules"
TITLE = "Schedules and the regularisation clock"

_CLOCK = nonnegative("tau", "clock", r"\tau", "1", "regularisation clock")
_BUDGET = Symbol(
    "T_max", "total_steps", r"T_{\max}", "step", "length of the schedule", 1.0, integer=True
)
_WARMUP = Symbol("n", "warmup_steps", "n", "step", "length of the warm-up", 1.0, integer=True)
_FIRST = nonnegative("t_1", "first_steps", "t_1", "step", "steps of the first piece")
_SECOND = nonnegative("t_2", "second_steps", "t_2", "step", "steps of the second piece")
_SECOND_RATE = nonnegative(
    "eta_2", "second_learning_rate", r"\eta_2", "1/step", "learning rate of the second piece"
)
_SUM = nonnegative("E", "summed_learning_rate", r"\sum_s \eta_s", "1", "sum of the learning rates")
_EXAMPLE = {"learning_rate": 1e-3, "weight_decay": 1.0}

regularization_clock = Formula(
    name="regularization_clock",
    topic=TOPIC,
    title="The clock of a piecewise constant schedule",
    gives=_CLOCK,
    expression="-2*(t_1*log1p(-eta*lam) + t_2*log1p(-eta_2*lam))",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY, _FIRST, _SECOND_RATE, _SECOND),
    statement="With zero loss gradient V_t = V_0 e^(-tau(t)), tau(t) = sum over steps of "
    "-2 ln(1 - eta_s lambda_s). Pieces add; every schedule is made of pieces of one step.",
    source="derived here",
    conditions=(
        DECAY_BELOW_ONE,
        Condition(
            "eta_2*lam < 1",
            otherwise="one step of decay removes the whole weight",
            remedy="lower the second learning rate or the weight decay",
        ),
    ),
    derivation=(
        Induction(
            "V_0*exp(-result)",
            initial="V_0*(1 - eta*lam)**(2*t_1)",
            successor="(1 - eta_2*lam)**2*state",
            index="t_2",
            because="after t_1 steps of the first piece, each step of the second shrinks V by "
            "its own a^2",
        ),
        Induction(
            "V_0*exp(-result)",
            initial="V_0*(1 - eta_2*lam)**(2*t_2)",
            successor="(1 - eta*lam)**2*state",
            index="t_1",
            because="and the order of the pieces does not matter",
        ),
    ),
    local=(s.INITIAL_NORM,),
    example={
        **_EXAMPLE,
        "first_steps": 1000,
        "second_learning_rate": 1e-4,
        "second_steps": 500,
    },
)

linear_clock_bound = Formula(
    name="linear_clock_bound",
    topic=TOPIC,
    title="The clock from the summed learning rate",
    gives=_CLOCK,
    expression="2*lam*E",
    symbols=(s.WEIGHT_DECAY, _SUM),
    relation=">=",
    assumptions=("eta_s lambda < 1 at every step, and one lambda throughout",),
    statement="tau >= 2 lambda sum of eta_s under any schedule, with equality to first order: "
    "the sum of the learning rates is all that matters for small eta lambda.",
    source="derived here",
    derivation=(
        Monotone(
            "-2*log(1 - x) - 2*x",
            "x",
            "each step contributes more than 2 eta_s lambda",
            given={"x": "s/(1 + s)"},
        ),
        Limit("-2*log(1 - x)/x", "x", "0", "2", "and no more than that to first order"),
        Equal("result/lam", "E/lam*2*lam", "summed over the steps"),
    ),
    local=(s.AUXILIARY, s.DECAY_PER_STEP),
    example={"weight_decay": 1.0, "summed_learning_rate": 25.0},
)

warmup_clock = Formula(
    name="warmup_clock",
    topic=TOPIC,
    title="The clock of a linear warm-up",
    gives=_CLOCK,
    expression="eta*lam*(n + 1)",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY, _WARMUP),
    relation=">=",
    statement="Over eta/n, 2 eta/n, ..., eta the clock gains at least eta lambda (n + 1), and "
    "that to first order: half of what the full learning rate would bring, and one step "
    "more.",
    source="derived here",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Induction(
            "t*(t + 1)/2",
            initial="0",
            successor="state + t + 1",
            because="the sum of 1, ..., t",
        ),
        Equal(
            "result",
            "2*lam*(eta/n)*(n*(n + 1)/2)",
            "2 lambda times the summed learning rate (linear_clock_bound)",
        ),
    ),
    local=(s.STEP,),
    example={**_EXAMPLE, "warmup_steps": 500},
)

_R = "sqrt(1 - eta*lam)"
_Q = f"((1 - {_R})/(1 + {_R}))"

cosine_clock = Formula(
    name="cosine_clock",
    topic=TOPIC,
    title="The clock of a cosine to zero",
    gives=_CLOCK,
    expression=f"-log1p(-eta*lam) - 4*T_max*log((1 + {_R})/2) - 2*log1p(-{_Q}**(2*T_max))",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, _BUDGET),
    statement="Over eta_s = eta (1 + cos(pi s/T_max))/2, s = 0, ..., T_max - 1 (torch's "
    "CosineAnnealingLR) the clock gains exactly -ln(1 - x) - 4 T_max ln((1 + r)/2) "
    "- 2 ln(1 - q^(2 T_max)), with x = eta lambda, r = sqrt(1 - x), q = (1 - r)/(1 + r): half of "
    "the constant schedule's to first order.",
    source="derived here",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Equal(
            "1 - x*(1 + cos(phi))/2",
            "((1 + r)/2)**2*(1 - 2*q*cos(phi) + q**2)",
            "each factor is ((1 + r)/2)^2 |1 - q e^(i phi)|^2, phi = pi s/T_max; over all 2 T_max "
            "roots of unity the product of 1 - q e^(i phi) is 1 - q^(2 T_max), by definition of "
            "the roots, and the factors at s and 2 T_max - s are equal",
            given={"x": "1 - r**2", "q": "(1 - r)/(1 + r)"},
        ),
        Equal(
            "exp(-result/2)",
            "1 - eta*lam",
            "T_max = 1: the one factor 1 - x",
            given={"T_max": "1", "eta": "(1 - r**2)/lam"},
        ),
        Equal(
            "exp(-result/2)",
            "(1 - eta*lam)*(1 - eta*lam/2)",
            "T_max = 2: the factors 1 - x and 1 - x/2",
            given={"T_max": "2", "eta": "(1 - r**2)/lam"},
        ),
        Equal(
            "exp(-result/2)",
            "(1 - eta*lam)*(1 - 3*eta*lam/4)*(1 - eta*lam/4)",
            "T_max = 3: the factors 1 - x, 1 - 3x/4, 1 - x/4",
            given={"T_max": "3", "eta": "(1 - r**2)/lam"},
        ),
    ),
    local=(
        s.DECAY_PER_STEP,
        positive("r", "root", "r", "1", "sqrt(1 - x)"),
        positive("q", "ratio", "q", "1", "(1 - r)/(1 + r)"),
        Symbol("phi", "phase", r"\varphi", "1", "pi s / T_max"),
    ),
    example={"learning_rate": 1e-3, "weight_decay": 1.0, "total_steps": 2000},
)

cosine_rate = Formula(
    name="cosine_rate",
    topic=TOPIC,
    title="Mean rate of a long cosine",
    gives=s.RATE,
    expression="-4*log1p(-eta*lam/(2*(1 + sqrt(1 - eta*lam))))",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY),
    statement="Per step, a long cosine to zero contracts V at -4 ln((1 + sqrt(1 - eta lambda))/2), "
    "about eta lambda: half the constant schedule's rate, so that lambda_weak doubles.",
    source="derived here (the leading term of cosine_clock)",
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Equal(
            "exp(-result/4)",
            "(1 + sqrt(1 - eta*lam))/2",
            "the leading term of cosine_clock, written without cancellation",
            given={"eta": "(1 - r**2)/lam"},
        ),
        Limit(
            "result/(-2*log(1 - x))",
            "x",
            "0",
            "1/2",
            "half the constant schedule's rate",
            given={"eta": "x/lam"},
        ),
        Positive(
            "(1 + r)/2 - r",
            "never as fast as the constant schedule: (1 + r)/2 > r since r = sqrt(1 - x) < 1",
            given={"r": "s/(1 + s)"},
        ),
    ),
    local=(
        s.DECAY_PER_STEP,
        s.AUXILIARY,
        Symbol("r", "root", "r", "1", "sqrt(1 - eta lambda)", 0.0, 1.0, lower_open=True),
    ),
    example=_EXAMPLE,
)

FORMULAS = (
    regularization_clock,
    linear_clock_bound,
    warmup_clock,
    cosine_clock,
    cosine_rate,
)
