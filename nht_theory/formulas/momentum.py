"""SGD with momentum as PyTorch has it, loss silent: the decay passes through the buffer.

With g = w theta the only gradient, PyTorch's step is b' = mu b + (1 - d) g, then theta' = theta -
eta b', or theta' = theta - eta (g + mu b') with Nesterov, where PyTorch allows d = 0 only. Two
steps are a linear recursion in theta; its larger root is the factor of a late step.
"""

from __future__ import annotations

from nht_theory.formulas import symbols as s
from nht_theory.formulas.derivation import Equal, Limit, Root
from nht_theory.formulas.formula import Condition, Formula, Symbol, positive

TOPIC = "momentum"
TITLE = "SGD with momentum, dampening and Nesterov"

_COUPLED = positive("w", "weight_decay", "w", "1", "PyTorch's weight_decay")
_MOMENTUM = Symbol("mu", "momentum", r"\mu", "1", "momentum", lower=0.0, upper=1.0, upper_open=True)
_DAMPENING = Symbol(
    "d", "dampening", "d", "1", "share of the gradient kept out of the buffer", 0.0, 1.0
)
_ROOT = Symbol("z", "root", "z", "1", "root of the characteristic polynomial")
_BEFORE = Symbol("x_0", "theta_before", r"\theta_t", "1", "a coordinate at one step")
_AFTER = Symbol("x_1", "theta_after", r"\theta_{t+1}", "1", "the coordinate at the next step")
_IMAGINARY = Symbol("q", "imaginary", "q", "1", "imaginary part of the root")
_BELOW_ONE = {"mu": "1/(1 + s)"}
_EXAMPLE = {"learning_rate": 0.1, "weight_decay": 5e-4, "momentum": 0.9}
_SYMBOLS = (s.LEARNING_RATE, _COUPLED, _MOMENTUM)
_POLYNOMIAL = "z**2 - (1 + mu - eta*w*(1 - d))*z + mu"
_NESTEROV_POLYNOMIAL = "z**2 - (1 + mu)*(1 - eta*w)*z + mu*(1 - eta*w)"
_SETTLED = (
    "zero loss gradient (u = 0): the decay is the only gradient",
    "a constant learning rate: PyTorch's buffer holds gradients, not steps",
    "the buffer has settled, many times 1/(1 - mu) steps after the start: the buffer starts empty "
    "and its first gradient is not dampened, so that the first steps follow both roots",
)
_RECURSION = Equal(
    "x_1 - eta*(mu*((x_0 - x_1)/eta) + (1 - d)*w*x_1)",
    "(1 + mu - eta*w*(1 - d))*x_1 - mu*x_0",
    "the buffer is (theta_t - theta_(t+1))/eta: put into the next step, it leaves a recursion of "
    "two steps in theta alone",
)
_NESTEROV_RECURSION = Equal(
    "(1 - eta*w)*x_1 - eta*mu*(mu*(((1 - eta*w)*x_0 - x_1)/(eta*mu)) + w*x_1)",
    "(1 + mu)*(1 - eta*w)*x_1 - mu*(1 - eta*w)*x_0",
    "the buffer is ((1 - eta w) theta_t - theta_(t+1))/(eta mu): put into the next step, it leaves "
    "a recursion of two steps in theta alone",
    given=_BELOW_ONE,
)

