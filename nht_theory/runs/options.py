"""What a user may say about how a directory or file of runs is to be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nht_theory.checkpoints.tensor_names import LIVE
from nht_theory.errors import InputError


@dataclass(frozen=True)
class ReadOptions:
    """How to read.

    Attributes:
        column_map: our name -> the name in the log. Ours is a canonical column
            (:mod:`nht_theory.runs.columns`), ``norm`` or ``norm/GROUP`` for a norm that is not
            squared, or a hyperparameter.
        hyperparameters: values for what the logs do not say (``{"optimizer": "adamw"}``); what a
            log says is never overruled.
        pattern: how file names tell hyperparameters, ``'wd{weight_decay}_seed{seed}'``.
        merge_repeats: whether repeated records of one run are counted once.
        exact: sum the weights of checkpoints in float64 throughout.
        weights: which weights of a checkpoint count: ``live``, ``ema``, or the key of the set.
        must_match: whether a column map or a pattern that fits no log is an error.
        workers: processes that read; None for one a core when there are many files. The result
            does not depend on it.

    Example:
        >>> ReadOptions(column_map=parse_map(["squared_norm=V"])).column_map
        {'squared_norm': 'V'}
    """

    column_map: Mapping[str, str] = field(default_factory=dict)
    hyperparameters: Mapping[str, object] = field(default_factory=dict)
    pattern: str | None = None
    merge_repeats: bool = True
    exact: bool = False
    weights: str = LIVE
    must_match: bool = True
    workers: int | None = None


DEFAULT_OPTIONS = ReadOptions()


def parse_map(pairs: Iterable[str]) -> dict[str, str]:
    """The column map of ``ours=theirs`` arguments.

    Raises:
        InputError: an argument has no ``=``, an empty side, or names ours twice.

    Example:
        >>> parse_map(["heldout_accuracy=clean", "norm=w"])
        {'heldout_accuracy': 'clean', 'norm': 'w'}
    """
    mapping: dict[str, str] = {}
    for pair in pairs:
        ours, equals, theirs = (part.strip() for part in pair.partition("="))
        if not (ours and equals and theirs):
            raise InputError(f"--map {pair!r}", remedy="write --map ours=theirs")
        if ours in mapping:
            raise InputError(f"--map names {ours} twice", remedy="keep one of the two")
        mapping[ours] = theirs
    return mapping
