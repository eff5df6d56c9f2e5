"""Every study of validation/studies at toy size: data, forecasts, runs, judgement, page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # validation/ is no part of the installed package

from validation.studies.__main__ import main  # noqa: E402
from validation.studies.catalogue import STUDIES, StudyPlan  # noqa: E402
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


def _text(plan: StudyPlan) -> str:
    return (HERE / f"{plan.name}.toml").read_text()
