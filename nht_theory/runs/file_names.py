"""Hyperparameters told by file names: ``p97_frac0.30_wd1_seed0``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from nht_theory.errors import InputError
from nht_theory.runs.notes import Note, RunNoteKind
from nht_theory.runs.run import Hyperparameters
from nht_theory.runs.settings import HYPERPARAMETER_NAMES

_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


def settings_of_name(name: str, pattern: str) -> dict[str, object] | None:
    """The settings that a run's name tells, None when it does not match.

    Args:
        name: path of the run within its study, without the suffix; matched whole when the pattern
            has a ``/``, otherwise its last part only.
        pattern: text with ``{setting}`` for a value without ``_`` and ``/``, and ``*`` for
            anything.

    Raises:
        InputError: the pattern names no setting, or one twice.

    Example:
        >>> settings_of_name("runs/p97_wd0.1_seed2_opsub", "p{p}_wd{weight_decay}_seed{seed}*")
        {'p': 97, 'weight_decay': 0.1, 'seed': 2}
    """
    text = name if "/" in pattern else name.rsplit("/", 1)[-1]
    found = _compiled(pattern).fullmatch(text)
    return {key: _value(text) for key, text in found.groupdict().items()} if found else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    names = _FIELD.findall(pattern)
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"{pattern!r} names {'a setting twice' if names else 'no setting'}",
            source="--pattern",
            remedy="write it like 'wd{weight_decay}_seed{seed}'",
        )
    parts = _FIELD.split(pattern)
    expression = ""
    for index, part in enumerate(parts):
        if index % 2:
            expression += f"(?P<{part}>[^/_]+)"
        else:
            expression += ".*".join(re.escape(text) for text in part.split("*"))
    return re.compile(expression)


def _value(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def contradictions(stored: Hyperparameters, named: Hyperparameters) -> Iterator[Note]:
    """A note for each setting that the file states otherwise than its name."""
    for key in HYPERPARAMETER_NAMES:
        if key == "extra":
            continue
        inside, outside = getattr(stored, key), getattr(named, key)
        if inside is not None and outside is not None and inside != outside:
            yield Note(
                RunNoteKind.NAME_CONTRADICTS, name=key, inside=str(inside), outside=str(outside)
            )
