"""From the names that other people's logs use to the canonical columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nht_theory.conventions import NormKind
from nht_theory.errors import InputError, UnmatchedOptionError
from nht_theory.runs import columns

NORM = "norm"
"""Our name, in a column map, for a norm that is not squared."""
EPOCH = "epoch"
"""Clock of last resort: used as the step when a log has no step."""

# First the names that are preferred where a log has several.
SYNONYMS: dict[str, tuple[str, ...]] = {
    columns.STEP: ("step", "steps", "global_step", "_step", "train_global_step", "iteration",
                   "iterations", "iter", "iters", "update", "updates", "num_updates"),
    EPOCH: ("epoch", "epochs", "train_epoch"),
    columns.TRAIN_LOSS: ("train_loss", "training_loss", "loss_train", "train_loss_epoch",
                         "train_loss_step", "loss"),
    columns.TRAIN_ACCURACY: ("train_accuracy", "train_acc", "training_accuracy", "training_acc",
                             "acc_train", "accuracy_train", "train_acc_epoch",
                             "train_accuracy_epoch", "train_acc_step", "eval_train_accuracy"),
    columns.HELDOUT_LOSS: ("heldout_loss", "held_out_loss", "val_loss", "valid_loss",
                           "validation_loss", "loss_val", "clean_loss", "test_loss", "loss_test",
                           "eval_loss", "dev_loss", "val_loss_epoch"),
    columns.HELDOUT_ACCURACY: ("heldout_accuracy", "heldout_acc", "held_out_accuracy", "val_acc",
                               "val_accuracy", "valid_acc", "valid_accuracy", "validation_acc",
                               "validation_accuracy", "acc_val", "clean_acc", "clean_accuracy",
                               "test_acc", "test_accuracy", "acc_test", "eval_acc",
                               "eval_accuracy", "dev_acc", "val_acc_epoch",
                               # transformers' Trainer with several evaluation sets
                               "eval_validation_accuracy", "eval_heldout_accuracy",
                               "eval_test_accuracy"),
    columns.SHORTCUT_ACCURACY: ("shortcut_accuracy", "shortcut_acc", "spurious_accuracy"),
    columns.CONFLICT_ACCURACY: ("conflict_accuracy", "conflict_acc", "conflicting_accuracy"),
    columns.COLOURED_ACCURACY: ("coloured_accuracy", "colored_accuracy", "coloured_acc",
                                "colored_acc"),
    columns.CONFLICT_SHORTCUT_RATE: ("conflict_shortcut_rate",),
    columns.TRAIN_CONFLICT_ACCURACY: ("train_conflict_accuracy", "train_conflict_acc"),
    columns.WORST_GROUP_ACCURACY: ("worst_group_accuracy", "worst_group_acc", "worst_acc", "wga",
                                   "val_worst_group_acc"),
    # Neither the norm of the logits nor their spread before centring says the same.
    columns.LOGIT_SCALE: ("logit_scale", "train_logit_scale", "centred_logit_rms",
                          "centered_logit_rms", "train_centred_logit_rms",
                          "train_centered_logit_rms"),
    columns.DECAY: ("decay",),
    columns.ALIGNMENT: ("alignment",),
    columns.UPDATE_SQUARED_NORM: ("update_squared_norm",),
    columns.DIFFUSION: ("diffusion",),
    columns.CONTRACTION: ("contraction",),
    columns.FORECAST_STEP: ("forecast_step",),
    columns.FORECAST_LOW: ("forecast_low",),
    columns.FORECAST_HIGH: ("forecast_high",),
    columns.FORECAST_PROBABILITY: ("forecast_probability",),
    columns.GRADIENT_SQUARED_NORM: ("gradient_squared_norm",),
    columns.SMOOTHNESS: ("smoothness",),
    columns.LEARNING_RATE: ("learning_rate", "lr", "train_learning_rate", "train_lr", "eta"),
    columns.WEIGHT_DECAY: ("weight_decay", "wd"),
}  # fmt: skip
SQUARED_NORMS = ("squared_norm", "v_t", "v", "norm_sq", "norm_squared", "weight_norm_sq",
                 "weight_norm_squared", "param_norm_sq", "param_norm_squared", "sq_norm",
                 "l2_norm_squared", "l2_norm_sq", "theta_norm_sq")  # fmt: skip
PLAIN_NORMS = ("weight_norm", "wn_total", "wn", "param_norm", "parameter_norm", "weights_norm",
               "l2_norm", "weight_l2", "weight_l2_norm", "total_norm", "theta_norm", "norm",
               "params_norm", "w_norm")  # fmt: skip

_PLAIN_GROUP = re.compile(r"(?:wn|weight_norm|param_norm|params_norm|l2_norm|norm)[_/.:](.+)", re.I)
_SQUARED_GROUP = re.compile(r"(?:weight_norm_sq|param_norm_sq|norm_sq)[_/.:](.+)", re.I)
_GROUP_ACCURACY = re.compile(
    r"(?:avg_)?acc(?:uracy)?_(?:of_)?group[_:/.]?(.+)|group[_:/.]?(.+?)_acc(?:uracy)?",
    re.I,
)
_GROUP_COUNT = re.compile(
    r"(?:processed_data_)?count_group[_:/.]?(.+)|group[_:/.]?(.+?)_(?:count|n)", re.I
)
_GROUPED = (
    columns.SQUARED_NORM,
    columns.DECAY,
    columns.ALIGNMENT,
    columns.UPDATE_SQUARED_NORM,
    columns.DIFFUSION,
    columns.CONTRACTION,
    columns.GROUP_ACCURACY,
    columns.GROUP_COUNT,
)
_HOME = {name: ours for ours, names in SYNONYMS.items() for name in names}
_RANK = {name: rank for names in SYNONYMS.values() for rank, name in enumerate(names)}


@dataclass(frozen=True)
class ColumnSource:
    """Where a canonical column comes from.

    Attributes:
        name: the column in the log.
        norm: for a norm, whether the log holds it squared or plain; None otherwise.
    """

    name: str
    norm: NormKind | None = None


@dataclass(frozen=True)
class Resolution:
    """How the columns of one log were understood.

    Attributes:
        sources: canonical column -> where it comes from.
        unused: columns of the log that have no meaning here, or a preferred rival.
    """

    sources: Mapping[str, ColumnSource]
    unused: tuple[str, ...]


def resolve(names: Iterable[str], column_map: Mapping[str, str]) -> Resolution:
    """Find the canonical columns among the names of a log.

    What the user maps comes first; then canonical names, then the well-known synonyms, of which
    the first in the table wins.

    Raises:
        InputError: the map names a column of ours that does not exist.

    Example:
        >>> found = resolve(["step", "test_acc", "wn_total", "wn_embed"], {})
        >>> found.sources["squared_norm"]
        ColumnSource(name='wn_total', norm=<NormKind.PLAIN: 'plain'>)
        >>> sorted(found.sources)
        ['heldout_accuracy', 'squared_norm', 'squared_norm/embed', 'step']
    """
    names = tuple(names)
    chosen: dict[str, tuple[int, ColumnSource]] = {}
    for ours, theirs in column_map.items():
        if theirs in names and (target := mapped_column(ours)) is not None:
            chosen[target[0]] = (-1, ColumnSource(theirs, target[1]))
    taken = {source.name for _, source in chosen.values()}
    for name in names:
        if name in taken or (meaning := _meaning(name)) is None:
            continue
        ours, rank, kind = meaning
        if ours not in chosen or rank < chosen[ours][0]:
            chosen[ours] = (rank, ColumnSource(name, kind))
    used = {source.name for _, source in chosen.values()}
    return Resolution(
        {ours: source for ours, (_, source) in chosen.items()},
        tuple(name for name in names if name not in used),
    )


def mapped_column(ours: str) -> tuple[str, NormKind | None] | None:
    """The canonical column and norm kind that ``ours`` means in a column map; None if none.

    Example:
        >>> mapped_column("norm/head")
        ('squared_norm/head', <NormKind.PLAIN: 'plain'>)
    """
    base, _, group = ours.partition(columns.GROUP_SEPARATOR)
    if base == NORM:
        name = columns.of_group(columns.SQUARED_NORM, group) if group else columns.SQUARED_NORM
        return name, NormKind.PLAIN
    if base == columns.SQUARED_NORM:
        return ours, NormKind.SQUARED
    if (group and base in _GROUPED) or (not group and base in SYNONYMS):
        return ours, None
    return None


def check_map(column_map: Mapping[str, str], settings: Iterable[str]) -> None:
    """Refuse a column map whose left sides are neither columns nor hyperparameters.

    Raises:
        InputError: with the nearest name that exists.
    """
    known = [columns.SQUARED_NORM, NORM, *SYNONYMS, *settings]
    for ours in column_map:
        if ours not in known and mapped_column(ours) is None:
            raise InputError(f"unknown name {ours!r}", source="--map", remedy=_nearest(ours, known))


def check_map_was_used(column_map: Mapping[str, str], seen: Iterable[str]) -> None:
    """Refuse a column map whose right sides are in no log that was read.

    Raises:
        UnmatchedOptionError: with the nearest column that exists.
    """
    seen = sorted(set(seen))
    for ours, theirs in column_map.items():
        if theirs not in seen:
            raise UnmatchedOptionError(
                f"no log has a column {theirs!r} (mapped to {ours})",
                source="--map",
                remedy=_nearest(theirs, seen),
            )


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def _meaning(name: str) -> tuple[str, int, NormKind | None] | None:
    """Canonical column, rank among its synonyms and norm kind of a column of a log."""
    base, _, group = name.partition(columns.GROUP_SEPARATOR)
    if group and base in _GROUPED:
        return name, 0, NormKind.SQUARED if base == columns.SQUARED_NORM else None
    plain = re.sub(r"[\s/.:-]+", "_", name.strip().lower())
    if plain in _HOME:
        return _HOME[plain], _RANK[plain], None
    if plain in SQUARED_NORMS:
        return columns.SQUARED_NORM, SQUARED_NORMS.index(plain), NormKind.SQUARED
    if plain in PLAIN_NORMS:
        rank = len(SQUARED_NORMS) + PLAIN_NORMS.index(plain)
        return columns.SQUARED_NORM, rank, NormKind.PLAIN
    return _grouped_meaning(name)


def _grouped_meaning(name: str) -> tuple[str, int, NormKind | None] | None:
    """The same for a column of one parameter group or one group of examples."""
    for pattern, ours, kind in (
        (_SQUARED_GROUP, columns.SQUARED_NORM, NormKind.SQUARED),
        (_PLAIN_GROUP, columns.SQUARED_NORM, NormKind.PLAIN),
        (_GROUP_ACCURACY, columns.GROUP_ACCURACY, None),
        (_GROUP_COUNT, columns.GROUP_COUNT, None),
    ):
        if found := pattern.fullmatch(name):
            group = next(text for text in found.groups() if text is not None)
            return columns.of_group(ours, group), 1 + (kind is NormKind.PLAIN), kind
    return None
