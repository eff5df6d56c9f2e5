"""Formulas and steps as LaTeX, through the sympy expression of the same string."""

from __future__ import annotations

import re
from functools import singledispatch

import sympy as sp

from nht_theory.formulas import derivation as rule
from nht_theory.formulas.expressions import symbolic
from nht_theory.formulas.formula import Formula
from nht_theory.formulas.verification import sympy_symbol

_RELATIONS = {"=": "=", "<=": r"\le", ">=": r"\ge", "!=": r"\ne", "<": "<", ">": ">"}


class Typesetter:
    """Turns the strings of one formula into LaTeX with the names its symbols have on paper.

    Example:
        >>> from nht_theory.formulas.rates import decoupled_rate
        >>> Typesetter(decoupled_rate).statement()
        '\\\\gamma_V = - 2 \\\\ln{\\\\left(1 - \\\\eta \\\\lambda \\\\right)}'
    """

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        known = (*formula.symbols, *formula.local, formula.gives)
        self._letters: dict[str, sp.Expr] = {s.letter: sympy_symbol(s) for s in known}
        self._letters["state"] = sp.Symbol("state")
        self._letters["result"] = sp.Symbol("result")
        self._names = {self._letters[s.letter]: s.latex for s in known}
        self._names[self._letters["state"]] = r"y_t"
        self._names[self._letters["result"]] = formula.gives.latex

    def __call__(self, expression: str) -> str:
        """LaTeX of an expression; ``result`` shows as the quantity that the formula gives."""
        shown = symbolic(expression, self._letters)
        text: str = sp.latex(shown, symbol_names=self._names, ln_notation=True, order="rev-lex")
        return text

    def statement(self) -> str:
        """The formula itself, without dollar signs."""
        relation = _RELATIONS[self.formula.relation]
        return f"{self.formula.gives.latex} {relation} {self(self.formula.expression)}"

    def condition(self, text: str) -> str:
        """A relation, without dollar signs; its two sides are set apart, so that sympy does not
        decide it."""
        left, relation, right = re.split(r"\s*(<=|>=|!=|<|>)\s*", text)
        return f"{self(left)} {_RELATIONS[relation]} {self(right)}"

    def step(self, step: rule.Step) -> str:
        """What a step claims, without dollar signs."""
        return _claim(step, self)

    def given(self, step: rule.Step) -> str:
        """The definitions that a step uses, without dollar signs; empty when it has none."""
        return ",\\; ".join(f"{self(k)} = {self(v)}" for k, v in step.given.items())


@singledispatch
def _claim(step: object, tex: Typesetter) -> str:
    raise TypeError(f"no way to typeset a {type(step).__name__}")


@_claim.register
def _(step: rule.Equal, tex: Typesetter) -> str:
    return f"{tex(step.left)} = {tex(step.right)}"


@_claim.register
def _(step: rule.Root, tex: Typesetter) -> str:
    equation = f"{tex(step.left)} = {tex(step.right)}"
    value = tex.formula.expression if step.value == "result" else step.value
    return rf"{equation} \;\text{{ at }}\; {tex(step.unknown)} = {tex(value)}"


@_claim.register
def _(step: rule.Induction, tex: Typesetter) -> str:
    return (
        rf"y_0 = {tex(step.initial)},\; y_{{t+1}} = {tex(step.successor)}"
        rf" \;\Rightarrow\; y_t = {tex(step.closed)}"
    )


@_claim.register
def _(step: rule.Derivative, tex: Typesetter) -> str:
    variable = tex(step.variable)
    return (
        rf"\frac{{\partial}}{{\partial {variable}}}\left({tex(step.expression)}\right)"
        f" = {tex(step.value)}"
    )


@_claim.register
def _(step: rule.Limit, tex: Typesetter) -> str:
    towards = rf"\lim_{{{tex(step.variable)} \to {tex(step.point)}}}"
    return rf"{towards} \left({tex(step.expression)}\right) = {tex(step.value)}"


@_claim.register
def _(step: rule.Positive, tex: Typesetter) -> str:
    relation = ">" if step.strict else r"\ge"
    squares = " + ".join(
        rf"{tex(weight)} \left({tex(term)}\right)^2" for weight, term in step.squares
    )
    return f"{tex(step.expression)}{' = ' + squares if squares else ''} {relation} 0"


@_claim.register
def _(step: rule.Monotone, tex: Typesetter) -> str:
    relation = ">" if step.strict else r"\ge"
    return rf"{tex(step.expression)} {relation} 0 \;\text{{ for }}\; {tex(step.variable)} > 0"
