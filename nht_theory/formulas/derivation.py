"""The steps of a proof, as data: each names the rule by which sympy verifies it.

Expressions are strings as in :mod:`nht_theory.formulas.expressions`. The letter ``result``
stands for the formula's own expression: a derivation must use it, so that altering the
expression breaks the proof. ``given`` replaces letters before anything is checked: it carries
definitions ("a" = 1 - eta*lam) and parametrisations of a domain ("x" = s/(1 + s) with s > 0
covers 0 < x < 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

Given = Mapping[str, str]


@dataclass(frozen=True)
class Equal:
    """left = right: their difference simplifies to zero."""

    left: str
    right: str
    because: str
    given: Given = field(default_factory=dict)
    rule: ClassVar[str] = "the two sides simplify to each other"

    def claim(self) -> str:
        """What the step claims, in the strings it is written in."""
        return f"{self.left} = {self.right}"


@dataclass(frozen=True)
class Root:
    """``value`` solves ``left = right`` for ``unknown``: substituted, it makes them equal."""

    left: str
    right: str
    unknown: str
    value: str
    because: str
    given: Given = field(default_factory=dict)
    rule: ClassVar[str] = "substituted, the value solves the equation"

    def claim(self) -> str:
        """What the step claims, in the strings it is written in."""
        return f"{self.left} = {self.right} at {self.unknown} = {self.value}"


@dataclass(frozen=True)
class Induction:
    """A closed form satisfies a recursion: it starts right, and one step keeps it right.

    Attributes:
        closed: the closed form, in the letter ``index``.
        initial: its value at index 0.
        successor: one step of the recursion, in the letter ``state``.
    """

    closed: str
    initial: str
    successor: str
    because: str
    index: str = "t"
    state: str = "state"
    given: Given = field(default_factory=dict)
    rule: ClassVar[str] = "right at step 0, and one step keeps it right"

    def claim(self) -> str:
        """What the step claims, in the strings it is written in."""
        return (
            f"{self.state}_0 = {self.initial}, {self.state}' = {self.successor} gives {self.closed}"
        )


@dataclass(frozen=True)
class Derivative:
    """The derivative of ``expression`` with respect to ``variable`` equals ``value``."""

    expression: str
    variable: str
    value: str
    because: str
    given: Given = field(default_factory=dict)
    rule: ClassVar[str] = "differentiated symbolically"

    def claim(self) -> str:
        """What the step claims, in the strings it is written in."""
        return f"d/d{self.variable} ({self.expression}) = {self.value}"


@dataclass(frozen=True)
class Limit:
    """``expression`` tends to ``value`` as ``variable`` tends to ``point`` (from above)."""

    expression: str
    variable: str
    point: str
    value: str
    because: str
    given: Given = field(default_factory=dict)
    rule: ClassVar[str] = "limit taken symbolically"

    def claim(self) -> str:
        """What the step claims, in the strings it is written in."""
        return f"{self.expression} -> {self.value} as {self.variable} -> {self.point}"


@dataclass(frozen=True)
class Positive:
    """``expression`` > 0 (or >= 0), by a certificate that sympy checks.

    Numerator and denominator are expanded after ``given``. All coefficients must be positive
    and all letters non-negative, so that the sign can be read off; a ``squares`` certificate
    instead names terms whose weighted squares sum to the expression.

    Attributes:
        strict: whether zero is excluded.
        squares: (weight, term) pairs; the expression must equal sum of weight*term**2.
    """

    expression: str
    because: str
    strict: bool = True
    squares: tuple[tuple[str, str], ...] = ()
    given: Given = field(default_factory=dict)
    rule: ClassVar[str] = "every term is positive"

    def claim(self) -> str:
        """What the step claims, in the strings it is written in."""
        return f"{self.expression} {'>' if self.strict else '>='} 0"


@dataclass(frozen=True)
class Monotone:
    """``expression`` > 0 for ``variable`` > 0: it is zero at zero and its derivative is positive.

    The derivative's sign is certified as in :class:`Positive`, after ``given``; a condition that
    bounds the variable is put in by ``given`` too.
    """

    expression: str
    variable: str
    because: str
    strict: bool = True
    given: Given = field(default_factory=dict)
    rule: ClassVar[str] = "zero at zero, with a positive derivative"

    def claim(self) -> str:
        """What the step claims, in the strings it is written in."""
        return f"{self.expression} {'>' if self.strict else '>='} 0 for {self.variable} > 0"


Step = Equal | Root | Induction | Derivative | Limit | Positive | Monotone
