"""A citation as sentences, as BibTeX of the software, and one number explained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nht_theory.claims.cited_number import CitedNumber, p_text, verdict_identifier
from nht_theory.inference.latex import significant

if TYPE_CHECKING:
    from nht_theory.reporting.citation import Citation, StudyFacts

LISTED_RUNS = 200
"""Runs listed one by one when a number is explained."""


def apa(citation: Citation) -> str:
    """The facts, the law, its rivals and the verdicts, one sentence a line."""
    lines = [facts_sentence(citation.facts)]
    lines += [number_sentence(number) for number in citation.law.numbers]
    for place, fit in enumerate(citation.law.rivals, 1):
        lines.append(
            f"{fit.law.name}: AICc = {significant(fit.aicc)}, Akaike weight = {fit.weight:.3f}, "
            f"held-out error {fit.held_out.percentage_error:.1f}% a run and "
            f"{fit.held_out.percentage_error_by_group:.1f}% a configuration, n = {fit.fit.n} "
            f"({fit.fit.n_right_censored} right-censored). [rival.{place}.aicc]"
        )
    numbers = {number.identifier: number for number in citation.numbers}
    decided = (numbers.get(verdict_identifier(own.claim)) for own in citation.verdicts)
    lines += [number_sentence(number) for number in decided if number is not None]
    return "\n".join([*lines, *(f"Not estimated: {text}." for text in citation.law.missing)])


def facts_sentence(facts: StudyFacts) -> str:
    """What was read, as one paragraph."""
    unknown = (
        f"; {facts.unknown} runs log no held-out accuracy, so that it is unknown whether they "
        "generalised: they are neither censored nor counted among those that did"
        if facts.unknown
        else ""
    )
    configurations = (
        "settings unknown: configurations cannot be told apart"
        if facts.configurations is None
        else f"{facts.configurations} configurations"
    )
    return (
        f"{facts.runs} distinct runs ({configurations}, {facts.seeds} seeds) "
        f"were read from {facts.records} records, of which {facts.repeats} repeat another and "
        f"{facts.without_trajectory} hold no trajectory; {facts.censored} runs had not generalised "
        f"when last seen and are right-censored{unknown}. Memorisation and generalisation are the "
        f"first evaluation at or above {facts.thresholds.train_accuracy:g} training and "
        f"{facts.thresholds.heldout_accuracy:g} held-out accuracy (held for "
        f"{facts.thresholds.persistence}). Intervals have {100 * facts.confidence:g}% coverage. "
        f"nht {facts.version}, data SHA-256 {facts.data_sha256}."
    )


def number_sentence(number: CitedNumber) -> str:
    """One number with its uncertainty, n and identifier."""
    unit = "" if number.unit == "1" else f" {number.unit}"
    parts = [f"{number.label} = {significant(number.value)}{unit}"]
    if number.standard_error is not None:
        parts.append(f"SE = {significant(number.standard_error, 3)}")
    if number.interval is not None:
        low, high = significant(number.interval.low), significant(number.interval.high)
        parts.append(
            f"{100 * number.interval.coverage:.3g}% CI [{low}, {high}] ({number.interval.method})"
        )
    if number.p_value is not None:
        parts.append(f"p {p_text(number.p_value)}")
    parts.append(f"n = {number.n} ({number.n_censored} right-censored)")
    if number.units is not None:
        parts.append(f"resting on {number.units} {number.units_are}")
    if number.note:
        parts.append(number.note)
    return f"{', '.join(parts)}. [{number.identifier}]"


def explained(number: CitedNumber, origins: Sequence[str], facts: StudyFacts) -> str:
    """Everything behind one number, as lines of text."""
    lines = [
        number_sentence(number),
        f"formula: {number.formula}",
        f"method: {number.method}",
    ]
    if number.interval is not None:
        lines.append(f"interval: {number.interval.method}, coverage {number.interval.coverage:g}")
    lines.append(f"censored runs: {number.censoring}")
    lines += [f"{name}: {value}" for name, value in number.options]
    lines.append(f"references: {', '.join(number.references) or 'none'}")
    lines.append(f"software: nht {facts.version}; data SHA-256 {facts.data_sha256}")
    chosen = f", of which the rule selects {number.n}" if number.n != len(origins) else ""
    lines.append(f"data: {facts.source}, {len(origins)} runs{chosen}")
    lines += [f"  {origin}" for origin in origins[:LISTED_RUNS]]
    if len(origins) > LISTED_RUNS:
        lines.append(f"  and {len(origins) - LISTED_RUNS} more: nht cite --style json lists all")
    return "\n".join(lines)


def software_entry(facts: StudyFacts) -> str:
    """BibTeX of the software that made the numbers."""
    return f"""@software{{nht,
  author = {{{{The nht developers}}}},
  title = {{nht: forecasts, tests and citable statistics for the Norm-Hierarchy Transition law}},
  version = {{{facts.version}}}, year = {{2026}}
}}"""
