"""Every study of validation/studies at toy size: data, forecasts, runs, judgement, page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # validation/ is no part of the installed package

from nht_theory.claims.registry import CLAIMS  # noqa: E402
from validation.evidence import evidence_table  # noqa: E402
from validation.studies.__main__ import main  # noqa: E402
from validation.studies.catalogue import STUDIES, StudyPlan  # noqa: E402
from validation.studies.markdown import with_blocks  # noqa: E402
from validation.studies.page import generated  # noqa: E402
from validation.studies.published import Figure, published_figures  # noqa: E402
from validation.studies.results import read_results  # noqa: E402

HERE = ROOT / "validation" / "studies"
NO_STUDY = {"published"}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten classes of noise, stored as the subset of CIFAR-10 is."""
    generator = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("pictures") / "noise.npz"
    sets = {}
    for name, count in (("train", 60), ("test", 30)):
        sets[f"x_{name}"] = generator.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        sets[f"y_{name}"] = np.arange(count) % 10
    np.savez(path, **sets)
    return path


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs to forecast from."""
    folder = tmp_path_factory.mktemp("earlier")
    for decay in (0.5, 1.0):
        lines = []
        for step in range(0, 4001, 100):
            row = {
                "step": step,
                "train_accuracy": min(1.0, step / 500),
                "heldout_accuracy": 1.0 if step * decay > 1500 else 0.1,
                "squared_norm": 4000 * float(np.exp(-0.0014 * decay * max(step - 500, 0))),
                "optimizer": "adamw",
                "learning_rate": 1e-3,
                "weight_decay": decay,
            }
            lines.append(json.dumps(row))
        (folder / f"wd{decay}.jsonl").write_text("\n".join(lines))
    return folder


def test_every_study_file_is_in_the_catalogue() -> None:
    files = {path.stem for path in HERE.glob("*.toml")} - NO_STUDY
    assert files == {plan.name for plan in STUDIES}


@pytest.mark.parametrize("plan", STUDIES, ids=lambda plan: plan.name)
def test_a_study_runs_at_toy_size(
    plan: StudyPlan, pictures: Path, earlier: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    overrides = [f"task.path={pictures}"] if "coloured_images" in _text(plan) else []
    options = ["--toy", "--workers", "0", "-o", str(tmp_path), "--earlier", str(earlier)]
    assert main([plan.name, *overrides, *options]) == 0, capsys.readouterr().err
    results = tmp_path / "results" / plan.name
    found = read_results(results)
    assert found is not None
    assert {row["state"] for row in found.runs} == {"finished"}
    assert (found.verdicts["runs"]["left_out"], found.verdicts["runs"]["merged"]) == ([], [])
    page = (results / "README.md").read_text()
    assert "## Verdicts" in page
    assert all(table.title in page for table in found.tables)
    assert (results / "forecasts.json").exists() is plan.forecasts


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    toy = ["sparse_parity", "--toy", "--workers", "0", "-o", str(tmp_path)]
    results = tmp_path / "results" / "sparse_parity"
    written = []
    for more in ([], ["--judge-only"]):
        assert main([*toy, *more]) == 0
        written.append({path.name: path.read_bytes() for path in results.iterdir()})
    assert written[0] == written[1]
    assert {"runs.csv", "verdicts.json", "tables.json", "README.md", "figure.svg"} <= set(
        written[0]
    )


def test_an_unknown_study_is_refused_by_name(capsys: pytest.CaptureFixture) -> None:
    assert main(["weight_decy", "--toy"]) == 2
    assert "no study named 'weight_decy'" in capsys.readouterr().err


def _text(plan: StudyPlan) -> str:
    return (HERE / f"{plan.name}.toml").read_text()


@pytest.mark.parametrize("plan", STUDIES, ids=lambda plan: plan.name)
def test_a_committed_page_is_what_its_results_give(plan: StudyPlan) -> None:
    page = (HERE / plan.name / "README.md").read_text()
    assert with_blocks(page, generated(plan, HERE / plan.name), plan.name) == page


def test_the_committed_table_of_claims_is_what_the_verdicts_give() -> None:
    page = (ROOT / "validation" / "README.md").read_text()
    assert with_blocks(page, {"evidence": evidence_table()}, "validation/README.md") == page


def test_the_table_shows_every_claim_and_names_every_study() -> None:
    table = evidence_table()
    assert all(f"**{own.name}**" in table for own in CLAIMS)
    assert all(f"studies/{plan.name}/README.md" in table for plan in STUDIES)
    answered = {name for plan in STUDIES for name in plan.answers}
    assert answered <= {own.name for own in CLAIMS}


def test_a_published_figure_is_computed_from_the_runs_that_match() -> None:
    runs = [
        {"weight_decay": "0.1", "delay": "10", "norm": "4"},
        {"weight_decay": "0.1", "delay": "30", "norm": "5"},
        {"weight_decay": "1.0", "delay": "", "norm": "6"},
    ]
    weak = {"weight_decay": 0.1}
    assert Figure("T", "", "delay", where=weak).ours(runs) == "20 ± 14.1 (n = 2)"
    assert Figure("T", "", "delay", "range").ours(runs) == "10 to 30 (n = 2)"
    assert Figure("T", "", "delay", "share").ours(runs) == "2 of 3"
    listed = {"weight_decay": [0.1, 9.0]}
    assert Figure("T", "", "delay", "share", listed).ours(runs) == "2 of 2"
    assert Figure("T", "", "delay", where={"weight_decay": 1}).ours(runs) == "none of 1"
    assert Figure("T", "", "delay", "range", weak, per="norm").ours(runs) == "2.5 to 6 (n = 2)"
    assert Figure("T", "", "delay", where={"weight_decay": 9}).ours(runs) == "no such run"


def test_every_published_figure_names_a_column_of_its_study() -> None:
    for plan in STUDIES:
        found = read_results(HERE / plan.name)
        for figure in published_figures(plan.name):
            assert figure.ours([]) == "no such run"
            if found is not None:
                assert {figure.column, *figure.where} <= found.runs[0].keys(), figure.what


def test_the_committed_benchmark_page_is_what_its_figures_give() -> None:
    from validation.benchmarks.__main__ import page_tables

    page = (ROOT / "validation" / "benchmarks" / "README.md").read_text()
    assert with_blocks(page, {"figures": page_tables()}, "benchmarks") == page
