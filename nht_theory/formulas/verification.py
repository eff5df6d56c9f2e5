"""Verification of derivations: sympy re-checks every step by the rule that the step names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import singledispatch

import numpy as np
import sympy as sp

from nht_theory.errors import NhtError
from nht_theory.formulas import derivation as rule
from nht_theory.formulas.expressions import holds, letters_in, symbolic
from nht_theory.formulas.formula import Formula, Symbol

Letters = Mapping[str, sp.Expr]
Point = Mapping[str, float]

_SEED = 20260307
_ERRORS = (NhtError, ArithmeticError, ValueError, TypeError, AttributeError, NameError, SyntaxError)
"""What a malformed expression can raise on its way through sympy and numpy: a failed check."""


@dataclass(frozen=True)
class StepCheck:
    """One verified or failed step: its rule, its claim, its reason, and what went wrong."""

    rule: str
    because: str
    holds: bool
    problem: str = ""


@dataclass(frozen=True)
class FormulaCheck:
    """The outcome of re-verifying one formula.

    Attributes:
        name, topic: of the formula.
        steps: one check per step, in order.
        problems: faults of the whole: no step uses the expression, the number disagrees.
    """

    name: str
    topic: str
    steps: tuple[StepCheck, ...]
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every step holds and nothing else is amiss."""
        return not self.problems and all(step.holds for step in self.steps)


def sympy_symbol(symbol: Symbol) -> sp.Symbol:
    """The sympy symbol with the assumptions that the domain gives it.

    Example:
        >>> from nht_theory.formulas.symbols import LEARNING_RATE
        >>> sympy_symbol(LEARNING_RATE).is_positive
        True
    """
    assumptions: dict[str, bool] = {"real": True}
    if symbol.lower >= 0:
        strict = symbol.lower > 0 or symbol.lower_open
        assumptions = {"positive": True} if strict else {"nonnegative": True}
    if symbol.integer:
        assumptions["integer"] = True
    return sp.Symbol(symbol.letter, **assumptions)


def letters_of(formula: Formula) -> dict[str, sp.Expr]:
    """sympy symbols of a formula, with ``result`` for its own expression."""
    letters: dict[str, sp.Expr] = {
        symbol.letter: sympy_symbol(symbol) for symbol in (*formula.symbols, *formula.local)
    }
    letters["result"] = symbolic(formula.expression, letters)
    return letters


def check_formula(formula: Formula) -> FormulaCheck:
    """Re-verify every step of a formula's derivation, and its number against the symbols.

    Example:
        >>> from nht_theory.formulas.rates import decoupled_rate
        >>> check_formula(decoupled_rate).holds
        True
    """
    try:
        letters = letters_of(formula)
    except _ERRORS as error:
        return FormulaCheck(formula.name, formula.topic, (), (f"not an expression: {error}",))
    points = _points(formula, np.random.default_rng(_SEED), count=3)
    steps = tuple(_check_step(step, letters, points) for step in formula.derivation)
    problems = [*_asserted(formula), *_number_problems(formula, letters)]
    return FormulaCheck(formula.name, formula.topic, steps, tuple(problems))


def _asserted(formula: Formula) -> list[str]:
    """A derivation that never mentions the expression proves nothing about it."""
    for step in formula.derivation:
        for text in _texts(step):
            if "result" in letters_in(text):
                return []
    return ["no step uses the expression: the statement is asserted, not derived"]


def _texts(step: rule.Step) -> list[str]:
    own = [getattr(step, entry.name) for entry in fields(step)]
    words = [text for text in own if isinstance(text, str) and text != step.because]
    words += [text for pair in getattr(step, "squares", ()) for text in pair]
    return [*words, *step.given.values()]


def _check_step(step: rule.Step, letters: Letters, points: Sequence[Point]) -> StepCheck:
    name = type(step).__name__.lower()
    try:
        problem = _problem(step, _Reader(letters, step.given, points))
    except _ERRORS as error:
        problem = f"{type(error).__name__}: {error}"
    return StepCheck(name, step.because, not problem, problem)


class _Reader:
    """Turns the strings of one step into sympy, its ``given`` letters replaced; compares them."""

    def __init__(self, letters: Letters, given: Mapping[str, str], points: Sequence[Point]) -> None:
        self.letters = dict(letters)
        self.given = {
            self.letters.get(letter, sp.Symbol(letter)): symbolic(text, self.letters)
            for letter, text in given.items()
        }
        self.points = points

    def __call__(self, text: str) -> sp.Expr:
        return symbolic(text, self.letters).subs(self.given)

    def unequal(self, left: sp.Expr, right: sp.Expr) -> str:
        """Empty when the two are proved equal, otherwise what is the matter."""
        for point in self.points:
            # Refuting by a number is quick; only the proof is left to the simplifier.
            values = {self.letters[k]: sp.Float(value, 40) for k, value in point.items()}
            here, there = (side.subs(values).evalf(30) for side in (left, right))
            if not (here.is_number and there.is_number):
                break
            if abs(here - there) > 1e-20 * (abs(here) + abs(there)) + 1e-30:
                return f"{left} differs from {right}: {sp.N(here, 8)} against {sp.N(there, 8)}"
        difference = left - right
        for simplify in (sp.simplify, _by_logarithms, _by_radicals):
            if simplify(difference) == 0:
                return ""
        return f"{left} differs from {right}, as far as sympy can tell"


@singledispatch
def _problem(step: object, read: _Reader) -> str:
    raise TypeError(f"no rule verifies a {type(step).__name__}")


