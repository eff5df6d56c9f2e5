"""What the optimiser state in a checkpoint says: its settings, and which parameters decay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nht_theory.checkpoints.notes import Note, NoteKind
from nht_theory.checkpoints.pickle_policy import OpaqueObject
from nht_theory.checkpoints.stored_numbers import ReadNumber
from nht_theory.conventions import DecayForm, OptimizerKind

Shape = tuple[int, ...]
_NUMBERS = ("lr", "initial_lr", "weight_decay", "momentum", "dampening", "eps")
_LARGEST_STATE = 200_000


@dataclass(frozen=True)
class OptimizerSettings:
    """Settings of the optimiser that wrote a checkpoint; None where the file does not say.

    Attributes:
        optimizer: as in :class:`nht_theory.conventions.OptimizerKind`.
        learning_rate: at this checkpoint, of the group with the largest.
        initial_learning_rate: that the schedule starts from, where one is used.
        weight_decay: of the parameters that decay.
        decay_form: how it enters the update, where the optimiser is known.
        beta_1, beta_2, momentum: of the optimiser.
        step: optimiser steps taken.
        decayed: names of the parameters that decay, or None where the file does not tell.
        notes: what was inferred, or could not be.
    """

    optimizer: str | None = None
    learning_rate: float | None = None
    initial_learning_rate: float | None = None
    weight_decay: float | None = None
    decay_form: DecayForm | None = None
    beta_1: float | None = None
    beta_2: float | None = None
    momentum: float | None = None
    step: int | None = None
    decayed: tuple[str, ...] | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class _Group:
    numbers: Mapping[str, float]
    keys: frozenset[str]
    betas: tuple[float, ...]
    decoupled: bool | None
    names: tuple[str, ...] | None
    shapes: tuple[Shape | None, ...]

    @property
    def decays(self) -> bool:
        return self.numbers.get("weight_decay", 0.0) != 0.0


def optimizer_settings(
    root: Any, shapes: Mapping[str, Shape], read_number: ReadNumber
) -> OptimizerSettings | None:
    """The settings in the first optimiser state found below ``root``, or None.

    Args:
        root: the saved object.
        shapes: name -> shape of the model's parameters, in the order of the file.
        read_number: reads a number that may lie in a tensor.
    """
    states = _find_states(root)
    if not states:
        return None
    groups, step = _groups(states[0], read_number)
    if not groups:
        return None
    kind, form = _kind(groups[0])
    notes = []
    if len(states) > 1:
        notes.append(Note(NoteKind.SEVERAL_OPTIMIZERS, count=len(states)))
    if kind is None and groups[0].betas and "amsgrad" in groups[0].keys:
        notes.append(Note(NoteKind.ADAM_OR_ADAMW))
    decays = sorted({g.numbers["weight_decay"] for g in groups if g.decays})
    if len(decays) > 1:
        notes.append(Note(NoteKind.SEVERAL_DECAYS, decays=", ".join(f"{d:g}" for d in decays)))
    decayed = _decayed(groups, shapes)
    if decayed is None and decays:
        notes.append(Note(NoteKind.DECAYED_UNKNOWN))
    rates = [g.numbers["lr"] for g in groups if "lr" in g.numbers]
    starts = [g.numbers["initial_lr"] for g in groups if "initial_lr" in g.numbers]
    betas = groups[0].betas
    known_decay = any("weight_decay" in g.numbers for g in groups)
    return OptimizerSettings(
        optimizer=None if kind is None else kind.value,
        learning_rate=max(rates, default=None),
        initial_learning_rate=max(starts, default=None),
        weight_decay=decays[-1] if decays else (0.0 if known_decay else None),
        decay_form=form,
        beta_1=betas[0] if betas else None,
        beta_2=betas[1] if len(betas) > 1 else None,
        momentum=groups[0].numbers.get("momentum"),
        step=step,
        decayed=decayed,
        notes=tuple(notes),
    )


def _find_states(root: Any) -> list[dict[Any, Any]]:
    """Dictionaries with ``param_groups``, the nearest to the top first."""
    found: list[dict[Any, Any]] = []
    level: list[Any] = [root]
    for _ in range(5):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                if isinstance(value.get("param_groups"), (list, dict)):
                    found.append(value)
                else:
                    below.extend(value.values())
            elif isinstance(value, (list, tuple)):
                below.extend(value)
        level = [v for v in below[:_LARGEST_STATE] if isinstance(v, (dict, list, tuple))]
    return found


def _groups(state: dict[Any, Any], read: ReadNumber) -> tuple[list[_Group], int | None]:
    stored = state["param_groups"]
    listed = list(stored.values()) if isinstance(stored, dict) else stored
    moments = state.get("state")
    moments = moments if isinstance(moments, dict) else {}
    groups, step = [], None
    for item in listed:
        entry = item.attributes() if isinstance(item, OpaqueObject) else item
        if not isinstance(entry, dict):
            continue
        numbers = {key: read(entry[key]) for key in _NUMBERS if key in entry}
        betas = entry.get("betas")
        betas = betas if isinstance(betas, (list, tuple)) else ()
        read_betas = [read(beta) for beta in betas]
        ids = entry.get("params")
        ids = ids if isinstance(ids, (list, tuple)) else []
        names = entry.get("param_names")
        for key in ids:
            step = _later(step, _moment(moments, key, "step"), read)
        groups.append(
            _Group(
                numbers={k: v for k, v in numbers.items() if v is not None},
                keys=frozenset(str(k) for k in entry),
                betas=tuple(beta for beta in read_betas if beta is not None),
                decoupled=entry.get("decoupled_weight_decay"),
                names=_names(names, ids),
                shapes=tuple(_moment_shape(moments, key) for key in ids),
            )
        )
    return groups, step


def _names(names: Any, ids: Sequence[Any]) -> tuple[str, ...] | None:
    for candidate in (names, ids):
        listed = isinstance(candidate, (list, tuple)) and len(candidate) > 0
        if listed and all(isinstance(name, str) for name in candidate):
            return tuple(candidate)
    return None


def _moment(moments: dict[Any, Any], key: Any, name: str) -> Any:
    if not isinstance(key, (int, str)):
        return None
    entry = moments.get(key, moments.get(str(key)))
    return entry.get(name) if isinstance(entry, dict) else None


def _later(step: int | None, value: Any, read: ReadNumber) -> int | None:
    if step is not None:
        return step  # the steps of the parameters agree: one is read
    number = read(value)
    return int(number) if number is not None and 0 <= number < 1 << 53 else None


def _moment_shape(moments: dict[Any, Any], key: Any) -> Shape | None:
    for name in ("exp_avg", "momentum_buffer", "exp_avg_sq"):
        value = _moment(moments, key, name)
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple):
            return shape
    return None


def _kind(group: _Group) -> tuple[OptimizerKind | None, DecayForm | None]:
    """The optimiser, told by the settings that only it has."""
    keys = group.keys
    if {"dampening", "nesterov"} <= keys:
        momentum = group.numbers.get("momentum", 0.0)
        return OptimizerKind.SGD, DecayForm.COUPLED if momentum else DecayForm.DECOUPLED
    if "ns_steps" in keys:
        return OptimizerKind.MUON, DecayForm.DECOUPLED
    if "amsgrad" in keys and group.decoupled is not None:
        adamw = group.decoupled is True
        return (
            (OptimizerKind.ADAMW, DecayForm.DECOUPLED)
            if adamw
            else (OptimizerKind.ADAM, DecayForm.COUPLED)
        )
    if group.betas and not keys & {"eps", "amsgrad"}:
        return OptimizerKind.LION, DecayForm.DECOUPLED
    return None, None


def _decayed(groups: list[_Group], shapes: Mapping[str, Shape]) -> tuple[str, ...] | None:
    """Names of the parameters that decay, by names where stored, else by order and shape.

    The order of the ids is that of the groups, each in the order of the model. Three ways of
    grouping are common: all parameters in one group, the order of the model cut in two, and
    vectors (biases and normalisations) apart from matrices. One that agrees with the number of
    parameters and with every known shape is taken.
    """
    if all(group.names is not None for group in groups):
        named = [n for g in groups if g.decays for n in g.names or ()]
        matched = [_match(name, shapes) for name in named]
        return tuple(m for m in matched if m) if all(matched) else None
    decayed_count = {True: 0, False: 0}
    for group in groups:
        decayed_count[group.decays] += len(group.shapes)
    if sum(decayed_count.values()) != len(shapes):
        return None
    if not decayed_count[False]:
        return tuple(shapes)
    if not decayed_count[True]:
        return ()
    names = list(shapes)
    cut, place = [], 0
    for group in groups:
        members = names[place : place + len(group.shapes)]
        cut.append((group, members))
        place += len(group.shapes)
    hypotheses = [cut]
    rules: list[Callable[[str], bool]] = [
        lambda name: len(shapes[name]) >= 2,
        lambda name: not name.endswith("bias") and "norm" not in name.lower(),
        lambda name: not name.endswith("bias"),
    ]
    if len(groups) == 2 and groups[0].decays != groups[1].decays:
        for rule in rules:
            hypotheses.append(
                [(g, [name for name in names if rule(name) == g.decays]) for g in groups]
            )
    for hypothesis in hypotheses:
        if all(_agrees(group, members, shapes) for group, members in hypothesis):
            return tuple(name for g, members in hypothesis if g.decays for name in members)
    return None


def _match(name: str, names: Mapping[str, Shape]) -> str | None:
    """A stored name with or without the prefixes that were taken off the model's."""
    parts = name.split(".")
    return next((tail for i in range(len(parts)) if (tail := ".".join(parts[i:])) in names), None)


def _agrees(group: _Group, members: list[str], shapes: Mapping[str, Shape]) -> bool:
    """Whether the shapes of a group are those of its members (in any order: files may sort)."""
    if len(members) != len(group.shapes):
        return False
    known = Counter(shape for shape in group.shapes if shape is not None)
    if not known:
        return False
    return not known - Counter(shapes[name] for name in members)
