"""Find what can be read below a path, and say why the rest is left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nht_theory.checkpoints.directory_units import (
    DISTRIBUTED_METADATA,
    INDEX_SUFFIXES,
    SUFFIXES,
    TRAINING_ARGUMENTS,
)
from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs import column_names, columns, run_format
from nht_theory.runs.options import DEFAULT_OPTIONS, ReadOptions
from nht_theory.runs.read_plan import PlannedFile, Reader, ReadPlan
from nht_theory.runs.readers import json_study, tensorboard, trainer_state
from nht_theory.runs.readers.delimited import read_header
from nht_theory.runs.readers.text import read_json
from nht_theory.runs.walk import Folder, natural, walk

_BY_SUFFIX = {
    ".jsonl": Reader.JSON_LINES,
    ".ndjson": Reader.JSON_LINES,
    ".csv": Reader.TABLE,
    ".tsv": Reader.TABLE,
    ".parquet": Reader.PARQUET,
}
_SETTINGS_SUFFIXES = (".json", ".yaml", ".yml")
_SETTINGS_STEMS = ("config", "hparams", "args", "params", "hyperparameters", "run_config")
_GENERIC_STEMS = ("metrics", "log", "logs", "history", "progress", "train_log", "results")
"""A log of such a name is known by its directory."""
_CHECKPOINT_FOLDER = re.compile(r"checkpoint-(\d+)")
_TORCH_HPARAMS_FOLDER = re.compile(r"\d{9,}\.\d+")
"""Name of the directory into which torch's SummaryWriter.add_hparams writes."""


def plan_reading(path: Path | str, options: ReadOptions = DEFAULT_OPTIONS) -> ReadPlan:
    """Find the logs below a path and say how each would be read.

    Args:
        path: a log, a run directory, or a directory of any depth that holds some.
        options: a column map may tell that a table is a log.

    Raises:
        InputError: there is no such path, or it cannot be listed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = (Path(directory) / "a.csv").write_text("step,train_acc")
        ...     _ = (Path(directory) / "cat.png").write_bytes(b"")
        ...     plan = plan_reading(directory)
        >>> [(file.name, str(file.reader)) for file in plan.files], plan.left_out
        ([('a', 'table')], (LeftOut(file='cat.png', reason='no log (.png)'),))
    """
    source = Path(path)
    try:
        if source.is_file():
            return _plan_of_file(source, options)
        if not source.is_dir():
            raise InputError("no such file or directory", source=source)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", source=source) from None
    left_out: list[LeftOut] = []
    planned: list[PlannedFile] = []
    arguments: list[Path] = []
    has_checkpoints = False
    for folder in walk(source, left_out):
        if TRAINING_ARGUMENTS in folder.files:
            arguments.append(folder.path / TRAINING_ARGUMENTS)
        planned.extend(_plan_of_folder(folder, source, options, left_out))
        has_checkpoints |= any(map(_is_of_a_checkpoint, folder.files))
    if not planned and len(left_out) == 1 and left_out[0].file == str(source):
        raise InputError(left_out[0].reason, source=source)
    logs = _distinct_names(_one_run_per_trainer(planned))
    weights = _plan_of_checkpoints(source, logs, left_out) if has_checkpoints else ()
    files = (*logs, *weights)
    left_out.extend(_arguments_not_read(arguments, files, source))
    settings = {path for file in files for path in file.beside}
    unused = (item for item in left_out if source / item.file not in settings)
    return ReadPlan(source, files, tuple(unused))


def _arguments_not_read(
    arguments: Sequence[Path], files: Sequence[PlannedFile], source: Path
) -> Iterator[LeftOut]:
    """Pickled arguments of the Trainer that no run takes its settings from."""
    for path in arguments:
        owners = [file for file in files if path.is_relative_to(file.path) and file.beside]
        read = [own for file in owners for own in file.beside if own.name == TRAINING_ARGUMENTS]
        reason = "settings of no log and no checkpoint that is read"
        if read:
            shown = read[0].relative_to(source) if read[0].is_relative_to(source) else read[0]
            reason = f"the run's settings are read from {shown}"
        yield LeftOut(str(path.relative_to(source)), reason)


def _plan_of_file(path: Path, options: ReadOptions) -> ReadPlan:
    siblings = tuple(sorted((p.name for p in path.parent.iterdir() if p.is_file()), key=natural))
    folder = Folder(path.parent, "", siblings, ())
    own = (run_format.RUN_FILE, run_format.METRICS_FILE, run_format.STATUS_FILE)
    if path.name in own and _is_run_directory(siblings):
        name = path.parent.resolve().name
        planned = PlannedFile(path.name, path.parent, Reader.RUN_DIRECTORY, name)
        return ReadPlan(path, (planned,), ())
    left_out: list[LeftOut] = []
    if _is_of_a_checkpoint(path.name):
        return ReadPlan(path, _plan_of_checkpoints(path, (), left_out), tuple(left_out))
    found = _plan_of_name(path.name, folder, options, left_out)
    return ReadPlan(path, (found,) if found else (), tuple(left_out))


