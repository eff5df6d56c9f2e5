"""The run directory: what nht_train writes and nht_theory reads (docs/run-format.md).

::

    RUN/
      run.json                                 what was chosen: RunDocument
      metrics.jsonl                            one JSON object per evaluation, append-only
      status.json                              how far it came: StatusDocument
      checkpoints/step_00001000.safetensors    parameters only
      latest/                                  what resuming needs (optimiser, generators)

A study is a directory of run directories. ``FORMAT_VERSION`` rises when a reader of the old
format would misread the new one.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nht_theory.errors import InputError
from nht_theory.runs import columns
from nht_theory.runs.run import Hyperparameters, ParameterGroup

FORMAT_VERSION = 1
RUN_FILE = "run.json"
METRICS_FILE = "metrics.jsonl"
STATUS_FILE = "status.json"
REGISTRATION_FILE = ".registered.jsonl"
"""In a study directory: what was written before the first run, and when."""
LOCK_FILE = "run.lock"
"""Held by the process that trains the run; empty."""
LOSS = "loss"
"""Among the further settings: the name of the function that is minimised (``cross_entropy``)."""
CHECKPOINT_DIRECTORY = "checkpoints"
LATEST_DIRECTORY = "latest"

_TEMPORARY_NAME = re.compile(r"\..+\.\d+\.part")
_CHECKPOINT_NAME = re.compile(r"step_(\d+)\.safetensors")


class RunState(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class _Document(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, ser_json_inf_nan="strings", defer_build=True
    )


class RunDocument(_Document):
    """Content of ``run.json``, written once before the first step.

    Attributes:
        format_version: the version of this format.
        config: the whole training configuration, as the trainer understood it.
        hyperparameters: the same facts under the names the theory uses.
        seed: of every generator.
        git_revision: commit of the training code, with ``-dirty`` when changed; None outside git.
        package_versions: name -> version of what the numbers depend on.
        parameter_count: number of trained scalars.
        groups: parameter groups whose norms ``metrics.jsonl`` follows.
        data_hash: hash of the training data, ``algorithm:hex``.

    Example:
        >>> chosen = Hyperparameters(optimizer="adamw", learning_rate=1e-3, weight_decay=1.0)
        >>> RunDocument(hyperparameters=chosen, seed=0).format_version
        1
    """

    format_version: int = FORMAT_VERSION
    config: dict[str, Any] = Field(default_factory=dict)
    hyperparameters: Hyperparameters = Field(default_factory=Hyperparameters)
    seed: int | None = None
    git_revision: str | None = None
    package_versions: dict[str, str] = Field(default_factory=dict)
    parameter_count: int | None = None
    groups: tuple[ParameterGroup, ...] = ()
    data_hash: str | None = None


class StatusDocument(_Document):
    """Content of ``status.json``, replaced whenever the state changes or a checkpoint is kept.

    Attributes:
        state: running, finished, failed or interrupted.
        step: the last step done.
        total_steps: the budget; None when open-ended.
        error: one line, when failed.
    """

    state: RunState
    step: int = Field(ge=0)
    total_steps: int | None = None
    error: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will be written, unless the run is resumed."""
        return self.state is not RunState.RUNNING


def checkpoint_name(step: int) -> str:
    """File name of the checkpoint of ``step``: sorted as text is sorted by step.

    Example:
        >>> checkpoint_name(1000)
        'step_00001000.safetensors'
    """
    return f"step_{step:08d}.safetensors"


def checkpoint_step(name: str) -> int | None:
    """Step of a checkpoint's file name, None when it is not one.

    Example:
        >>> checkpoint_step("step_00001000.safetensors")
        1000
        >>> checkpoint_step("model.safetensors") is None
        True
    """
    found = _CHECKPOINT_NAME.fullmatch(name)
    return int(found.group(1)) if found else None


def is_run_directory(path: Path) -> bool:
    """Whether ``path`` is a directory with a ``run.json``."""
    return (path / RUN_FILE).is_file()


def is_housekeeping(name: str) -> bool:
    """Whether a file of that name is ours and never data: a lock, a registration, half a file.

    Example:
        >>> [is_housekeeping(name) for name in ("run.lock", ".status.json.811.part", "run.csv")]
        [True, True, False]
    """
    return name in (LOCK_FILE, REGISTRATION_FILE) or bool(_TEMPORARY_NAME.fullmatch(name))


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace ``path`` by ``content``: a reader sees the old file or the new one, never half.

    Parent directories are created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_run(directory: Path, document: RunDocument) -> None:
    """Write ``run.json``."""
    write_atomically(directory / RUN_FILE, document.model_dump_json(indent=2) + "\n")


