"""What a reader hands over, and how it becomes a :class:`Run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs import column_names, events, settings
from nht_theory.runs.file_names import contradictions, settings_of_name
from nht_theory.runs.notes import Note, RunNoteKind
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.run import Hyperparameters, ParameterGroup, Run
from nht_theory.runs.trajectory import Cells, last_steps_of_epochs, trajectory


@dataclass(frozen=True)
class Record:
    """One run as its file tells it, in the words of the file.

    Attributes:
        name: unique within its file; the study makes it unique within itself.
        source: the file, or the run directory.
        cells: column of the log -> cells, one a row; empty when the source stored only events.
        settings: what was chosen before training, by the source's names.
        results: what was stored afterwards; it may repeat settings among the results.
        known: hyperparameters that the source states in our terms; they go first.
        groups: parameter groups, where the source knows them.
        settled: False while the run is still training.
        notes: what the reader noticed.
        left_out: parts of the file not used.
    """

    name: str
    source: Path
    cells: Mapping[str, Cells] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    results: Mapping[str, object] = field(default_factory=dict)
    known: Hyperparameters | None = None
    groups: tuple[ParameterGroup, ...] = ()
    settled: bool = True
    notes: tuple[Note, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class ReadRun:
    """A run, with how its columns were understood.

    Attributes:
        run: the run.
        sources: canonical column -> the column it comes from.
        unused: columns of the log without a meaning here.
        names: every column and setting that the source names.
        matches_pattern: whether the run's name told settings; True without a pattern.
        left_out: parts of the file not used.
        last_steps: epoch -> the last step logged in it, where the log counts both.
    """

    run: Run
    sources: Mapping[str, column_names.ColumnSource] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    matches_pattern: bool = True
    left_out: tuple[LeftOut, ...] = ()
    last_steps: Mapping[int, int] = field(default_factory=dict)


def to_run(record: Record, options: ReadOptions) -> ReadRun:
    """Give a record's columns, settings and events our names.

    Raises:
        InputError: a setting or a cell is malformed, or the log has no step; with the file's name.
    """
    try:
        return _to_run(record, options)
    except InputError as error:
        source = record.source if error.source is None else f"{record.source} ({error.source})"
        raise InputError(error.problem, source=source, remedy=error.remedy) from None


def _to_run(record: Record, options: ReadOptions) -> ReadRun:
    notes = list(record.notes)
    told = None if options.pattern is None else settings_of_name(record.name, options.pattern)
    if told is None and options.pattern is not None:
        notes.append(Note(RunNoteKind.NAME_UNMATCHED, pattern=options.pattern))
    chosen = _hyperparameters(record, options, told or {}, notes)
    recorded, event_notes = events.recorded_events(record.results, chosen.total_steps)
    notes.extend(event_notes)
    resolution = column_names.resolve(record.cells, options.column_map)
    steps = np.array([], dtype=np.int64)
    values: Mapping[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    if record.cells:
        found = trajectory(record.cells, resolution)
        steps, values = found.steps, found.values
        notes.extend(found.notes)
    if steps.size == 0 and recorded is None:
        raise InputError("no evaluation and no event")
    run = Run(
        name=record.name,
        source=record.source,
        steps=steps,
        values=values,
        hyperparameters=chosen,
        recorded=recorded,
        groups=record.groups,
        notes=tuple(notes),
        settled=record.settled,
    )
    return ReadRun(
        run=run,
        sources=resolution.sources,
        unused=resolution.unused,
        names=(*record.cells, *record.settings, *record.results),
        matches_pattern=options.pattern is None or told is not None,
        left_out=record.left_out,
        last_steps=last_steps_of_epochs(record.cells, resolution),
    )


def _hyperparameters(
    record: Record, options: ReadOptions, told: Mapping[str, object], notes: list[Note]
) -> Hyperparameters:
    """What the source states, then what its name tells, then what the user gives."""
    chosen = settings.fill(
        settings.hyperparameters(_mapped(record.settings, options)),
        settings.hyperparameters(_mapped(record.results, options), mixed=True),
    )
    if record.known is not None:
        chosen = settings.fill(record.known, chosen)
    if told:
        named = settings.hyperparameters(told)
        notes.extend(contradictions(chosen, named))
        chosen = settings.fill(chosen, named)
    if options.hyperparameters:
        chosen = settings.fill(chosen, settings.hyperparameters(options.hyperparameters))
    for value in chosen.extra.values():
        if isinstance(value, settings.AsStored):
            notes.append(Note(RunNoteKind.NOT_UNDERSTOOD, name=value.setting, value=str(value)))
    notes.extend(settings.ambiguities(chosen))
    return chosen


def _mapped(stored: Mapping[str, object], options: ReadOptions) -> dict[str, object]:
    """The stored values, with those that the user maps to a hyperparameter renamed."""
    theirs_to_ours = {
        theirs: ours
        for ours, theirs in options.column_map.items()
        if ours in settings.HYPERPARAMETER_NAMES and theirs in stored
    }
    kept = {key: value for key, value in stored.items() if key not in theirs_to_ours.values()}
    return {theirs_to_ours.get(key, key): value for key, value in kept.items()}
