"""From the settings that a source stores to :class:`Hyperparameters`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from itertools import islice
from typing import Self

from nht_theory.conventions import DecayForm
from nht_theory.errors import InputError
from nht_theory.runs.events import GENERALIZATION, MEMORIZATION
from nht_theory.runs.notes import Note, RunNoteKind
from nht_theory.runs.run import Hyperparameters

SYNONYMS: dict[str, tuple[str, ...]] = {
    "optimizer": ("optimizer", "optimiser", "optim", "opt", "optimizer_name"),
    "learning_rate": ("learning_rate", "lr", "eta", "base_lr", "peak_lr", "max_lr"),
    "weight_decay": ("weight_decay", "wd", "lam", "lambda", "lambda_", "lambd", "lmbda"),
    "decay_form": ("decay_form",),
    "beta_1": ("beta_1", "beta1", "b1", "adam_beta1"),
    "beta_2": ("beta_2", "beta2", "b2", "adam_beta2"),
    "momentum": ("momentum", "mu"),
    "schedule": ("schedule", "lr_schedule", "scheduler", "lr_scheduler", "lr_scheduler_type"),
    "total_steps": ("total_steps", "max_steps", "steps", "num_steps", "max_iters", "budget"),
    "batch_size": ("batch_size", "bs", "train_batch_size", "per_device_train_batch_size"),
    "parameter_count": ("parameter_count", "n_params", "num_params", "n_parameters",
                        "num_parameters", "param_count"),
    "seed": ("seed", "random_seed", "rng_seed"),
    "task": ("task", "dataset", "task_name", "dataset_name"),
}  # fmt: skip
"""Ours -> what sources call it. The first name that a source stores wins."""

TASK_SETTINGS: dict[str, tuple[str, ...]] = {
    "p": ("p", "prime", "modulus"),
    "train_fraction": ("train_fraction", "train_frac", "frac", "frac_train", "fraction"),
    "rho": ("rho", "shortcut_strength"),
    "operation": ("operation", "op"),
    "n": ("n",),
    "k": ("k",),
    "n_train": ("n_train",),
    "parity_set": ("parity_set",),
    "width": ("width",),
    "depth": ("depth",),
    "d_model": ("d_model",),
    "init_scale": ("init_scale",),
}
"""Settings told from results in a record that mixes both; they go to ``extra``."""

NESTED = ("config", "hyperparameters", "hparams", "settings", "args")
"""Keys under which files keep their settings apart from their results."""

DEEPEST = 16
MOST_SETTINGS = 10_000
LONGEST_LIST = 64
"""Bounds beyond which a mapping is no settings file but an accident or an attack."""

_BETAS = ("betas", "adam_betas", "beta")
_OBSERVATION = re.compile(
    r"(?:.*\.)?(?:eval_every|eval_steps|log_every|log_interval|logging_.*|save_.*|device|devices|"
    r"patience|.*_thresh(?:old)?|mech|out_dir|output_dir|log_dir|run_name|name|num_workers|workers|"
    r"wandb.*|report_to|verbose|elapsed.*|wall.*|timestamp|version|label|config_label|dataloader_.*|"
    r"push_to_hub.*|hub_.*|disable_tqdm|_target_)"
)
"""Settings that say how a run was watched, not what was trained: never part of a configuration."""

_INTEGERS = ("total_steps", "batch_size", "parameter_count", "seed")
_NUMBERS = ("learning_rate", "weight_decay", "beta_1", "beta_2", "momentum")
_DECAY_OF_OPTIMIZER = {
    "adamw": DecayForm.DECOUPLED,
    "lion": DecayForm.DECOUPLED,
    "muon": DecayForm.DECOUPLED,
    "adam": DecayForm.COUPLED,
}
"""What the name alone settles. SGD's depends on its momentum and on what its lambda means."""

