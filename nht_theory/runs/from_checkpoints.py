"""Runs from checkpoints: on their own, or joined to the log of the same training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nht_theory import checkpoints
from nht_theory.checkpoints.notes import LeftOut, NoteKind
from nht_theory.checkpoints.reading import ScanCallback
from nht_theory.runs import column_names, columns
from nht_theory.runs.notes import Note, RunNoteKind
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.record import Record
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.settings import fill, split

if TYPE_CHECKING:
    from nht_theory.checkpoints import CheckpointSeries, NormTrajectory

_OF_THE_OWN_CLOCK = {
    NoteKind.ORDERED_BY_EPOCH,
    RunNoteKind.CHECKPOINT_CLOCK,
    RunNoteKind.EPOCH_CLOCK,
}
"""Notes that hold only while checkpoints stand on a clock of their own."""
SAME_NORM = 1e-3
"""Relative difference up to which a logged norm and that of the checkpoints are the same."""


def read(
    series: CheckpointSeries,
    settings: Mapping[str, object],
    options: ReadOptions,
    progress: ScanCallback | None = None,
) -> Record:
    """The squared norms of a series of checkpoints, as a record.

    Args:
        series: the checkpoints of one run.
        settings: from a file beside them.
        options: which weights, and how exactly they are summed.
        progress: called as reading goes on.

    Raises:
        InputError: not one of the checkpoints can be read.
    """
    found = checkpoints.norm_trajectory(
        series, exact=options.exact, weights=options.weights, progress=progress
    )
    notes: list[Note] = list(found.notes)
    clock = columns.STEP
    if found.unit != columns.STEP:
        clock = column_names.EPOCH
        notes.append(Note(RunNoteKind.CHECKPOINT_CLOCK, unit=found.unit))
    cells: dict[str, list[object]] = {
        clock: found.steps.tolist(),
        columns.SQUARED_NORM: found.squared_norm.tolist(),
    }
    for group, norms in found.group_squared_norms.items():
        cells[columns.of_group(columns.SQUARED_NORM, group)] = norms.tolist()
    if np.isfinite(found.learning_rates).any():
        cells[columns.LEARNING_RATE] = [
            rate if np.isfinite(rate) else None for rate in found.learning_rates.tolist()
        ]
    chosen, results = split(settings)
    return Record(
        name=found.name,
        source=found.directory,
        cells=cells,
        settings=chosen,
        results=results,
        known=_hyperparameters(found),
        groups=found.groups,
        notes=tuple(notes),
        left_out=found.left_out,
    )


def _hyperparameters(found: NormTrajectory) -> Hyperparameters:
    """What the checkpoints state: their size, and the settings in the optimiser's state."""
    count = found.parameter_count or None
    if found.optimizer is None:
        return Hyperparameters(parameter_count=count)
    optimizer = found.optimizer
    peak = optimizer.initial_learning_rate or optimizer.learning_rate
    rates = found.learning_rates[np.isfinite(found.learning_rates)]
    if optimizer.initial_learning_rate is None and rates.size:
        peak = float(rates.max())
    return Hyperparameters(
        optimizer=optimizer.optimizer,
        learning_rate=peak,
        weight_decay=optimizer.weight_decay,
        decay_form=optimizer.decay_form,
        beta_1=optimizer.beta_1,
        beta_2=optimizer.beta_2,
        momentum=optimizer.momentum,
        parameter_count=count,
    )


