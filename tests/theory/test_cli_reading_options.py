"""How a user tells nht validate to read: settings, patterns, a dry run, the list of claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nht_theory.claims.registry import CLAIMS
from nht_theory.cli.study_options import read_options
from nht_theory.cli.validate import validate
from nht_theory.errors import InputError


def _study(folder: Path) -> Path:
    for decay in (0.1, 1.0):
        lines = ["step,train_accuracy,heldout_accuracy,norm"]
        lines += [f"{step},1.0,{step / 500},{30 - step / 50}" for step in range(0, 501, 100)]
        (folder / f"wd{decay}_seed3.csv").write_text("\n".join(lines) + "\n")
    (folder / "notes.txt").write_text("not a log")
    return folder


def _validated(capsys: pytest.CaptureFixture[str], path: Path, **options: object) -> dict:
    validate(path, json=True, **options)
    return json.loads(capsys.readouterr().out)


def test_a_pattern_and_a_setting_reach_the_estimates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = _validated(
        capsys,
        _study(tmp_path),
        pattern="wd{weight_decay}_seed{seed}",
        settings=["optimizer=adamw", "learning_rate=0.001"],
    )
    efficiencies = [estimate["efficiency"] for estimate in told["estimates"]]
    assert all(value is not None for value in efficiencies)
    # Same trajectory, ten times the decay: a tenth of the efficiency.
    by_run = {estimate["run"]: estimate["efficiency"] for estimate in told["estimates"]}
    ratio = by_run["wd0.1_seed3"] / by_run["wd1.0_seed3"]
    assert ratio == pytest.approx(10, rel=1e-2)


def test_without_them_the_efficiency_is_not_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = _validated(capsys, _study(tmp_path))
    assert all(estimate["efficiency"] is None for estimate in told["estimates"])


def test_a_dry_run_names_each_file_and_what_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = _validated(capsys, _study(tmp_path), dry_run=True)
    assert [(file["file"], file["reader"]) for file in plan["files"]] == [
        ("wd0.1_seed3.csv", "table"),
        ("wd1.0_seed3.csv", "table"),
    ]
    assert [item["file"] for item in plan["left_out"]] == ["notes.txt"]


def test_the_list_of_claims_has_a_rule_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    validate(None, list_claims=True)
    shown = capsys.readouterr().out
    for claim in CLAIMS:
        assert f"{claim.name}: {claim.statement}" in shown
        assert claim.rule in shown


def test_a_path_is_asked_for() -> None:
    with pytest.raises(InputError, match="no path given"):
        validate(None)


def test_a_setting_is_name_and_value() -> None:
    with pytest.raises(InputError, match=r"--set: 'adamw' is not NAME=VALUE"):
        read_options(None, None, ["adamw"], exact=False, weights=None)


def test_latex_is_written_with_its_bibliography(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    validate(
        _study(runs),
        json=True,
        latex=tmp_path / "tex",
        pattern="wd{weight_decay}_seed{seed}",
        settings=["optimizer=adamw", "learning_rate=0.001"],
    )
    assert "\\begin{tabular}" in (tmp_path / "tex" / "tables.tex").read_text()
    assert "@article" in (tmp_path / "tex" / "references.bib").read_text()
