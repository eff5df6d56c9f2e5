"""A citation prints the numbers of the fits, escapes LaTeX, and traces each of them."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims.delays import delays
from nht_theory.claims.judging import family_wise
from nht_theory.claims.law import RATE, fit_law
from nht_theory.claims.registry import claim_named
from nht_theory.claims.validate import Validation, validate
from nht_theory.cli import main
from nht_theory.cli.output import to_jsonable
from nht_theory.conventions import DecayForm
from nht_theory.errors import InputError
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.inference.latex import latex_text
from nht_theory.inference.references import REFERENCES
from nht_theory.reporting.citation import Citation, cite
from nht_theory.reporting.provenance import data_hash
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

LEARNING_RATE = 1e-3
BUDGET = 6000


def lawful_run(decay: float, start: float, seed: int) -> Run:
    """V falls at the pure-decay rate from memorisation on; the switch comes at V = 300."""
    generator = np.random.default_rng([int(1000 * decay), int(start), seed])
    steps = np.arange(0, BUDGET + 1, 100)
    memorized = 200
    rate = -2 * math.log1p(-LEARNING_RATE * decay)
    norm = start * np.exp(-rate * np.maximum(steps - memorized, 0))
    switch = memorized + math.log(start / 300) / rate * math.exp(0.1 * generator.normal())
    heldout = np.where(steps >= switch, 1.0, 0.05)
    return Run(
        name=f"wd{decay:g}_v{start:g}_seed{seed}",
        source=Path("sweep") / f"wd{decay:g}_v{start:g}_seed{seed}.csv",
        steps=steps,
        values={
            "train_accuracy": np.where(steps >= memorized, 1.0, 0.3),
            "heldout_accuracy": heldout,
            "squared_norm": norm * np.exp(0.001 * generator.normal(size=steps.size)),
        },
        hyperparameters=Hyperparameters(
            optimizer="adamw",
            learning_rate=LEARNING_RATE,
            weight_decay=decay,
            decay_form=DecayForm.DECOUPLED,
            seed=seed,
            extra={"start": start},
        ),
    )


@pytest.fixture(scope="module")
def study() -> Study:
    runs = tuple(
        lawful_run(decay, start, seed)
        for decay in (0.1, 0.2, 0.5, 1.0)
        for start in (600.0, 1500.0, 6000.0)
        for seed in range(2)
    )
    return Study(source=Path("sweep"), records=runs, runs=runs)


@pytest.fixture(scope="module")
def validation(study: Study) -> Validation:
    """Four of the claims: enough to print, and fast."""
    estimates = estimate_study(study)
    judged = [claim_named(name).test(estimates) for name in ("law", "P1", "P6", "P4")]
    return Validation(study, estimates.estimates, family_wise(judged), estimates.thresholds)


@pytest.fixture(scope="module")
def citation(validation: Validation) -> Citation:
    return cite(validation)


def test_numbers_are_those_of_the_fit(validation: Validation, citation: Citation) -> None:
    rows = delays(StudyEstimates(validation.study, validation.estimates))
    fit = fit_law(rows)
    slope = citation.number("law.slope_rate")
    assert slope.value == fit.coefficient(RATE).value
    assert slope.interval == fit.coefficient(RATE).interval
    assert 0.9 < slope.value < 1.1
    assert slope.n == rows.n
    assert slope.n_censored == rows.times.n_right_censored > 0
    assert set(slope.runs) == {run.name for run in rows.runs}
    assert citation.number("law.aicc").value == fit.aicc
    assert 0.9 < citation.number("law.r_squared").value < 1
    assert 0 < citation.number("law.held_out_run").value < 20


def test_the_facts_count_independent_runs(study: Study, citation: Citation) -> None:
    facts = citation.facts
    assert (facts.runs, facts.configurations, facts.seeds) == (24, 12, 2)
    assert facts.censored == sum(run.values["heldout_accuracy"].max() < 0.99 for run in study.runs)
    assert re.fullmatch(r"[0-9a-f]{64}", facts.data_sha256)


def test_the_data_hash_knows_the_data_and_nothing_else(study: Study) -> None:
    runs = list(study.runs)
    moved = [replace(run, source=Path("elsewhere"), name=f"x{run.name}") for run in reversed(runs)]
    assert data_hash(moved) == data_hash(runs)
    touched = runs[0].values["squared_norm"].copy()
    touched[-1] = np.nextafter(touched[-1], 1.0)
    other = replace(runs[0], values={**runs[0].values, "squared_norm": touched})
    assert data_hash([other, *runs[1:]]) != data_hash(runs)


def test_every_printed_identifier_can_be_explained(citation: Citation) -> None:
    printed = re.findall(r"\[((?:law|rival|verdict)\.[^\]]+)\]", citation.to_apa())
    assert len(printed) > 10
    assert {n.identifier for n in citation.law.numbers} <= set(printed)
    for identifier in printed:
        text = citation.explain(identifier)
        for needed in ("formula: ", "thresholds: ", "data: sweep", "steps 0 to 6000", "SHA-256"):
            assert needed in text, (identifier, needed)


def test_explaining_names_file_steps_and_runs(citation: Citation) -> None:
    text = citation.explain("law.slope_rate")
    assert "wd0.5_v1500_seed1.csv, steps 0 to 6000, 61 evaluations, seed 1" in text
    assert "interval- and right-censored" in text
    with pytest.raises(InputError, match=r"law\.slope_rate"):
        citation.explain("law.slope_rat")


def test_explaining_a_verdict_lists_the_runs_that_entered_and_no_other(
    make_study: Callable[..., Study],
) -> None:
    study = make_study(seeds=2)
    found = cite(validate(study, stability=False))
    partial = [own for own in found.verdicts if 0 < len(own.runs) < len(study.runs)]
    assert len(partial) >= 3
    for own in partial:
        text = found.explain(f"verdict.{own.claim}")
        listed = {run.name for run in study.runs if f"{run.name}, steps " in text}
        assert listed == set(own.runs)


def test_bibtex_holds_the_methods_used_and_no_other(citation: Citation) -> None:
    entries = re.findall(r"^@\w+\{([^,]+),", citation.to_bibtex(), flags=re.M)
    assert entries[0] == "nht"
    assert entries[1:] == list(citation.references())
    assert "kalbfleisch2002" in entries
    assert "turnbull1976" not in entries
    assert set(citation.references()) <= set(REFERENCES)


def test_every_reference_of_every_prediction_has_an_entry() -> None:
    from nht_theory.claims.registry import CLAIMS

    named = {key for own in CLAIMS for key in own.references}
    assert named <= set(REFERENCES)


def test_latex_rows_carry_the_numbers_and_their_identifiers(citation: Citation) -> None:
    text = citation.to_latex()
    slope = citation.number("law.slope_rate")
    row = next(line for line in text.splitlines() if line.endswith("% law.slope_rate"))
    assert f"{slope.value:.4g}" in row
    assert row.count("&") == 4
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 3
    assert len(re.findall(r"% rival\.\d\.aicc", text)) == len(citation.law.rivals)


def test_latex_text_escapes_what_latex_would_obey() -> None:
    assert latex_text("50 % of A_1 & B#2 {x} ~ \\cmd $5") == (
        r"50 \% of A\_1 \& B\#2 \{x\} \textasciitilde{} \textbackslash{}cmd \$5"
    )
    assert latex_text("c = gamma_V/(2 eta lambda)") == r"c = $\gamma_V$/(2 $\eta$ $\lambda$)"


@pytest.mark.skipif(
    shutil.which("pdflatex") is None
    or subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).returncode,
    reason="needs pdflatex and booktabs",
)
def test_latex_compiles(citation: Citation, tmp_path: Path) -> None:
    document = (
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n%s\n\\end{document}"
    )
    (tmp_path / "cite.tex").write_text(document % citation.to_latex())
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "cite.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()[-2000:]
    assert (tmp_path / "cite.pdf").stat().st_size > 1000


def test_json_holds_every_number_with_its_runs(citation: Citation) -> None:
    content = json.loads(json.dumps(to_jsonable(citation.to_dict())))
    by_name = {number["identifier"]: number for number in content["numbers"]}
    assert by_name["law.slope_rate"]["n"] == len(by_name["law.slope_rate"]["runs"])
    assert content["study"]["thresholds"]["heldout_accuracy"] == 0.99
    assert content["references"] == list(citation.references())


def test_too_few_runs_are_said_and_not_guessed(study: Study) -> None:
    few = Study(source=study.source, records=study.runs[:3], runs=study.runs[:3])
    citation = cite(validate(few))
    assert citation.law.numbers == ()
    assert "Not estimated: delay law" in citation.to_apa()
    assert "% not estimated: delay law" in citation.to_latex()


def test_twice_the_same_bytes(validation: Validation, citation: Citation) -> None:
    again = cite(validation)
    assert again.to_latex() == citation.to_latex()
    assert again.to_apa() == citation.to_apa()
    assert to_jsonable(again.to_dict()) == to_jsonable(citation.to_dict())


def written(directory: Path, study: Study) -> Path:
    """The first runs of each setting as CSV logs."""
    directory.mkdir()
    for run in study.runs[::3]:
        run.to_frame().to_csv(directory / f"{run.name}.csv", index=False)
    return directory


def test_the_command_prints_each_style_and_refuses_an_unknown_number(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = written(tmp_path / "logs", study)
    shown = {}
    for style in ("latex", "apa", "bibtex", "json"):
        with pytest.raises(SystemExit, match="0"):
            main(["cite", str(directory), "--style", style])
        shown[style] = capsys.readouterr().out
    assert shown["latex"].startswith("% needs \\usepackage{booktabs}")
    assert "8 distinct runs" in shown["apa"]
    assert shown["bibtex"].startswith("@software{nht,")
    assert json.loads(shown["json"])["study"]["runs"] == 8
    with pytest.raises(SystemExit, match="2"):
        main(["cite", str(directory), "--explain", "law.slope"])
    assert "--explain: no number has the identifier 'law.slope'" in capsys.readouterr().err
