"""Directories of checkpoints: told apart by run, put in order, what is broken named."""

from __future__ import annotations

import os

import numpy as np
import pytest

from nht_theory.checkpoints import discover, norm_trajectory
from nht_theory.errors import InputError

torch = pytest.importorskip("torch")
from safetensors.torch import save_file  # noqa: E402


def test_numbers_are_not_sorted_as_text(tmp_path):
    for step in (1000, 200, 30):
        torch.save({"w": torch.full((2, 2), float(step))}, tmp_path / f"step_{step}.pt")
    trajectory = norm_trajectory(discover(tmp_path)[0])
    assert trajectory.steps.tolist() == [30, 200, 1000]
    assert trajectory.squared_norm.tolist() == [4.0 * s**2 for s in (30, 200, 1000)]


def test_names_that_contradict_the_step_inside_and_duplicates(tmp_path):
    w = torch.ones(2, 2)
    torch.save({"model": {"w": w}, "step": 5}, tmp_path / "step_9.pt")
    torch.save({"model": {"w": w}, "step": 7}, tmp_path / "step_7.pt")
    torch.save({"model": {"w": w}, "step": 7}, tmp_path / "last.pt")
    series = discover(tmp_path)
    assert len(series) == 1
    assert [(c.path.name, c.step) for c in series[0].checkpoints] == [
        ("step_9.pt", 5),
        ("step_7.pt", 7),
    ]
    assert any("says 9 in its name and 5 inside" in note for note in series[0].notes)
    assert [(e.file, "again" in e.reason) for e in series[0].left_out] == [("last.pt", True)]


def test_epochs_are_said_to_be_epochs(tmp_path):
    for epoch in (10, 9):
        torch.save({"w": torch.ones(2, 2)}, tmp_path / f"epoch_{epoch}.pt")
    series = discover(tmp_path)[0]
    assert ([c.step for c in series.checkpoints], series.unit) == ([9, 10], "epoch")
    assert any("no count of steps" in note for note in series.notes)


def test_epoch_and_step_mixed(tmp_path):
    for name in ("step_100", "step_200", "epoch_3"):
        torch.save({"w": torch.ones(2, 2)}, tmp_path / f"{name}.pt")
    series = discover(tmp_path)[0]
    assert [c.step for c in series.checkpoints] == [100, 200]
    assert series.left_out[0].file == "epoch_3.pt"


def test_runs_in_one_tree_are_told_apart(tmp_path):
    w = {"w": torch.ones(2, 2)}
    places = [
        "a/checkpoint-500/pytorch_model.bin",
        "a/checkpoint-1000/pytorch_model.bin",
        "b/version_0/checkpoints/epoch=0-step=10.ckpt",
        "b/version_3/checkpoints/epoch=0-step=10.ckpt",
        "b/version_3/checkpoints/epoch=1-step=20.ckpt",
        "c/seed0_step_1.pt",
        "c/seed0_step_2.pt",
        "c/seed1_step_1.pt",
    ]
    for place in places:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        torch.save(w, tmp_path / place)
    found = {s.name: [c.step for c in s.checkpoints] for s in discover(tmp_path)}
    assert found == {
        "a": [500, 1000],
        "b/version_0": [10],
        "b/version_3": [10, 20],
        "c/seed0": [1, 2],
        "c/seed1": [1],
    }


def test_our_own_run_directory(tmp_path):
    for step in (0, 50):
        folder = tmp_path / "run" / "checkpoints"
        folder.mkdir(parents=True, exist_ok=True)
        save_file({"w": torch.ones(2, 2)}, folder / f"step_{step:08d}.safetensors")
    (tmp_path / "run" / "latest").mkdir()
    torch.save({"w": torch.ones(2, 2)}, tmp_path / "run" / "latest" / "state.pt")
    series = discover(tmp_path)
    assert [(s.name, [c.step for c in s.checkpoints]) for s in series] == [("run", [0, 50])]
    assert any("resuming" in entry.reason for entry in series[0].left_out)


def test_broken_files_are_listed_and_the_others_give_the_same(tmp_path):
    clean, mixed = tmp_path / "clean", tmp_path / "mixed"
    clean.mkdir()
    mixed.mkdir()
    for step in range(10):
        for folder in (clean, mixed):
            if folder is mixed or step % 5 != 2:
                torch.save({"w": torch.full((50, 50), step + 1.0)}, folder / f"step_{step}.pt")
    (mixed / "step_2.pt").write_bytes(b"")
    whole = (mixed / "step_7.pt").read_bytes()
    (mixed / "step_7.pt").write_bytes(whole[: len(whole) // 2])
    a, b = (norm_trajectory(discover(folder)[0]) for folder in (clean, mixed))
    assert a.steps.tolist() == b.steps.tolist()
    np.testing.assert_array_equal(a.squared_norm, b.squared_norm)
    reasons = {entry.file: entry.reason for entry in b.left_out}
    assert "empty" in reasons["step_2.pt"]
    assert "central directory" in reasons["step_7.pt"]


def test_nan_is_counted_and_named_by_tensor_and_step(tmp_path):
    torch.save({"a": torch.ones(2, 2), "b": torch.ones(2)}, tmp_path / "step_1.pt")
    torch.save(
        {"a": torch.ones(2, 2), "b": torch.tensor([1.0, float("nan")])}, tmp_path / "step_2.pt"
    )
    trajectory = norm_trajectory(discover(tmp_path)[0])
    assert np.isnan(trajectory.squared_norm).tolist() == [False, True]
    assert "step 2: 1 elements of b are NaN or infinite" in trajectory.notes


def test_another_model_in_the_directory(tmp_path):
    for step in range(3):
        torch.save({"w": torch.ones(2, 2)}, tmp_path / f"step_{step}.pt")
    torch.save({"w": torch.ones(3, 3)}, tmp_path / "step_3.pt")
    trajectory = norm_trajectory(discover(tmp_path)[0])
    assert trajectory.steps.tolist() == [0, 1, 2]
    assert any("another model" in entry.reason for entry in trajectory.left_out)


def test_empty_directory_loop_and_unreadable(tmp_path):
    with pytest.raises(InputError, match="no readable checkpoint"):
        discover(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "ring.pt").symlink_to(tmp_path / "ring.pt")
    torch.save({"w": torch.ones(2)}, tmp_path / "step_1.pt")
    torch.save({"w": torch.ones(2)}, tmp_path / "step_2.pt")
    os.chmod(tmp_path / "step_2.pt", 0)
    series = discover(tmp_path)[0]
    reasons = {entry.file: entry.reason for entry in series.left_out}
    assert "circle" in reasons["ring.pt"]
    assert "loop" in reasons
    if os.geteuid() != 0:
        assert "permission denied" in reasons["step_2.pt"]
