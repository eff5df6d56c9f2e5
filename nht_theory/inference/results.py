"""What estimators and tests return: frozen values that know unit, method and uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nht_theory.inference.latex import latex_limits, latex_number, latex_text


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

    def to_latex(self) -> str:
        r"""Value, unit and interval, to set in a sentence.

        Example:
            >>> interval = Interval(0.5, 1.5, 0.95, "")
            >>> print(Estimate(1.0, "per step of V", "fit", 9, interval=interval).to_latex())
            $1$\,per step of V (95\,\% interval [$0.5$, $1.5$], $n = 9$)
        """
        unit = "" if self.unit == "1" else rf"\,{latex_text(self.unit)}"
        held = ""
        if self.interval is not None:
            limits = latex_limits(self.interval.low, self.interval.high)
            held = rf"{100 * self.interval.coverage:g}\,\% interval {limits}, "
        return f"{latex_number(self.value)}{unit} ({held}$n = {self.n}$)"


class Unavailable(StrEnum):
    """Why an estimate does not exist: named outcomes, never a silent number."""

    NO_COLUMN = "not logged"
    NEVER_REACHED = "the event was not reached"
    TOO_FEW_POINTS = "fewer evaluations than parameters"
    FLAT = "the series does not change"
    GROWING = "the norm grows over the window"
    AT_BOUND = "a fitted parameter sits at its bound"
    NOT_CONVERGED = "the fit did not converge"
    NOT_FINITE = "too few finite, positive values"
    NO_DECAY_RATE = "no pure-decay rate to compare with"
    ONE_SIDED = "only one side of the comparison was seen"
    NO_PEAK = "the norm does not rise and then fall"


@dataclass(frozen=True)
class Missing:
    """An estimate that could not be made, and why."""

    reason: Unavailable
    detail: str = ""


class Alternative(StrEnum):
    """Which departure from the null hypothesis a test looks for."""

    TWO_SIDED = "two-sided"
    GREATER = "greater"
    LESS = "less"


@dataclass(frozen=True)
class HypothesisTest:
    """The outcome of one test of a null hypothesis.

    Attributes:
        statistic: value of the test statistic.
        statistic_name: what it is ("Page's L").
        p_value: probability, under the null, of a statistic at least as extreme.
        n: independent observations (or blocks) that entered.
        alternative: the departure that counted as extreme.
        method: how the p-value was obtained, in words.
        interval: of the quantity the statistic estimates, where the method gives one.
        references: keys of :data:`nht_theory.inference.references.REFERENCES`.
    """

    statistic: float
    statistic_name: str
    p_value: float
    n: int
    alternative: Alternative
    method: str
    interval: Interval | None = None
    references: tuple[str, ...] = ()

    def to_latex(self) -> str:
        r"""Statistic, n and p-value, to set in a sentence.

        Example:
            >>> test = HypothesisTest(12.0, "Page's L", 0.0004, 8, Alternative.LESS, "exact")
            >>> print(test.to_latex())
            Page's L $= 12$, $n = 8$, $p < 0.001$ (one-sided, exact)
        """
        p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        sides = "two-sided" if self.alternative is Alternative.TWO_SIDED else "one-sided"
        statistic = latex_number(self.statistic).replace("$", "$= ", 1)
        return (
            f"{latex_text(self.statistic_name)} {statistic}, $n = {self.n}$, ${p}$ "
            f"({sides}, {latex_text(self.method)})"
        )
