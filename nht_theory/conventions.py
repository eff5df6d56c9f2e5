"""The few names and defaults that everything else refers to.

Symbols, throughout the project: theta are the parameters, V = ||theta||^2 their squared
L2 norm (``squared_norm``), N = ||theta|| = sqrt(V). A rate always names its quantity:
the rate of V is twice the rate of N. Unless said otherwise a ``contraction_rate`` is
gamma_V, per optimiser step: minus the logarithm of the one-step ratio of V.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

FORMULA_CONVENTION = (
    "V = ||theta||^2; rates are of V, per step; decoupled decay theta <- (1 - eta*lambda) theta"
)


ProgressCallback = Callable[[str, int, int], None]
"""Called with the name of the work, how many of its parts are done, and how many there are."""


class DecayForm(StrEnum):
    """How the weight decay coefficient enters an update."""

    DECOUPLED = "decoupled"
    """theta <- (1 - eta*lambda) theta - eta*u: AdamW, Lion, Muon, PyTorch SGD without momentum."""
    L2_PENALTY = "l2_penalty"
    """Loss + lambda*||theta||^2: the gradient gains 2*lambda*theta (arXiv 2603.07323, eq. 2)."""
    COUPLED = "coupled"
    """The gradient gains w*theta before momentum or preconditioning: PyTorch's SGD and Adam."""


class OptimizerKind(StrEnum):
    """The optimisers whose contraction the theory describes."""

    SGD = "sgd"
    ADAM = "adam"
    ADAMW = "adamw"
    LION = "lion"
    MUON = "muon"


class ScheduleKind(StrEnum):
    """Learning-rate schedules with a regularisation clock of their own."""

    CONSTANT = "constant"
    LINEAR_WARMUP = "linear_warmup"
    COSINE = "cosine"
    STEP = "step"
    ARRAY = "array"


class NormKind(StrEnum):
    """What a logged norm is."""

    SQUARED = "squared"
    PLAIN = "plain"


class Regime(StrEnum):
    """The regimes of THEORY.md section 4."""

    WEAK = "weak"
    INTERMEDIATE = "intermediate"
    STRONG = "strong"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


class EventStatus(StrEnum):
    """What a log says about an event: three answers, of which none stands for another."""

    REACHED = "reached"
    """It was seen."""
    CENSORED = "censored"
    """The metric is logged and had not reached its level when last seen."""
    UNKNOWN = "unknown"
    """The metric is not logged: the event may have happened or not."""


class VerdictKind(StrEnum):
    """What a test may conclude about a claim."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Thresholds:
    """When a metric counts as reached: its level and for how many evaluations it must hold.

    Attributes:
        train_accuracy: level of ``train_accuracy`` that defines memorisation.
        heldout_accuracy: level of ``heldout_accuracy`` that defines generalisation.
        persistence: number of consecutive evaluations at or above the level (k in THEORY.md
            section 8).

    Example:
        >>> Thresholds().heldout_accuracy
        0.99
    """

    train_accuracy: float = 0.99
    heldout_accuracy: float = 0.99
    persistence: int = 1


DEFAULT_THRESHOLDS = Thresholds()
CONFIDENCE = 0.95
"""Coverage of the intervals of estimates and tests."""
FORECAST_COVERAGE = 0.90
"""Coverage of the wide interval of a forecast."""
