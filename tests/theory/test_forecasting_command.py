"""``nht forecast`` and ``nht predict --from``, as a user calls them."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nht_theory import cli
from nht_theory.cli.follow import follow
from nht_theory.errors import InputError
from nht_theory.forecasting.forecast import Basis, Stage
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters
from nht_theory.runs.run_format import (
    METRICS_FILE,
    RunDocument,
    RunState,
    StatusDocument,
    metrics_line,
    write_run,
    write_status,
)


def main(arguments: list[str]) -> int:
    """Exit code of a command, which always leaves by SystemExit."""
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    return int(left.value.code or 0)


def rows(weight_decay: float) -> list[dict[str, float]]:
    """Evaluations of a run that memorises at 300 and switches when V has fallen eightfold."""
    rate = 1.4e-3 * weight_decay
    end = 300 + np.log(8) / rate
    return [
        {
            "step": int(step),
            "squared_norm": float(8000 * np.exp(-rate * max(step - 300, 0))),
            "train_accuracy": float(step >= 300),
            "heldout_accuracy": float(step >= end),
        }
        for step in np.arange(0, end + 200, 50)
    ]


def write(place: Path, weight_decay: float, *, state: RunState, upto: int | None = None) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    chosen = Hyperparameters("adamw", 1e-3, weight_decay, seed=0, total_steps=20000)
    write_run(place, RunDocument(hyperparameters=chosen, seed=0))
    kept = rows(weight_decay)[:upto]
    (place / METRICS_FILE).write_bytes(b"".join(as_line(row) for row in kept))
    write_status(place, StatusDocument(state=state, step=int(kept[-1]["step"])))
    return place


def as_line(row: dict[str, float]) -> bytes:
    return f"{metrics_line(row).rstrip()}\n".encode()


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    for decay in (1.0, 0.5):
        write(tmp_path / "earlier" / f"wd{decay}", decay, state=RunState.FINISHED)
    return tmp_path / "earlier"


def test_a_run_is_forecast_in_words_and_as_json(
    tmp_path: Path, earlier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = write(tmp_path / "live", 0.3, state=RunState.RUNNING, upto=10)
    assert main(["forecast", str(live), "--from", str(earlier)]) == 0
    said = capsys.readouterr().out
    assert "expected to generalise near step" in said
    assert "basis law" in said
    assert main(["forecast", str(live), "--from", str(earlier), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    truth = 300 + np.log(8) / (1.4e-3 * 0.3)
    assert made["basis"] == "law"
    assert made["stage"] == "running"
    assert made["made_at"] == 450
    assert made["interval"]["low"] < truth < made["interval"]["high"]
    assert made["probability_within_budget"] > 0.9


def test_a_finished_run_is_forecast_as_of_its_memorisation(
    tmp_path: Path, earlier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = write(tmp_path / "done", 0.3, state=RunState.FINISHED)
    main(["forecast", str(done), "--from", str(earlier), "--json"])
    made = json.loads(capsys.readouterr().out)
    assert (made["stage"], made["made_at"]) == ("memorisation", 300)


def test_advice_comes_with_a_forecast(
    tmp_path: Path, earlier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = write(tmp_path / "live", 0.3, state=RunState.RUNNING, upto=10)
    assert main(["forecast", str(live), "--from", str(earlier), "--advice", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["forecast"]["basis"] == "law"
    assert made["decay"]["stronger"] == pytest.approx(0.9)
    assert made["decay"]["expectation"] == "expected to bring the switch sooner"


def test_scores_as_others_read_them(
    tmp_path: Path, earlier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(earlier / "wd0.7", 0.7, state=RunState.FINISHED)
    assert main(["forecast", "--score", str(earlier), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["floor"] is None  # no configuration has a replicate
    ours = {row["stage"]: row for row in scored["in_regime"] if row["default"]}
    assert set(ours) == {0, "memorisation", 0.25, 0.5, 0.75}
    for row in ours.values():
        assert row["n_runs"] == row["n_configurations"] == 3
        assert row["refused"] == 0
        assert row["run_error"] < 0.25
    assert scored["out_of_regime"] == []
    assert scored["rows"] == scored["in_regime"]
    assert main(["forecast", "--score", str(earlier)]) == 0
    assert "log-linear regression" in capsys.readouterr().out


def test_a_plan_before_training(earlier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = ["predict", "--lr", "1e-3", "--weight-decay", "0.3", "--from", str(earlier)]
    assert main([*order, "--steps", "9000", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["forecast"]["stage"] == "before training"
    assert plan["regime"] == "intermediate"
    assert plan["lawful_range"] == [0.5, 1.0]
    assert main([*order, "--set", "p=97"]) == 0
    said = capsys.readouterr().out
    assert "the law is not claimed: p" in said
    assert "basis empirical" in said or "refused" in said


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (["forecast"], "RUN is missing"),
        (["forecast", "somewhere"], "--from STUDY is missing"),
        (["forecast", "--score", "nowhere"], "nowhere"),
        (["predict", "--lr", "1e-3", "--weight-decay", "1"], "V_sc and V_st are missing"),
        (["predict", "--lr", "1e-3"], "learning rate and weight decay are missing"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    order: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(order) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_what_a_log_does_not_tell_can_be_stated(
    tmp_path: Path, earlier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = write(tmp_path / "live", 0.3, state=RunState.RUNNING, upto=10)
    order = ["forecast", str(live), "--from", str(earlier), "--set", "task=another"]
    assert main(order) == 0
    for document in earlier.glob("*/run.json"):
        document.write_text(document.read_text().replace('"task": null', '"task": "one"'))
    assert main(["forecast", str(live), "--from", str(earlier)]) == 0
    assert "basis law" in capsys.readouterr().out
    assert main(order) == 0
    assert "0 earlier runs obeyed the law" in capsys.readouterr().out


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """Logs with columns of other names, whose settings only the file names tell."""
    for weight_decay in (0.2, 0.3, 0.4, 0.5, 0.6, 0.8):
        place = tmp_path / "foreign" / f"lr0.001_wd{weight_decay}.csv"
        place.parent.mkdir(exist_ok=True)
        lines = [
            f"{row['step']},{row['squared_norm']},{row['train_accuracy']},{row['heldout_accuracy']}"
            for row in rows(weight_decay)
        ]
        place.write_text("\n".join(["when,size,fitted,right", *lines]) + "\n")
    return tmp_path / "foreign"


NAMES = ["when", "size", "fitted", "right"]
COLUMNS = ["step", "squared_norm", "train_accuracy", "heldout_accuracy"]
MAP = [f"--map={ours}={theirs}" for ours, theirs in zip(COLUMNS, NAMES, strict=True)]
PATTERN = ["--pattern", "lr{learning_rate}_wd{weight_decay}"]


def test_foreign_logs_are_forecast_with_a_map_and_a_pattern(
    tmp_path: Path, foreign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = tmp_path / "lr0.001_wd0.3.csv"
    (foreign / one.name).rename(one)
    order = ["forecast", str(one), "--from", str(foreign), *MAP, *PATTERN]
    assert main([*order, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["basis"] == "empirical", made["reason"]  # no optimiser is told
    end = 300 + np.log(8) / (1.4e-3 * 0.3)
    assert made["interval"]["low"] < end < made["interval"]["high"]
    assert main([*order, "--follow", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["run"] == "lr0.001_wd0.3"
    plan = ["predict", "--lr", "1e-3", "--weight-decay", "0.4", "--from", str(foreign)]
    assert main([*plan, *MAP, *PATTERN]) == 0
    assert main(plan) == 2


def test_a_map_must_fit_the_run_or_the_earlier_runs(
    tmp_path: Path, foreign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = write(tmp_path / "ours", 0.3, state=RunState.RUNNING, upto=10)
    order = ["forecast", str(ours), "--from", str(foreign)]
    assert main([*order, *MAP, *PATTERN]) == 0
    assert main([*order, *MAP, *PATTERN, "--map", "train_loss=nothing"]) == 2
    assert "no log has a column" in capsys.readouterr().err
    # Nor is a run waited for that the map does not fit, where the earlier runs do not either.
    assert main([*order, "--follow", *MAP, *PATTERN, "--map", "train_loss=nothing"]) == 2


def test_a_malformed_setting_is_refused(earlier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = ["predict", "--lr", "1e-3", "--weight-decay", "0.3", "--from", str(earlier)]
    assert main([*order, "--set", "p:97"]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err
    assert main([*order, "--set", "batch_size=large"]) == 2
    assert "batch_size is 'large', not a number" in capsys.readouterr().err


def test_a_live_run_is_followed_until_it_switches(tmp_path: Path, earlier: Path) -> None:
    live = write(tmp_path / "live", 0.3, state=RunState.RUNNING, upto=1)
    every = rows(0.3)[1:]

    def train() -> None:
        for number, row in enumerate(every):
            with (live / METRICS_FILE).open("ab") as log:
                log.write(as_line(row))
            if number % 25 == 0:
                time.sleep(0.3)

    writer = threading.Thread(target=train)
    writer.start()
    made = list(follow(live, load_study(earlier), every=0.1))
    writer.join()
    assert [one.made_at for one in made] == sorted({one.made_at for one in made})
    assert made[0].stage is Stage.BEFORE_TRAINING
    assert made[-1].basis is Basis.REFUSED
    assert "generalised at step" in made[-1].reason
    truth = 300 + np.log(8) / (1.4e-3 * 0.3)
    running = [one for one in made if one.stage is Stage.RUNNING and one.interval is not None]
    assert running
    assert all(one.interval.low <= truth + 50 for one in running)


def test_a_log_that_grows_is_followed_until_it_falls_silent(
    tmp_path: Path, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log has no status: it ends when nothing more is written."""
    monkeypatch.setattr("nht_theory.cli.follow.SILENT_FOR", 1.0)
    log = tmp_path / "live.csv"
    log.write_text("step,train_accuracy,val_accuracy,squared_norm\n0,0,0,8000\n")

    def train() -> None:
        for step in (50, 100, 150):
            time.sleep(0.3)
            with log.open("a") as file:
                file.write(f"{step},0,0,8000\n")

    writer = threading.Thread(target=train)
    writer.start()
    made = list(follow(log, load_study(earlier), every=0.05))
    writer.join()
    assert [one.made_at for one in made] == [0, 50, 100, 150]


def test_a_log_that_cannot_be_read_is_not_waited_for_without_end(
    tmp_path: Path, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nht_theory.cli.follow.APPEARS_WITHIN", 0.3)
    log = tmp_path / "live.csv"
    log.write_text("when,right\n0,0\n")
    with pytest.raises(InputError, match="no column holds the step"):
        list(follow(log, load_study(earlier), every=0.05))


def test_a_forecast_survives_its_json(tmp_path: Path, earlier: Path) -> None:
    from pydantic import TypeAdapter

    from nht_theory.forecasting.forecast import Forecast
    from nht_theory.forecasting.forecast_run import forecast_run

    live = load_study(write(tmp_path / "live", 0.3, state=RunState.RUNNING, upto=10)).runs[0]
    made = replace(forecast_run(live, load_study(earlier)))
    adapter = TypeAdapter(Forecast)
    assert adapter.validate_json(adapter.dump_json(made)) == made