momentum_root = Formula(
    name="momentum_root",
    topic=TOPIC,
    title="SGD with momentum: the dominant root",
    gives=_ROOT,
    expression="(1 + mu - eta*w*(1 - d) + sqrt((1 + mu - eta*w*(1 - d))**2 - 4*mu))/2",
    symbols=(*_SYMBOLS, _DAMPENING),
    statement="theta'' = (1 + mu - (1 - d) eta w) theta' - mu theta: dampening only lowers the "
    "decay, to (1 - d) w. Where the roots of z^2 - (1 + mu - (1 - d) eta w) z + mu are real, the "
    "larger one governs.",
    source="derived here from PyTorch's SGD",
    assumptions=_SETTLED,
    conditions=(
        Condition(
            "eta*w*(1 - d) <= (1 - sqrt(mu))**2",
            otherwise="the roots are complex: theta oscillates",
            remedy="use momentum_oscillating_rate, or lower eta*w below (1 - sqrt(mu))^2/(1 - d)",
        ),
    ),
    derivation=(
        _RECURSION,
        Root(_POLYNOMIAL, "0", "z", "result", "its characteristic polynomial"),
        Equal(
            "(1 + mu - eta*w*(1 - d))**2 - 4*mu",
            "(1 + mu - eta*w*(1 - d) - 2*sqrt(mu))*(1 + mu - eta*w*(1 - d) + 2*sqrt(mu))",
            "the discriminant changes sign where (1 - d) eta w = (1 - sqrt(mu))^2",
        ),
        Equal(
            "(1 - result)*(1 - mu + eta*w*(1 - d) + sqrt((1 + mu - eta*w*(1 - d))**2 - 4*mu))",
            "2*eta*w*(1 - d)",
            "so 1 - z is about (1 - d) eta w/(1 - mu)",
        ),
    ),
    local=(_ROOT, _BEFORE, _AFTER),
    example={**_EXAMPLE, "dampening": 0.0},
)

momentum_rate = Formula(
    name="momentum_rate",
    topic=TOPIC,
    title="SGD with momentum and dampening, real roots",
    gives=s.RATE,
    expression="-2*log1p(-eta*w*(1 - d)*2/(1 - mu + eta*w*(1 - d)"
    " + sqrt((1 - mu + eta*w*(1 - d))**2 - 4*eta*w*(1 - d))))",
    symbols=(*_SYMBOLS, _DAMPENING),
    statement="gamma_V = -2 ln z with z the larger root of z^2 - (1 + mu - (1 - d) eta w) z + mu; "
    "about 2 (1 - d) eta w/(1 - mu). The expression is written so that no digits cancel.",
    source="derived here from PyTorch's SGD",
    assumptions=_SETTLED,
    conditions=momentum_root.conditions,
    derivation=(
        _RECURSION,
        Root(
            _POLYNOMIAL,
            "0",
            "z",
            "exp(-result/2)",
            "e^(-gamma_V/2) is a root of the characteristic polynomial",
        ),
        Limit(
            "result/w",
            "w",
            "0",
            "2*eta*(1 - d)/(1 - mu)",
            "to first order 2 (1 - d) eta w/(1 - mu), which tells it from the smaller root",
            given=_BELOW_ONE,
        ),
    ),
    local=(_ROOT, s.AUXILIARY, _BEFORE, _AFTER),
    notes=("Nesterov's momentum: nesterov_rate.",),
    example={**_EXAMPLE, "dampening": 0.0},
)

momentum_oscillating_rate = Formula(
    name="momentum_oscillating_rate",
    topic=TOPIC,
    title="SGD with momentum and dampening, complex roots",
    gives=s.RATE,
    expression="-log(mu)",
    symbols=(*_SYMBOLS, _DAMPENING),
    statement="Where (1 - sqrt(mu))^2 < (1 - d) eta w < (1 + sqrt(mu))^2 theta oscillates inside "
    "an envelope of modulus sqrt(mu) a step: gamma_V = -ln mu, independent of w and d.",
    source="derived here from PyTorch's SGD",
    assumptions=_SETTLED,
    conditions=(
        Condition(
            "eta*w*(1 - d) > (1 - sqrt(mu))**2",
            otherwise="the roots are real: there is no oscillation",
            remedy="use momentum_rate",
        ),
        Condition(
            "eta*w*(1 - d) < (1 + sqrt(mu))**2",
            otherwise="the recursion diverges or alternates with a real negative root",
            remedy="lower eta*w below (1 + sqrt(mu))^2/(1 - d)",
        ),
    ),
    derivation=(
        _RECURSION,
        Equal(
            "(z + I*q)*(z - I*q)",
            "exp(-result)",
            "the product of the two conjugate roots, their squared modulus, is mu",
            given={
                "q": "sqrt(4*mu - (1 + mu - eta*w*(1 - d))**2)/2",
                "z": "(1 + mu - eta*w*(1 - d))/2",
            },
        ),
    ),
    local=(_ROOT, _IMAGINARY, _BEFORE, _AFTER),
    notes=("V itself is the envelope times a periodic factor; the rate is that of the envelope.",),
    example={"learning_rate": 0.1, "weight_decay": 1.0, "momentum": 0.9, "dampening": 0.0},
)

