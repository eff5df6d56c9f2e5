"""From the raw columns of a log to evaluations in strictly increasing order of step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nht_theory.conventions import NormKind
from nht_theory.errors import InputError
from nht_theory.runs import column_names, columns
from nht_theory.runs.notes import Note, RunNoteKind

Cells = Sequence[object]
ACCURACIES = (
    columns.TRAIN_ACCURACY,
    columns.HELDOUT_ACCURACY,
    columns.SHORTCUT_ACCURACY,
    columns.CONFLICT_ACCURACY,
    columns.WORST_GROUP_ACCURACY,
)
PERCENT_ABOVE = 1.0 + 1e-6
"""An accuracy above this is in per cent (floating-point means of ones exceed 1 by round-off)."""


@dataclass(frozen=True)
class Trajectory:
    """Steps, strictly increasing, with their values, and what was changed on the way."""

    steps: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
    notes: tuple[Note, ...]


def trajectory(cells: Mapping[str, Cells], resolution: column_names.Resolution) -> Trajectory:
    """Order, unite and scale the columns of one log.

    Cells are numbers, text that spells one, or None where nothing was logged. A norm that is not
    squared is squared; accuracies in per cent are divided by 100; rows of the same step are united;
    where a column holds a step twice, the later record wins, and where it goes back to an earlier
    step (a resumed run), what it had recorded beyond that step is superseded.

    Raises:
        InputError: no clock among the columns, or a cell that is no number (column and row named).

    Example:
        >>> log = {"step": [0, 10, 20, 10, 20], "V": [9.0, 8.0, 7.0, 8.5, 8.0]}
        >>> found = trajectory(log, column_names.resolve(log, {}))
        >>> found.steps, found.values["squared_norm"]
        (array([ 0, 10, 20]), array([9. , 8.5, 8. ]))
        >>> found.notes
        ('2 evaluations logged again after a restart (steps 10 to 20): the later record is kept',)
    """
    clock, notes = _clock(cells, resolution)
    values: dict[str, NDArray[np.float64]] = {}
    for ours, source in resolution.sources.items():
        if ours in (columns.STEP, column_names.EPOCH):
            continue
        values[ours] = _floats(cells[source.name], source.name)
        _note_not_finite(ours, values[ours], cells[source.name], clock, notes)
    timed = np.isfinite(clock)
    if not timed.all():
        notes.append(Note(RunNoteKind.WITHOUT_STEP, count=int((~timed).sum())))
        clock = clock[timed]
        values = {name: series[timed] for name, series in values.items()}
    steps = clock.astype(np.int64)
    if not bool(np.all(steps[1:] > steps[:-1])):
        steps, values = _united(steps, values, notes)
    _squared(values, resolution)
    _fractions(values, notes)
    _worst_group(values, notes)
    return Trajectory(steps, values, tuple(notes))


def last_steps_of_epochs(
    cells: Mapping[str, Cells], resolution: column_names.Resolution
) -> dict[int, int]:
    """Epoch -> the last step logged in it; empty where the log does not count both.

    Example:
        >>> log = {"step": [10, 20, 30], "epoch": [0, 0, 1], "V": [3, 2, 1]}
        >>> last_steps_of_epochs(log, column_names.resolve(log, {}))
        {0: 20, 1: 30}
    """
    step = resolution.sources.get(columns.STEP)
    epoch = resolution.sources.get(column_names.EPOCH)
    if step is None or epoch is None:
        return {}
    last: dict[int, int] = {}
    try:
        pairs = zip(
            _floats(cells[epoch.name], epoch.name),
            _floats(cells[step.name], step.name),
            strict=True,
        )
        for number, at in pairs:
            if np.isfinite(at) and number == np.floor(number):
                last[int(number)] = max(int(at), last.get(int(number), 0))
    except (InputError, OverflowError):  # an epoch that is no number places no checkpoint
        return {}
    return last


def _clock(
    cells: Mapping[str, Cells], resolution: column_names.Resolution
) -> tuple[NDArray[np.float64], list[Note]]:
    source = resolution.sources.get(columns.STEP)
    notes = []
    if source is None:
        source = resolution.sources.get(column_names.EPOCH)
        if source is None:
            raise InputError(
                f"no column holds the step (columns: {', '.join(cells)})",
                remedy="name it with --map step=COLUMN",
            )
        notes.append(Note(RunNoteKind.EPOCH_CLOCK, name=source.name))
    clock = _floats(cells[source.name], source.name)
    finite = clock[np.isfinite(clock)]
    whole = finite == np.floor(finite)
    if not whole.all() or bool(np.any(np.abs(finite) > 2**53)):
        wrong = finite[~whole][0] if not whole.all() else finite[np.abs(finite) > 2**53][0]
        raise InputError(f"{source.name} {wrong!s} is not a whole number of steps")
    return clock, notes


def _floats(cells: Cells, name: str) -> NDArray[np.float64]:
    """The cells as float64, NaN where nothing was logged."""
    try:
        numbers = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(0)
    if numbers.shape == (len(cells),):  # a list in each cell would make a table
        return numbers
    return np.array([_float(cell, name, row) for row, cell in enumerate(cells, start=1)])


def _float(cell: object, name: str, row: int) -> float:
    if _blank(cell):
        return float("nan")
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{name} in row {row} is {cell!r}, not a number") from None
    except OverflowError:
        return float("inf")


def _note_not_finite(
    ours: str,
    series: NDArray[np.float64],
    cells: Cells,
    clock: NDArray[np.float64],
    notes: list[Note],
) -> None:
    """Count the cells that were logged as NaN or infinity (a blank cell was not logged)."""
    suspect = np.flatnonzero(~np.isfinite(series))
    bad = [row for row in suspect.tolist() if not _blank(cells[row])]
    if bad:
        notes.append(
            Note(RunNoteKind.NOT_FINITE, column=ours, count=len(bad), step=float(clock[bad[0]]))
        )


def _blank(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _united(
    steps: NDArray[np.int64], values: Mapping[str, NDArray[np.float64]], notes: list[Note]
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """One row per step, in order."""
    grid = np.unique(steps)
    united = {}
    superseded: set[int] = set()
    repeated: set[int] = set()
    for name, series in values.items():
        kept = np.isfinite(series) | np.isinf(series)
        kept, again, twice = _latest(steps, kept)
        superseded |= again
        repeated |= twice
        united[name] = np.full(grid.shape, np.nan)
        united[name][np.searchsorted(grid, steps[kept])] = series[kept]
    if superseded:
        notes.append(
            Note(
                RunNoteKind.RESTARTED,
                count=len(superseded),
                first=min(superseded),
                last=max(superseded),
            )
        )
    elif repeated:
        notes.append(Note(RunNoteKind.LOGGED_TWICE, count=len(repeated), first=min(repeated)))
    elif bool(np.any(np.diff(steps) < 0)) and not _interleaved(steps, values):
        notes.append(Note(RunNoteKind.OUT_OF_ORDER))
    logged = np.zeros(grid.shape, dtype=bool)
    for series in united.values():
        logged |= ~np.isnan(series)
    return grid[logged], {name: series[logged] for name, series in united.items()}


def _latest(
    steps: NDArray[np.int64], logged: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], set[int], set[int]]:
    """Which rows of a column hold its valid record of a step.

    A segment that begins earlier than the column had come, and logs at least one step again, is a
    restart: everything at or beyond its beginning is superseded. Without a repeated step the rows
    are only out of order. Returns the rows kept, the steps superseded and the steps repeated.
    """
    rows = np.flatnonzero(logged)
    own = steps[rows]
    starts = [0, *(np.flatnonzero(np.diff(own) < 0) + 1), len(own)]
    valid = np.zeros(len(own), dtype=bool)
    superseded: set[int] = set()
    repeated: set[int] = set()
    for begin, end in pairwise(starts):
        segment = np.arange(begin, end)
        earlier = np.flatnonzero(valid)
        again = np.isin(own[earlier], own[segment])
        if begin and again.any():
            lost = earlier[own[earlier] >= own[begin]]
            superseded |= set(own[lost].tolist())
            valid[lost] = False
        last_of_step = np.append(own[segment][1:] != own[segment][:-1], True)[: len(segment)]
        repeated |= set(own[segment[~last_of_step]].tolist())
        valid[segment[last_of_step]] = True
    kept = np.zeros_like(logged)
    kept[rows[valid]] = True
    return kept, superseded, repeated


def _interleaved(steps: NDArray[np.int64], values: Mapping[str, NDArray[np.float64]]) -> bool:
    """Whether each column is in order by itself, as when training and evaluation write apart."""
    return all(bool(np.all(np.diff(steps[~np.isnan(series)]) > 0)) for series in values.values())


def _squared(values: dict[str, NDArray[np.float64]], resolution: column_names.Resolution) -> None:
    for ours, source in resolution.sources.items():
        if source.norm is NormKind.PLAIN:
            with np.errstate(over="ignore"):
                values[ours] = values[ours] ** 2


def _worst_group(values: dict[str, NDArray[np.float64]], notes: list[Note]) -> None:
    """The lowest of the group accuracies, where a log has these and not it."""
    groups = columns.groups_of(columns.GROUP_ACCURACY, values)
    if len(groups) < 2 or columns.WORST_GROUP_ACCURACY in values:
        return
    each = [values[columns.of_group(columns.GROUP_ACCURACY, group)] for group in groups]
    values[columns.WORST_GROUP_ACCURACY] = np.min(each, axis=0)
    notes.append(Note(RunNoteKind.WORST_OF_GROUPS, count=len(groups)))


def _fractions(values: dict[str, NDArray[np.float64]], notes: list[Note]) -> None:
    """Scale accuracies to [0, 1]; per cent is decided for the whole log at once."""
    names = [
        name for name in values if name in ACCURACIES or name.startswith(columns.GROUP_ACCURACY)
    ]
    highest = max(
        (float(np.nanmax(s)) for n in names if not np.isnan(s := values[n]).all()), default=0
    )
    if highest <= PERCENT_ABOVE:
        return
    if highest > 100 * PERCENT_ABOVE:
        raise InputError(f"an accuracy is {highest:g}", remedy="map the right column with --map")
    for name in names:
        values[name] = values[name] / 100
    notes.append(Note(RunNoteKind.PER_CENT, highest=highest))
