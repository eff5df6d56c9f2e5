"""The demonstration, really trained, on a task of seconds: forecasts come before switches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nht_theory.cli import demo, main
from nht_theory.cli.demo_forecasts import read_forecast
from nht_theory.cli.demo_runs import DemoRun, demo_config
from nht_theory.errors import InputError

pytest.importorskip("torch", reason="the demonstration trains")

TINY = (
    "task.p=31",
    "task.train_fraction=0.7",
    "model.width=64",
    "optimizer.learning_rate=4e-3",
    "batch_size=256",
    "steps=600",
    "evaluate_every=20",
)


def tiny_plan() -> tuple[DemoRun, ...]:
    return tuple(
        DemoRun(
            f"decay-{decay}-seed-{seed}", (*TINY, f"optimizer.weight_decay={decay}", f"seed={seed}")
        )
        for decay, seed in ((1.0, 0), (1.5, 0), (1.0, 1))
    )


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


@pytest.mark.slow
def test_forecasts_are_written_before_the_switch_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "plan", tiny_plan)
    output = tmp_path / "demo"
    assert call("demo", "-o", str(output)) == 0
    said = capsys.readouterr().out
    assert "Report: " in said
    assert "<figure" in (output / "report.html").read_text(encoding="utf-8")
    validated = call("validate", str(output / "runs"), "--json")
    assert validated == 0
    found = json.loads(capsys.readouterr().out)
    estimates = {own["run"]: own for own in found["estimates"]}
    assert found["runs"]["left_out"] == []
    assert len(estimates) == 3
    switched = 0
    for run in tiny_plan():
        record = read_forecast(output / "forecasts" / f"{run.name}.json")
        own = estimates[run.name]
        assert record.forecast.made_at == own["memorization_step"]
        if own["generalization_step"] is not None:
            switched += 1
            assert record.last_step_seen < own["generalization_step"]
            assert record.heldout_accuracy_seen < 0.99
    assert switched >= 2

    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    assert call("demo", "-o", str(output)) == 0
    assert "3 of 3 runs are in" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in before} == before


def test_the_configuration_is_packaged() -> None:
    assert demo_config().is_file()


def test_the_plan_compares_weight_decays_and_seeds() -> None:
    names = [run.name for run in demo.plan()]
    assert len(set(names)) == len(names) >= 5
    decays = {part for run in demo.plan() for part in run.overrides if "weight_decay" in part}
    assert len(decays) >= 3


def test_a_forecast_file_that_is_broken_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"written_at": 3')
    with pytest.raises(InputError, match=r"a\.json: not a forecast .*delete it"):
        read_forecast(path)
