"""``python -m validation.benchmarks training|checkpoints|forecasts``: measure and keep figures.

Each command measures every way in one process, a round of each in turn, in processor time, so that
a busy machine slows all of them alike; the ratios are of the best rounds. It writes NAME.json here
and the table of README.md. What is timed is what ``make bench`` times (tests/benchmarks).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from validation.studies.markdown import number, table, with_blocks

HERE = Path(__file__).parent
TIMED = HERE.parents[1] / "tests" / "benchmarks"
SCORES = HERE.parent / "forecasting" / "scores.json"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Way = Callable[[], object]
Figures = dict[str, Any]


def interleaved(ways: Mapping[str, Way], rounds: int, repeats: int = 1) -> dict[str, list[float]]:
    """Processor seconds of each way in each round.

    Example:
        >>> sorted(interleaved({"a": list, "b": dict}, rounds=2))
        ['a', 'b']
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            start = time.process_time()
            for _ in range(repeats):
                run()
            seconds[name].append((time.process_time() - start) / repeats)
    return seconds


def training(rounds: int) -> Figures:
    """Steps per second of the paper's transformer, batch 512: an ordinary module, and ours."""
    from test_bench_trainer import our_step, plain_step

    from nht_train.numerics import arithmetic

    with arithmetic(1):
        ways: dict[str, Way] = {
            "plain module, default AdamW": plain_step(),
            "nht, eager": our_step(),
            "nht, compiled": our_step(compile=True),
        }
        interleaved(ways, rounds=2)  # compiles, and fills the optimisers' states
        seconds = interleaved(ways, rounds, repeats=5)
    return _figures("steps per second", seconds, dict.fromkeys(ways, 1.0))


def checkpoints(rounds: int) -> Figures:
    """Gigabytes per second of a checkpoint's squared norms: loaded by torch, and scanned by us."""
    import torch
    from test_bench_checkpoints import LAYERS, SIDE, plain, write

    from nht_theory.checkpoints import squared_norms

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        safetensors, pt = write(Path(folder))
        ways: dict[str, Way] = {
            "plain way, .safetensors": lambda: plain(safetensors),
            "nht, .safetensors": lambda: squared_norms(safetensors),
            "plain way, .pt": lambda: plain(pt),
            "nht, .pt": lambda: squared_norms(pt),
        }
        interleaved(ways, rounds=1)
        seconds = interleaved(ways, rounds)
    gigabytes = 4 * LAYERS * SIDE**2 / 1e9
    return _figures("gigabytes per second", seconds, dict.fromkeys(ways, gigabytes))


def _figures(unit: str, seconds: Mapping[str, list[float]], amount: Mapping[str, float]) -> Figures:
    """Rate of each way, and its ratio to the plain way that it stands beside."""
    rows: list[Figures] = []
    plain = ""
    for name, taken in seconds.items():
        plain = name if name.startswith("plain") else plain
        rows.append(
            {
                "way": name,
                "best": round(amount[name] / min(taken), 2),
                "median": round(amount[name] / statistics.median(taken), 2),
                "ratio": round(min(seconds[plain]) / min(taken), 2),
            }
        )
    return {"unit": unit, "rounds": len(next(iter(seconds.values()))), "rows": rows, **_machine()}


def _machine() -> Figures:
    from importlib.metadata import version

    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    packages = {name: version(name) for name in ("torch", "numpy")}
    return {"processor": names[0] if names else "unknown", "cores": os.cpu_count(), **packages}


def forecasts(_: int) -> Figures:
    """Error of a forecast of the delay at memorisation, in regime, beside the companion's."""
    rows = [
        {
            "way": row["method"],
            "run_error": row["run_error"],
            "configuration_error": row["configuration_error"],
            "n_runs": row["n_runs"],
        }
        for row in json.loads(SCORES.read_text(encoding="utf-8"))["companion"]["rows"]
        if row["regime"] == "in" and row["stage"] in (0, "memorisation")
        if row["method"].startswith(("companion", "same-configuration"))
        or (row["method"] == "nht" and row["stage"] == "memorisation")
    ]
    theirs = next(row["run_error"] for row in rows if row["way"].startswith("companion"))
    for row in rows:
        row["ratio"] = round(row["run_error"] / theirs, 2)
    return {"unit": "mean absolute error of the delay, a run", "rows": rows}


MEASURED: dict[str, Callable[[int], Figures]] = {
    "training": training,
    "checkpoints": checkpoints,
    "forecasts": forecasts,
}


def page_tables() -> str:
    """The tables of README.md, from the figures that are kept."""
    parts = []
    for name, measure in MEASURED.items():
        path = HERE / f"{name}.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        command = f"`python -m validation.benchmarks {name}`"
        said = (measure.__doc__ or "").strip()
        shown = f"{command}: not measured yet." if kept is None else _shown(kept, command)
        parts.append(f"## {name.capitalize()}\n\n{said}\n\n{shown}")
    return "\n\n".join(parts)


def _shown(kept: Figures, command: str) -> str:
    if "processor" not in kept:
        header = ("method", f"{kept['unit']}", "a configuration", "ratio to the companion's")
        rows = [
            (
                row["way"],
                f"{row['run_error']:.1%}",
                "" if row["configuration_error"] < 1e-6 else f"{row['configuration_error']:.1%}",
                row["ratio"],
            )
            for row in kept["rows"]
        ]
        return f"{table(header, rows)}\n\n{command}, from the committed scores.json."
    header = ("way", f"{kept['unit']}, best round", "median", "times the plain way")
    rows = [
        (row["way"], number(row["best"]), number(row["median"]), row["ratio"])
        for row in kept["rows"]
    ]
    return (
        f"{table(header, rows)}\n\n{command}: {kept['rounds']} rounds in one process, one thread "
        f"of {kept['processor']}, {kept['cores']} cores, torch {kept['torch']}, numpy "
        f"{kept['numpy']}."
    )


def main() -> None:
    """Measure one, keep its figures and write the page's tables."""
    parser = argparse.ArgumentParser(prog="python -m validation.benchmarks", description=__doc__)
    parser.add_argument("name", choices=[*MEASURED, "page"])
    parser.add_argument("--rounds", type=int, default=20)
    chosen = parser.parse_args()
    if chosen.name != "page":
        figures = MEASURED[chosen.name](chosen.rounds)
        path = HERE / f"{chosen.name}.json"
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        print(path.read_text(encoding="utf-8"), end="")
    page = HERE / "README.md"
    text = with_blocks(page.read_text(encoding="utf-8"), {"figures": page_tables()}, page)
    page.write_text(text, encoding="utf-8")


for _name in ONE_THREAD:
    os.environ.setdefault(_name, "1")
if __name__ == "__main__":
    sys.path.insert(0, str(TIMED))
    main()
