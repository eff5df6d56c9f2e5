"""A formula on paper: text, Markdown and LaTeX, made from the same expression as its number."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from nht_theory.formulas import catalogue
from nht_theory.formulas.derivation import Root, Step
from nht_theory.formulas.formula import Condition, Formula

_WIDTH = 96


def to_text(formula: Formula) -> str:
    """A formula for the terminal."""
    return "\n".join(_text_lines(formula))


def _text_lines(formula: Formula) -> list[str]:
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
        lines.append(wrapped(f"{number}. {_plain(formula, step)}", "    "))
        lines.append(wrapped(f"{step.because} ({step.rule})", "       "))
    lines += ["", wrapped(f"source: {formula.source}")]
    lines += [wrapped(f"note: {note}") for note in formula.notes]
    return lines


def _otherwise(condition: Condition) -> str:
    if condition.value is None:
        return condition.otherwise
    return f"the value is {condition.value:g}: {condition.otherwise}"


def _plain(formula: Formula, step: Step) -> str:
    """What a step claims, with the letter of the quantity in place of ``result``."""
    given = ", ".join(f"{letter} = {text}" for letter, text in step.given.items())
    if isinstance(step, Root) and step.value == "result":
        step = replace(step, value=formula.expression)
    claim = f"{step.claim()}, where {given}" if given else step.claim()
    return re.sub(r"\bresult\b", formula.gives.letter, claim)


def to_markdown(formula: Formula, level: int = 2) -> str:
    """A formula as a Markdown section with LaTeX between dollar signs."""
    from nht_theory.formulas.typesetting import Typesetter

    tex = Typesetter(formula)
    lines = [f"{'#' * level} {formula.title} {{#{formula.name}}}", ""]
    lines += [f"`{formula.name}`", "", "$$", tex.statement(), "$$", "", formula.statement, ""]
    lines += ["| symbol | argument | meaning | unit | domain |", "|---|---|---|---|---|"]
    gives = formula.gives
    lines.append(f"| ${gives.latex}$ | (result) | {_cell(gives.meaning)} | {gives.unit} | |")
    for s in formula.symbols:
        cells = f"`{s.name}` | {_cell(s.meaning)} | {_cell(s.unit)} | {s.domain()}"
        lines.append(f"| ${s.latex}$ | {cells} |")
    lines.append("")
    for condition in formula.conditions:
        lines.append(
            f"- Needs ${tex.condition(condition.text)}$; otherwise {_otherwise(condition)}."
        )
    lines += [f"- Assumes {text}." for text in formula.assumptions]
    lines += ["", "Derivation:", ""]
    for number, step in enumerate(formula.derivation, start=1):
        given = tex.given(step)
        where = f", where ${given}$" if given else ""
        lines.append(f"{number}. ${tex.step(step)}${where}: {step.because} (*{step.rule}*).")
    arguments = ", ".join(f"{name}={value!r}" for name, value in formula.example.items())
    lines += ["", "```python", f"from nht_theory.formulas.{formula.topic} import {formula.name}"]
    lines += ["", f"{formula.name}.value({arguments})"]
    lines += [f"# {formula.value(**formula.example)!r}", "```", ""]
    lines += [f"Source: {formula.source}.", *("\n" + note for note in formula.notes), ""]
    return "\n".join(lines)


def topic_page(topic: str) -> str:
    """The documentation page of a topic: its summary, then each formula.

    Raises:
        InputError: there is no such topic.

    Example:
        >>> topic_page("emergence").splitlines()[0]
        '# Emergence: the critical size'
    """
    formulas = catalogue.formulas_of(topic)
    summary = " ".join(catalogue.topic_summary(topic).split())
    sections = "\n".join(to_markdown(formula) for formula in formulas)
    return f"# {catalogue.topic_title(topic)}\n\n{summary}\n\n{sections}"


def index_page() -> str:
    """The documentation page that lists every topic and formula."""
    lines = ["# Formulas", ""]
    lines.append(
        "Each is made from the object that also gives its number; `nht derive --check` verifies "
        "every step again."
    )
    for topic in catalogue.TOPICS:
        lines += ["", f"## [{catalogue.topic_title(topic)}]({topic}.md)", ""]
        for formula in catalogue.formulas_of(topic):
            lines.append(f"- [{formula.title}]({topic}.md#{formula.name}) `{formula.name}`")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


def to_latex(formulas: Sequence[Formula]) -> str:
    """A complete LaTeX document; needs amsmath only."""
    body = "\n".join(_latex_section(formula) for formula in formulas)
    return (
        "\\documentclass{article}\n\\usepackage{amsmath}\n\\allowdisplaybreaks\n"
        f"\\begin{{document}}\n{body}\\end{{document}}\n"
    )


def _latex_section(formula: Formula) -> str:
    from nht_theory.formulas.typesetting import Typesetter

    tex = Typesetter(formula)
    lines = [
        rf"\section*{{{_escaped(formula.title)}}}",
        _escaped(formula.statement),
        r"\begin{equation*}",
        tex.statement(),
        r"\end{equation*}",
        *(
            f"Needs ${tex.condition(c.text)}$, otherwise {_escaped(_otherwise(c))}.\n"
            for c in formula.conditions
        ),
        *(f"Assumes {_escaped(text)}.\n" for text in formula.assumptions),
        r"\begin{enumerate}",
    ]
    for step in formula.derivation:
        given = tex.given(step)
        where = f" where ${given}$" if given else ""
        lines.append(rf"\item {_escaped(step.because)}:{where}")
        lines += [r"\begin{gather*}", tex.step(step), r"\end{gather*}"]
    lines += [r"\end{enumerate}", f"Source: {_escaped(formula.source)}."]
    lines += [f"\n{_escaped(note)}" for note in formula.notes]
    lines.append("")
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
