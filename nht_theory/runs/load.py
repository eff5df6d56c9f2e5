"""Read a path into a study: its runs, what was merged, what was left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nht_theory.checkpoints.notes import LeftOut
from nht_theory.checkpoints.reading import ScanCallback
from nht_theory.conventions import NormKind
from nht_theory.errors import InputError, UnmatchedOptionError
from nht_theory.runs import column_names, columns, from_checkpoints, settings
from nht_theory.runs.in_order import map_in_order, processes
from nht_theory.runs.notes import Note, RunNoteKind, notes_on
from nht_theory.runs.options import DEFAULT_OPTIONS, ReadOptions
from nht_theory.runs.plan import plan_reading
from nht_theory.runs.read_plan import PlannedFile, Reader, ReadPlan
from nht_theory.runs.readers import (
    delimited,
    json_lines,
    json_study,
    parquet,
    run_directory,
    settings_file,
    tensorboard,
    tidy,
    trainer_state,
)
from nht_theory.runs.readers.text import read_json
from nht_theory.runs.reading_progress import LogReport, SeriesMeter, counted
from nht_theory.runs.record import ReadRun, Record, to_run
from nht_theory.runs.replicates import merge_repeats
from nht_theory.runs.study import Study

if TYPE_CHECKING:
    from nht_theory.checkpoints import CheckpointSeries


def load_study(
    path: Path | str,
    options: ReadOptions = DEFAULT_OPTIONS,
    *,
    of_logs: LogReport | None = None,
    of_checkpoints: ScanCallback | None = None,
) -> Study:
    """Read every run below a path.

    Args:
        path: a run directory, a log, a JSON study, checkpoints, or a directory of any depth of
            these. Checkpoints in the directory of a log are joined to it.
        options: column map, pattern of file names, settings the logs do not state.
        of_logs: called with how many logs are read, and how many there are.
        of_checkpoints: called as checkpoints are read, with bytes per second and time left.

    Returns:
        the study. A file that cannot be read is left out and named, and changes nothing else.

    Raises:
        InputError: there is nothing to read (with what was found instead), the only file there is
            is broken, or the column map names what does not exist.
        UnmatchedOptionError: the column map or the pattern fits no log.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     log = Path(directory) / "wd1_seed0.csv"
        ...     _ = log.write_text("step,val_acc,weight_norm\\n0,0.1,3\\n10,1.0,2\\n")
        ...     study = load_study(directory, ReadOptions(pattern="wd{weight_decay}_seed{seed}"))
        >>> run = study.runs[0]
        >>> run.name, run.squared_norm, run.hyperparameters.weight_decay
        ('wd1_seed0', array([9., 4.]), 1.0)
    """
    column_names.check_map(options.column_map, settings.HYPERPARAMETER_NAMES)
    found = plan_reading(path, options)
    read, failures = _read_all(found, options, of_logs, of_checkpoints)
    if not read:
        raise _nothing(found, failures)
    if options.must_match:
        seen = (name for item in read for name in item.names)
        column_names.check_map_was_used(options.column_map, seen)
        _check_pattern(read, options)
    records = tuple(item.run for item in read)
    left_out = [*found.left_out, *failures, *(part for item in read for part in item.left_out)]
    with_trajectory = [record for record in records if len(record)]
    runs, merges = (
        merge_repeats(with_trajectory) if options.merge_repeats else (tuple(with_trajectory), ())
    )
    return Study(
        source=found.source,
        records=records,
        runs=runs,
        merges=merges,
        left_out=tuple(dict.fromkeys(left_out)),  # logs and checkpoints may both name a link
        notes=tuple(_notes(read)),
    )


@dataclass(frozen=True)
class _FileContent:
    """What one planned file gave."""

    read: tuple[ReadRun, ...]
    failures: tuple[LeftOut, ...]


def _read_all(
    found: ReadPlan,
    options: ReadOptions,
    of_logs: LogReport | None,
    of_checkpoints: ScanCallback | None,
) -> tuple[list[ReadRun], list[LeftOut]]:
    read: list[ReadRun] = []
    failures: list[LeftOut] = []
    logs_of: dict[Path | str, list[int]] = defaultdict(list)
    series_in = Counter(file.path for file in found.files if file.series is not None)
    contents = _contents(found, options, of_logs, of_checkpoints)
    for planned, content in zip(found.files, contents, strict=True):
        failures.extend(content.failures)
        if planned.series is None:
            if len(content.read) == 1:
                logs_of[_home(planned)].append(len(read))
                logs_of[planned.name].append(len(read))
            read.extend(content.read)
            continue
        log = logs_of[planned.name] or (
            logs_of[planned.path] if series_in[planned.path] == 1 else []
        )
        for item in content.read:
            if len(log) == 1 and (timed := _in_steps(item, planned.series, read[log[0]])):
                read[log[0]] = _joined(read[log[0]], timed)
            else:
                read.append(item)
    return _distinct_names(read), failures


def _contents(
    found: ReadPlan,
    options: ReadOptions,
    of_logs: LogReport | None,
    of_checkpoints: ScanCallback | None,
) -> Iterator[_FileContent]:
    """What each planned file gives, in order: the logs come first in a plan."""
    logs = [file for file in found.files if file.series is None]
    series = [file for file in found.files if file.series is not None]
    reading = partial(_read_file, source=found.source, options=options)
    yield from counted(map_in_order(reading, logs, options.workers), len(logs), of_logs)
    meter = SeriesMeter(series, of_checkpoints)
    if of_checkpoints is not None and processes(len(series), options.workers) < 2:
        reading = partial(reading, progress=meter.within)  # other processes could not call it
    for content in map_in_order(reading, series, options.workers):
        meter.finished()
        yield content


def _distinct_names(read: list[ReadRun]) -> list[ReadRun]:
    """A name that two sources give (a log, and checkpoints that are not its own) is numbered."""
    names: set[str] = set()
    distinct = []
    for item in read:
        name, number = item.run.name, 2
        while name in names:
            name, number = f"{item.run.name} ({number})", number + 1
        names.add(name)
        distinct.append(replace(item, run=replace(item.run, name=name)) if number > 2 else item)
    return distinct


def _in_steps(weights: ReadRun, series: CheckpointSeries, log: ReadRun) -> ReadRun | None:
    """Checkpoints whose steps are known, if need be from the epochs in the log beside them."""
    if series.unit == columns.STEP:
        return weights
    if series.unit != column_names.EPOCH:
        return None
    placed = from_checkpoints.in_steps(weights.run, log.last_steps)
    if placed is None:
        return None
    run, left_out = placed
    return replace(weights, run=run, left_out=(*weights.left_out, *left_out))


def _joined(log: ReadRun, weights: ReadRun) -> ReadRun:
    return replace(
        log,
        run=from_checkpoints.join(log.run, weights.run),
        left_out=tuple(dict.fromkeys([*log.left_out, *weights.left_out])),
    )


def _home(planned: PlannedFile) -> Path:
    return planned.path if planned.path.is_dir() else planned.path.parent


def _read_file(
    planned: PlannedFile, source: Path, options: ReadOptions, progress: ScanCallback | None = None
) -> _FileContent:
    failures: list[LeftOut] = []
    read: list[ReadRun] = []
    try:
        records, refused = _records(planned, options, progress)
    except InputError as error:
        return _FileContent((), (LeftOut(planned.file, _reason(error, planned)),))
    failures.extend(LeftOut(f"{planned.file}: {label}", reason) for label, reason in refused)
    for record in records:
        try:
            read.append(to_run(_with_full_paths(record, planned, source), options))
        except InputError as error:
            label = planned.file if len(records) == 1 else f"{planned.file}: {record.name}"
            failures.append(LeftOut(label, _reason(error, planned)))
    return _FileContent(tuple(read), tuple(failures))


def _with_full_paths(record: Record, planned: PlannedFile, source: Path) -> Record:
    """The record, the files it left out named by their paths within the study."""
    home = _home(planned)
    if not record.left_out or home == source or not home.is_relative_to(source):
        return record
    folder = home.relative_to(source).as_posix()
    named = tuple(LeftOut(f"{folder}/{item.file}", item.reason) for item in record.left_out)
    return replace(record, left_out=named)


def _records(
    planned: PlannedFile, options: ReadOptions, progress: ScanCallback | None
) -> tuple[list[Record], list[tuple[str, str]]]:
    """The records of one planned file, and (record, reason) for those that cannot be used."""
    if planned.reader is Reader.RUN_DIRECTORY:
        return [run_directory.read(planned.path, planned.name)], []
    if planned.reader is Reader.JSON_STUDY:
        return json_study.read(planned.path, planned.name, read_json(planned.path))
    beside, broken = settings_file.read_all(planned.beside)
    if planned.reader is Reader.TRAINER_STATE:
        record = trainer_state.read(planned.parts, planned.name)
        return [_with_settings(record, beside, broken)], []
    if planned.series is not None:
        record = from_checkpoints.read(planned.series, beside, options, progress)
        return [replace(record, left_out=(*record.left_out, *broken))], []
    if planned.reader is Reader.TENSORBOARD:
        record = tensorboard.read(planned.parts, planned.name, beside)
    else:
        record = _TABLE_READERS[planned.reader](planned.path, planned.name, beside)
    notes = notes_on(broken)
    runs = tidy.split_runs(replace(record, notes=(*record.notes, *notes)), options)
    runs[0] = replace(runs[0], left_out=(*runs[0].left_out, *broken))
    return [runs[0], *(replace(run, left_out=()) for run in runs[1:])], []


def _with_settings(
    record: Record, beside: Mapping[str, object], broken: tuple[LeftOut, ...]
) -> Record:
    """The record, what it does not say itself taken from the files beside it."""
    return replace(
        record,
        settings={**beside, **record.settings},
        left_out=(*record.left_out, *broken),
    )


_TABLE_READERS = {
    Reader.JSON_LINES: json_lines.read,
    Reader.TABLE: delimited.read,
    Reader.PARQUET: parquet.read,
}


def _reason(error: InputError, planned: PlannedFile) -> str:
    """The problem, without the path that the left-out entry names anyway."""
    inside = error.source is not None and not error.source.startswith(str(planned.path))
    return f"{error.source}: {error.problem}" if inside else error.problem


def _nothing(found: ReadPlan, failures: list[LeftOut]) -> InputError:
    """The one line for a path without a single run."""
    if failures:
        first = failures[0]
        more = f" (and {len(failures) - 1} more files)" if len(failures) > 1 else ""
        return InputError(
            f"no run could be read: {first.file}: {first.reason}{more}",
            source=found.source,
            remedy="mend the file, or name its columns with --map ours=theirs",
        )
    kinds = Counter(Path(item.file).suffix or Path(item.file).name for item in found.left_out)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(4))
    if found.source.is_file() and found.left_out:
        return InputError(found.left_out[0].reason, source=found.source, remedy=_FORMATS)
    holds = f"no log among what it holds ({listed})" if kinds else "empty directory"
    return InputError(holds, source=found.source, remedy=_FORMATS)


_FORMATS = "give a run directory, a log (CSV, JSONL ...), checkpoints, or a directory of these"


def _check_pattern(read: Iterable[ReadRun], options: ReadOptions) -> None:
    names = [item.run.name for item in read if not item.matches_pattern]
    if options.pattern is not None and len(names) == len(list(read)):
        raise UnmatchedOptionError(
            f"no run's name matches {options.pattern!r}",
            source="--pattern",
            remedy=f"the first is {names[0]!r}",
        )


def _notes(read: Iterable[ReadRun]) -> Iterable[Note]:
    """The column mapping, once for all runs that share it."""
    mapping: Counter[tuple[RunNoteKind, str, str]] = Counter()
    unused: Counter[str] = Counter()
    for item in read:
        unused.update(item.unused)
        for ours, source in item.sources.items():
            if source.norm is NormKind.PLAIN:
                mapping[RunNoteKind.COLUMN_SQUARED, ours, source.name] += 1
            elif ours != source.name:
                mapping[RunNoteKind.COLUMN_READ_AS, ours, source.name] += 1
    for (kind, ours, theirs), count in mapping.items():
        plural = "s" if count > 1 else ""
        yield Note(kind, ours=ours, theirs=theirs, count=count, plural=plural)
    if unused:
        yield Note(RunNoteKind.COLUMNS_UNUSED, names=", ".join(unused))
