"""The public logs of ../shared/data, read unchanged and compared with what their authors stored."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nht_theory.conventions import DecayForm
from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study


@pytest.fixture(scope="module")
def companion(shared_data: Path) -> Study:
    return load_study(shared_data / "companion")


def stored_records(directory: Path) -> dict[str, dict[str, object]]:
    """The companion's records as plain JSON, by the names that the reader gives them."""
    records = {}
    for path in directory.glob("full_results*.json"):
        content = json.loads(path.read_text())
        listed = content if isinstance(content, list) else content["runs"]
        records |= {f"{path.stem}[{i}]": record for i, record in enumerate(listed)}
    return records


def first_at(run: Run, column: str, level: float = 0.99) -> int | None:
    reached = np.flatnonzero(run.column(column) >= level)
    return int(run.steps[reached[0]]) if reached.size else None


def test_every_record_is_read_and_every_other_file_is_named(companion: Study) -> None:
    assert len(companion.records) == 284
    assert len(companion.without_trajectory) == 35
    reasons = {item.file: item.reason for item in companion.left_out}
    summaries = [name for name in reasons if name.startswith("summary")]
    assert len(summaries) == 10
    assert all("has a log" in reasons[name] for name in summaries)
    assert set(reasons) - set(summaries) == {"LICENSE", "SOURCE.md"}


def test_transitions_of_all_logs_equal_the_stored_ones(companion: Study, shared_data: Path) -> None:
    stored = stored_records(shared_data / "companion")
    assert {record.name for record in companion.records} == set(stored)
    for run in companion.records:
        if len(run):
            assert first_at(run, "train_accuracy") == stored[run.name]["T_mem"], run.name
            assert first_at(run, "heldout_accuracy") == stored[run.name]["T_grok"], run.name


def test_squared_norms_and_losses_arrive_bit_by_bit(companion: Study, shared_data: Path) -> None:
    stored = stored_records(shared_data / "companion")
    for run in companion.records:
        if len(run):
            logs = stored[run.name]["logs"]
            assert isinstance(logs, dict)
            assert run.squared_norm.tolist() == logs["V_t"]
            assert run.column("heldout_loss").tolist() == logs["val_loss"]


def test_the_249_logs_are_172_runs(companion: Study, shared_data: Path) -> None:
    """Counted the other way: by what the files say, with the two labels of one SGD united."""
    told = Counter()
    for name, record in stored_records(shared_data / "companion").items():
        if "logs" in record:
            optimizer = str(record.get("config", record.get("optimizer", "adamw")))
            label = {"adamw_1lam": "adamw", "sgd_2lam": "sgd"}.get(optimizer, optimizer)
            told[(record["p"], record["eta"], record["lam"], label, record["seed"])] += 1
            assert name in {run.name for run in companion.records}
    assert sum(told.values()) == 249
    assert len(told) == 172
    assert len(companion.runs) == 172
    merged = Counter(1 + len(merge.repeats) for merge in companion.merges)
    assert merged == Counter(count for count in told.values() if count > 1)
    assert sum(told.values()) - sum(len(merge.repeats) for merge in companion.merges) == 172


def test_a_merged_run_keeps_its_finest_grid_and_then_its_longest(companion: Study) -> None:
    by_name = {record.name: record for record in companion.records}
    for merge in companion.merges:
        kept = by_name[merge.kept]
        for repeat in (by_name[name] for name in merge.repeats):
            assert repeat.hyperparameters.seed == kept.hyperparameters.seed
            assert np.diff(kept.steps).min() <= np.diff(repeat.steps).min()
            if np.diff(kept.steps).min() == np.diff(repeat.steps).min():
                assert kept.steps[-1] >= repeat.steps[-1]


def test_repeats_are_found_whatever_the_files_are_called(
    companion: Study, shared_data: Path, tmp_path: Path
) -> None:
    """The same records without their labels, in other files and in the reverse order."""
    for index, path in enumerate(sorted((shared_data / "companion").glob("full_results*.json"))):
        content = json.loads(path.read_text())
        listed = content if isinstance(content, list) else content["runs"]
        for record in listed:
            if "config" in record:
                record["optimizer"] = str(record.pop("config")).split("_")[0]
        target = tmp_path / f"{99 - index}.json"
        target.write_text(json.dumps(listed[::-1]))
    renamed = load_study(tmp_path)
    assert len(renamed.records) == 284
    assert len(renamed.runs) == 172


