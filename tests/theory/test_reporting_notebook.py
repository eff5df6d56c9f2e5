"""In a notebook: results show as HTML, figures come back as Axes."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import nht_theory
from nht_theory.errors import InputError


@pytest.fixture
def study(tmp_path: Path):
    for decay in (0.5, 1.0):
        rows = ["step,train_accuracy,heldout_accuracy,squared_norm"]
        for k in range(20):
            rows.append(
                f"{100 * k},{float(k >= 2)},{float(k >= 8 / decay)},{4000 * 0.8 ** (k * decay)}"
            )
        (tmp_path / f"wd{decay:g} <b>.csv").write_text("\n".join(rows) + "\n")
    return nht_theory.load_study(tmp_path)


def test_results_show_as_tables(study) -> None:
    validation = nht_theory.validate(study)
    for shown in (study, study.runs[0], validation, validation.verdicts[0]):
        table = ET.fromstring(shown._repr_html_())
        assert table.tag == "table"
        assert table.find("caption").text
    assert "&lt;b&gt;" in study._repr_html_()


def test_figures_return_axes(study) -> None:
    import matplotlib.pyplot as plt

    axes = study.plot.trajectories()
    assert axes.get_yscale() == "log"
    drawn = {tuple(line.get_ydata()) for line in axes.get_lines() if line.get_linestyle() != "None"}
    assert drawn == {tuple(run.squared_norm) for run in study.runs}
    own = plt.figure().subplots()
    assert study.plot.trajectories(own) is own
    assert len(study.plot.accuracy()) == 3
    assert "survival" in dir(study.plot)
    plt.close("all")


def test_what_cannot_be_drawn_says_why(study) -> None:
    with pytest.raises(InputError, match="two or more strengths"):
        study.plot.phases()
    with pytest.raises(AttributeError, match="no figure named 'pie'"):
        study.plot.pie()
    with pytest.raises(InputError, match="3 panels"):
        study.plot.accuracy(object())


def test_the_public_name_loads_no_figures() -> None:
    program = "import sys, nht_theory; nht_theory.load_study; print('matplotlib' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "False"
