"""Theorems 3.1 and 3.4 of the paper as what they prove: statements about the mean of V.

A bound on E V_t says when the mean over runs passes a norm. When one run passes it is another
question, which needs another premise; each entry says which of the two it answers.
"""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import (
    Derivative,
    Equal,
    Induction,
    Limit,
    Monotone,
    Positive,
    Root,
)
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import DECAY_ACTS, HIERARCHY

TOPIC = "theorems"
TITLE = "Theorems 3.1 and 3.4: of the mean, of a run"

_LAW_SYMBOLS = (s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, s.SHORTCUT_NORM, s.STRUCTURED_NORM)
_EXAMPLE = {
    "learning_rate": 1e-3,
    "weight_decay": 1.0,
    "squared_norm_shortcut": 3900.0,
    "squared_norm_structured": 1150.0,
}
_MEAN = nonnegative("EV", "squared_norm_mean", r"\mathrm{E}\,V_t", "V", "expected V at step t")
_NOISE_VARIANCE = nonnegative(
    "sigma2", "gradient_noise", r"\sigma^2", "V", "trace of the noise covariance"
)
_PREMISE_FACTOR = positive(
    "k",
    "contraction_factor",
    "k",
    "1",
    "the premise: one step leaves at least the share 1 - k eta lambda of V",
)
_PREMISE_SAYS_SOMETHING = Condition(
    "k*eta*lam < 1",
    otherwise="the premise says nothing when k eta lambda >= 1",
    remedy="lower the learning rate or the weight decay",
)
_PROBABILITY = Symbol(
    "s", "fall_probability", "s", "1", "probability of a fall to zero", 0.0, 1.0, upper_open=True
)
_HIT = Symbol("P", "hit_probability", r"P(T \le t)", "1", "probability of V_st by step t", 0.0, 1.0)
paper_trajectory_bound = Formula(
    name="paper_trajectory_bound",
    topic=TOPIC,
    title="Theorem 3.1: the bound on the trajectory",
    gives=_MEAN,
    expression="V_0*exp(t*log1p(-eta*lam)) + V_inf",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, s.INITIAL_NORM, s.NORM_FLOOR, s.STEP),
    relation="<=",
    statement="E V_t <= (1 - eta lambda)^t V_0 + V_inf with V_inf = eta sigma^2/lambda, under the "
    "paper's update theta' = theta - eta (u + 2 lambda theta). It follows from (1 - 2 eta "
    "lambda)^2 <= 1 - eta lambda, which holds for eta lambda <= 3/4 only. It bounds the mean over "
    "runs, from above: a run may be above it, and it says nothing of how early V may fall.",
    source="arXiv 2603.07323, theorem 3.1; range and steps derived here",
    assumptions=(
        "zero-mean updates of covariance trace at most sigma^2, uncorrelated with theta: the loss "
        "gradient itself is zero (A2, on the manifold M)",
        "V_inf is at least eta sigma^2/lambda",
    ),
    conditions=(
        Condition(
            "eta*lam <= 3/4",
            otherwise="the paper's inequality (1 - 2 eta lambda)^2 <= 1 - eta lambda fails",
            remedy="use expected_squared_norm, which is exact",
        ),
    ),
    derivation=(
        Equal(
            "1 - x - (1 - 2*x)**2",
            "x*(3 - 4*x)",
            "E V' = (1 - 2 x)^2 E V + eta^2 sigma^2 with x = eta lambda: the cross term is zero in "
            "the mean",
        ),
        Positive(
            "x*(3 - 4*x)",
            "so E V' <= (1 - x) E V + eta^2 sigma^2 inside 0 < x < 3/4, x = (3/4) s/(1 + s)",
            given={"x": "3*s/(4*(1 + s))"},
        ),
        Positive(
            "(1 - 2*x)**2 - (1 - x)",
            "and not beyond, x = 3/4 + s",
            given={"x": "3/4 + s"},
        ),
        Root(
            "(1 - eta*lam)*V_inf + eta**2*sigma2",
            "V_inf",
            "V_inf",
            "eta*sigma2/lam",
            "the fixed point of the slower recursion",
        ),
        Induction(
            "V_inf + (V_0 - V_inf)*(1 - eta*lam)**t",
            initial="V_0",
            successor="(1 - eta*lam)*state + eta*lam*V_inf",
            because="the slower recursion in closed form, with eta^2 sigma^2 = eta lambda V_inf",
        ),
        Equal(
            "result - (V_inf + (V_0 - V_inf)*exp(t*log1p(-eta*lam)))",
            "V_inf*exp(t*log1p(-eta*lam))",
            "the paper drops V_inf (1 - eta lambda)^t, which is not negative",
        ),
    ),
    local=(s.AUXILIARY, s.DECAY_PER_STEP, _NOISE_VARIANCE),
    notes=(
        "Under decoupled decay (1 - eta lambda)^2 <= 1 - eta lambda holds up to eta lambda = 1.",
        "expected_squared_norm is the exact mean that this bounds.",
    ),
    example={
        "learning_rate": 1e-3,
        "weight_decay": 1.0,
        "squared_norm_initial": 3900.0,
        "squared_norm_floor": 113.0,
        "step": 500,
    },
)