HYPERPARAMETER_NAMES = tuple(entry.name for entry in fields(Hyperparameters))
_NOTHING_STATED = Hyperparameters()


def hyperparameters(settings: Mapping[str, object], *, mixed: bool = False) -> Hyperparameters:
    """Read hyperparameters from what a source stores.

    Args:
        settings: possibly nested; the path of a nested setting is joined by dots.
        mixed: the mapping also holds results, so that only names in the tables are taken.

    Returns:
        the known names under ours, every other plain value or short list of these in ``extra``.

    Raises:
        InputError: the mapping is too deep or too large to be settings.

    Example:
        >>> found = hyperparameters({"lr": "1e-3", "wd": 1, "betas": [0.9, 0.98], "frac": 0.3})
        >>> found.learning_rate, found.weight_decay, found.beta_2, dict(found.extra)
        (0.001, 1.0, 0.98, {'train_fraction': 0.3})
    """
    if not settings:
        return _NOTHING_STATED
    flat = {k: v for k, v in settings.items() if not isinstance(v, Mapping)}
    leaves: dict[str, str] = {}
    if not mixed:
        flat = dict(islice(_flatten(settings), MOST_SETTINGS + 1))
        if len(flat) > MOST_SETTINGS:
            raise InputError(f"more than {MOST_SETTINGS} settings")
        leaves = _unambiguous_leaves(flat)
    known, used = _known(flat, leaves)
    extra: dict[str, object] = {}
    for ours, name in ((ours, name) for ours, names in TASK_SETTINGS.items() for name in names):
        if flat.get(name) is not None and name not in used:
            used.add(name)
            extra.update(dict.fromkeys({ours} - extra.keys(), flat[name]))
    if not mixed:
        for path, value in flat.items():
            if path not in used and value is not None and not _OBSERVATION.fullmatch(path):
                extra.update(_plain(path, value))
    return make(known, extra)


def _known(
    flat: Mapping[str, object], leaves: Mapping[str, str]
) -> tuple[dict[str, object], set[str]]:
    """The settings that have a name of ours, under it, and the paths they were found under."""
    known: dict[str, object] = {}
    used: set[str] = set()
    for ours, names in SYNONYMS.items():
        for name in names:
            path = name if name in flat else leaves.get(name)
            if path is not None and flat[path] is not None:
                used.add(path)
                known.setdefault(ours, flat[path])
    for path in (leaves.get(name, name) for name in _BETAS):
        value = flat.get(path)
        if isinstance(value, list | tuple) and len(value) == 2:
            used.add(path)
            known = {"beta_1": value[0], "beta_2": value[1], **known}
    return known, used