def test_a_merged_run_knows_what_only_a_repeat_states(companion: Study) -> None:
    forms = Counter(
        run.hyperparameters.decay_form
        for run in companion.runs
        if run.hyperparameters.optimizer == "sgd"
    )
    assert forms == {DecayForm.L2_PENALTY: 5, DecayForm.DECOUPLED: 5}


def test_without_merging_every_log_is_a_run(shared_data: Path) -> None:
    study = load_study(shared_data / "companion", ReadOptions(merge_repeats=False))
    assert len(study.runs) == 249
    assert study.merges == ()


def test_muon_logs_are_squared_with_their_settings_and_events(shared_data: Path) -> None:
    study = load_study(shared_data / "muon")
    assert len(study.runs) == 38
    assert any("wn_total squared" in note for note in study.notes)
    run = study.run("mech/sgdm_sc3.0_wd0.01_s2")
    lines = (shared_data / "muon/mech/sgdm_sc3.0_wd0.01_s2.jsonl").read_text().splitlines()
    logged = [json.loads(line) for line in lines[1:-1]]
    summary = json.loads(lines[-1])["_summary"]
    assert run.squared_norm.tolist() == [row["wn_total"] ** 2 for row in logged]
    assert run.column("squared_norm/embed").tolist() == [row["wn_embed"] ** 2 for row in logged]
    known = run.hyperparameters
    assert (known.optimizer, known.learning_rate, known.weight_decay, known.seed) == (
        summary["optimizer"],
        summary["lr"],
        summary["weight_decay"],
        summary["seed"],
    )
    assert known.extra["muon_lr"] == summary["muon_lr"]
    assert "eval_every" not in known.extra
    assert run.recorded is not None
    assert run.recorded.generalization_step == summary["grok_step"]


def test_muon_finds_generalisation_with_a_growing_norm(shared_data: Path) -> None:
    growing = [
        run.name
        for run in load_study(shared_data / "muon").runs
        if first_at(run, "heldout_accuracy") and run.squared_norm[-1] > 2 * run.squared_norm[0]
    ]
    assert "mech/muon_sc1.0_wd0.0_s0" in growing
    assert len(growing) > 5


def test_porth_tables_take_their_settings_from_the_json_beside(shared_data: Path) -> None:
    study = load_study(shared_data / "porth")
    assert len(study.runs) == 19
    assert {item.file for item in study.left_out} == {"LICENSE", "SOURCE.md"}
    assert any("weight_norm squared" in note for note in study.notes)
    for run in study.runs:
        known = run.hyperparameters
        beside = json.loads(run.source.with_suffix(".json").read_text())
        assert run.recorded is not None
        assert run.recorded.memorization_step == beside["memorize_step"]
        if "config" in beside:
            assert known.weight_decay == beside["config"]["weight_decay"]
            assert [known.beta_1, known.beta_2] == beside["config"]["betas"]
            assert known.extra["model.n_heads"] == beside["config"]["model"]["n_heads"]
        else:
            assert run.name.startswith("progress_")
            assert known.weight_decay is None


def test_porth_names_tell_the_same_as_its_settings(shared_data: Path) -> None:
    pattern = "*p{p}_frac{frac}_wd{weight_decay}_seed{seed}*"
    told = load_study(shared_data / "porth", ReadOptions(pattern=pattern))
    assert not [note for run in told.runs for note in run.notes if "believed" in note]
    progress = told.run("progress_p97_frac0.30_wd1_seed0").hyperparameters
    assert (progress.weight_decay, progress.seed) == (1.0, 0)
    assert dict(progress.extra) == {"p": 97, "train_fraction": 0.3}


def test_one_file_of_a_study_is_a_study(shared_data: Path) -> None:
    assert len(load_study(shared_data / "companion/full_results6.json").runs) == 10
    single = load_study(shared_data / "porth/p113_frac0.30_wd1_seed0.csv")
    assert single.runs[0].hyperparameters.extra["p"] == 113
