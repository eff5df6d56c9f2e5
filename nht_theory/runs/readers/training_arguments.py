"""``training_args.bin`` of Transformers' Trainer: settings out of a pickle that is read as data.

The file holds a pickled ``TrainingArguments``. It is interpreted by the machine that reads
checkpoints: nothing is imported or called, enumerations are read by the text they were made of, and
every object of another class stays what it is, unopened.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.pickle_policy import OpaqueObject
from nht_theory.checkpoints.torch_file import TorchFile
from nht_theory.errors import InputError, UnsafeFileError

LARGEST = 2**20
"""Bytes beyond which a file of settings is something else."""

_ALWAYS = (
    "learning_rate",
    "weight_decay",
    "adam_beta1",
    "adam_beta2",
    "lr_scheduler_type",
    "per_device_train_batch_size",
    "seed",
)
_UNLESS_DEFAULT = {"max_steps": -1, "gradient_accumulation_steps": 1, "warmup_steps": 0}
_OPTIMIZERS = ("adamw", "sgd", "lion", "adagrad", "adafactor", "rmsprop")
"""Families of Transformers' ``optim``: adamw_torch_fused and paged_adamw_32bit are AdamW."""


def read(path: Path) -> dict[str, object]:
    """The settings of the run, by Transformers' names (``optim`` by its family).

    Raises:
        InputError: no pickled ``TrainingArguments``, or damaged.
        UnsafeFileError: too large, or it names what would run code elsewhere; nothing was run.
    """
    with MappedFile(path) as file:
        if file.size > LARGEST:
            raise UnsafeFileError(f"{file.size / 1e6:.1f} MB of settings", source=path)
        root = TorchFile(file).root
    if not isinstance(root, OpaqueObject) or not str(root.symbol).endswith("TrainingArguments"):
        raise InputError("no TrainingArguments of transformers", source=path)
    stored = {key: _plain(value) for key, value in root.attributes().items()}
    found = {name: stored[name] for name in _ALWAYS if stored.get(name) is not None}
    for name, default in _UNLESS_DEFAULT.items():
        if stored.get(name) not in (None, default):
            found[name] = stored[name]
    optimizer = stored.get("optim")
    if isinstance(optimizer, str):
        family = optimizer.removeprefix("paged_").partition("_")[0]
        found["optim"] = family if family in _OPTIMIZERS else optimizer
    return found


def _plain(value: Any) -> object:
    """A plain value, the text of a member of an enumeration, or None."""
    if isinstance(value, OpaqueObject) and len(value.arguments) == 1:
        value = value.arguments[0]
    return value if isinstance(value, str | int | float | bool) else None