def _is_of_a_checkpoint(name: str) -> bool:
    return name.endswith((*SUFFIXES, *INDEX_SUFFIXES, ".distcp")) or name == DISTRIBUTED_METADATA


def _plan_of_checkpoints(
    source: Path, logs: Sequence[PlannedFile], left_out: list[LeftOut]
) -> tuple[PlannedFile, ...]:
    """The series of checkpoints below a path, but for those of run directories."""
    from nht_theory.checkpoints.discovery import find_series

    try:
        found, of_no_run = find_series(source)
    except InputError as error:
        left_out.append(LeftOut(source.name, error.problem))
        return ()
    known = {item.file for item in left_out}
    left_out.extend(item for item in of_no_run if item.file not in known)
    own = {log.path for log in logs if log.reader is Reader.RUN_DIRECTORY}
    planned = []
    for series in found:
        if series.directory in own:
            continue
        folder = series.directory
        inside = folder != source and folder.is_relative_to(source)
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
        beside = _shared_settings(Folder(folder, "", tuple(names), ()))
        arguments = _arguments_in(folder) or _arguments_in(series.checkpoints[-1].path.parent)
        planned.append(
            PlannedFile(
                file=str(folder.relative_to(source)) if inside else source.name or ".",
                path=folder,
                reader=Reader.CHECKPOINTS,
                name=series.name,
                beside=(*beside, *arguments),
                parts=tuple(checkpoint.path for checkpoint in series.checkpoints),
                series=series,
            )
        )
    return tuple(planned)


def _plan_of_folder(
    folder: Folder, root: Path, options: ReadOptions, left_out: list[LeftOut]
) -> list[PlannedFile]:
    names = list(folder.files)
    label = folder.relative.rstrip("/")
    planned = []
    if _is_run_directory(names):
        name = label or root.resolve().name
        planned.append(PlannedFile(label or ".", folder.path, Reader.RUN_DIRECTORY, name))
        own = (run_format.RUN_FILE, run_format.METRICS_FILE, run_format.STATUS_FILE)
        # What else a trainer keeps there (its configuration, a lock) belongs to the run.
        names = [n for n in names if n not in own and Path(n).suffix.lower() in _BY_SUFFIX]
    events = [name for name in names if tensorboard.MARK in name]
    if events and not (label and _TORCH_HPARAMS_FOLDER.fullmatch(folder.path.name)):
        planned.append(_plan_of_events(events, folder, root))
    names = [name for name in names if name not in events]
    weights = [name for name in names if _is_of_a_checkpoint(name)]
    names = [name for name in names if name not in weights]
    claimed = _settings_files(names, with_others=bool(events or weights))
    for name in names:
        if name not in claimed:
            found = _plan_of_name(name, folder, options, left_out)
            planned.extend([found] if found else [])
    return planned


def _is_run_directory(names: Sequence[str]) -> bool:
    """Whether ``run.json`` is that of a run directory, and not the settings of ``run.csv``."""
    log_of_that_name = any(Path(n).stem == "run" and Path(n).suffix in _BY_SUFFIX for n in names)
    return run_format.RUN_FILE in names and (
        run_format.METRICS_FILE in names or not log_of_that_name
    )


def _plan_of_events(events: list[str], folder: Folder, root: Path) -> PlannedFile:
    """All event files of a directory, and of those below it that torch made for hparams."""
    parts = [folder.path / name for name in events]
    for below in folder.folders:
        if _TORCH_HPARAMS_FOLDER.fullmatch(below):
            found = sorted((folder.path / below).glob(f"*{tensorboard.MARK}*"))
            parts.extend(path for path in found if path.is_file() and not path.is_symlink())
    label = folder.relative.rstrip("/")
    return PlannedFile(
        file=f"{folder.relative}{events[0]}",
        path=folder.path,
        reader=Reader.TENSORBOARD,
        name=label or root.resolve().name,
        beside=_shared_settings(folder),
        parts=tuple(parts),
    )


def _settings_files(names: list[str], *, with_others: bool) -> set[str]:
    """Files that hold the settings of a log beside them."""
    logs = {Path(name).stem for name in names if Path(name).suffix.lower() in _BY_SUFFIX}
    return {
        name
        for name in names
        if Path(name).suffix.lower() in _SETTINGS_SUFFIXES
        and (
            Path(name).stem in logs
            or ((logs or with_others) and Path(name).stem.lower() in _SETTINGS_STEMS)
        )
    }


