"""Notes of reading: kinds with values. What a sentence happens to hold decides nothing."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from nht_theory.checkpoints import discover, norm_cache, norm_trajectory, squared_norms
from nht_theory.checkpoints.notes import Note, NoteKind
from nht_theory.checkpoints.optimizer_state import OptimizerSettings
from nht_theory.runs.load import load_study
from nht_theory.runs.notes import RunNoteKind
from nht_theory.runs.options import ReadOptions


def write(folder: Path, name: str = "epoch_gate.weight", column: str = "epoch") -> None:
    """Six checkpoints known by their epoch, NaN in the fourth, and the log beside them."""
    rows = [f"step,{column},train_accuracy,val_acc"]
    for epoch in range(6):
        weights = np.full((4, 4), 3.0 - 0.3 * epoch, dtype=np.float32)
        if epoch == 3:
            weights[0, 0] = np.nan
        tensors = {name: weights, "out.weight": weights + 1}
        save_file(tensors, str(folder / f"epoch_{epoch}.safetensors"))
        trained, held_out = float(epoch > 0), float(epoch > 4)
        rows.append(f"{100 * (epoch + 1)},{epoch},{trained},{held_out}")
    (folder / "log.csv").write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("name", ["fc.weight", "epoch_gate.weight", "stored twice.weight"])
def test_a_note_on_nan_survives_the_word_epoch(tmp_path: Path, name: str) -> None:
    write(tmp_path, name)
    (run,) = load_study(tmp_path).runs
    assert run.steps.tolist() == [100, 200, 300, 400, 500, 600]
    assert np.isnan(run.squared_norm).tolist() == [False] * 3 + [True] + [False] * 2
    assert f"epoch 3: 1 elements of {name} are NaN or infinite" in run.notes
    # The place of the checkpoint's NaN is counted by the log's clock, as the run's steps are.
    found = [note for note in run.notes if note.kind is RunNoteKind.NOT_FINITE]
    assert {note.values["step"] for note in found} == {400}
    kinds = {note.kind for note in run.notes}
    assert RunNoteKind.PLACED_BY_EPOCH in kinds
    assert not {NoteKind.ORDERED_BY_EPOCH, RunNoteKind.EPOCH_CLOCK} & kinds
    assert RunNoteKind.CHECKPOINT_CLOCK not in kinds


def test_a_note_on_nan_at_an_epoch_that_the_log_does_not_have_goes_with_it(tmp_path: Path) -> None:
    write(tmp_path)
    log = tmp_path / "log.csv"
    kept = [line for line in log.read_text().splitlines() if not line.startswith("400,")]
    log.write_text("\n".join(kept) + "\n")
    study = load_study(tmp_path)
    assert all(note.kind is not RunNoteKind.NOT_FINITE for note in study.runs[0].notes)
    assert [item.reason for item in study.left_out] == ["the log has no step of that epoch"]


def test_a_pattern_that_names_epochs_does_not_lose_its_note(tmp_path: Path) -> None:
    write(tmp_path)
    (run,) = load_study(tmp_path, ReadOptions(pattern="epochs{p}", must_match=False)).runs
    assert "name does not match the pattern epochs{p}" in run.notes


def test_a_tensor_whose_name_holds_nan_keeps_its_notes(tmp_path: Path) -> None:
    """Notes that named it were taken for those on NaN."""
    for step in (0, 100):
        weights = np.full((4, 4), 1.0 + step, dtype=np.float32)
        save_file({"module.NaNny.weight": weights}, str(tmp_path / f"step_{step}.safetensors"))
    trajectory = norm_trajectory(discover(tmp_path)[0])
    assert [note.kind for note in trajectory.notes] == [NoteKind.NAMES_STRIPPED]


@pytest.mark.parametrize("apart", [0.0, 1.0])
def test_copies_are_told_as_one_only_where_they_are_at_every_checkpoint(
    tmp_path: Path, apart: float
) -> None:
    for step in (0, 100):
        weights = np.full((4, 4), 2.0 + step)
        tensors = {"embed.weight": weights, "head.weight": weights + apart * (step > 0)}
        save_file(tensors, str(tmp_path / f"step_{step}.safetensors"))
    trajectory = norm_trajectory(discover(tmp_path)[0])
    kind = NoteKind.EQUAL_ONCE if apart else NoteKind.STORED_TWICE
    assert [(note.kind, note.values["name"]) for note in trajectory.notes] == [
        (kind, "head.weight")
    ]


def test_notes_survive_the_cache_with_kind_and_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(norm_cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    path = tmp_path / "model.safetensors"
    save_file({"w.weight": np.array([[np.nan, 1.0]])}, str(path))
    norms = squared_norms(path)
    several = OptimizerSettings(notes=(Note(NoteKind.SEVERAL_OPTIMIZERS, count=2),))
    object.__setattr__(norms, "optimizer", several)
    norm_cache.store("00key", norms)
    again = norm_cache.load("00key", path)
    assert again is not None
    assert again.optimizer is not None
    for own, other in ((norms.notes, again.notes), (several.notes, again.optimizer.notes)):
        assert own == other
        assert [(n.kind, n.values) for n in own] == [(n.kind, n.values) for n in other]


def test_notes_survive_copies() -> None:
    note = Note(NoteKind.NOT_FINITE, count=1, name="{braces}.weight")
    for same in (pickle.loads(pickle.dumps(note)), copy.deepcopy(note)):
        assert same == note == "1 of {braces}.weight's elements are NaN or infinite"
        assert (same.kind, same.values) == (note.kind, note.values)


def test_a_setting_that_a_file_calls_as_stored_is_none_of_ours(tmp_path: Path) -> None:
    """Our own mark of a value that is no number is its type, not the end of its name."""
    log = "step,val_acc,train_acc,V\n0,0.1,0.1,9\n10,1,1,4\n"
    (tmp_path / "a.csv").write_text(log)
    (tmp_path / "a.json").write_text('{"weights as stored": "float16", "lr": "auto"}')
    (run,) = load_study(tmp_path).runs
    told = [note for note in run.notes if note.kind is RunNoteKind.NOT_UNDERSTOOD]
    assert told == ["learning_rate is 'auto': not understood"]
