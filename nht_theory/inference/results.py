"""What estimators and tests return: frozen values that know unit, method and uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Interval:
    """A closed interval with its coverage (0.95: a 95 % interval) and the method that made it."""

    low: float
    high: float
    coverage: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty.

    Attributes:
        value: the point estimate.
        interval: its interval, or None where the method gives none (the reason is in ``method``).
        standard_error: in the unit of ``value``, or None.
        n: number of observations (evaluations, or independent runs) it rests on.
        unit: "per step of V", "step", "V", "1" ...
        method: how it was obtained, in words.
        left_out: what was not used and why.
    """

    value: float
    unit: str
    method: str
    n: int
    interval: Interval | None = None
    standard_error: float | None = None
    left_out: tuple[str, ...] = ()


class Unavailable(StrEnum):
    """Why an estimate does not exist: named outcomes, never a silent number."""

    NO_COLUMN = "not logged"
    NEVER_REACHED = "the event was not reached"
    TOO_FEW_POINTS = "fewer evaluations than parameters"
    FLAT = "the series does not change"
    GROWING = "the norm grows over the window"
    AT_BOUND = "a fitted parameter sits at its bound"
    NOT_CONVERGED = "the fit did not converge"


@dataclass(frozen=True)
class Missing:
    """An estimate that could not be made, and why."""

    reason: Unavailable
    detail: str = ""
