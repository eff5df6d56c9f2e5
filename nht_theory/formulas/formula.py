"""What a formula is: symbols with units, conditions, a source, a proof and a number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.errors import DomainError
from nht_theory.formulas import expressions

if TYPE_CHECKING:
    from nht_theory.formulas.derivation import Step

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Symbol:
    """A quantity: how it is written, called, measured, and where it may lie.

    Attributes:
        letter: its name inside expressions (``eta``, ``V_sc``).
        name: its name as an argument (``learning_rate``).
        latex: its name on paper.
        unit: ``1`` for a pure number, ``step``, ``V`` (squared parameter units) ...
        meaning: in words.
        lower, upper: bounds of its domain.
        lower_open, upper_open: whether the bound itself is excluded.
        integer: whether only whole numbers make sense.
        infinite: whether plus infinity is a value.

    Example:
        >>> Symbol("eta", "learning_rate", r"\\eta", "1", "learning rate", lower=0.0).domain()
        '[0, inf)'
    """

    letter: str
    name: str
    latex: str
    unit: str
    meaning: str
    lower: float = -math.inf
    upper: float = math.inf
    lower_open: bool = False
    upper_open: bool = False
    integer: bool = False
    infinite: bool = False

    def domain(self) -> str:
        """The interval it may lie in, as text."""
        left = "(" if self.lower_open or self.lower == -math.inf else "["
        right = ")" if self.upper_open or (self.upper == math.inf and not self.infinite) else "]"
        whole = " whole" if self.integer else ""
        return f"{left}{self.lower:g}, {self.upper:g}{right}{whole}"


def positive(letter: str, name: str, latex: str, unit: str, meaning: str) -> Symbol:
    """A symbol above zero."""
    return Symbol(letter, name, latex, unit, meaning, lower=0.0, lower_open=True)


def nonnegative(letter: str, name: str, latex: str, unit: str, meaning: str) -> Symbol:
    """A symbol of at least zero."""
    return Symbol(letter, name, latex, unit, meaning, lower=0.0)


@dataclass(frozen=True)
class Condition:
    """A relation between symbols that a formula needs.

    Attributes:
        text: the relation, as an expression (``"eta*lam < 1"``).
        otherwise: what is the matter where it fails.
        remedy: what the user can do.
        value: the formula's value where the relation fails (infinity for a time that never
            comes); None where it has none, which is an error.
    """

    text: str
    otherwise: str
    remedy: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Formula:
    """A named statement ``gives relation expression`` with its proof and its numeric function.

    Call it with the names of its symbols; arrays broadcast. The number comes from the same
    string that ``nht derive --check`` proves.

    Attributes:
        name: identifier, unique in the catalogue (``exact_hitting_time``).
        topic: topic module it belongs to.
        title: a heading.
        gives: the quantity on the left-hand side.
        expression: right-hand side, in the letters of ``symbols``.
        symbols: everything the expression contains.
        statement: the theorem in words, with its premises.
        source: paper and equation, or "derived here".
        derivation: steps, each verified by sympy.
        conditions: relations the domain needs beyond each symbol's own interval.
        assumptions: what must be true of the training, in words.
        relation: ``=``, ``<=`` or ``>=`` between ``gives`` and the expression.
        local: symbols that only the derivation uses.
        notes: remarks: where the paper differs, how loose a bound is.
        example: a point inside the domain, by argument name.

    Raises (when called):
        DomainError: a value is NaN, infinite where it may not be, outside its domain, or a
            condition fails; the message names the symbol, the value and the remedy.
        TypeError: a symbol is missing or unknown.

    Example:
        >>> from nht_theory.formulas.rates import decoupled_rate
        >>> decoupled_rate.value(learning_rate=1e-3, weight_decay=1.0)
        0.0020010006671...
    """

    name: str
    topic: str
    title: str
    gives: Symbol
    expression: str
    symbols: tuple[Symbol, ...]
    statement: str
    source: str
    derivation: tuple[Step, ...]
    conditions: tuple[Condition, ...] = ()
    assumptions: tuple[str, ...] = ()
    relation: str = "="
    local: tuple[Symbol, ...] = ()
    notes: tuple[str, ...] = ()
    example: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, **arguments: ArrayLike) -> Array:
        """The value, float64 of the broadcast shape of the arguments."""
        values = self._letters(arguments)
        _check_symbols(self, values)
        outside = _check_conditions(self, values)
        result = expressions.evaluate(self.expression, values)
        for where, value in outside:
            result = np.where(where, value, result)
        return _check_result(self, result, values, allowed=[value for _, value in outside])

    def value(self, **arguments: float) -> float:
        """The value at one point, as a float."""
        return float(self(**arguments))

    def _letters(self, arguments: Mapping[str, ArrayLike]) -> dict[str, Array]:
        names = {symbol.name: symbol.letter for symbol in self.symbols}
        missing = [name for name in names if name not in arguments]
        unknown = [name for name in arguments if name not in names]
        if missing or unknown:
            problem = f"missing {', '.join(missing)}" if missing else f"has no {', '.join(unknown)}"
            raise TypeError(f"{self.name}: {problem}; it takes {', '.join(names)}")
        return {
            names[name]: np.asarray(value, dtype=np.float64) for name, value in arguments.items()
        }


def _check_symbols(formula: Formula, values: Mapping[str, Array]) -> None:
    """Each value lies in the interval of its symbol.

    Raises:
        DomainError: the first value that does not, with its place when it stands in an array.
    """
    for symbol in formula.symbols:
        value = values[symbol.letter]
        wrong = _outside(symbol, value)
        if wrong.any():
            raise DomainError(
                f"{symbol.name} is {_first(value, wrong)}",
                source=formula.name,
                remedy=f"{symbol.meaning} lies in {symbol.domain()}",
            )


def _outside(symbol: Symbol, value: Array) -> Mask:
    too_low = value <= symbol.lower if symbol.lower_open else value < symbol.lower
    too_high = value >= symbol.upper if symbol.upper_open else value > symbol.upper
    wrong = np.isnan(value) | (too_low & np.isfinite(symbol.lower)) | (value == -np.inf)
    wrong |= too_high & np.isfinite(symbol.upper)
    if not symbol.infinite:
        wrong |= np.isinf(value)
    if symbol.integer:
        wrong |= np.isfinite(value) & (value != np.rint(value))
    return np.asarray(wrong)


def _check_conditions(formula: Formula, values: Mapping[str, Array]) -> list[tuple[Mask, float]]:
    """Where each condition fails that has a value of its own.

    Raises:
        DomainError: a condition fails that has none.
    """
    outside: list[tuple[Mask, float]] = []
    for condition in formula.conditions:
        wrong = ~expressions.holds(condition.text, values)
        for mask, _ in outside:
            wrong = wrong & ~mask
        if not wrong.any():
            continue
        if condition.value is None:
            given = _arguments_at(formula, values, wrong, condition.text)
            raise DomainError(
                f"{condition.otherwise} ({condition.text} fails at {given})",
                source=formula.name,
                remedy=condition.remedy,
            )
        outside.append((wrong, condition.value))
    return outside


def _check_result(
    formula: Formula, result: Array, values: Mapping[str, Array], allowed: Sequence[float]
) -> Array:
    """The result, once it is known to hold no NaN and no infinity that the theory did not mean.

    Raises:
        DomainError: the expression left the range of double precision.
    """
    wrong = ~np.isfinite(result)
    if np.inf in allowed or any(symbol.infinite for symbol in formula.symbols):
        wrong &= result != np.inf
    if wrong.any():
        raise DomainError(
            f"{formula.gives.name} leaves the range of double precision at "
            f"{_arguments_at(formula, values, wrong, formula.expression)}",
            source=formula.name,
            remedy="rescale the arguments",
        )
    return result


def _first(value: Array, wrong: Mask) -> str:
    if value.ndim == 0:
        return f"{float(value):g}"
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{float(value[place]):g} at index {place[0] if len(place) == 1 else place}"


def _arguments_at(formula: Formula, values: Mapping[str, Array], wrong: Mask, text: str) -> str:
    """The arguments that ``text`` mentions, at the first place where ``wrong`` is true."""
    shape = np.broadcast_shapes(wrong.shape, *(v.shape for v in values.values()))
    mask = np.broadcast_to(wrong, shape)
    place = tuple(int(i) for i in np.argwhere(mask)[0])
    mentioned = [s for s in formula.symbols if s.letter in expressions.letters_in(text)]
    given = ", ".join(
        f"{symbol.name} = {float(np.broadcast_to(values[symbol.letter], shape)[place]):g}"
        for symbol in mentioned
    )
    return f"{given}, index {place[0] if len(place) == 1 else place}" if place else given