def _plan_of_name(
    name: str, folder: Folder, options: ReadOptions, left_out: list[LeftOut]
) -> PlannedFile | None:
    path = folder.path / name
    file = f"{folder.relative}{name}"
    label = folder.relative.rstrip("/")
    suffix = path.suffix.lower()
    if tensorboard.MARK in name:
        stem = path.parent.resolve().name
        return PlannedFile(file, folder.path, Reader.TENSORBOARD, label or stem, (), (path,))
    if name == trainer_state.FILE:
        return _plan_of_trainer(path, file, label)
    reader = Reader.JSON_STUDY if suffix == ".json" else _BY_SUFFIX.get(suffix)
    why = None
    if reader is None:
        why = f"no log ({suffix or 'no suffix'})"
    elif reader is Reader.JSON_STUDY:
        why = _why_no_study(path)
    elif reader is Reader.TABLE:
        why = _why_no_table(path, options)
    if reader is None or why is not None:
        left_out.append(LeftOut(file, why or ""))
        return None
    generic = path.stem.lower() in _GENERIC_STEMS and label
    run = label if generic else f"{folder.relative}{path.stem}"
    return PlannedFile(file, path, reader, run, _beside(path, folder))


def _plan_of_trainer(path: Path, file: str, label: str) -> PlannedFile:
    in_checkpoint = _checkpoint_number(path) is not None
    owner = path.parent.parent if in_checkpoint else path.parent
    run = (label.rpartition("/")[0] if in_checkpoint else label) or owner.resolve().name
    beside = _arguments_in(path.parent)
    return PlannedFile(file, owner, Reader.TRAINER_STATE, run, beside, (path,))


def _arguments_in(folder: Path) -> tuple[Path, ...]:
    """The arguments that Transformers' Trainer pickled there."""
    found = folder / TRAINING_ARGUMENTS
    return (found,) if found.is_file() and not found.is_symlink() else ()


def _checkpoint_number(path: Path) -> int | None:
    found = _CHECKPOINT_FOLDER.fullmatch(path.parent.name)
    return int(found.group(1)) if found else None


def _beside(path: Path, folder: Folder) -> tuple[Path, ...]:
    own = [f"{path.stem}{suffix}" for suffix in _SETTINGS_SUFFIXES]
    nearest = [folder.path / name for name in own if name in folder.files]
    return tuple(dict.fromkeys([*nearest, *_shared_settings(folder)]))


def _shared_settings(folder: Folder) -> tuple[Path, ...]:
    return tuple(
        folder.path / name
        for name in folder.files
        if Path(name).stem.lower() in _SETTINGS_STEMS
        and Path(name).suffix.lower() in _SETTINGS_SUFFIXES
    )


def _why_no_study(path: Path) -> str | None:
    """Why a JSON file cannot be read as a study; None when it can."""
    try:
        content = read_json(path)
    except InputError as error:
        return error.problem
    return None if json_study.is_study(content) else json_study.why_not(content)


def _why_no_table(path: Path, options: ReadOptions) -> str | None:
    """Why a table is no log; None when its header names a step or an epoch."""
    try:
        header = read_header(path)
    except InputError as error:
        return error.problem
    found = column_names.resolve(header, options.column_map).sources
    if {columns.STEP, column_names.EPOCH} & found.keys():
        return None
    shown = ", ".join(header[:8])
    return f"no column holds the step (columns: {shown}): name it with --map step=COLUMN"


def _one_run_per_trainer(planned: list[PlannedFile]) -> list[PlannedFile]:
    """The ``trainer_state.json`` of one output directory and of its checkpoints are one run.

    The latest first: that of the directory itself, then by checkpoint number.
    """
    parts: dict[Path, list[Path]] = {}
    for file in planned:
        if file.reader is Reader.TRAINER_STATE:
            parts.setdefault(file.path, []).extend(file.parts)
    united = []
    for file in planned:
        if file.reader is not Reader.TRAINER_STATE:
            united.append(file)
        elif file.path in parts:
            of_run = sorted(
                parts.pop(file.path),
                key=lambda path: (_checkpoint_number(path) is None, _checkpoint_number(path) or 0),
                reverse=True,
            )
            beside = [found for path in of_run for found in _arguments_in(path.parent)]
            united.append(replace(file, parts=tuple(of_run), beside=tuple(beside[:1])))
    return united


def _distinct_names(planned: list[PlannedFile]) -> tuple[PlannedFile, ...]:
    """Runs whose files differ only in the suffix keep it in their names."""
    count: Mapping[str, int] = Counter(file.name for file in planned)
    return tuple(
        replace(file, name=file.file) if count[file.name] > 1 else file for file in planned
    )
