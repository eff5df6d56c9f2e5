"""The study file: a base configuration and what varies over it.

::

    name = "weight_decay"

    [base]                      # as the file of a single run
    steps = 4000
    [base.task]
    name = "modular_addition"

    [grid]                      # every combination
    "optimizer.weight_decay" = [0.1, 1.0]
    seed = [0, 1, 2]

    [[runs]]                    # instead of, or multiplied with, the grid
    "optimizer.weight_decay" = 0.1
    steps = 20000

    [slurm]                     # only for --executor slurm
    partition = "short"
    runs_per_task = 4
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nht_theory.errors import InputError
from nht_train.config import TrainConfig
from nht_train.options import describe, nearest

Varied = Mapping[str, Any]


class SlurmOptions(BaseModel):
    """What a cluster is asked for, per task."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    partition: str | None = None
    cpus_per_task: int = Field(default=1, ge=1)  # runs of a task that train at the same time
    runs_per_task: int = Field(default=1, ge=1)  # packed, so that short runs share a start-up
    timeout_minutes: int = Field(default=720, ge=1)
    memory_gb: float | None = Field(default=None, gt=0)
    setup: tuple[str, ...] = ()  # shell lines before Python starts, such as "module load python"


class StudyFile(BaseModel):
    """The content of a study file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    base: dict[str, Any]
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    runs: list[dict[str, Any]] = Field(default_factory=list)
    slurm: SlurmOptions = SlurmOptions()


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study.

    Attributes:
        name: of its directory, made of what varies.
        config: checked.
        content: dotted key -> value, as the run's own configuration file holds it.
    """

    name: str
    config: TrainConfig
    content: Mapping[str, Any]

    @property
    def cost(self) -> int:
        """Steps times batch: enough to start the longest first."""
        return self.config.steps * self.config.batch_size

    def toml(self) -> str:
        """The run's own configuration file."""
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in self.content.items())


def read_study(path: Path, overrides: Iterable[str] = ()) -> tuple[StudyFile, list[PlannedRun]]:
    """Read and expand a study file; every run is checked before any starts.

    Args:
        path: of the TOML file.
        overrides: ``key=value`` applied to the base of every run.

    Raises:
        InputError: not TOML, an unknown key (the nearest known one is named), a run that would
            be refused, or two runs of one name.
    """
    from nht_train.config import set_by_path

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(error.strerror or str(error), source=path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML ({error})", source=path) from None
    for key in content:
        if key not in StudyFile.model_fields:
            remedy = nearest(key, StudyFile.model_fields)
            raise InputError(f"unknown key {key!r}", source=path, remedy=remedy)
    try:
        study = StudyFile.model_validate(content)
    except ValidationError as error:
        raise InputError(describe(error), source=path) from None
    base = deepcopy(study.base)
    for override in overrides:
        set_by_path(base, override)
    return study, _expand(study, base, path)


def _expand(study: StudyFile, base: dict[str, Any], path: Path) -> list[PlannedRun]:
    empty = [key for key, values in study.grid.items() if not values]
    if empty:
        raise InputError("an empty list: nothing to run", source=f"{path}: grid.{empty[0]}")
    combinations = [
        dict(zip(study.grid, values, strict=True))
        for values in itertools.product(*study.grid.values())
    ]
    everything = [
        flatten(single | combination)
        for single in study.runs or [{}]
        for combination in combinations
    ]
    labels = _labels([key for varied in everything for key in varied])
    planned: dict[str, PlannedRun] = {}
    for varied in everything:
        name = run_name(varied, labels) or study.name
        flat = flatten(base) | dict(varied)
        config = TrainConfig.from_mapping(_nest(flat, path), f"{path}: run {name}")
        if name in planned:
            raise InputError(f"two runs are named {name}", source=path)
        planned[name] = PlannedRun(name, config, flat)
    return list(planned.values())


def run_name(varied: Varied, labels: Mapping[str, str]) -> str:
    """A directory name that says what varies.

    Example:
        >>> run_name({"optimizer.weight_decay": 0.1, "seed": 3}, {"optimizer.weight_decay": "wd",
        ...     "seed": "seed"})
        'wd0.1_seed3'
    """
    parts = []
    for key, value in varied.items():
        text = re.sub(r"[^A-Za-z0-9.+-]+", "-", str(value))
        joint = "" if text[:1].isdigit() else "-"
        parts.append(f"{labels[key]}{joint}{text}")
    return "_".join(parts)


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys.

    Example:
        >>> flatten({"steps": 5, "task": {"name": "parity"}})
        {'steps': 5, 'task.name': 'parity'}
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _nest(flat: Mapping[str, Any], path: Path) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        *tables, last = key.split(".")
        place = nested
        for table in tables:
            place = place.setdefault(table, {})
            if not isinstance(place, dict):
                raise InputError(f"{table!r} is not a table", source=f"{path}: {key}")
        place[last] = value
    return nested


def _labels(keys: Iterable[str]) -> dict[str, str]:
    """The last part of each key, or the last two where that is ambiguous."""
    unique = list(dict.fromkeys(keys))
    short = {key: key.split(".")[-1] for key in unique}
    counts: dict[str, int] = {}
    for label in short.values():
        counts[label] = counts.get(label, 0) + 1
    return {
        key: label if counts[label] == 1 else "-".join(key.split(".")[-2:])
        for key, label in short.items()
    }
