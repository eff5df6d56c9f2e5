"""A formula on paper: text, Markdown and LaTeX, made from the same expression as its number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import sympy as sp

from nht_theory.formulas import derivation as rule
from nht_theory.formulas.expressions import symbolic
from nht_theory.formulas.formula import Formula
from nht_theory.formulas.verification import sympy_symbol

_RELATIONS = {"=": "=", "<=": r"\le", ">=": r"\ge"}
_WIDTH = 96


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
        text: str = sp.latex(shown, symbol_names=self._names, ln_notation=True)
        return text

    def statement(self) -> str:
        """The formula itself, without dollar signs."""
        relation = _RELATIONS[self.formula.relation]
        return f"{self.formula.gives.latex} {relation} {self(self.formula.expression)}"

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
    return rf"{equation} \;\text{{ at }}\; {tex(step.unknown)} = {tex(step.value)}"


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


RULES = {
    "Equal": "the two sides simplify to each other",
    "Root": "substituted, the value solves the equation",
    "Induction": "right at step 0, and one step keeps it right",
    "Derivative": "differentiated symbolically",
    "Limit": "limit taken symbolically",
    "Positive": "every term is positive",
    "Monotone": "zero at zero, with a positive derivative",
}
"""How each kind of step is verified, in words."""


def to_text(formula: Formula) -> str:
    """A formula for the terminal."""
    return "\n".join(_text_lines(formula))


def _text_lines(formula: Formula) -> list[str]:
    import textwrap

    def wrapped(text: str, indent: str = "  ") -> str:
        return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)

    lines = [f"{formula.name}: {formula.title}", ""]
    lines += [f"    {formula.gives.letter} {formula.relation} {formula.expression}", ""]
    lines += [wrapped(formula.statement), ""]
    width = max(len(s.letter) for s in formula.symbols)
    for s in (formula.gives, *formula.symbols):
        lines.append(f"  {s.letter:{width}}  {s.name}: {s.meaning} [{s.unit}], {s.domain()}")
    for condition in formula.conditions:
        lines.append(f"  needs {condition.text}, otherwise {_otherwise(condition)}")
    lines += [wrapped(f"assumes {text}") for text in formula.assumptions]
    lines += ["", "  derivation"]
    for number, step in enumerate(formula.derivation, start=1):
        lines.append(wrapped(f"{number}. {_plain(step)}", "    "))
        lines.append(wrapped(f"{step.because} ({RULES[type(step).__name__]})", "       "))
    lines += ["", wrapped(f"source: {formula.source}")]
    lines += [wrapped(f"note: {note}") for note in formula.notes]
    return lines


def _otherwise(condition: object) -> str:
    value = getattr(condition, "value", None)
    words: str = getattr(condition, "otherwise", "")
    return words if value is None else f"the value is {value:g}: {words}"


def _plain(step: rule.Step) -> str:
    """What a step claims, in the strings it was written in."""
    given = ", ".join(f"{letter} = {text}" for letter, text in step.given.items())
    where = f", where {given}" if given else ""
    return f"{_plain_claim(step)}{where}"


def _plain_claim(step: rule.Step) -> str:
    match step:
        case rule.Equal():
            return f"{step.left} = {step.right}"
        case rule.Root():
            return f"{step.left} = {step.right} at {step.unknown} = {step.value}"
        case rule.Induction():
            return f"state_0 = {step.initial}, state' = {step.successor}: state_t = {step.closed}"
        case rule.Derivative():
            return f"d/d{step.variable} ({step.expression}) = {step.value}"
        case rule.Limit():
            return f"{step.expression} -> {step.value} as {step.variable} -> {step.point}"
        case rule.Monotone():
            return f"{step.expression} > 0 for {step.variable} > 0"
        case rule.Positive():
            return f"{step.expression} {'>' if step.strict else '>='} 0"


def to_markdown(formula: Formula, level: int = 2) -> str:
    """A formula as a Markdown section with LaTeX between dollar signs."""
    tex = Typesetter(formula)
    lines = [f"{'#' * level} {formula.title} {{#{formula.name}}}", ""]
    lines += [f"`{formula.name}`", "", "$$", tex.statement(), "$$", "", formula.statement, ""]
    lines += ["| symbol | argument | meaning | unit | domain |", "|---|---|---|---|---|"]
    gives = formula.gives
    lines.append(f"| ${gives.latex}$ | (result) | {gives.meaning} | {gives.unit} | |")
    for s in formula.symbols:
        lines.append(f"| ${s.latex}$ | `{s.name}` | {s.meaning} | {s.unit} | {s.domain()} |")
    lines.append("")
    for condition in formula.conditions:
        lines.append(f"- Needs ${tex(condition.text)}$; otherwise {_otherwise(condition)}.")
    lines += [f"- Assumes {text}." for text in formula.assumptions]
    lines += ["", "Derivation:", ""]
    for number, step in enumerate(formula.derivation, start=1):
        given = tex.given(step)
        where = f", where ${given}$" if given else ""
        rule_words = RULES[type(step).__name__]
        lines.append(f"{number}. ${tex.step(step)}${where}: {step.because} (*{rule_words}*).")
    arguments = ", ".join(f"{name}={value!r}" for name, value in formula.example.items())
    lines += ["", "```python", f"from nht_theory.formulas.{formula.topic} import {formula.name}"]
    lines += ["", f"{formula.name}.value({arguments})"]
    lines += [f"# {formula.value(**formula.example)!r}", "```", ""]
    lines += [f"Source: {formula.source}.", *("\n" + note for note in formula.notes), ""]
    return "\n".join(lines)


def to_latex(formulas: Sequence[Formula]) -> str:
    """A complete LaTeX document; needs amsmath only."""
    body = "\n".join(_latex_section(formula) for formula in formulas)
    return (
        "\\documentclass{article}\n\\usepackage{amsmath}\n\\allowdisplaybreaks\n"
        f"\\begin{{document}}\n{body}\\end{{document}}\n"
    )


def _latex_section(formula: Formula) -> str:
    tex = Typesetter(formula)
    lines = [
        rf"\section*{{{_escaped(formula.title)}}}",
        _escaped(formula.statement),
        r"\begin{equation*}",
        tex.statement(),
        r"\end{equation*}",
        r"\begin{enumerate}",
    ]
    for step in formula.derivation:
        given = tex.given(step)
        where = f" where ${given}$" if given else ""
        lines.append(rf"\item {_escaped(step.because)}:{where}")
        lines += [r"\begin{gather*}", tex.step(step), r"\end{gather*}"]
    lines += [r"\end{enumerate}", f"Source: {_escaped(formula.source)}.", ""]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    special = {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
    for character in "&%$#_{}":
        special[character] = f"\\{character}"
    return "".join(special.get(character, character) for character in text)
