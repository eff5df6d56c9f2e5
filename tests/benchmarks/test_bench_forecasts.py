"""Speed of a forecast on three hundred earlier runs, in memory and as a command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from nht_theory.forecasting.calibration_set import earlier_runs
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.run_format import METRICS_FILE, RunDocument, metrics_line, write_run
from nht_theory.runs.study import Study


def lawful_run(weight_decay: float, learning_rate: float, seed: int) -> Run:
    """A run of 60 evaluations whose norm falls at c = 0.6 from memorisation to the switch."""
    rng = np.random.default_rng([seed, round(1e6 * weight_decay), round(1e6 * learning_rate)])
    rate = 1.2 * learning_rate * weight_decay
    delay = np.log(4.0) / rate * np.exp(0.1 * rng.normal())
    steps = np.linspace(0, 300 + 1.3 * delay, 60).astype(np.int64)
    return Run(
        name=f"{weight_decay:g}-{learning_rate:g}-{seed}",
        source=Path("made-up"),
        steps=steps,
        values={
            "squared_norm": 4000 * np.exp(-rate * (steps - 300)),
            "train_accuracy": 1 / (1 + np.exp(-(steps - 250) / 20)),
            "heldout_accuracy": 1 / (1 + np.exp(-(steps - 300 - delay) / (0.02 * delay))),
        },
        hyperparameters=Hyperparameters("adamw", learning_rate, weight_decay, seed=seed),
    )


def three_hundred() -> tuple[Run, ...]:
    return tuple(
        lawful_run(decay, rate, seed)
        for decay in (0.1, 0.2, 0.5, 0.7, 1.0)
        for rate in (5e-4, 1e-3, 2e-3)
        for seed in range(20)
    )


def test_forecast_from_three_hundred_runs(benchmark: BenchmarkFixture) -> None:
    runs = three_hundred()
    earlier, run = Study(Path("made-up"), runs, runs), lawful_run(0.3, 1e-3, 99)

    def cold() -> Basis:
        earlier_runs.cache_clear()
        return forecast_run(run, earlier, at=1200).basis

    assert benchmark(cold) is Basis.LAW


def write(run: Run, place: Path) -> None:
    write_run(place, RunDocument(hyperparameters=run.hyperparameters))
    lines = [
        metrics_line(
            {"step": int(step), **{name: float(run.values[name][i]) for name in run.values}}
        )
        for i, step in enumerate(run.steps)
    ]
    (place / METRICS_FILE).write_text("".join(f"{line}\n" for line in lines))


def test_nht_forecast_from_three_hundred_run_directories(
    tmp_path: Path, benchmark: BenchmarkFixture
) -> None:
    for run in three_hundred():
        write(run, tmp_path / "earlier" / run.name)
    write(lawful_run(0.3, 1e-3, 99), tmp_path / "run")
    order = ["forecast", str(tmp_path / "run"), "--from", str(tmp_path / "earlier"), "--at", "1200"]

    def answer() -> str:
        command = [sys.executable, "-m", "nht_theory.cli", *order]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "basis law" in benchmark.pedantic(answer, rounds=3)
