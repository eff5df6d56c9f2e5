"""runs.csv: one line for each distinct run, with what was measured of it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from nht_theory.claims import selection
from nht_theory.claims.validate import ESTIMATED
from nht_theory.errors import InputError
from nht_theory.estimators.results import Estimate, RunEstimate, StudyEstimates
from nht_theory.runs import columns
from nht_theory.runs.run import Run
from nht_theory.runs.run_format import read_status

FINAL = (
    columns.TRAIN_ACCURACY,
    columns.HELDOUT_ACCURACY,
    columns.TRAIN_CONFLICT_ACCURACY,
    columns.COLOURED_ACCURACY,
    columns.SHORTCUT_ACCURACY,
    columns.CONFLICT_ACCURACY,
    columns.CONFLICT_SHORTCUT_RATE,
    columns.WORST_GROUP_ACCURACY,
)
"""Columns whose last value is kept, where a study logs them."""
TERMS = (columns.DECAY, columns.ALIGNMENT, columns.DIFFUSION)
"""Terms of the one-step identity, averaged over the evaluations since memorisation."""
Row = dict[str, object]


def run_rows(estimates: StudyEstimates) -> list[Row]:
    """A line for each run, in the order of the study; columns that no run fills are left out."""
    settings = selection.varying_settings(estimates)
    rows = [_row(run, own, settings) for run, own in estimates.pairs()]
    kept = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    return [{name: row[name] for name in kept} for row in rows]


def _row(run: Run, own: RunEstimate, settings: tuple[str, ...]) -> Row:
    chosen = dict(run.hyperparameters.configuration())
    row: Row = {"run": run.name}
    row |= {name: chosen.get(name) for name in settings}
    row |= {
        "seed": run.hyperparameters.seed,
        "state": _state(run),
        "last_step": int(run.steps[-1]),
        "memorization_step": own.memorization_step,
        "generalization_step": own.generalization_step,
        "delay": own.delay,
        "censored": own.censored,
        "regime": own.regime.value,
    }
    for name in ESTIMATED:
        value = getattr(own, name)
        row[name] = value.value if isinstance(value, Estimate) else None
    row |= {f"final_{name}": selection.last_value(run, name) for name in FINAL}
    return row | {f"mean_{name}": _mean_since(run, name, own.memorization_step) for name in TERMS}


def _state(run: Run) -> str:
    try:
        status = read_status(run.source)
    except InputError:
        return "unknown"
    return "unknown" if status is None else status.state.value


def _mean_since(run: Run, column: str, step: int | None) -> float | None:
    if not run.has(column):
        return None
    series = run.column(column)[run.steps >= (step or 0)]
    finite = series[abs(series) < float("inf")]
    return float(finite.mean()) if finite.size else None


def write_rows(rows: list[Row], path: Path) -> None:
    """Six digits: what lies beyond is noise of the machine."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)


def _text(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def filled(rows: list[Mapping[str, str]] | tuple[Mapping[str, str], ...], name: str) -> list[float]:
    """The numbers of a column, where there are any."""
    return [float(row[name]) for row in rows if row.get(name)]
