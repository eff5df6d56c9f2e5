"""How long ``load_study`` takes for many runs, and how much memory.

::

    python validation/benchmarks/read_many_runs.py --runs 10000 --lines 200

writes run directories into a temporary directory (100 kB each), reads them and prints wall time,
processor time and peak memory of the reading processes.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import tempfile
import time
from pathlib import Path

from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.run import Hyperparameters, ParameterGroup
from nht_theory.runs.run_format import (
    RunDocument,
    RunState,
    StatusDocument,
    metrics_line,
    write_run,
    write_status,
)

DECAYS = 10
MARK = 0.125
"""Stands in the template for the squared norm, which differs from run to run."""


def write_study(root: Path, runs: int, lines: int) -> None:
    """Write ``runs`` run directories whose norms decay at ten rates from different beginnings."""
    row = {
        "train_loss": 0.01234567891234,
        "train_accuracy": 0.98765432198765,
        "heldout_loss": 1.23456789123456,
        "heldout_accuracy": 0.45678912345678,
        "squared_norm": MARK,
        "squared_norm/embedding": 3456.78912345678,
        "squared_norm/head": 123.456789123456,
        "alignment": -0.00123456789123,
        "update_squared_norm": 1234.56789123456,
        "learning_rate": 0.001,
        "weight_decay": 1.0,
    }
    templates = [metrics_line({"step": 100 * k, **row}).split(str(MARK)) for k in range(lines)]
    groups = tuple(
        ParameterGroup(name, "layer", (f"{name}.weight",), 1000, depth)
        for depth, name in enumerate(("embedding", "head"))
    )
    for index in range(runs):
        decay, seed = index % DECAYS, index // DECAYS
        directory = root / f"wd{decay}" / f"seed{seed:04d}"
        known = Hyperparameters(
            optimizer="adamw", learning_rate=1e-3, weight_decay=0.1 * (1 + decay), seed=seed
        )
        write_run(directory, RunDocument(hyperparameters=known, seed=seed, groups=groups))
        write_status(directory, StatusDocument(state=RunState.FINISHED, step=100 * lines))
        start = 10_000 + 7.31 * seed
        with (directory / "metrics.jsonl").open("w") as file:
            for k, (before, after) in enumerate(templates):
                norm = start * math.exp(-0.02 * (1 + decay) * k)
                file.write(f"{before}{norm!r}{after}\n")


def measure(path: Path, runs: int, workers: int | None) -> dict[str, float]:
    """Read the study once; times in seconds, memory in megabytes."""
    start, own = time.perf_counter(), _processor_seconds()
    study = load_study(path, ReadOptions(workers=workers))
    if len(study.runs) != runs or study.left_out:
        raise SystemExit(f"{len(study.runs)} of {runs} runs read")
    return {
        "runs": runs,
        "wall_seconds": time.perf_counter() - start,
        "processor_seconds": _processor_seconds() - own,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "peak_megabytes_of_a_worker": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
    }


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        write_study(Path(directory), arguments.runs, arguments.lines)
        print(json.dumps(measure(Path(directory), arguments.runs, arguments.workers)))


if __name__ == "__main__":
    main()