def split(stored: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Settings and results of a file that stores both.

    A nested ``config`` (or one of its synonyms) holds the settings and its neighbours are results.
    Without one, a file that names a transition is results and all, otherwise it is settings.

    Example:
        >>> split({"config": {"lr": 0.1}, "grok_step": 300})
        ({'lr': 0.1}, {'grok_step': 300})
    """
    chosen: dict[str, object] = {}
    rest = dict(stored)
    for key in NESTED:
        inner = rest.get(key)
        if isinstance(inner, Mapping):
            chosen.update(inner)
            del rest[key]
    if chosen or {*MEMORIZATION, *GENERALIZATION} & rest.keys():
        return chosen, rest
    return rest, {}


class AsStored(str):
    """Value in ``extra`` of a known setting that is no number (``lr: auto``), as it was stored.

    Attributes:
        setting: our name of the setting; its name in ``extra`` is made from it.
    """

    setting: str

    def __new__(cls, value: str, setting: str = "") -> Self:
        """Keep a value of this setting."""
        own = super().__new__(cls, value)
        own.setting = setting
        return own

    @property
    def name(self) -> str:
        """Name in ``extra``."""
        return f"{self.setting} as stored"


def make(known: Mapping[str, object], extra: Mapping[str, object]) -> Hyperparameters:
    """Hyperparameters from values of any type under our names.

    A value that cannot be what its name says is kept as text in ``extra``.

    Example:
        >>> found = make({"learning_rate": "auto", "optimizer": "torch.optim.AdamW"}, {})
        >>> found.learning_rate, found.optimizer, dict(found.extra)
        (None, 'adamw', {'learning_rate as stored': 'auto'})
    """
    values: dict[str, object] = {}
    rest = dict(extra)
    for name, value in known.items():
        try:
            values[name] = _converted(name, value)
        except (TypeError, ValueError, OverflowError):
            kept = AsStored(_short(value), name)
            rest[kept.name] = kept
    optimizer = values.get("optimizer")
    if isinstance(optimizer, str) and values.get("decay_form") is None:
        values["decay_form"] = _DECAY_OF_OPTIMIZER.get(optimizer)
    return Hyperparameters(**values, extra=rest)  # type: ignore[arg-type]


def _converted(name: str, value: object) -> object:
    if name in _NUMBERS or name in _INTEGERS:
        number = float(value)  # type: ignore[arg-type]
        if not math.isfinite(number):
            return None
        if name in _NUMBERS:
            return number
        return int(number) if number >= 0 else None
    if not isinstance(value, str | int | float):
        raise TypeError(name)
    if name == "decay_form":
        return DecayForm(str(value))
    return str(value).rsplit(".", 1)[-1].lower() if name == "optimizer" else str(value)


def _short(value: object) -> str:
    """Text for a value of any kind, bounded however deep it is."""
    return str(value)[:80] if isinstance(value, str | int | float) else type(value).__name__


def ambiguities(known: Hyperparameters) -> Iterator[Note]:
    """What the hyperparameters leave open about the decay of the whole.

    Example:
        >>> list(ambiguities(Hyperparameters(learning_rate=1e-3, extra={"muon_lr": 0.02})))
        ['two learning rates: 0.001, and muon_lr 0.02 for the hidden matrices']
    """
    second = known.extra.get("muon_lr")
    if second is not None and known.optimizer != "adamw":
        first = known.learning_rate
        yield Note(RunNoteKind.TWO_RATES, first=first, name="muon_lr", second=second)


def fill(known: Hyperparameters, more: Hyperparameters) -> Hyperparameters:
    """``known``, with what it does not say taken from ``more``.

    Example:
        >>> fill(Hyperparameters(seed=1), Hyperparameters(seed=2, optimizer="sgd")).optimizer
        'sgd'
    """
    if more == _NOTHING_STATED:
        return known
    missing = {
        name: getattr(more, name)
        for name in HYPERPARAMETER_NAMES
        if name != "extra" and getattr(known, name) is None
    }
    return replace(known, **missing, extra={**more.extra, **known.extra})


def _plain(path: str, value: object) -> Iterator[tuple[str, object]]:
    """The setting, if it can be compared: a plain value, or a short list of plain values."""
    if isinstance(value, str | int | float):
        yield path, value
    elif isinstance(value, list | tuple) and len(value) <= LONGEST_LIST:
        if all(isinstance(item, str | int | float) for item in value):
            yield path, tuple(value)
    elif value is not None and not isinstance(value, list | tuple):
        yield path, str(value)


def _flatten(
    settings: Mapping[str, object], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, object]]:
    if depth > DEEPEST:
        raise InputError(f"settings are nested deeper than {DEEPEST}", source=prefix[:40])
    for key, value in settings.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{path}.", depth + 1)
        else:
            yield path, value


def _unambiguous_leaves(flat: Mapping[str, object]) -> dict[str, str]:
    """Last component -> path, for the nested settings whose last component occurs once."""
    paths: dict[str, list[str]] = {}
    for path in flat:
        paths.setdefault(path.rsplit(".", 1)[-1], []).append(path)
    return {leaf: found[0] for leaf, found in paths.items() if len(found) == 1}
