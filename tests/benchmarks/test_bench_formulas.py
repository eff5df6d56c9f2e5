"""Speed of the predictions and of the command's start-up; figures, not assertions."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from nht_theory.formulas.times import exact_hitting_time


def test_a_million_predictions(benchmark: BenchmarkFixture) -> None:
    generator = np.random.default_rng(0)
    count = 1_000_000
    arguments = {
        "learning_rate": 10.0 ** generator.uniform(-4, -2, count),
        "weight_decay": 10.0 ** generator.uniform(-2, 1, count),
        "squared_norm_shortcut": generator.uniform(2000.0, 5000.0, count),
        "squared_norm_structured": generator.uniform(200.0, 2000.0, count),
    }
    made = benchmark(lambda: exact_hitting_time(**arguments))
    assert made.shape == (count,)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        (
            "predict",
            *("--lr", "1e-3", "--weight-decay", "1", "--v-sc", "3900", "--v-st", "1150"),
            "--json",
        ),
    ],
    ids=["help", "predict"],
)
def test_start_up_of_the_command(benchmark: BenchmarkFixture, arguments: tuple[str, ...]) -> None:
    code = "import sys; from nht_theory.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *arguments]
    done = benchmark(lambda: subprocess.run(command, capture_output=True, check=False))
    assert done.returncode == 0