nesterov_rate = Formula(
    name="nesterov_rate",
    topic=TOPIC,
    title="SGD with Nesterov's momentum, real roots",
    gives=s.RATE,
    expression="-2*log1p(-2*eta*w/(1 - mu + (1 + mu)*eta*w"
    " + sqrt((1 - mu + (1 + mu)*eta*w)**2 - 4*eta*w)))",
    symbols=_SYMBOLS,
    statement="gamma_V = -2 ln z with z the larger root of z^2 - (1 + mu)(1 - eta w) z + "
    "mu (1 - eta w); to first order 2 eta w/(1 - mu), as without Nesterov.",
    source="derived here from PyTorch's SGD",
    assumptions=_SETTLED,
    conditions=(
        Condition(
            "eta*w <= ((1 - mu)/(1 + mu))**2",
            otherwise="the roots are complex: theta oscillates",
            remedy="use nesterov_oscillating_rate, or lower eta*w below ((1 - mu)/(1 + mu))^2",
        ),
    ),
    derivation=(
        _NESTEROV_RECURSION,
        Root(
            _NESTEROV_POLYNOMIAL,
            "0",
            "z",
            "exp(-result/2)",
            "e^(-gamma_V/2) is a root of the characteristic polynomial",
        ),
        Equal(
            "((1 + mu)*(1 - x))**2 - 4*mu*(1 - x)",
            "(1 - x)*(1 + mu)**2*(((1 - mu)/(1 + mu))**2 - x)",
            "the discriminant changes sign where x = eta w is ((1 - mu)/(1 + mu))^2",
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
    local=(_ROOT, s.AUXILIARY, s.DECAY_PER_STEP, _BEFORE, _AFTER),
    example=_EXAMPLE,
)

nesterov_oscillating_rate = Formula(
    name="nesterov_oscillating_rate",
    topic=TOPIC,
    title="SGD with Nesterov's momentum, complex roots",
    gives=s.RATE,
    expression="-log(mu) - log1p(-eta*w)",
    symbols=_SYMBOLS,
    statement="Where ((1 - mu)/(1 + mu))^2 < eta w < 1 theta oscillates inside an envelope of "
    "squared modulus mu (1 - eta w) a step.",
    source="derived here from PyTorch's SGD",
    assumptions=_SETTLED,
    conditions=(
        Condition(
            "eta*w > ((1 - mu)/(1 + mu))**2",
            otherwise="the roots are real: there is no oscillation",
            remedy="use nesterov_rate",
        ),
        Condition(
            "eta*w < 1",
            otherwise="one step of decay removes the whole weight or more",
            remedy="lower the learning rate or the weight decay",
        ),
    ),
    derivation=(
        _NESTEROV_RECURSION,
        Equal(
            "(z + I*q)*(z - I*q)",
            "exp(-result)",
            "the product of the two conjugate roots, their squared modulus, is mu (1 - eta w)",
            given={
                "q": "sqrt(4*mu*(1 - x) - ((1 + mu)*(1 - x))**2)/2",
                "z": "(1 + mu)*(1 - x)/2",
                "w": "x/eta",
            },
        ),
    ),
    local=(_ROOT, _IMAGINARY, s.AUXILIARY, s.DECAY_PER_STEP, _BEFORE, _AFTER),
    notes=("V itself is the envelope times a periodic factor; the rate is that of the envelope.",),
    example={"learning_rate": 0.1, "weight_decay": 1.0, "momentum": 0.9},
)

FORMULAS = (
    momentum_root,
    momentum_rate,
    momentum_oscillating_rate,
    nesterov_rate,
    nesterov_oscillating_rate,
)