paper_upper_bound_with_floor = Formula(
    name="paper_upper_bound_with_floor",
    topic=TOPIC,
    title="The paper's upper bound on the mean's crossing, with noise",
    gives=s.MEAN_CROSSING,
    expression="log_ratio(V_sc, V_st - V_inf)/(eta*lam)",
    symbols=(*_LAW_SYMBOLS, s.NORM_FLOOR),
    relation="<=",
    statement="From theorem 3.1, E V_t <= (1 - eta lambda)^t V_sc + V_inf: the mean of V is at or "
    "below V_st after ln(V_sc/(V_st - V_inf))/(eta lambda) steps, if V_inf < V_st. It is the mean "
    "over runs that is there then. With V_inf = 0 it is paper_upper_bound.",
    source="arXiv 2603.07323, theorem 3.1 (its trajectory bound); the time is derived here",
    assumptions=(
        "zero-mean updates uncorrelated with theta (zero loss gradient apart from noise)",
        "V_inf is the paper's floor eta sigma^2/lambda, not the exact one, which is smaller",
    ),
    conditions=(
        DECAY_ACTS,
        Condition(
            "eta*lam <= 3/4",
            otherwise="the paper's inequality (1 - 2 eta lambda)^2 <= 1 - eta lambda fails",
            remedy="use hitting_time_with_floor",
        ),
        HIERARCHY,
        Condition(
            "V_inf < V_st",
            otherwise="the floor is at or above V_st: the bound never falls to it",
            value=float("inf"),
        ),
    ),
    derivation=(
        Root(
            "V_sc*exp(-eta*lam*T_mean) + V_inf",
            "V_st",
            "T_mean",
            "result",
            "the bound with (1 - eta lambda)^t <= e^(-eta lambda t) reaches V_st",
            given={"V_st": "V_inf + q"},
        ),
        Monotone(
            "-log(1 - x) - x",
            "x",
            "which (1 - eta lambda)^t does not exceed: -ln(1 - x) > x",
            given={"x": "s/(1 + s)"},
        ),
        Equal(
            "result",
            "log_ratio(V_sc, V_st)/(eta*lam)",
            "without a floor it is paper_upper_bound",
            given={"V_inf": "0"},
        ),
        Positive(
            "exp(result*eta*lam) - V_sc/V_st",
            "with a floor it is longer: paper_upper_bound would promise too early a time",
            given={"V_st": "p + q", "V_inf": "p"},
        ),
    ),
    local=(
        s.MEAN_CROSSING,
        s.AUXILIARY,
        s.DECAY_PER_STEP,
        positive("p", "floor", "p", "V", "a positive floor"),
        positive("q", "margin", r"\delta", "V", "V_st - V_inf"),
    ),
    example={**_EXAMPLE, "squared_norm_floor": 113.0},
)

premise_lower_bound = Formula(
    name="premise_lower_bound",
    topic=TOPIC,
    title="Theorem 3.4's premise: a lower bound on when the mean of V reaches V_st",
    gives=s.MEAN_CROSSING,
    expression="log_ratio(V_sc, V_st)/(-log1p(-k*eta*lam))",
    symbols=(*_LAW_SYMBOLS, _PREMISE_FACTOR),
    relation=">=",
    statement="If E V_{t+1} >= (1 - k eta lambda) E V_t for every step (the paper's premise; its c "
    "is our k), then E V_t, the mean over runs, is above V_st for ln(V_sc/V_st)/(-ln(1 - k eta "
    "lambda)) steps. It is no bound on a run's hitting time, which the paper takes it for: a run "
    "may fall at once while the mean does not.",
    source="arXiv 2603.07323, theorem 3.4; the constant and the counter-example are derived here",
    assumptions=("the premise holds for the mean over runs at every step",),
    conditions=(_PREMISE_SAYS_SOMETHING, DECAY_ACTS, HIERARCHY),
    derivation=(
        Induction(
            "V_sc*(1 - k*eta*lam)**t",
            initial="V_sc",
            successor="(1 - k*eta*lam)*state",
            because="the slowest-falling mean that the premise allows bounds E V_t from below",
        ),
        Root(
            "V_sc*(1 - k*eta*lam)**T_mean",
            "V_st",
            "T_mean",
            "result",
            "no mean that meets the premise is at V_st earlier",
        ),
        Equal(
            "s*0 + (1 - s)*(V_sc*(1 - k*eta*lam)/(1 - s))",
            "V_sc*(1 - k*eta*lam)",
            "counter-example for single runs: V' = 0 with probability s, else V (1 - k eta "
            "lambda)/(1 - s); its mean meets the premise with equality",
        ),
        Induction(
            "(1 - s)**t",
            initial="1",
            successor="(1 - s)*state",
            because="and the share of runs not yet at zero falls by 1 - s a step, whatever the "
            "norms: their mean time is at most 1/s",
        ),
    ),
    local=(s.STEP, s.MEAN_CROSSING, _PROBABILITY),
    notes=(
        "V' = 0 with probability s, else V' = V (1 - 2 eta lambda)/(1 - s), meets the premise with "
        "k = 2: at eta lambda 1e-3, V_sc/V_st 3900/1150 and s = 0.1 this bound is 610, and the "
        "mean hitting time 1/s = 10.",
        "A bound on each run's time needs the premise path by path (pathwise_lower_bound), a bound "
        "on its probability a norm that never exceeds its start (premise_hitting_probability).",
    ),
    example={**_EXAMPLE, "contraction_factor": 2.0},
)

