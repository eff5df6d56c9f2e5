"""Runs known by their checkpoints, alone or beside a log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from nht_theory.errors import InputError
from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.plan import plan_reading
from nht_theory.runs.read_plan import Reader


def save(path: Path, scale: float) -> float:
    """A small model; returns its V, summed here in float64."""
    rng = np.random.default_rng(1)
    tensors = {
        "embedding.weight": scale * rng.standard_normal((5, 4)),
        "head.weight": scale * rng.standard_normal((3, 4)),
        "head.bias": scale * rng.standard_normal(3),
    }
    tensors = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path)
    return float(sum(np.sum(t.astype(np.float64) ** 2) for t in tensors.values()))


def test_checkpoints_alone_are_runs(tmp_path: Path) -> None:
    expected = {
        seed: [
            save(tmp_path / f"wd0.5_seed{seed}/step_{step}.safetensors", 3.0 - seed - step / 1000)
            for step in (0, 200, 1000)
        ]
        for seed in (0, 1)
    }
    study = load_study(tmp_path, ReadOptions(pattern="wd{weight_decay}_seed{seed}", exact=True))
    assert [run.name for run in study.runs] == ["wd0.5_seed0", "wd0.5_seed1"]
    for seed, run in enumerate(study.runs):
        assert run.steps.tolist() == [0, 200, 1000]
        np.testing.assert_allclose(run.squared_norm, expected[seed], rtol=1e-12)
        known = run.hyperparameters
        assert (known.weight_decay, known.seed, known.parameter_count) == (0.5, seed, 35)
        partition = [group.name for group in run.groups if group.partition == "layer"]
        parts = [run.column(f"squared_norm/{name}") for name in partition]
        np.testing.assert_allclose(np.sum(parts, axis=0), expected[seed], rtol=1e-12)


def test_checkpoints_in_the_directory_of_a_log_are_joined_to_it(tmp_path: Path) -> None:
    run = tmp_path / "version_0"
    expected = [save(run / f"checkpoints/step={step}.safetensors", 1.0) for step in (100, 300)]
    (run / "metrics.csv").write_text("step,val_acc\n100,0.5\n200,0.75\n300,1.0\n")
    (run / "hparams.yaml").write_text("lr: 0.1\nseed: 3\n")
    study = load_study(tmp_path)
    assert [found.name for found in study.runs] == ["version_0"]
    found = study.runs[0]
    assert found.steps.tolist() == [100, 200, 300]
    assert found.column("heldout_accuracy").tolist() == [0.5, 0.75, 1.0]
    np.testing.assert_allclose(found.squared_norm[[0, 2]], expected, rtol=1e-6)
    assert np.isnan(found.squared_norm[1])
    assert found.hyperparameters.seed == 3
    assert found.hyperparameters.parameter_count == 35
    assert "norms of 2 checkpoints joined to the log" in found.notes


def test_checkpoints_known_by_epoch_join_a_log_of_epochs_and_steps(tmp_path: Path) -> None:
    run = tmp_path / "version_0"
    expected = [save(run / f"checkpoints/epoch_{epoch}.safetensors", 1.0) for epoch in (0, 1, 5)]
    # As Lightning writes it: training and validation on lines of their own.
    rows = ["epoch,step,train_loss,val_acc", "0,9,1.0,", "0,19,,0.5", "1,29,0.5,", "1,39,,1.0"]
    (run / "metrics.csv").write_text("\n".join(rows) + "\n")
    study = load_study(tmp_path)
    assert [found.name for found in study.runs] == ["version_0"]
    found = study.runs[0]
    assert found.steps.tolist() == [9, 19, 29, 39]
    np.testing.assert_allclose(found.squared_norm[[1, 3]], expected[:2], rtol=1e-6)
    assert np.isnan(found.squared_norm[[0, 2]]).all()
    assert any("stand at the last step" in note for note in found.notes)
    assert not any("per epoch" in note for note in found.notes)
    assert [(item.file, item.reason) for item in study.left_out] == [
        ("version_0: epoch 5", "the log has no step of that epoch")
    ]


def test_without_epochs_in_the_log_they_stay_apart(tmp_path: Path) -> None:
    for epoch in (0, 1):
        save(tmp_path / f"run/checkpoints/epoch_{epoch}.safetensors", 1.0)
    (tmp_path / "run/metrics.csv").write_text("step,val_acc\n10,0.5\n20,1.0\n")
    study = load_study(tmp_path)
    assert sorted(found.name for found in study.runs) == ["run", "run (2)"]


def test_a_logged_norm_that_disagrees_with_the_checkpoints_is_said(tmp_path: Path) -> None:
    value = save(tmp_path / "a/step_10.safetensors", 1.0)
    save(tmp_path / "a/step_20.safetensors", 1.0)
    (tmp_path / "a/log.jsonl").write_text(
        "\n".join(json.dumps({"step": step, "V": 2 * value}) for step in (10, 20))
    )
    run = load_study(tmp_path).runs[0]
    assert run.squared_norm.tolist() == [2 * value] * 2
    assert "differs from that of the checkpoints by up to 1 " in " ".join(run.notes)


def test_a_logged_norm_that_agrees_is_continued_by_the_checkpoints(tmp_path: Path) -> None:
    values = [save(tmp_path / f"a/step_{step}.safetensors", 1 + step) for step in (10, 20)]
    (tmp_path / "a/log.jsonl").write_text(json.dumps({"step": 10, "V": values[0]}))
    run = load_study(tmp_path, ReadOptions(exact=True)).runs[0]
    np.testing.assert_allclose(run.squared_norm, values, rtol=1e-12)


def test_two_logs_beside_one_series_are_not_mixed_with_it(tmp_path: Path) -> None:
    save(tmp_path / "step_10.safetensors", 1.0)
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("step,val_acc\n10,0.5\n")
    study = load_study(tmp_path)
    assert len(study.runs) == 3
    assert not study.runs[0].has("squared_norm")


def test_a_broken_checkpoint_is_listed_and_the_series_goes_on(tmp_path: Path) -> None:
    for step in (0, 100, 200):
        save(tmp_path / f"run/step_{step}.safetensors", 1.0)
    broken = tmp_path / "run/step_100.safetensors"
    broken.write_bytes(broken.read_bytes()[:40])
    study = load_study(tmp_path)
    assert study.runs[0].steps.tolist() == [0, 200]
    assert [item.file for item in study.left_out if "step_100" in item.file]


def test_one_checkpoint_file(tmp_path: Path) -> None:
    save(tmp_path / "step_7.safetensors", 1.0)
    assert load_study(tmp_path / "step_7.safetensors").runs[0].steps.tolist() == [7]


def test_a_broken_checkpoint_alone_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "step_7.safetensors").write_bytes(b"")
    for path in (tmp_path, tmp_path / "step_7.safetensors"):
        with pytest.raises(InputError) as caught:
            load_study(path)
        assert "\n" not in str(caught.value)


def test_checkpoints_of_a_run_directory_stay_with_its_metrics(tmp_path: Path) -> None:
    run = tmp_path / "a"
    save(run / "checkpoints/step_00000010.safetensors", 1.0)
    (run / "run.json").write_text("{}")
    (run / "metrics.jsonl").write_text('{"step": 10, "squared_norm": 1.0}\n')
    save(tmp_path / "b/step_10.safetensors", 1.0)
    plan = plan_reading(tmp_path)
    assert [(file.name, file.reader) for file in plan.files] == [
        ("a", Reader.RUN_DIRECTORY),
        ("b", Reader.CHECKPOINTS),
    ]
    assert load_study(tmp_path).run("a").squared_norm.tolist() == [1.0]


def test_the_optimiser_state_tells_the_hyperparameters(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.25, betas=(0.8, 0.95), weight_decay=0.5)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    for step in range(3):
        saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(saved, tmp_path / f"step_{step}.pt")
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
        schedule.step()
    run = load_study(tmp_path).runs[0]
    known = run.hyperparameters
    assert (known.learning_rate, known.weight_decay) == (0.25, 0.5)
    assert (known.beta_1, known.beta_2, known.parameter_count) == (0.8, 0.95, 8)
    assert run.column("learning_rate").tolist() == [0.25, 0.125, 0.0625]


def test_names_are_distinct_though_a_log_and_checkpoints_share_one(tmp_path: Path) -> None:
    save(tmp_path / "a/epoch_1.safetensors", 1.0)
    save(tmp_path / "a/epoch_2.safetensors", 2.0)
    (tmp_path / "a.csv").write_text("step,val_acc\n10,0.5\n")
    study = load_study(tmp_path)
    assert [run.name for run in study.runs] == ["a", "a (2)"]
    assert "rates are per epoch" in " ".join(study.runs[1].notes)
