"""The configuration of one run: a TOML file, checked before anything is built."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nht_theory.errors import InputError
from nht_train.interventions import Interventions
from nht_train.options import describe, nearest


class Section(BaseModel):
    """A named choice with options of its own: ``name`` and whatever its function takes."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but the name."""
        return dict(self.model_extra or {})


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Checkpoints(_Closed):
    """Which steps keep their parameters, and how often the run can be resumed from."""

    schedule: Literal["log", "fixed", "none"] = "log"
    every: int = Field(default=1000, ge=1)  # steps between two, when fixed
    per_decade: int = Field(default=10, ge=1)  # per factor of ten in steps, when log
    resume_every_seconds: float = Field(default=20.0, ge=0)  # least time between two saved states


class Runtime(_Closed):
    """How the arithmetic is done; a run is reproducible for a given choice."""

    device: str = "cpu"
    threads: int = Field(default=1, ge=1)  # two threads beside another process thrash
    compile: bool = False  # takes some seconds at first, then steps are faster
    precision: Literal["float32", "bfloat16"] = "float32"  # bfloat16: autocast, where it is fast
    stacked: bool = False  # several runs in one set of kernels, for a GPU; last bits differ


DEFAULT_NAMES = {"model": "transformer", "optimizer": "adamw", "schedule": "constant"}
"""What a section names when it only gives options."""


class TrainConfig(_Closed):
    """One run.

    Example:
        >>> config = TrainConfig.from_mapping({"task": {"name": "modular_addition"}, "seed": 1})
        >>> config.optimizer.name, config.steps
        ('adamw', 4000)
        >>> TrainConfig.from_mapping({"task": {"name": "modular_addition"}, "sede": 1})
        Traceback (most recent call last):
            ...
        nht_theory.errors.InputError: config: unknown key 'sede'; did you mean seed?
    """

    task: Section
    model: Section = Section(name=DEFAULT_NAMES["model"])
    optimizer: Section = Section(name=DEFAULT_NAMES["optimizer"])
    schedule: Section = Section(name=DEFAULT_NAMES["schedule"])
    seed: int = Field(default=0, ge=0)
    steps: int = Field(default=4000, ge=0)
    batch_size: int = Field(default=512, ge=1)
    evaluate_every: int = Field(default=200, ge=1)
    # Steps trained on after the held-out accuracy first passes the threshold (rounded up to an
    # evaluation); None trains all the steps.
    steps_after_generalization: int | None = Field(default=None, ge=0)
    intervention: Interventions = Interventions()
    checkpoints: Checkpoints = Checkpoints()
    runtime: Runtime = Runtime()

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any], source: object = "config") -> Self:
        """Check a mapping as read from TOML.

        Raises:
            InputError: unknown key (the nearest known one is named), missing key, wrong value.
        """
        _refuse_unknown_keys(cls, content, source, "")
        named = dict(content)
        for section, name in DEFAULT_NAMES.items():
            if isinstance(named.get(section), Mapping):
                named[section] = {"name": name, **named[section]}
        try:
            return cls.model_validate(named)
        except ValidationError as error:
            raise InputError(describe(error), source=source) from None

    @classmethod
    def from_toml(cls, path: Path, overrides: Iterable[str] = ()) -> Self:
        """Read a file and apply ``key=value`` overrides (``optimizer.weight_decay=0.5``).

        Raises:
            InputError: no such file, not TOML, or any complaint of :meth:`from_mapping`.
        """
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(error.strerror or str(error), source=path) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not TOML ({error})", source=path) from None
        for override in overrides:
            set_by_path(content, override)
        return cls.from_mapping(content, path)


def set_by_path(content: dict[str, Any], override: str) -> None:
    """Apply one ``dotted.key=value``; the value is read as TOML, else taken as text.

    Raises:
        InputError: no ``=``, or the key passes through something that is not a table.

    Example:
        >>> content = {"optimizer": {"name": "adamw"}}
        >>> set_by_path(content, "optimizer.weight_decay=0.5")
        >>> set_by_path(content, "model.normalization=pre")
        >>> content
        {'optimizer': {'name': 'adamw', 'weight_decay': 0.5}, 'model': {'normalization': 'pre'}}
    """
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise InputError(
            f"{override!r} is not key=value", source="override", remedy="optimizer.weight_decay=0.5"
        )
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *path, last = key.strip().split(".")
    table = content
    for part in path:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise InputError(f"{part!r} is not a table", source=f"override {override}")
    table[last] = value


def _refuse_unknown_keys(
    model: type[BaseModel], content: Mapping[str, Any], source: object, prefix: str
) -> None:
    for key, value in content.items():
        if key not in model.model_fields:
            # A key of the right name at the wrong level is the likeliest slip.
            deeper = _KNOWN_ELSEWHERE.get(key)
            remedy = f"did you mean {deeper}?" if deeper else nearest(key, model.model_fields)
            raise InputError(f"unknown key {prefix + key!r}", source=source, remedy=remedy)
        kind = model.model_fields[key].annotation
        if isinstance(value, Mapping) and (table := _closed_table(kind)) is not None:
            _refuse_unknown_keys(table, value, source, f"{prefix}{key}.")


def _closed_table(annotation: Any) -> type[BaseModel] | None:
    """The model of a section that takes no other keys, also where the section is optional."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel) and not issubclass(kind, Section):
            return kind
    return None


_KNOWN_ELSEWHERE = {
    "learning_rate": "optimizer.learning_rate",
    "lr": "optimizer.learning_rate",
    "weight_decay": "optimizer.weight_decay",
    "p": "task.p",
    "train_fraction": "task.train_fraction",
    "device": "runtime.device",
    "compile": "runtime.compile",
}
