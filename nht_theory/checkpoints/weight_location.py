"""Where in the saved object the weights are, and what lies beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nht_theory.checkpoints import mapped_file
from nht_theory.checkpoints.distributed_checkpoint import DistributedTensor
from nht_theory.checkpoints.notes import LeftOut, Note, NoteKind
from nht_theory.checkpoints.pickle_policy import (
    OpaqueKey,
    OpaqueObject,
    Skipped,
    Symbol,
    TensorReference,
    Unreadable,
)
from nht_theory.checkpoints.tensor_names import EMA, LIVE
from nht_theory.errors import InputError, UnsafeFileError

CONTAINERS = (
    "state_dict",
    "model_state_dict",
    "model_state",
    "model_weights",
    "model",
    "module",
    "network",
    "net",
    "params",
    "parameters",
    "weights",
    "generator",
)
"""Keys under which weights are saved, the surest first."""
_OPTIMIZER = re.compile(
    r"^(optim\w*|opt|opts|opt_state|adamw?|sgd|\w*_optimizer(_state(_dict)?)?|(lr_)?sched\w*"
    r"|\w*_scheduler\w*|\w*scaler\w*|amp|rng\w*|\w*_rng\w*|callbacks|loops|fp32_from_fp16\w*"
    r"|optimizer_state\w*)$",
    re.IGNORECASE,
)
_EMA = re.compile(
    r"^(ema|ema_\w+|\w+_ema|avg_model|averaged\w*|swa|swa_\w+|shadow\w*)$", re.IGNORECASE
)
_EMA_NAME = re.compile(r"^(model_ema|ema_model|ema|averaged_model)\.")

Path = tuple[str, ...]
Leaf = TensorReference | DistributedTensor | Unreadable
_LEAVES = (TensorReference, DistributedTensor, Unreadable)


@dataclass(frozen=True)
class Located:
    """The weights of a saved object.

    Attributes:
        leaves: name -> tensor, in the order of the file.
        left_out: what lies beside them, each with the reason.
        notes: where they were found, and which set was taken.
    """

    leaves: dict[str, Leaf]
    left_out: tuple[LeftOut, ...]
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Found:
    path: Path
    leaf: Leaf
    inside: str
    """Class of the opaque object around it, or empty."""


def locate_weights(root: Any, source: object, weights: str = LIVE) -> Located:
    """Find the weights in what ``torch.save`` stored.

    Args:
        root: the object, as :class:`nht_theory.checkpoints.torch_file.TorchFile` reads it.
        source: the file, for messages.
        weights: ``live``, ``ema``, or the key (``model.generator``) of the set to take.

    Raises:
        InputError: there are none; the message says what there is and what to do.
    """
    if isinstance(root, _LEAVES):
        return Located({"tensor": root}, (), (Note(NoteKind.ONE_TENSOR),))
    if weights == LIVE and _is_state_dictionary(root):
        leaves, notes = _split_named_averages(dict(root), weights)
        return Located(leaves, (), tuple(notes))
    found = list(_leaves(root, source))
    folders = {f.path[:-1] for f in found}
    of_optimizer = {folder for folder in folders if any(map(_OPTIMIZER.match, folder))}
    of_averages = {folder for folder in folders if any(map(_EMA.match, folder))}
    free = [f for f in found if not f.inside]
    optimizer = [f for f in free if f.path[:-1] in of_optimizer]
    rest = [f for f in free if f.path[:-1] not in of_optimizer]
    if isinstance(root, OpaqueObject) or (len(free) < len(found) and not rest):
        raise _whole_object(root, found, source)
    averaged = [f for f in rest if f.path[:-1] in of_averages]
    live = [f for f in rest if f.path[:-1] not in of_averages]
    notes = []
    if weights not in (LIVE, EMA):
        wanted = tuple(weights.split("."))
        live, averaged = [f for f in rest if f.path[: len(wanted)] == wanted], []
    elif weights == EMA and averaged:
        live, averaged = averaged, live
        notes.append(Note(NoteKind.AVERAGES_TAKEN, key=".".join(live[0].path[:1])))
    elif averaged and live:
        notes.append(Note(NoteKind.AVERAGES_ALSO, key=averaged[0].path[0]))
    elif averaged:
        live, averaged = averaged, []
        notes.append(Note(NoteKind.AVERAGES_ONLY, key=live[0].path[0]))
    prefix, leaves = _descend(live)
    leaves, named_notes = _split_named_averages(leaves, weights)
    notes += named_notes
    if not leaves:
        raise InputError(
            f"no weights {'' if weights == LIVE else f'called {weights!r} '}found among "
            f"{_shown(root)}",
            source=source,
            remedy="save a state dictionary (torch.save(model.state_dict(), path)), or name the "
            "key that holds the weights",
        )
    if prefix:
        notes.insert(0, Note(NoteKind.FOUND_UNDER, key=".".join(prefix)))
    taken = {f.path for f in live if f.path[: len(prefix)] == prefix}
    left_out = _left_out(root, found, taken, optimizer, averaged, prefix)
    return Located(leaves, left_out, tuple(notes))


def _is_state_dictionary(root: Any) -> bool:
    """Whether the saved object is nothing but names and tensors, as most are."""
    return (
        isinstance(root, dict)
        and bool(root)
        and all(type(name) is str and type(leaf) is TensorReference for name, leaf in root.items())
    )


def _leaves(root: Any, source: object) -> Iterator[_Found]:
    """Every tensor below ``root``, containers visited once."""
    seen: set[int] = set()
    pending: list[tuple[Path, Any, str]] = [((), root, "")]
    while pending:
        path, value, inside = pending.pop()
        if isinstance(value, _LEAVES):
            yield _Found(path, value, inside)
            continue
        children = _children(value)
        if children is None or id(value) in seen:
            continue
        seen.add(id(value))
        if len(seen) > mapped_file.TREE_NODES:
            raise UnsafeFileError(
                f"more than {mapped_file.TREE_NODES} containers in the saved object", source=source
            )
        if isinstance(value, OpaqueObject) and not inside:
            inside = str(value.symbol or "an object")
        if len(path) < 16:
            pending.extend(((*path, key), child, inside) for key, child in reversed(children))


def _children(value: Any) -> list[tuple[str, Any]] | None:
    if isinstance(value, OpaqueObject):
        value = {**value.attributes(), **{str(i): v for i, v in enumerate(value.members)}}
    if isinstance(value, dict):
        return [(_key_text(key), v) for key, v in value.items()]
    if isinstance(value, (list, tuple)):
        return [(str(i), v) for i, v in enumerate(value)]
    return None


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    return "(an object)" if isinstance(key, OpaqueKey) else str(key)[:80]


def _whole_object(root: Any, found: list[_Found], source: object) -> InputError:
    """A pickled model has its weights inside an object, and no state dictionary."""
    inside = next((f.inside for f in found if f.inside), None)
    name = inside or str(getattr(root, "symbol", None) or "an object")
    return InputError(
        f"a whole {name} object was pickled, not its weights; its class is not imported",
        source=source,
        remedy="where the class is defined, load it and torch.save(model.state_dict(), path)",
    )


def _descend(live: list[_Found]) -> tuple[Path, dict[str, Leaf]]:
    """The container of the weights: known keys are followed as long as they lead to tensors."""
    prefix: Path = ()
    while True:
        depth = len(prefix)
        below = [f for f in live if f.path[:depth] == prefix]
        keys = {f.path[depth] for f in below if len(f.path) > depth + 1}
        known = next((key for key in CONTAINERS if key in keys), None)
        only = next(iter(keys)) if len(keys) == 1 and len(below) == _inside(below, depth) else None
        key = known or only
        if key is None:
            return prefix, {".".join(f.path[depth:]): f.leaf for f in below}
        prefix = (*prefix, key)


def _inside(below: list[_Found], depth: int) -> int:
    return sum(len(f.path) > depth + 1 for f in below)


def _split_named_averages(
    leaves: dict[str, Leaf], weights: str
) -> tuple[dict[str, Leaf], list[Note]]:
    """Averages kept in the same state dictionary, told by the start of their names."""
    averaged = {name: leaf for name, leaf in leaves.items() if _EMA_NAME.match(name)}
    live = {name: leaf for name, leaf in leaves.items() if name not in averaged}
    if not averaged or not live:
        return leaves, []
    example = next(iter(averaged)).partition(".")[0]
    if weights == EMA:
        return averaged, [Note(NoteKind.NAMED_AVERAGES_TAKEN, key=example)]
    return live, [Note(NoteKind.NAMED_AVERAGES_ALSO, count=len(averaged), key=example)]


def _left_out(
    root: Any,
    found: list[_Found],
    taken: set[Path],
    optimizer: list[_Found],
    averaged: list[_Found],
    prefix: Path,
) -> tuple[LeftOut, ...]:
    """One entry for each key beside the weights, on every level down to them."""
    entries: list[LeftOut] = []
    optimizer_paths = {f.path for f in optimizer}
    averaged_paths = {f.path for f in averaged}
    value: Any = root
    for depth in range(len(prefix) + 1):
        below: dict[str, list[Path]] = {}
        for f in found:
            if f.path[:depth] == prefix[:depth] and len(f.path) > depth:
                below.setdefault(f.path[depth], []).append(f.path)
        for key, child in _children(value) or []:
            if depth < len(prefix) and key == prefix[depth]:
                continue
            paths = below.get(key, [])
            if any(path in taken for path in paths):
                continue
            if any(path in optimizer_paths for path in paths):
                reason = f"{len(paths)} tensors of the optimiser or of generators"
            elif any(path in averaged_paths for path in paths):
                reason = f"{len(paths)} moving averages"
            elif paths:
                reason = f"{len(paths)} tensors beside the weights"
            else:
                reason = f"{_kind(child)}, no weights"
            entries.append(LeftOut(".".join((*prefix[:depth], key)), reason))
        if depth < len(prefix):
            value = dict(_children(value) or []).get(prefix[depth])
    return tuple(entries)


def _kind(value: Any) -> str:
    if isinstance(value, OpaqueObject):
        return f"an object of class {value.symbol}, not opened" if value.symbol else "an object"
    if isinstance(value, Symbol):
        return f"the name {value}"
    if isinstance(value, Skipped):
        return f"{value.kind} of {value.length} bytes"
    if value is None:
        return "None"
    return type(value).__name__


def _shown(root: Any) -> str:
    keys = [key for key, _ in _children(root) or []]
    if not keys:
        return _kind(root)
    return "the keys " + ", ".join(key[:60] for key in keys[:8]) + (" ..." if len(keys) > 8 else "")
