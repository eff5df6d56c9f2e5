"""The live panel of ``nht forecast --follow``, drawn and in a real pseudo-terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from nht_theory.cli import follow
from nht_theory.cli.follow_panel import WIDEST, panel, sparkline, timeline
from nht_theory.errors import InputError
from nht_theory.estimators.results import Interval
from nht_theory.forecasting.forecast import Basis, Forecast, Stage
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.run_format import (
    METRICS_FILE,
    RunDocument,
    RunState,
    StatusDocument,
    metrics_line,
    write_run,
    write_status,
)

RATE = 1.4e-3
DECAY = 0.7
"""Weight decay of the run that is followed."""


def settings(decay: float) -> Hyperparameters:
    return Hyperparameters("adamw", 1e-3, decay, seed=0, total_steps=20000)


def forecast(made_at: int, low: float, median: float, high: float) -> Forecast:
    return Forecast(
        "a", Stage.RUNNING, made_at, Basis.LAW, median, Interval(low, high, 0.9, ""), 0.75,
        "the law holds", "", (), "",
    )  # fmt: skip


def logged(decay: float, upto: int) -> list[dict[str, float]]:
    """Evaluations of a run that memorises at 300 and switches when V has fallen eightfold."""
    rate, end = RATE * decay, 300 + np.log(8) / (RATE * decay)
    return [
        {
            "step": step,
            "squared_norm": float(8000 * np.exp(-rate * max(step - 300, 0))),
            "train_accuracy": float(step >= 300),
            "heldout_accuracy": float(step >= end),
        }
        for step in range(0, upto, 50)
    ]


def text_of(run: Run, history: list[Forecast], width: int = 100) -> str:
    written = io.StringIO()
    Console(file=written, width=width).print(panel(run, history, width))
    return written.getvalue()


def run_of(rows: list[dict[str, float]]) -> Run:
    names = [name for name in rows[0] if name != "step"]
    return Run(
        name="live",
        source=Path("live"),
        steps=np.array([row["step"] for row in rows]),
        values={name: np.array([row[name] for row in rows]) for name in names},
        hyperparameters=settings(1.0),
        settled=False,
    )


def test_the_panel_says_what_the_log_says() -> None:
    run = run_of(logged(1.0, 1001))
    history = [forecast(800, 1200, 1500, 2400), forecast(1000, 1300, 1480, 1700)]
    shown = text_of(run, history)
    assert "live, step 1,000 of 20,000" in shown
    assert f"{8000 * np.exp(-RATE * 700):,.0f}" in shown
    # gamma is exact here; pure decay is -2 ln(1 - eta lambda).
    share = RATE / (-2 * np.log1p(-1e-3))
    assert f"0.0014 per step over the last 5 evaluations, {share:.2f} of pure decay" in shown
    assert "training 1.000, held-out 0.000" in shown
    assert "switch near step 1,480, basis law, in time with probability 0.75" in shown
    assert "1,200 at first, 400 now" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_a_refusal_and_a_log_without_a_norm_are_said() -> None:
    rows = [{"step": k, "train_accuracy": 0.1} for k in range(3)]
    refused = Forecast(
        "a", Stage.BEFORE_TRAINING, 2, Basis.REFUSED, None, None, None, "no run", "add some", (), ""
    )
    shown = text_of(run_of(rows), [refused])
    assert "not logged" in shown
    assert "no run: add some" in shown


@pytest.mark.parametrize("width", [40, 80, 300])
def test_any_width_holds_the_panel(width: int) -> None:
    run = run_of(logged(1.0, 5001))
    shown = text_of(run, [forecast(5000, 5100, 6000, np.inf)], width)
    assert all(len(line) <= width for line in shown.splitlines())


def test_curves_keep_their_ends() -> None:
    line = sparkline(list(np.linspace(5, 1, 1000)), WIDEST)
    assert len(line) == WIDEST
    assert (line[0], line[-1]) == ("█", "▁")
    assert sparkline([2.0, 2.0], 5) == "▁▁"
    assert sparkline([float("nan")], 5) == ""
    drawn = timeline(10, forecast(10, 20, 50, np.inf), 21)
    assert drawn[-1] == ">"
    assert drawn.index("|") < drawn.index("(") < drawn.index("o")


def write_as(place: Path, decay: float, rows: list[dict[str, float]], state: RunState) -> Path:
    place.mkdir(parents=True)
    write_run(place, RunDocument(hyperparameters=settings(decay), seed=0))
    append(place, rows)
    write_status(place, StatusDocument(state=state, step=int(rows[-1]["step"]) if rows else 0))
    return place


def append(place: Path, rows: list[dict[str, float]]) -> None:
    with (place / METRICS_FILE).open("ab") as log:
        log.writelines(f"{metrics_line(row).rstrip()}\n".encode() for row in rows)


@pytest.fixture
def live(tmp_path: Path) -> Path:
    for decay in (1.0, 0.5):
        place = tmp_path / "earlier" / f"decay{decay}"
        write_as(place, decay, logged(decay, 4001), RunState.FINISHED)
    return write_as(tmp_path / "live", DECAY, [], RunState.RUNNING)


def command(live: Path) -> list[str]:
    earlier = live.parent / "earlier"
    options = ["--from", str(earlier), "--follow", "--every", "0.2"]
    return [sys.executable, "-m", "nht_theory.cli", "forecast", str(live), *options]


def test_a_terminal_gets_a_panel_that_is_drawn_in_place(live: Path) -> None:
    ours, theirs = pty.openpty()
    size = {"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
    started = subprocess.Popen(
        command(live), stdout=theirs, stderr=theirs, stdin=theirs, env=os.environ | size
    )
    os.close(theirs)
    rows = logged(DECAY, 3001)
    printed = b""

    def train() -> None:
        # However slow the machine: each part is written once the one before has been shown.
        for seen, part in (
            (b"waiting for the first evaluation", rows[:12]),
            (b"step 550 of", rows[12:16]),
            (b"step 750 of", rows[16:]),
        ):
            while seen not in printed:
                time.sleep(0.1)
            append(live, part)

    writer = threading.Thread(target=train, daemon=True)
    writer.start()
    try:
        while chunk := os.read(ours, 65536):
            printed += chunk
    except OSError:
        pass  # the end of a pseudo-terminal whose other side has closed
    os.close(ours)
    assert started.wait() == 0
    shown = printed.decode()
    assert "waiting for the first evaluation" in shown
    assert "switch near step" in shown
    assert re.search("[▂-▇]", shown)
    assert "\x1b[1A" in shown, "the panel moves the cursor up to draw over itself"
    assert shown.rstrip().endswith("\x1b[?25h"), "the cursor is given back"
    assert "generalised at step" in shown


def test_a_pipe_gets_a_line_at_each_evaluation(live: Path) -> None:
    append(live, logged(DECAY, 3001))
    done = subprocess.run(command(live), capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("step 3000: refused: the run generalised at step")
    assert done.stdout.count("\n") == 1


def test_a_run_that_is_about_to_start_is_waited_for_and_a_wrong_path_is_named(
    live: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = load_study(live.parent / "earlier")
    ready = live.parent / "earlier" / "decay0.5"
    monkeypatch.setattr(follow, "APPEARS_WITHIN", 0.2)
    with pytest.raises(InputError, match="no such run"):
        next(follow.watch(tmp_path / "typo", earlier, every=0.05))
    monkeypatch.setattr(follow, "APPEARS_WITHIN", 30.0)
    late = tmp_path / "late"
    starter = threading.Timer(0.3, lambda: ready.rename(late))
    starter.start()
    run, _ = next(follow.watch(late, earlier, every=0.05))
    starter.join()
    assert len(run)
