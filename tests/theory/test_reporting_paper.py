"""Figures for papers: vector fonts, column width, the same bytes, and their numbers beside."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nht_theory.cli import main
from nht_theory.errors import InputError
from nht_theory.estimators.summary import estimate_study
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.figures.catalogue import FIGURES, build
from nht_theory.reporting.marks import Figure, Line, legend
from nht_theory.reporting.paper import COLUMN, PAGE, draw, paper_style, write_figure

SIZES = (6.0, 7.0, 8.0)
"""Points of the text of a figure."""
EXPONENTS = (4.2, 4.9, 5.6)
"""Seven tenths of these: the exponents of a logarithmic axis."""
DRAWN = [name for name in FIGURES if name != "forecasts"]


@pytest.fixture(scope="module")
def content(make_study) -> ReportContent:
    return ReportContent(estimate_study(make_study(seeds=1)), ())


def figure_of(name: str, content: ReportContent) -> Figure:
    figure = build(name, content)
    assert isinstance(figure, Figure), figure
    return figure


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_is_drawn_with_embedded_fonts(
    name: str, content: ReportContent, tmp_path: Path
) -> None:
    figure = figure_of(name, content)
    path, numbers = write_figure(figure, tmp_path / f"{name}.pdf")
    made = path.read_bytes()
    assert b"/FontFile2" in made
    assert b"/Type3" not in made
    width = float(re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", made)[1]) / 72
    assert width == pytest.approx(PAGE if len(figure.panels) > 1 else COLUMN, abs=0.01)
    assert numbers.name == f"{name}.csv"


def test_the_same_figure_gives_the_same_bytes(content: ReportContent, tmp_path: Path) -> None:
    figure = figure_of("accuracy", content)
    for kind in ("pdf", "svg", "png"):
        first, _ = write_figure(figure, tmp_path / f"a.{kind}")
        second, _ = write_figure(figure, tmp_path / f"b.{kind}")
        assert first.read_bytes() == second.read_bytes()


def test_the_numbers_beside_read_back_to_the_same_bits(
    content: ReportContent, tmp_path: Path
) -> None:
    figure = figure_of("trajectories", content)
    _, numbers = write_figure(figure, tmp_path / "fig.svg")
    with numbers.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["mark"] == "line"]
    for run in content.estimated.study.runs:
        own = [row for row in rows if row["key"] == run.name]
        assert np.array_equal([float(row["x"]) for row in own], run.steps)
        assert np.array_equal([float(row["y"]) for row in own], run.squared_norm)


def test_what_is_drawn_is_what_the_figure_holds(content: ReportContent) -> None:
    import matplotlib.pyplot as plt

    figure = figure_of("trajectories", content)
    with paper_style():
        drawn = draw(figure)
        axes = drawn.axes[0]
        assert axes.get_yscale() == "log"
        lines = [mark for mark in figure.panels[0].marks if isinstance(mark, Line)]
        shown = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
        assert len(shown) == len(lines)
        for mark, line in zip(lines, shown, strict=True):
            assert np.array_equal(line.get_ydata(), mark.y)
        assert [t.get_text() for t in drawn.legends[0].get_texts()] == list(legend(figure))
        assert axes.xaxis.label.get_fontsize() == 8
        plt.close(drawn)


def test_a_wrong_format_or_directory_is_named(content: ReportContent, tmp_path: Path) -> None:
    figure = figure_of("trajectories", content)
    with pytest.raises(InputError, match=r"'jpeg' is no format.*\.pdf"):
        write_figure(figure, tmp_path / "fig.jpeg")
    with pytest.raises(InputError, match="no such directory"):
        write_figure(figure, tmp_path / "absent" / "fig.pdf")


def test_the_command_writes_figure_and_numbers(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "fig.pdf"
    with pytest.raises(SystemExit) as stop:
        main(["plot", "trajectories", str(shared_data / "porth"), "-o", str(output)])
    assert stop.value.code == 0
    assert output.read_bytes().startswith(b"%PDF")
    assert (tmp_path / "fig.csv").read_text().startswith("panel,mark,key,category,x,y,low,high\n")
    with pytest.raises(SystemExit) as stop:
        main(["plot", "phases", str(shared_data / "porth")])
    assert stop.value.code == 2
    assert "two or more strengths" in capsys.readouterr().err


def fonts_of(path: Path) -> dict[str, bool]:
    """Name of every font of a PDF, also inside figures, and whether it is embedded."""
    from pypdf import PdfReader

    found: dict[str, bool] = {}

    def look(resources: Any) -> None:
        for font in map(dereferenced, (resources.get("/Font") or {}).values()):
            inner = dereferenced(font.get("/DescendantFonts", [font])[0])
            descriptor = dereferenced(inner.get("/FontDescriptor", {}))
            files = {"/FontFile", "/FontFile2", "/FontFile3"} & set(descriptor)
            found[str(font["/BaseFont"])] = bool(files) or font["/Subtype"] == "/Type3"
        for held in map(dereferenced, (resources.get("/XObject") or {}).values()):
            if "/Resources" in held:
                look(dereferenced(held["/Resources"]))

    for page in PdfReader(path).pages:
        look(dereferenced(page["/Resources"]))
    return found


def dereferenced(held: Any) -> Any:
    """What an entry of a PDF holds or points to."""
    return held.get_object() if hasattr(held, "get_object") else held


def text_sizes(path: Path) -> set[float]:
    """Font sizes in points of the text of a figure drawn by matplotlib."""
    from pypdf import PdfReader

    sizes: set[float] = set()

    def note(text: str, _: Any, matrix: list[float], __: Any, size: float) -> None:
        if text.strip():
            sizes.add(round(size * max(abs(matrix[0]), abs(matrix[1])), 1))

    PdfReader(path).pages[0].extract_text(visitor_text=note)
    return sizes


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX on this machine")
def test_every_figure_compiles_into_a_two_column_page(
    content: ReportContent, tmp_path: Path
) -> None:
    """At its own width, so that its text has the size it was drawn at: 6 to 8 points."""
    figures = {name: figure_of(name, content) for name in DRAWN}
    for name, figure in figures.items():
        path, _ = write_figure(figure, tmp_path / f"{name}.pdf")
        assert text_sizes(path) <= {*SIZES, *EXPONENTS}, name
    body = "".join(
        rf"\begin{{figure{star}}}\includegraphics{{{name}.pdf}}\caption{{{name}}}\end{{figure{star}}}"
        for name, figure in figures.items()
        for star in ["*" if len(figure.panels) > 1 else ""]
    )
    page = (
        # The columns of two-column conference styles: 3.25 and 6.75 inches.
        r"\documentclass[twocolumn,10pt]{article}\usepackage{graphicx}"
        r"\usepackage[textwidth=6.75in,textheight=9in,columnsep=0.25in]{geometry}"
        rf"\begin{{document}}Text.{body}\end{{document}}"
    )
    (tmp_path / "page.tex").write_text(page)
    ran = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:]
    # A figure wider than its column would be reported here.
    assert "Overfull" not in ran.stdout
    fonts = fonts_of(tmp_path / "page.pdf")
    assert any("STIX" in name for name in fonts)
    assert [name for name, embedded in fonts.items() if not embedded] == []


def test_the_help_names_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plot", "--help"])
    shown = capsys.readouterr().out
    assert [name for name in FIGURES if name not in shown] == []