def join(log: Run, weights: Run) -> Run:
    """One run of a log and of the checkpoints of the same training.

    The log's own columns stay as they are; the checkpoints add the norms that it does not have,
    and their steps. A logged norm is continued by that of the checkpoints only where the two are
    seen to be the same at a common step.

    Example:
        >>> from pathlib import Path
        >>> log = Run("a", Path("a.csv"), np.array([0, 5]), {"train_accuracy": np.array([0.1, 1])})
        >>> saved = Run("a", Path("a"), np.array([5, 9]), {"squared_norm": np.array([4.0, 3.0])})
        >>> joined = join(log, saved)
        >>> joined.steps, joined.squared_norm
        (array([0, 5, 9]), array([nan,  4.,  3.]))
    """
    steps = np.union1d(log.steps, weights.steps)
    added = {name: series for name, series in weights.values.items() if name not in log.values}
    values = {
        **{name: _on(steps, log.steps, series) for name, series in log.values.items()},
        **{name: _on(steps, weights.steps, series) for name, series in added.items()},
    }
    joined = Note(RunNoteKind.JOINED, count=len(weights))
    notes = [*log.notes, *weights.notes, joined]
    difference = _norm_difference(log, weights)
    if difference is not None and difference <= SAME_NORM:
        saved = _on(steps, weights.steps, weights.squared_norm)
        logged = values[columns.SQUARED_NORM]
        values[columns.SQUARED_NORM] = np.where(np.isnan(logged), saved, logged)
    elif difference is not None:
        notes.append(Note(RunNoteKind.OTHER_NORM, difference=difference))
    return replace(
        log,
        steps=steps,
        values=values,
        hyperparameters=fill(log.hyperparameters, weights.hyperparameters),
        groups=log.groups or weights.groups,
        notes=tuple(notes),
    )


def in_steps(weights: Run, last_steps: Mapping[int, int]) -> tuple[Run, tuple[LeftOut, ...]] | None:
    """A run of checkpoints known by their epochs, on the steps of the log of the same training.

    Args:
        weights: its clock is the epoch.
        last_steps: epoch -> the last step that the log has of it.

    Returns:
        the run, and the epochs that the log does not have; None where it has none of them, or
        its steps do not rise with the epochs.

    Example:
        >>> from pathlib import Path
        >>> norms = {"squared_norm": np.array([4.0, 3.0, 2.0])}
        >>> saved = Run("a", Path("a"), np.array([0, 1, 7]), norms)
        >>> placed, left_out = in_steps(saved, {0: 99, 1: 199})
        >>> placed.steps, placed.squared_norm, left_out[0].file
        (array([ 99, 199]), array([4., 3.]), 'a: epoch 7')
    """
    known = np.array([int(epoch) in last_steps for epoch in weights.steps], dtype=bool)
    steps = np.array([last_steps[int(epoch)] for epoch in weights.steps[known]], dtype=np.int64)
    if not known.any() or not bool(np.all(np.diff(steps) > 0)):
        return None
    left_out = tuple(
        LeftOut(f"{weights.name}: epoch {epoch}", "the log has no step of that epoch")
        for epoch in weights.steps[~known]
    )
    # What reading them noted of their clock holds no longer.
    values = {name: series[known] for name, series in weights.values.items()}
    notes = [
        placed
        for note in weights.notes
        if note.kind not in _OF_THE_OWN_CLOCK
        and (placed := _on_the_clock_of_the_log(note, steps, values)) is not None
    ]
    notes.append(Note(RunNoteKind.PLACED_BY_EPOCH))
    return replace(weights, steps=steps, values=values, notes=tuple(notes)), left_out


def _on_the_clock_of_the_log(
    note: Note, steps: NDArray[np.int64], values: Mapping[str, NDArray[np.float64]]
) -> Note | None:
    """A note, its step counted as the log does; None where it is on none of the steps kept."""
    if note.kind is not RunNoteKind.NOT_FINITE:
        return note
    column = str(note.values["column"])
    bad = steps[~np.isfinite(values[column])]
    if not bad.size:
        return None
    return Note(note.kind, column=column, count=int(bad.size), step=int(bad[0]))


def _on(
    grid: NDArray[np.int64], steps: NDArray[np.int64], series: NDArray[np.float64]
) -> NDArray[np.float64]:
    placed = np.full(grid.shape, np.nan)
    placed[np.searchsorted(grid, steps)] = series
    return placed


def _norm_difference(log: Run, weights: Run) -> float | None:
    """Largest relative difference of V at common steps; None when there is none to compare."""
    if not (log.has(columns.SQUARED_NORM) and weights.has(columns.SQUARED_NORM)):
        return None
    _, mine, theirs = np.intersect1d(log.steps, weights.steps, return_indices=True)
    logged, saved = log.squared_norm[mine], weights.squared_norm[theirs]
    known = np.isfinite(logged) & np.isfinite(saved) & (saved > 0)
    if not known.any():
        return None
    return float(np.max(np.abs(logged[known] / saved[known] - 1)))