def write_status(directory: Path, document: StatusDocument) -> None:
    """Write ``status.json``."""
    write_atomically(directory / STATUS_FILE, document.model_dump_json(indent=2) + "\n")


def read_run(directory: Path) -> RunDocument:
    """Read ``run.json``.

    Raises:
        InputError: absent, not JSON, of a newer format, or a key is wrong (it is named).
    """
    return _read(directory / RUN_FILE, RunDocument)


def read_status(directory: Path) -> StatusDocument | None:
    """Read ``status.json``; None when there is none.

    Raises:
        InputError: not JSON, or a key is wrong (it is named).
    """
    path = directory / STATUS_FILE
    return _read(path, StatusDocument) if path.exists() else None


Model = TypeVar("Model", bound=_Document)


def _read(path: Path, model: type[Model]) -> Model:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(error.strerror or str(error), source=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({error})", source=path) from None
    if not isinstance(content, dict):
        raise InputError("not a JSON object", source=path)
    version = content.get("format_version", FORMAT_VERSION)
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise InputError(
            f"format version {version}; this nht reads up to {FORMAT_VERSION}",
            source=path,
            remedy="upgrade nht",
        )
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "document"
        raise InputError(f"{key}: {first['msg']}", source=path) from None


def metrics_line(row: Mapping[str, float | int]) -> str:
    """One line of ``metrics.jsonl``, without the newline.

    Keys are the canonical columns of :mod:`nht_theory.runs.columns` (``squared_norm/head`` for a
    group); a float is written so that it reads back to the same bits. JSON has no NaN and no
    infinity: they are written as the strings "NaN", "Infinity" and "-Infinity".

    Raises:
        InputError: the row has no integer ``step``.

    Example:
        >>> metrics_line({"step": 200, "squared_norm": 3871.25, "train_loss": float("nan")})
        '{"step": 200, "squared_norm": 3871.25, "train_loss": "NaN"}'
    """
    step = row.get(columns.STEP)
    if not isinstance(step, int) or isinstance(step, bool):
        raise InputError(f"{columns.STEP} is {step!r}, not an integer", source=METRICS_FILE)
    return json.dumps({key: _json_number(value) for key, value in row.items()}, allow_nan=False)


def _json_number(value: float | int) -> float | int | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class MetricsLog:
    """The append-only ``metrics.jsonl`` of a run: each line is flushed as it is written.

    Args:
        directory: the run directory, created if absent.
        resume_after: None for a new log (refuses to overwrite one); a step to keep the lines up to
            it (inclusive) and append after them. A cut last line is dropped then.

    Raises:
        InputError: a new log would overwrite one, or the log to resume is broken before its end.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     with MetricsLog(Path(directory)) as log:
        ...         log.append({"step": 0, "squared_norm": 10.0})
        ...         log.append({"step": 10, "squared_norm": 9.0})
        ...     with MetricsLog(Path(directory), resume_after=0) as log:
        ...         log.append({"step": 10, "squared_norm": 8.0})
        ...     print((Path(directory) / "metrics.jsonl").read_text(), end="")
        {"step": 0, "squared_norm": 10.0}
        {"step": 10, "squared_norm": 8.0}
    """

    def __init__(self, directory: Path, *, resume_after: int | None = None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / METRICS_FILE
        if resume_after is not None and self.path.exists():
            write_atomically(self.path, _lines_until(self.path, resume_after))
            self._file: BinaryIO = self.path.open("ab")
        else:
            try:
                self._file = self.path.open("xb")
            except FileExistsError:
                raise InputError(
                    "already there", source=self.path, remedy="resume, or choose another directory"
                ) from None

    def append(self, row: Mapping[str, float | int]) -> None:
        """Write one evaluation and flush it to the operating system."""
        self._file.write(metrics_line(row).encode() + b"\n")
        self._file.flush()

    def rows(self) -> list[dict[str, float]]:
        """Every line so far."""
        read = [json.loads(line) for line in self.path.read_bytes().splitlines()]
        return [{name: float(value) for name, value in row.items()} for row in read]

    def close(self) -> None:
        """Close the file; it holds every appended line."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _lines_until(path: Path, step: int) -> bytes:
    """The complete lines of a metrics log whose step is at most ``step``."""
    kept = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            line_step = json.loads(line)[columns.STEP]
        except (ValueError, KeyError, TypeError):
            raise InputError(f"line {number} is not a metrics line", source=path) from None
        if line_step <= step:
            kept.append(line)
    return b"".join(kept)
