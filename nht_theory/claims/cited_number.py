"""One number of a citation, with everything a referee needs to trace it."""

from __future__ import annotations

from dataclasses import dataclass, field

from nht_theory.inference.results import Interval


@dataclass(frozen=True)
class CitedNumber:
    """A printed number and where it comes from.

    Attributes:
        identifier: as given to ``nht cite --explain``.
        label: what it is, in words.
        value: the number.
        unit: "1", "step", "%" ...
        n: independent runs it rests on.
        n_censored: of these, how many were right-censored.
        censoring: how the censored ones were treated.
        method: estimator and interval.
        formula: the expression evaluated.
        runs: names of the runs that entered.
        options: what was set, by name (thresholds, distribution, margins).
        standard_error, interval, p_value: where the method gives them.
        note: a verdict, or what qualifies the number.
        references: keys of the methods used.
        units: independent units behind interval and p-value, where the method counts them.
        units_are: what these are ("configurations").
    """

    identifier: str
    label: str
    value: float
    unit: str
    n: int
    n_censored: int
    censoring: str
    method: str
    formula: str
    runs: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    standard_error: float | None = None
    interval: Interval | None = None
    p_value: float | None = None
    note: str = ""
    references: tuple[str, ...] = field(default=())
    units: int | None = None
    units_are: str = ""


def verdict_identifier(claim: str) -> str:
    """Identifier of the number that decided on a claim.

    Example:
        >>> verdict_identifier("P6")
        'verdict.P6'
    """
    return f"verdict.{claim}"


def p_text(p_value: float) -> str:
    """A p-value in the APA manner, without its leading zero.

    Example:
        >>> p_text(0.0312), p_text(0.00002), p_text(1.0)
        ('= .031', '< .001', '= 1.000')
    """
    if p_value < 0.001:
        return "< .001"
    text = f"{p_value:.3f}"
    return f"= {text[1:] if text.startswith('0') else text}"
