"""Names of checkpoint files: the step or epoch in them, and which are shards of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nht_theory.errors import InputError, UnsafeFileError

STEP = "step"
EPOCH = "epoch"
NUMBER = "number"
"""A number without a label: an order, of unknown unit."""

_STEP_LABEL = re.compile(
    r"(?<![a-z])(?:global[_-]?step|steps?|iters?|iterations?|itr|it|updates?|batch|checkpoint|ckpt)"
    r"[=_\-. ]?(\d{1,15})(?![\d.]*[a-z])",
    re.IGNORECASE,
)
_EPOCH_LABEL = re.compile(r"(?<![a-z])(?:epochs?|ep|e)[=_\-. ]?(\d{1,15})(?!\d)", re.IGNORECASE)
_SETTING = re.compile(
    r"(?<![a-z])(seed|s|wd|weight_?decay|lr|learning_?rate|p|frac|fraction|d|dim|width|depth|n"
    r"|layers?|heads?|h|rank|version|v|fold|run|trial|exp|mod|modulus|bs|rho|k)"
    r"[=_\-]?\d+(\.\d+)?(e-?\d+)?",
    re.IGNORECASE,
)
_METRIC = re.compile(
    r"(?<![a-z])[\w/]*(loss|acc|accuracy|score|metric|f1|auc|ppl|mae|mse|bleu)[=_\-]\d+(\.\d+)?",
    re.IGNORECASE,
)
_PLAIN_NUMBER = re.compile(r"(?<![\d.])(\d{1,15})(?![\d.]*\d)")
_TIMELESS = re.compile(
    r"^(last|latest|best|final|end|newest|current|model|weights|checkpoint|ckpt"
    r"|pytorch_model|init|initial|start|state|state_dict)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class NameNumber:
    """What a name says.

    Attributes:
        value: the number, or None.
        kind: ``step``, ``epoch`` or ``number``.
        pattern: the name with step, epoch and metrics taken out: equal for checkpoints of one
            run, and empty for names that say nothing of the run.
    """

    value: int | None
    kind: str
    pattern: str


def read_name(stem: str) -> NameNumber:
    """Read the name of a checkpoint, without its suffix.

    Example:
        >>> read_name("epoch=3-step=1000")
        NameNumber(value=1000, kind='step', pattern='')
        >>> read_name("seed1_wd0.1_step_200")
        NameNumber(value=200, kind='step', pattern='seed1_wd0.1')
        >>> read_name("model_30")
        NameNumber(value=30, kind='number', pattern='')
    """
    rest = _METRIC.sub("#", stem)
    value, kind = None, NUMBER
    steps = _STEP_LABEL.search(rest)
    epochs = _EPOCH_LABEL.search(rest)
    for match, found in ((epochs, EPOCH), (steps, STEP)):
        if match is not None:
            value, kind = int(match[1]), found
    for label in (_STEP_LABEL, _EPOCH_LABEL):
        rest = label.sub("#", rest)
    if value is None:
        settings = [match.span() for match in _SETTING.finditer(rest)]
        free = [
            match
            for match in _PLAIN_NUMBER.finditer(rest)
            if not any(begin <= match.start() < end for begin, end in settings)
        ]
        if free:
            last = free[-1]
            value = int(last[1])
            rest = rest[: last.start()] + "#" + rest[last.end() :]
    words = [word for word in re.split(r"[#\s_\-=.]*#[#\s_\-=.]*", rest) if word]
    pattern = "_".join(words).strip("_-=. ")
    return NameNumber(value, kind, "" if _TIMELESS.match(pattern) else pattern)


def shard_path(directory: Path, name: str, index: str) -> Path:
    """The shard of that name beside its index.

    Raises:
        UnsafeFileError: the name leads out of the directory, directly or by a link.
        InputError: there is no such file.
    """
    plain = name not in ("", ".", "..") and not any(c in name for c in "/\\\0") and len(name) < 256
    if not plain:
        raise UnsafeFileError(
            f"names the shard {name[:200]!r}, which leaves the directory",
            source=directory / index,
            remedy="a shard must be a file beside its index",
        )
    path = directory / name
    if path.is_symlink() and not path.resolve().is_relative_to(directory.resolve()):
        raise UnsafeFileError(
            f"the shard {name} is a link that leaves the directory",
            source=directory / index,
            remedy="copy the file it points to",
        )
    if not path.exists():
        raise InputError(
            f"names the shard {name}, which is absent",
            source=directory / index,
            remedy="copy the missing shard; half a model has no norm",
        )
    return path
