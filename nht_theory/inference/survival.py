"""Survival curves of right-censored times: Kaplan-Meier with Greenwood's interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from nht_theory.conventions import CONFIDENCE
from nht_theory.errors import DomainError
from nht_theory.inference.latex import latex_limits, latex_number, latex_text, table
from nht_theory.inference.samples import Vector, check_same_length, finite_vector


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """A step function S(t): the share that has not had the event by t.

    Attributes:
        time: event times in ascending order, shape [k]; S is 1 before the first.
        survival: S just after each time, shape [k].
        low, high: pointwise interval, shape [k]; NaN where the method gives none.
        n: independent observations.
        n_censored: of these, right-censored.
        coverage: of the interval.
        method: how it was estimated.
        references: keys of the bibliography.
    """

    time: Vector
    survival: Vector
    low: Vector
    high: Vector
    n: int
    n_censored: int
    coverage: float
    method: str
    references: tuple[str, ...]

    def at(self, time: float) -> float:
        """S(time).

        Example:
            >>> kaplan_meier([1, 2, 3, 4], [True, True, True, True]).at(2.5)
            0.5
        """
        before = int(np.searchsorted(self.time, time, side="right"))
        return 1.0 if before == 0 else float(self.survival[before - 1])

    def quantile(self, probability: float) -> float | None:
        """Earliest time by which a share ``probability`` has had the event; None if not reached.

        Example:
            >>> kaplan_meier([1, 2, 3, 4], [True, True, False, False]).quantile(0.75) is None
            True
        """
        reached = np.flatnonzero(self.survival <= 1 - probability + 1e-12)
        return float(self.time[reached[0]]) if reached.size else None

    def to_latex(self, *, caption: str = "", label: str = "tab:survival", rows: int = 12) -> str:
        r"""The curve as a booktabs table; needs ``\usepackage{booktabs}``.

        Args:
            caption: LaTeX put before what the table says of itself.
            label: of the float.
            rows: event times shown, evenly spread over them where there are more.

        Example:
            >>> print(kaplan_meier([1, 2, 3], [True, False, True]).to_latex())
            \begin{table}
              \centering
              \caption{Kaplan-Meier, ... 3 runs, 1 right-censored.}
              \label{tab:survival}
              \begin{tabular}{rrr}
                \toprule
                Time & $S$ & 95\,\% interval \\
                \midrule
                $1$ & $0.6667$ & [$0.05407$, $0.9452$] \\
                $3$ & $0$ & -- \\
                \bottomrule
              \end{tabular}
            \end{table}
        """
        places = np.unique(np.linspace(0, self.time.size - 1, min(rows, self.time.size)).round())
        shown = (
            "" if places.size == self.time.size else f" {places.size} of {self.time.size} times."
        )
        said = f"{latex_text(self.method)}; {self.n} runs, {self.n_censored} right-censored.{shown}"
        return table(
            "rrr",
            ("Time", "$S$", rf"{100 * self.coverage:g}\,\% interval"),
            [
                (
                    latex_number(float(self.time[place])),
                    latex_number(float(self.survival[place])),
                    latex_limits(float(self.low[place]), float(self.high[place])),
                )
                for place in places.astype(int)
            ],
            caption=f"{caption} {said}".strip(),
            label=label,
        )


def kaplan_meier(
    time: ArrayLike, observed: ArrayLike, *, coverage: float = CONFIDENCE
) -> SurvivalCurve:
    """Kaplan-Meier estimate of the survival curve.

    Args:
        time: event time, or last time seen when censored, shape [n], positive.
        observed: true where the event was seen, shape [n].

    The interval is pointwise, from Greenwood's variance on the log(-log) scale; it is undefined
    (NaN) where S is 0 or 1. A censored time equal to an event time is at risk at that time.

    References:
        Kaplan and Meier (1958); Kalbfleisch and Prentice (2002), section 1.4.

    Example:
        >>> kaplan_meier([1, 2, 3, 4], [True, False, True, True]).survival
        array([0.75 , 0.375, 0.   ])
    """
    t = finite_vector(time, "time")
    seen = np.asarray(observed, dtype=bool)
    check_same_length(time=t, observed=seen)
    if t.min() < 0:
        raise DomainError("a time is negative", source="time", remedy="count from the origin")
    moments = np.unique(t[seen])
    at_risk = np.array([np.count_nonzero(t >= moment) for moment in moments], dtype=np.float64)
    events = np.array([np.count_nonzero(t[seen] == moment) for moment in moments], dtype=np.float64)
    survival: Vector = np.cumprod(1 - events / at_risk, dtype=np.float64)
    inside = (survival > 0) & (survival < 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(events / (at_risk * (at_risk - events)))
        half = stats.norm.ppf(0.5 + coverage / 2) * np.sqrt(greenwood) / np.abs(np.log(survival))
        low = np.where(inside, survival ** np.exp(half), np.nan)
        high = np.where(inside, survival ** np.exp(-half), np.nan)
    return SurvivalCurve(
        time=moments,
        survival=survival,
        low=low,
        high=high,
        n=t.size,
        n_censored=int(np.count_nonzero(~seen)),
        coverage=coverage,
        method="Kaplan-Meier, Greenwood interval on the log(-log) scale",
        references=("kalbfleisch2002", "kaplan1958"),
    )
