"""The noise floor: where decay and the diffusion of the gradient noise balance."""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Equal, Induction, Limit, Positive, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol, nonnegative, positive
from nht_theory.formulas.symbols import DECAY_ACTS, DECAY_BELOW_ONE

TOPIC = "floors"
TITLE = "Noise floor"

_INITIAL = nonnegative("V_0", "squared_norm_initial", "V_0", "V", "V at step 0")
_MEAN = nonnegative("EV", "squared_norm_mean", r"\mathrm{E}\,V_t", "V", "expected V at step t")
_BETA_1 = Symbol("b1", "beta_1", r"\beta_1", "1", "Adam's beta_1", 0.0, 1.0, upper_open=True)
_BETA_2 = Symbol(
    "b2", "beta_2", r"\beta_2", "1", "Adam's beta_2", 0.0, 1.0, lower_open=True, upper_open=True
)
_NOISE_VARIANCE = nonnegative(
    "sigma2", "gradient_noise", r"\sigma^2", "V", "trace of the gradient noise covariance"
)
_EXAMPLE = {"learning_rate": 1e-3, "weight_decay": 1.0}

noise_floor = Formula(
    name="noise_floor",
    topic=TOPIC,
    title="Noise floor",
    gives=s.NORM_FLOOR,
    expression="eta*S/(lam*(2 - eta*lam))",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, s.NOISE),
    statement="Under updates of stationary long-run covariance with trace S, uncorrelated with "
    "theta, E V settles at V_inf = eta^2 S/(1 - a^2), about eta S/(2 lambda).",
    source="derived here",
    assumptions=(
        "zero-mean updates uncorrelated with theta: exact for updates that are white in time, and "
        "to first order for updates that decorrelate in far fewer than 1/(eta lambda) steps",
        "V_inf is a mean over runs or time: V scatters about it by a relative sqrt(2/d) over d "
        "alike coordinates",
    ),
    conditions=(DECAY_BELOW_ONE, DECAY_ACTS),
    derivation=(
        Root(
            "V_inf",
            "(1 - eta*lam)**2*V_inf + eta**2*S",
            "V_inf",
            "result",
            "the fixed point of E V' = a^2 E V + eta^2 S",
        ),
        Limit("result/eta", "eta", "0", "S/(2*lam)", "to first order eta S/(2 lambda)"),
    ),
    local=(s.NORM_FLOOR,),
    notes=(
        "S is sigma^2 for SGD, and the number of parameters for AdamW under pure gradient noise: "
        "each coordinate of u then has unit long-run variance, whatever beta_1.",
    ),
    example={**_EXAMPLE, "noise_trace": 4000.0},
)

adamw_noise_floor = Formula(
    name="adamw_noise_floor",
    topic=TOPIC,
    title="Noise floor of AdamW under pure gradient noise",
    gives=s.NORM_FLOOR,
    expression="eta*d/(lam*(2 - eta*lam))",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, s.PARAMETER_COUNT),
    statement="Adam divides white gradient noise by its own size: every coordinate of u has "
    "long-run variance 1, so S = d and V_inf is about eta d/(2 lambda), whatever the size "
    "of the noise.",
    source="derived here",
    assumptions=(
        "gradients are white noise",
        "v_hat has settled: beta_2 near 1",
        "the momentum forgets long before the decay acts: eta lambda << 1 - beta_1",
    ),
    conditions=(DECAY_BELOW_ONE, DECAY_ACTS),
    derivation=(
        Induction(
            "1 - b1**t",
            initial="0",
            successor="b1*state + (1 - b1)",
            because="the weights (1 - beta_1) beta_1^k of the momentum sum to 1 - beta_1^t",
        ),
        Limit(
            "(1 - b1**t)**2",
            "t",
            "oo",
            "1",
            "long-run variance of averaged unit white noise, the squared sum of the weights: "
            "momentum spreads the noise over steps and keeps its sum",
            given={"b1": "1/(1 + s)"},
        ),
        Root(
            "V_inf",
            "(1 - eta*lam)**2*V_inf + eta**2*d",
            "V_inf",
            "result",
            "the fixed point with S = d",
        ),
    ),
    local=(s.NORM_FLOOR, _BETA_1, s.STEP, s.AUXILIARY),
    notes=("eta 1e-3, lambda 1, d 4000: 2.0; simulated here 1.96.",),
    example={**_EXAMPLE, "parameter_count": 4000},
)

