"""What is printed is made of the same expression as the number, and LaTeX compiles."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nht_theory.cli.derive import Format, derive
from nht_theory.errors import InputError
from nht_theory.formulas import catalogue
from nht_theory.formulas.formula import Formula
from nht_theory.formulas.mathml import to_mathml
from nht_theory.formulas.rates import decoupled_rate
from nht_theory.formulas.rendering import index_page, to_latex, to_markdown, to_text, topic_page
from nht_theory.formulas.typesetting import Typesetter

ALL = tuple(catalogue.find(name) for name in catalogue.names())


@pytest.mark.parametrize("formula", ALL, ids=lambda formula: formula.name)
def test_every_formula_is_shown_whole_in_every_format(formula: Formula) -> None:
    text, markdown = to_text(formula), to_markdown(formula)
    for step in formula.derivation:
        assert " ".join(step.because.split()) in " ".join(text.split())
        assert step.because in markdown
    for said in (*formula.assumptions, *formula.notes):
        assert " ".join(said.split()) in " ".join(text.split())
        assert said in markdown
    latex = to_latex([formula])
    assert latex.count("Assumes ") == len(formula.assumptions)
    assert latex.count("Needs $") == len(formula.conditions)
    for shown in (text, markdown):
        assert formula.source in " ".join(shown.split())
        assert "\nresult" not in shown
    for symbol in formula.symbols:
        assert symbol.name in text
        assert symbol.latex in markdown
    assert repr(formula.value(**formula.example)) in markdown


def test_the_page_follows_the_expression() -> None:
    altered = replace(decoupled_rate, expression="-3*log1p(-eta*lam)")
    assert "- 2 \\ln" in Typesetter(decoupled_rate).statement()
    assert "- 3 \\ln" in Typesetter(altered).statement()


def test_pages_link_to_every_formula() -> None:
    index = index_page()
    for topic in catalogue.TOPICS:
        page = topic_page(topic)
        for formula in catalogue.formulas_of(topic):
            assert f"({topic}.md#{formula.name})" in index
            assert f"{{#{formula.name}}}" in page


def test_markdown_has_balanced_dollars_and_no_bare_bar_in_tables() -> None:
    for formula in ALL:
        for line in to_markdown(formula).splitlines():
            if line.startswith("|"):
                assert len(re.findall(r"(?<!\\)\|", line)) == 6
            assert line.count("$") % 2 == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_with_a_plain_preamble(tmp_path: Path) -> None:
    (tmp_path / "all.tex").write_text(to_latex(ALL), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000


def test_latex_is_plain_and_balanced() -> None:
    document = to_latex(ALL)
    assert document.isascii()
    assert document.count("{") - document.count(r"\{") == document.count("}") - document.count(
        r"\}"
    )
    for environment in ("equation*", "enumerate", "gather*"):
        assert document.count(f"\\begin{{{environment}}}") == document.count(
            f"\\end{{{environment}}}"
        )
    assert re.findall(r"\\usepackage\{(\w+)\}", document) == ["amsmath"]


def test_derive_lists_shows_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    derive(json=True)
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == list(catalogue.names())
    derive()
    assert "exact_hitting_time" in capsys.readouterr().out
    derive("times", format=Format.LATEX)
    assert capsys.readouterr().out.startswith("\\documentclass{article}")
    derive("noise_floor", json=True)
    assert json.loads(capsys.readouterr().out)[0]["steps"][0]["rule"] == "root"
    derive("emergence", check=True, json=True)
    checked = json.loads(capsys.readouterr().out)
    assert checked["verified"] == 3
    assert checked["failed"] == []
    with pytest.raises(InputError, match="did you mean exact_hitting_time"):
        derive("exact_hiting_time")
    with pytest.raises(InputError, match="no topic"):
        catalogue.formulas_of("nothing")


@pytest.mark.parametrize("formula", ALL, ids=lambda formula: formula.name)
def test_every_formula_is_well_formed_mathml(formula: Formula) -> None:
    tex = Typesetter(formula)
    parts = [
        tex.statement(),
        *map(tex.step, formula.derivation),
        *(s.latex for s in formula.symbols),
    ]
    for latex in parts:
        root = ElementTree.fromstring(to_mathml(latex))
        assert root.tag.endswith("math")
        assert "".join(root.itertext()).strip()


def test_mathml_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="no MathML"):
        to_mathml(r"\nosuchcommand x")