pathwise_lower_bound = Formula(
    name="pathwise_lower_bound",
    topic=TOPIC,
    title="Lower bound on every run's hitting time, under a premise on every run",
    gives=s.TIME,
    expression="log_ratio(V_sc, V_st)/(-log1p(-k*eta*lam))",
    symbols=(*_LAW_SYMBOLS, _PREMISE_FACTOR),
    relation=">=",
    statement="If V_{t+1} >= (1 - k eta lambda) V_t at every step of the run itself (almost "
    "surely, not in the mean), then the run is above V_st for ln(V_sc/V_st)/(-ln(1 - k eta "
    "lambda)) steps. Pure decoupled decay meets the premise with k = 2, and so does any update "
    "with 2 a <theta, u> <= eta ||u||^2 (no_faster_margin).",
    source="derived here: what theorem 3.4 of arXiv 2603.07323 states, with the premise that "
    "proves it",
    assumptions=("V_{t+1} >= (1 - k eta lambda) V_t at every step, for the run itself",),
    conditions=(_PREMISE_SAYS_SOMETHING, DECAY_ACTS, HIERARCHY),
    derivation=(
        Induction(
            "V_sc*(1 - k*eta*lam)**t",
            initial="V_sc",
            successor="(1 - k*eta*lam)*state",
            because="the fastest fall that the premise allows, step by step",
        ),
        Root(
            "V_sc*(1 - k*eta*lam)**T",
            "V_st",
            "T",
            "result",
            "the run's own V_t is not below that fall, so it is not at V_st earlier",
        ),
        Equal(
            "(1 - eta*lam)**2 - (1 - 2*eta*lam)",
            "(eta*lam)**2",
            "pure decoupled decay meets the premise with k = 2",
        ),
    ),
    local=(s.STEP, s.TIME),
    example={**_EXAMPLE, "contraction_factor": 2.0},
)

premise_hitting_probability = Formula(
    name="premise_hitting_probability",
    topic=TOPIC,
    title="What theorem 3.4's premise does say of a run's hitting time",
    gives=_HIT,
    expression="-expm1(t*log1p(-k*eta*lam))*V_sc/(V_sc - V_st)",
    symbols=(*_LAW_SYMBOLS, _PREMISE_FACTOR, s.STEP),
    relation="<=",
    statement="If E(V_{t+1} | past) >= (1 - k eta lambda) V_t and V never exceeds its start V_sc, "
    "the probability that the run has been at V_st by step t is at most (1 - (1 - k eta "
    "lambda)^t) V_sc/(V_sc - V_st): the hitting time is of order 1/(eta lambda), without the "
    "logarithm, and that cannot be improved.",
    source="derived here (optional stopping)",
    assumptions=(
        "the premise holds given the run's past",
        "V_t <= V_sc until V_st is hit: without it no bound exists (premise_lower_bound's "
        "counter-example)",
    ),
    conditions=(
        _PREMISE_SAYS_SOMETHING,
        DECAY_ACTS,
        HIERARCHY,
        Condition(
            "-expm1(t*log1p(-k*eta*lam))*V_sc < V_sc - V_st",
            otherwise="so late a step may have been reached by every run",
            value=1.0,
        ),
    ),
    derivation=(
        Induction(
            "V_sc",
            initial="V_sc",
            successor="((1 - k*eta*lam)*state*(1 - k*eta*lam)**t)/(1 - k*eta*lam)**(t + 1)",
            because="V_t/(1 - k eta lambda)^t does not fall in the mean, and at a stopping time "
            "up to t its mean is still at least V_sc (optional stopping)",
        ),
        Root(
            "V_st*P + V_sc*(1 - P)",
            "V_sc*exp(t*log1p(-k*eta*lam))",
            "P",
            "result",
            "stopped at V_st or at step t it is at most (V_st P + V_sc (1 - P))/(1 - k eta "
            "lambda)^t, since V <= V_st at the hit and V <= V_sc before",
        ),
        Derivative(
            "V_st*P + V_sc*(1 - P)",
            "P",
            "-(V_sc - V_st)",
            "which falls as P grows, so P is at most the solution",
        ),
        Limit(
            "result",
            "V_st",
            "0",
            "1 - (1 - k*eta*lam)**t",
            "attained: V' = 0 with probability k eta lambda and V otherwise is at V_st by step t "
            "with exactly this probability",
        ),
    ),
    local=(_HIT,),
    example={**_EXAMPLE, "contraction_factor": 2.0, "step": 100},
)

FORMULAS = (
    paper_trajectory_bound,
    paper_upper_bound_with_floor,
    pathwise_lower_bound,
    premise_lower_bound,
    premise_hitting_probability,
)