paper_noise_floor = Formula(
    name="paper_noise_floor",
    topic=TOPIC,
    title="The paper's noise floor",
    gives=s.NORM_FLOOR,
    expression="eta*sigma2/lam",
    symbols=(s.LEARNING_RATE, s.POSITIVE_WEIGHT_DECAY, _NOISE_VARIANCE),
    relation="<=",
    statement="The paper's V_inf = eta sigma^2/lambda follows from its bound 1 - eta lambda in "
    "place of the exact ratio: an upper bound, twice the floor of decoupled decay and four "
    "times that of its own L2 update for small eta lambda.",
    source="arXiv 2603.07323, theorem 3.1; range derived here",
    assumptions=("zero-mean updates of covariance trace sigma^2, uncorrelated with theta",),
    conditions=(
        DECAY_ACTS,
        Condition(
            "eta*lam <= 3/4",
            otherwise="the paper's inequality (1 - 2 eta lambda)^2 <= 1 - eta lambda fails, and "
            "its own update's floor is above this one",
            remedy="use noise_floor",
        ),
    ),
    derivation=(
        Root(
            "V_inf",
            "(1 - eta*lam)*V_inf + eta**2*sigma2",
            "V_inf",
            "result",
            "fixed point of the paper's E V' <= (1 - eta lambda) E V + eta^2 sigma^2",
        ),
        Limit(
            "result/(eta*sigma2/(lam*(2 - eta*lam)))",
            "eta",
            "0",
            "2",
            "twice the floor of decoupled decay",
        ),
        Equal(
            "(result*(1 - (1 - 2*eta*lam)**2)/(eta**2*sigma2) - 1)",
            "3 - 4*eta*lam",
            "over the exact floor of its own update it is 4 - 4 eta lambda: above it only for "
            "eta lambda <= 3/4",
        ),
        Limit(
            "result*(1 - (1 - 2*eta*lam)**2)/(eta**2*sigma2)",
            "eta",
            "0",
            "4",
            "four times the floor of its own update",
        ),
    ),
    local=(s.NORM_FLOOR,),
    example={**_EXAMPLE, "gradient_noise": 100.0},
)

expected_squared_norm = Formula(
    name="expected_squared_norm",
    topic=TOPIC,
    title="Expected norm above the floor",
    gives=_MEAN,
    expression="V_inf + (V_0 - V_inf)*exp(2*t*log1p(-eta*lam))",
    symbols=(s.LEARNING_RATE, s.WEIGHT_DECAY, _INITIAL, s.NORM_FLOOR, s.STEP),
    statement="E V_t = V_inf + (V_0 - V_inf) a^(2t), from above or below the floor.",
    source="derived here; arXiv 2603.07323 theorem 3.1 bounds it",
    assumptions=noise_floor.assumptions,
    conditions=(DECAY_BELOW_ONE,),
    derivation=(
        Induction(
            "result",
            initial="V_0",
            successor="(1 - eta*lam)**2*state + (1 - (1 - eta*lam)**2)*V_inf",
            because="E V' = a^2 E V + eta^2 S, and eta^2 S = (1 - a^2) V_inf",
        ),
    ),
    example={**_EXAMPLE, "squared_norm_initial": 10.0, "squared_norm_floor": 2.0, "step": 500},
)

adam_update_bound = Formula(
    name="adam_update_bound",
    topic=TOPIC,
    title="Largest update of Adam, one coordinate",
    gives=s.UPDATE_BOUND,
    expression="(1 - b1)/sqrt((1 - b2)*(1 - b1**2/b2))",
    symbols=(_BETA_1, _BETA_2),
    relation="<=",
    statement="By Cauchy's inequality m^2 <= v (1 - b1)^2/(1 - b2) sum_k (b1^2/b2)^k, so that "
    "|u_i| is at most (1 - b1)/sqrt((1 - b2)(1 - b1^2/b2)) late in training. The bias corrections "
    "only lower it: it holds at every step.",
    source="derived here; cf. Kingma and Ba, arXiv 1412.6980, section 2.1",
    assumptions=("eps >= 0 in the denominator, which only shortens the update",),
    conditions=(
        Condition(
            "b1**2 < b2",
            otherwise="no bound exists: the momentum remembers longer than the second moment",
            remedy="use beta_2 > beta_1^2",
        ),
    ),
    derivation=(
        Induction(
            "(1 - y**t)/(1 - y)",
            initial="0",
            successor="1 + y*state",
            because="geometric sum of y = b1^2/b2 < 1",
        ),
        Equal(
            "result**2*(1 - y)",
            "(1 - b1)**2/(1 - b2)",
            "with m = (1-b1) sum b1^k g_k and v = (1-b2) sum b2^k g_k^2, Cauchy's inequality gives "
            "m^2 <= (1-b1)^2 (sum of (b1^2/b2)^k) v/(1-b2)",
            given={"y": "b1**2/b2"},
        ),
        Positive(
            "(1 - p*q)**2 - (1 - p**2)*(1 - q**2)",
            "at step t the bias-corrected square is the bound's square times (1 - b2^t)(1 - y^t)/"
            "(1 - b1^t)^2; with b2^t = p^2, y^t = q^2 and so b1^t = p q that factor is at most 1",
            strict=False,
            squares=(("1", "p - q"),),
        ),
    ),
    local=(
        s.STEP,
        nonnegative("p", "root_b2", r"\beta_2^{t/2}", "1", "square root of b2^t"),
        nonnegative("q", "root_y", "q", "1", "square root of y^t"),
        positive("y", "ratio", r"\beta_1^2/\beta_2", "1", "b1^2/b2"),
    ),
    notes=("7.27 at 0.9/0.999 and 1.70 at 0.9/0.98.",),
    example={"beta_1": 0.9, "beta_2": 0.999},
)

FORMULAS = (
    noise_floor,
    adamw_noise_floor,
    paper_noise_floor,
    expected_squared_norm,
    adam_update_bound,
)
