"""Speed of a forecast on three hundred earlier runs: `make bench` keeps the record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from nht_theory.forecasting.earlier_runs import earlier_runs
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.runs.run import Hyperparameters, Run
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


def test_forecast_from_three_hundred_runs(benchmark: BenchmarkFixture) -> None:
    runs = tuple(
        lawful_run(decay, rate, seed)
        for decay in (0.1, 0.2, 0.5, 0.7, 1.0)
        for rate in (5e-4, 1e-3, 2e-3)
        for seed in range(20)
    )
    earlier, run = Study(Path("made-up"), runs, runs), lawful_run(0.3, 1e-3, 99)

    def cold() -> Basis:
        earlier_runs.cache_clear()
        return forecast_run(run, earlier, at=1200).basis

    assert benchmark(cold) is Basis.LAW
