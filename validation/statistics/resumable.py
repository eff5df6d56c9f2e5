"""Judge many simulated studies, each written down once judged, so that a later call goes on."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

DelayForecast = Mapping[str, str]
"""Claim -> verdict."""


def outcomes(
    truths: Sequence[str],
    judged: Callable[[str, int], DelayForecast],
    simulations: int,
    keep: Path | None = None,
    minutes: float = math.inf,
) -> dict[str, list[DelayForecast]]:
    """Truth -> what was said of each of its studies, every truth with as many.

    Args:
        truths: names.
        judged: (truth, number of the simulation) -> the verdicts on its study.
        simulations: studies a truth.
        keep: where each study is written down once judged, and read again by a later call.
        minutes: of wall time after which no further study is begun.
    """
    done = _kept(keep)
    deadline = time.monotonic() + 60 * minutes
    for simulation, truth in product(range(simulations), truths):
        if (truth, simulation) in done:
            continue
        if time.monotonic() > deadline:
            break
        done[truth, simulation] = judged(truth, simulation)
        if keep is not None:
            line = {"truth": truth, "simulation": simulation, "said": done[truth, simulation]}
            with keep.open("a") as file:
                file.write("\n" + json.dumps(line))
    complete = min(
        next((n for n in range(simulations) if (truth, n) not in done), simulations)
        for truth in truths
    )
    return {truth: [done[truth, n] for n in range(complete)] for truth in truths}


def _kept(keep: Path | None) -> dict[tuple[str, int], DelayForecast]:
    """What was written down; a line that was cut is left out."""
    if keep is None or not keep.exists():
        return {}
    lines = [json.loads(line) for line in keep.read_text().splitlines() if line.endswith("}}")]
    return {(line["truth"], line["simulation"]): line["said"] for line in lines}


def run_script(
    description: str | None,
    truths: Sequence[str],
    judged: Callable[[str, int], DelayForecast],
    table: Callable[[Mapping[str, Sequence[DelayForecast]]], object],
) -> None:
    """Judge as many studies as the command line asks for, and print their table as JSON."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("simulations", type=int, nargs="?", default=60)
    options.add_argument("--keep", type=Path, help="JSON lines to write to and to go on from")
    options.add_argument("--minutes", type=float, default=math.inf)
    chosen = options.parse_args()
    said = outcomes(truths, judged, chosen.simulations, chosen.keep, chosen.minutes)
    print(json.dumps(table(said), indent=1))
