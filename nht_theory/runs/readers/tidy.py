"""Tidy tables that hold several runs: rows are told apart by a run column or by settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nht_theory.runs import column_names, columns, settings
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.record import Record

RUN_COLUMNS = ("run", "run_id", "run_name", "experiment", "trial")
_SETTINGS = {
    name
    for table in (settings.SYNONYMS, settings.TASK_SETTINGS)
    for ours, names in table.items()
    if ours not in ("total_steps", "parameter_count")
    for name in names
}
_SCHEDULED = {
    *settings.SYNONYMS["learning_rate"],
    *settings.SYNONYMS["weight_decay"],
    *settings.SYNONYMS["momentum"],
}


def split_runs(record: Record, options: ReadOptions) -> list[Record]:
    """The runs of one table, in the order of their first rows.

    A column called ``run`` (or a synonym) tells runs apart. Without one, a table whose steps go
    back is told apart by the columns that name a setting (seed, optimizer, p ...). A learning rate
    or weight decay may follow a schedule: it tells runs apart only if no step then stands twice in
    one. A setting that is constant within a run becomes one of its hyperparameters.

    Example:
        >>> table = {"seed": [0, 0, 1, 1], "step": [0, 9, 0, 9], "acc_val": [0.1, 0.9, 0.2, 1]}
        >>> found = split_runs(Record("sweep", "sweep.csv", cells=table), ReadOptions())
        >>> [(run.name, run.settings, run.cells["acc_val"]) for run in found]
        [('sweep[seed=0]', {'seed': 0}, [0.1, 0.9]), ('sweep[seed=1]', {'seed': 1}, [0.2, 1])]
    """
    source = column_names.resolve(record.cells, options.column_map).sources.get(columns.STEP)
    step = source.name if source else None
    taken = {*options.column_map.values(), step}
    chosen = [
        name
        for name, column in record.cells.items()
        if name not in taken and name in {*_SETTINGS, *RUN_COLUMNS} and _plain(column)
    ]
    constant = [name for name in chosen if len(set(record.cells[name])) == 1]
    varying = [name for name in chosen if name not in constant]
    told_by = _tellers(record, varying, step)
    if not constant and not told_by:
        return [record]
    rows_of: dict[tuple[object, ...], list[int]] = {}
    size = len(next(iter(record.cells.values())))
    for row in range(size):
        key = tuple(record.cells[name][row] for name in told_by)
        rows_of.setdefault(key, []).append(row)
    return [
        _run(record, dict(zip(told_by, key, strict=True)), rows) for key, rows in rows_of.items()
    ]


def _run(record: Record, told: dict[str, object], rows: list[int]) -> Record:
    """The rows of one run, its constant settings moved out of the log."""
    cells = {name: [column[row] for row in rows] for name, column in record.cells.items()}
    stated = {
        name: column[0]
        for name, column in cells.items()
        if name in _SETTINGS and _plain(column) and len(set(column)) == 1
    }
    label = ",".join(f"{name}={value}" for name, value in told.items())
    return replace(
        record,
        name=f"{record.name}[{label}]" if label else record.name,
        cells={name: column for name, column in cells.items() if name not in told},
        settings={**stated, **record.settings},
    )


def _tellers(record: Record, varying: list[str], step: str | None) -> list[str]:
    """The columns whose values tell the runs of a table apart."""
    named = [name for name in varying if name in RUN_COLUMNS]
    if named:
        return named
    if step is None or _increases(record.cells[step]):
        return []
    settled = [
        name
        for name in varying
        if name not in _SCHEDULED and 2 * len(set(record.cells[name])) <= len(record.cells[name])
    ]
    scheduled = [name for name in varying if name in _SCHEDULED]
    for more in (scheduled[:1], scheduled[1:2], scheduled):
        if (
            more
            and _repeats(record, [*settled, step])
            and not _repeats(record, [*settled, *more, step])
            and 2 * len(set(_keys(record, [*settled, *more]))) <= len(record.cells[step])
        ):
            return [*settled, *more]
    return settled


def _plain(column: Sequence[object]) -> bool:
    """Whether every row states a plain value: a column with gaps is measured, not chosen."""
    return all(isinstance(cell, str | int | float) and cell != "" for cell in column)


def _increases(column: Sequence[object]) -> bool:
    try:
        steps = np.array(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return True
    return bool(np.all(steps[1:] >= steps[:-1]))


def _keys(record: Record, names: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*(record.cells[name] for name in names), strict=True))


def _repeats(record: Record, names: list[str]) -> bool:
    keys = _keys(record, names)
    return len(set(keys)) < len(keys)
