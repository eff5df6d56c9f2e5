"""A citation as LaTeX tables with booktabs rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nht_theory.claims.cited_number import CitedNumber, verdict_identifier
from nht_theory.conventions import VerdictKind
from nht_theory.inference.latex import latex_limits, latex_number, latex_text, table
from nht_theory.reporting.citation_text import facts_sentence

if TYPE_CHECKING:
    from nht_theory.reporting.citation import Citation


def latex(citation: Citation) -> str:
    r"""The tables of a citation; every row names its number in a comment.

    Needs ``\usepackage{booktabs}``. The facts about the data stand in the first caption.
    """
    facts = latex_text(facts_sentence(citation.facts))
    tables = []
    if citation.law.numbers:
        tables.append(_law_table(citation, facts))
    if citation.law.rivals:
        tables.append(_rival_table(citation))
    tables.append(_verdict_table(citation, "" if citation.law.numbers else f" {facts}"))
    head = "% needs \\usepackage{booktabs}; trace a number with: nht cite --explain IDENTIFIER"
    missing = [f"% not estimated: {text}" for text in citation.law.missing]
    return "\n\n".join(["\n".join([head, *missing]), *tables]) + "\n"


def _law_table(citation: Citation, facts: str) -> str:
    numbers = citation.law.numbers
    first = numbers[0]
    return table(
        "lrrrr",
        ("Quantity", "Estimate", "SE", rf"{100 * citation.facts.confidence:g}\,\% interval", "$n$"),
        [
            (
                latex_text(number.label),
                latex_number(number.value)
                + ("" if number.unit == "1" else rf"\,{latex_text(number.unit)}"),
                _dash(number.standard_error),
                _interval(number),
                str(number.n),
            )
            for number in numbers
        ],
        caption=f"Delay law, censored {latex_text(dict(first.options)['distribution'])} "
        f"regression; {first.n_censored} of {first.n} runs right-censored "
        f"({latex_text(first.censoring)}). {facts}",
        label="tab:nht-law",
        comments=[number.identifier for number in numbers],
    )


def _rival_table(citation: Citation) -> str:
    fits = citation.law.rivals
    best = fits[0].aicc
    return table(
        "lrrrrr",
        ("Law", r"$k$", r"$\Delta$AICc", "Weight", r"Error, \% a run", r"\% a configuration"),
        [
            (
                latex_text(fit.law.name),
                str(fit.fit.parameters),
                f"{fit.aicc - best:.1f}",
                f"{fit.weight:.3f}",
                f"{fit.held_out.percentage_error:.1f}",
                f"{fit.held_out.percentage_error_by_group:.1f}",
            )
            for fit in fits
        ],
        caption=f"Rival laws of the delay on the same {fits[0].fit.n} runs "
        f"({fits[0].fit.n_right_censored} right-censored): AICc less the best "
        f"({latex_number(best)}), Akaike weight, and error leaving one of "
        f"{fits[0].held_out.groups} configurations out.",
        label="tab:nht-rivals",
        comments=[f"rival.{place}.aicc ..." for place in range(1, len(fits) + 1)],
    )


def _verdict_table(citation: Citation, facts: str) -> str:
    numbers = {number.identifier: number for number in citation.numbers}
    rows, comments = [], []
    for own in citation.verdicts:
        number = numbers.get(verdict_identifier(own.claim))
        name = latex_text(own.claim)
        if number is None:
            rows.append(
                (name, "--", "--", "--", str(own.n), "--", VerdictKind.NOT_APPLICABLE.value)
            )
            comments.append(own.rule.replace("\n", " "))
            continue
        p_value = "--" if number.p_value is None else _p(number.p_value)
        rows.append(
            (
                name,
                latex_number(number.value),
                _interval(number),
                p_value,
                str(own.n),
                "--" if own.units is None else latex_text(own.rests_on),
                own.verdict.value,
            )
        )
        method = "" if own.interval is None else f"; interval: {own.interval.method}"
        comments.append(f"{number.identifier}{method}")
    return table(
        "lrrrrll",
        ("Claim", "Statistic", "Interval", "$p$ (Holm)", "$n$ runs", "Rests on", "Verdict"),
        rows,
        caption="Verdicts on the claims of the theory; statistic, interval and $p$ are those of "
        "the estimate that decided." + facts,
        label="tab:nht-verdicts",
        comments=comments,
    )


def _dash(value: float | None) -> str:
    return "--" if value is None else latex_number(value)


def _interval(number: CitedNumber) -> str:
    if number.interval is None:
        return "--"
    return latex_limits(number.interval.low, number.interval.high)


def _p(value: float) -> str:
    return "$<$0.001" if value < 0.001 else f"{value:.3f}"