@_problem.register
def _(step: rule.Equal, read: _Reader) -> str:
    return read.unequal(read(step.left), read(step.right))


@_problem.register
def _(step: rule.Root, read: _Reader) -> str:
    at_root = {read.letters[step.unknown]: read(step.value)}
    return read.unequal(read(step.left).subs(at_root), read(step.right).subs(at_root))


@_problem.register
def _(step: rule.Induction, read: _Reader) -> str:
    index = read.letters[step.index]
    closed = read(step.closed)
    state = sp.Symbol(step.state)
    read.letters[step.state] = state
    start = read.unequal(closed.subs(index, 0), read(step.initial))
    successor = read(step.successor).subs(state, closed)
    return start or read.unequal(closed.subs(index, index + 1), successor)


@_problem.register
def _(step: rule.Derivative, read: _Reader) -> str:
    slope = sp.diff(read(step.expression), read.letters[step.variable])
    return read.unequal(slope, read(step.value))


@_problem.register
def _(step: rule.Limit, read: _Reader) -> str:
    limit = sp.limit(read(step.expression), read.letters[step.variable], read(step.point), "+")
    return read.unequal(limit, read(step.value))


@_problem.register
def _(step: rule.Positive, read: _Reader) -> str:
    expression = read(step.expression)
    if not step.squares:
        return _sign_problem(expression, strict=step.strict)
    weights = [read(weight) for weight, _ in step.squares]
    total = sum(
        weight * read(term) ** 2 for weight, (_, term) in zip(weights, step.squares, strict=True)
    )
    negative = [str(weight) for weight in weights if not weight.is_nonnegative]
    if negative:
        return f"weights not known to be non-negative: {', '.join(negative)}"
    return read.unequal(expression, total)


@_problem.register
def _(step: rule.Monotone, read: _Reader) -> str:
    variable = read.letters[step.variable]
    expression = symbolic(step.expression, read.letters)
    start = sp.limit(expression, variable, 0, "+")
    if sp.simplify(start) != 0:
        return f"it is {start}, not 0, at {step.variable} = 0"
    slope = sp.simplify(sp.diff(expression, variable)).subs(read.given)
    return _sign_problem(slope, strict=step.strict)


def _by_logarithms(expression: sp.Expr) -> sp.Expr:
    return sp.simplify(sp.expand(sp.expand_log(sp.simplify(expression), force=False)))


def _by_radicals(expression: sp.Expr) -> sp.Expr:
    return sp.radsimp(sp.expand(sp.powdenest(sp.expand_power_base(expression), force=False)))


def _sign_problem(expression: sp.Expr, *, strict: bool) -> str:
    """Empty when numerator and denominator have only positive coefficients."""
    numerator, denominator = sp.fraction(sp.together(sp.simplify(expression)))
    for part, name in (
        (sp.expand(numerator), "numerator"),
        (sp.expand(denominator), "denominator"),
    ):
        if _surely_positive(part, strict=strict or name == "denominator"):
            continue
        return f"{name} {part} is not a sum of positive terms"
    return ""


def _surely_positive(part: sp.Expr, *, strict: bool) -> bool:
    terms = sp.Add.make_args(part)
    if not all(term.is_nonnegative for term in terms):
        return False
    return not strict or any(term.is_positive for term in terms)


def _number_problems(formula: Formula, letters: Letters) -> list[str]:
    try:
        return _number_disagrees(formula, letters)
    except _ERRORS as error:
        return [f"no number: {error}"]


def _number_disagrees(formula: Formula, letters: Letters) -> list[str]:
    """Problems of the numeric function: compared with 50-digit arithmetic on the symbols.

    The points scatter around the formula's example by a factor of about two, from a fixed seed.
    """
    generator = np.random.default_rng(_SEED)
    for point in _points(formula, generator, count=6):
        exact = letters["result"].subs(
            {letters[s.letter]: sp.Float(repr(point[s.letter]), 60) for s in formula.symbols}
        )
        expected = float(sp.N(exact, 50))
        value = formula.value(**{s.name: point[s.letter] for s in formula.symbols})
        if abs(value - expected) > 1e-11 * max(abs(expected), 1e-300):
            return [f"the number {value!r} differs from {expected!r} at {point}"]
    return []


def _points(formula: Formula, generator: np.random.Generator, count: int) -> list[Point]:
    """Values of the letters: the example, then points scattered about it inside the domain;
    letters of the derivation alone are drawn between 0.2 and 0.8, or small whole numbers."""
    example = {symbol.letter: float(formula.example[symbol.name]) for symbol in formula.symbols}
    points: list[Point] = []
    for attempt in range(200):
        point = dict(example)
        if attempt:
            for symbol in formula.symbols:
                point[symbol.letter] = _scatter(symbol, example[symbol.letter], generator)
        if len(points) < count and _admissible(formula, point):
            own = {
                symbol.letter: float(generator.integers(2, 6))
                if symbol.integer
                else float(generator.uniform(0.2, 0.8))
                for symbol in formula.local
                if symbol.letter not in point
            }
            points.append({**point, **own})
    return points


def _scatter(symbol: Symbol, value: float, generator: np.random.Generator) -> float:
    scattered = value * float(np.exp(generator.normal(0.0, 0.5)))
    if symbol.integer:
        scattered = float(round(scattered))
    inside = symbol.lower < scattered < symbol.upper
    return scattered if inside else value


def _admissible(formula: Formula, point: Mapping[str, float]) -> bool:
    values = {letter: np.asarray(value) for letter, value in point.items()}
    return all(bool(holds(condition.text, values)) for condition in formula.conditions)
