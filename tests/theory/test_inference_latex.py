"""Every single result that a paper would cite is LaTeX that compiles, with the numbers it holds."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nht_theory.inference.censored_regression import CensoredRegression, fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.concordance import clustered_somers_d
from nht_theory.inference.results import Alternative
from nht_theory.inference.survival import kaplan_meier
from nht_theory.inference.trend import jonckheere_terpstra
from nht_theory.inference.turnbull import turnbull


@pytest.fixture(scope="module")
def regression() -> CensoredRegression:
    """ln T = 2 + ln(1/gamma) with scatter, a budget, and names that LaTeX must escape."""
    generator = np.random.default_rng(0)
    slope = generator.normal(size=60)
    time = np.exp(2 + slope + 0.3 * generator.normal(size=60))
    return fit_censored_regression(
        CensoredTimes.right_censored(np.minimum(time, 20.0), time <= 20.0),
        np.column_stack([np.ones(60), slope]),
        ("constant_100%", "ln(1/gamma)"),
    )


def test_the_regression_table_holds_its_numbers(regression: CensoredRegression) -> None:
    text = regression.to_latex(caption="Ours.", label="tab:ours")
    own = regression.coefficient("ln(1/gamma)")
    assert own.interval is not None
    row = next(line for line in text.splitlines() if r"$\gamma$" in line)
    numbers = [float(found) for found in re.findall(r"\$(-?[\d.]+)\$", row)]
    assert numbers == pytest.approx(
        [own.value, own.standard_error, own.interval.low, own.interval.high], rel=1e-3
    )
    assert r"constant\_100\%" in text
    assert f"{regression.n_right_censored} right-" in text
    assert r"\caption{Ours. Censored" in text
    assert r"\label{tab:ours}" in text


def test_a_long_curve_is_thinned_and_says_so() -> None:
    curve = kaplan_meier(np.arange(1, 101), np.ones(100, dtype=bool))
    text = curve.to_latex(rows=5)
    assert sum(line.endswith(r"\\") for line in text.splitlines()) == 1 + 5
    assert "5 of 100 times." in text
    assert "$1$ & $0.99$" in text
    assert "$100$ & $0$ & --" in text


@pytest.mark.skipif(
    shutil.which("pdflatex") is None
    or subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).returncode,
    reason="needs pdflatex and booktabs",
)
def test_all_of_it_compiles(regression: CensoredRegression, tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    time, seen = generator.exponential(1e-6, size=30), generator.random(30) < 0.7
    low = 10.0 * generator.integers(1, 8, size=40)
    groups = np.repeat([0, 1, 2], 5)
    values = groups + generator.normal(size=15)
    test = jonckheere_terpstra(values, groups, alternative=Alternative.GREATER)
    score = clustered_somers_d(values, groups > 0, np.tile(np.arange(5), 3))
    pieces = [
        regression.to_latex(),
        regression.coefficient("constant_100%").to_latex(),
        kaplan_meier(time, seen).to_latex(label="tab:km"),
        turnbull(CensoredTimes.of(low, low + 10)).to_latex(label="tab:turnbull"),
        test.to_latex(),
        score.to_latex(),
    ]
    head = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
    document = head + "\n\n".join(pieces) + "\n\\end{document}"
    (tmp_path / "results.tex").write_text(document)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "results.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()[-2000:]
    assert "undefined" not in done.stdout.decode()
