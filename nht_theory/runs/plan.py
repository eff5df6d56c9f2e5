"""What would be read from a path: each file with the reader it goes to, or why it is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nht_theory.checkpoints.left_out import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs import run_format
from nht_theory.runs.readers import json_study
from nht_theory.runs.readers.text import read_json
from nht_theory.runs.walk import Folder, natural, walk

RUN_DIRECTORY = "run directory"
JSON_LINES = "JSONL log"
TABLE = "table"
JSON_STUDY = "JSON study"

_BY_SUFFIX = {
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".csv": TABLE,
    ".tsv": TABLE,
}
_SETTINGS_SUFFIXES = (".json", ".yaml", ".yml")
_SETTINGS_STEMS = ("config", "hparams", "args", "params", "hyperparameters", "run_config")
_GENERIC_STEMS = ("metrics", "log", "logs", "history", "progress", "train_log", "results")
"""A log of such a name is known by its directory."""


@dataclass(frozen=True)
class PlannedFile:
    """A file and how it will be read.

    Attributes:
        file: path from the root of the study.
        path: where it is.
        reader: one of the names of this module.
        name: name of the run, or of the study within the study.
        beside: files with its settings, the nearest first.
    """

    file: str
    path: Path
    reader: str
    name: str
    beside: tuple[Path, ...] = ()


@dataclass(frozen=True)
class ReadPlan:
    """Everything found below a path, before any log is read.

    Attributes:
        source: the path.
        files: what will be read, in order.
        left_out: what will not, each with the reason.
    """

    source: Path
    files: tuple[PlannedFile, ...]
    left_out: tuple[LeftOut, ...]


def plan_reading(path: Path | str) -> ReadPlan:
    """Find the logs below a path and say how each would be read.

    Args:
        path: a log, a run directory, or a directory of any depth that holds some.

    Raises:
        InputError: there is no such path, or it cannot be listed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = (Path(directory) / "a.csv").write_text("step,train_acc")
        ...     _ = (Path(directory) / "cat.png").write_bytes(b"")
        ...     plan = plan_reading(directory)
        >>> [(file.name, file.reader) for file in plan.files], plan.left_out
        ([('a', 'table')], (LeftOut(file='cat.png', reason='no log (.png)'),))
    """
    source = Path(path)
    if not source.exists():
        raise InputError("no such file or directory", source=source, remedy=_neighbour(source))
    if source.is_file():
        return _plan_of_file(source)
    left_out: list[LeftOut] = []
    planned: list[PlannedFile] = []
    without = frozenset({run_format.CHECKPOINT_DIRECTORY, run_format.LATEST_DIRECTORY})
    for folder in walk(source, left_out, without=without):
        planned.extend(_plan_of_folder(folder, source, left_out))
    if not planned and len(left_out) == 1 and left_out[0].file == str(source):
        raise InputError(left_out[0].reason, source=source)
    return ReadPlan(source, _distinct_names(planned), tuple(left_out))


def _plan_of_file(path: Path) -> ReadPlan:
    siblings = tuple(sorted((p.name for p in path.parent.iterdir() if p.is_file()), key=natural))
    folder = Folder(path.parent, "", siblings, ())
    left_out: list[LeftOut] = []
    if path.name in (run_format.RUN_FILE, run_format.METRICS_FILE) and (
        run_format.RUN_FILE in siblings
    ):
        planned = PlannedFile(path.name, path.parent, RUN_DIRECTORY, path.parent.resolve().name)
        return ReadPlan(path, (planned,), ())
    found = _plan_of_name(path.name, folder, left_out)
    return ReadPlan(path, (found,) if found else (), tuple(left_out))


def _plan_of_folder(folder: Folder, root: Path, left_out: list[LeftOut]) -> list[PlannedFile]:
    names = list(folder.files)
    planned = []
    if run_format.RUN_FILE in names:
        label = folder.relative.rstrip("/")
        name = label or root.resolve().name
        planned.append(PlannedFile(label or ".", folder.path, RUN_DIRECTORY, name))
        own = (run_format.RUN_FILE, run_format.METRICS_FILE, run_format.STATUS_FILE)
        names = [name for name in names if name not in own]
    claimed = _settings_files(names)
    for name in names:
        if name not in claimed:
            found = _plan_of_name(name, folder, left_out)
            planned.extend([found] if found else [])
    return planned


def _settings_files(names: list[str]) -> set[str]:
    """Files that hold the settings of a log beside them."""
    logs = {Path(name).stem for name in names if Path(name).suffix.lower() in _BY_SUFFIX}
    return {
        name
        for name in names
        if Path(name).suffix.lower() in _SETTINGS_SUFFIXES
        and (Path(name).stem in logs or (logs and Path(name).stem.lower() in _SETTINGS_STEMS))
    }


def _plan_of_name(name: str, folder: Folder, left_out: list[LeftOut]) -> PlannedFile | None:
    path = folder.path / name
    file = f"{folder.relative}{name}"
    suffix = path.suffix.lower()
    if suffix == ".json":
        reason = _why_no_study(path)
        if reason is None:
            return PlannedFile(file, path, JSON_STUDY, f"{folder.relative}{path.stem}")
        left_out.append(LeftOut(file, reason))
        return None
    if suffix not in _BY_SUFFIX:
        left_out.append(LeftOut(file, f"no log ({suffix or 'no suffix'})"))
        return None
    generic = path.stem.lower() in _GENERIC_STEMS and folder.relative
    label = folder.relative.rstrip("/") if generic else f"{folder.relative}{path.stem}"
    return PlannedFile(file, path, _BY_SUFFIX[suffix], label, _beside(path, folder))


def _beside(path: Path, folder: Folder) -> tuple[Path, ...]:
    own = [f"{path.stem}{suffix}" for suffix in _SETTINGS_SUFFIXES]
    shared = [
        name
        for name in folder.files
        if Path(name).stem.lower() in _SETTINGS_STEMS
        and Path(name).suffix.lower() in _SETTINGS_SUFFIXES
    ]
    return tuple(folder.path / name for name in [*own, *shared] if name in folder.files)


def _why_no_study(path: Path) -> str | None:
    """Why a JSON file cannot be read as a study; None when it can."""
    try:
        content = read_json(path)
    except InputError as error:
        return error.problem
    return None if json_study.is_study(content) else json_study.why_not(content)


def _distinct_names(planned: list[PlannedFile]) -> tuple[PlannedFile, ...]:
    """Runs whose files differ only in the suffix keep it in their names."""
    count: Mapping[str, int] = Counter(file.name for file in planned)
    return tuple(
        replace(file, name=file.file) if count[file.name] > 1 else file for file in planned
    )


def _neighbour(path: Path) -> str:
    parent = path.parent
    return "" if parent.is_dir() else f"{parent} does not exist either"
