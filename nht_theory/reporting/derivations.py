"""The formulas behind the claims of a report, with every step of their derivations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from nht_theory.claims.verdict import Claim
from nht_theory.formulas import catalogue
from nht_theory.formulas.formula import Formula
from nht_theory.formulas.mathml import to_mathml


@dataclass(frozen=True)
class ShownStep:
    """One step: what it claims, the definitions it uses ("" for none), why, and the rule by which
    ``nht derive --check`` verifies it."""

    claim: Markup
    given: Markup
    because: str
    rule: str


@dataclass(frozen=True)
class Derivation:
    """One formula of the appendix.

    Attributes:
        name: in the catalogue (``nht derive NAME``).
        title: a heading.
        statement: the formula, typeset.
        words: the theorem in words, with its premises.
        conditions: relations it needs, typeset, each with what is the matter where it fails.
        assumptions: what must be true of the training.
        symbols: each typeset, with its meaning and unit.
        steps: of the proof.
        source: paper and equation, or "derived here".
        claims: claims of this report that follow from it.
    """

    name: str
    title: str
    statement: Markup
    words: str
    conditions: tuple[tuple[Markup, str], ...]
    assumptions: tuple[str, ...]
    symbols: tuple[tuple[Markup, str, str], ...]
    steps: tuple[ShownStep, ...]
    source: str
    claims: tuple[str, ...]


def derivations(claims: Iterable[Claim]) -> tuple[Derivation, ...]:
    """The formulas from which the claims follow, each once, in the order of the catalogue."""
    used: dict[str, list[str]] = {}
    for claim in claims:
        for name in claim.formulas:
            used.setdefault(name, []).append(claim.name)
    return tuple(
        _derivation(catalogue.find(name), tuple(used[name]))
        for name in catalogue.names()
        if name in used
    )


def _derivation(formula: Formula, claims: tuple[str, ...]) -> Derivation:
    from nht_theory.formulas.typesetting import Typesetter

    tex = Typesetter(formula)
    steps = tuple(
        ShownStep(
            _math(tex.step(step)),
            _math(tex.given(step)) if step.given else Markup(""),
            step.because,
            step.rule,
        )
        for step in formula.derivation
    )
    return Derivation(
        name=formula.name,
        title=formula.title,
        statement=_math(tex.statement(), display=True),
        words=formula.statement,
        conditions=tuple(
            (_math(tex.condition(one.text)), one.otherwise) for one in formula.conditions
        ),
        assumptions=formula.assumptions,
        symbols=tuple(
            (_math(symbol.latex), symbol.meaning, symbol.unit)
            for symbol in (formula.gives, *formula.symbols)
        ),
        steps=steps,
        source=formula.source,
        claims=claims,
    )


def _math(latex: str, *, display: bool = False) -> Markup:
    # The library escapes the text of its elements; nothing of a study enters a formula.
    return Markup(to_mathml(latex, display=display))
