"""Domain checks of a formula's arguments and result: a clear error, never a silent NaN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import DomainError
from nht_theory.formulas import expressions

if TYPE_CHECKING:
    from nht_theory.formulas.formula import Formula, Symbol

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def check_symbols(formula: Formula, values: Mapping[str, Array]) -> None:
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


def check_conditions(formula: Formula, values: Mapping[str, Array]) -> list[tuple[Mask, float]]:
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


def check_result(
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
