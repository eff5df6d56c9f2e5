"""Which records are one run, stored again.

Files of results overlap: the same training run is stored under several names, on a coarser grid,
up to another last step, or after a re-run on the same machine that differs in the last digits.
Counted twice, it would make every test too sure of itself.

Two records are one run when nothing known about them differs and their trajectories agree:

- nothing known differs: no hyperparameter that both state has two values. The budget does not
  count. Two numbers, or two optimisers of :class:`~nht_theory.conventions.OptimizerKind`, never
  yield; two words (a label, a task's name) yield to trajectories identical to round-off.
- the trajectories agree over their whole common range. If both state seed, learning rate and
  weight decay, they begin equal to round-off (``ROUND_OFF``: same initial weights), differ by no
  more than ``EARLY`` at the first evaluation at which they differ at all, since training amplifies
  round-off by degrees (a jump is something that was done to one of them), and by no more than
  ``LATER`` at any. If either is silent on one of the three, or their words differ, a common
  beginning proves nothing (the same initial weights serve many configurations): every common
  evaluation, three at least, must agree to round-off.
- no part of their names, and no setting that one of them states, varies systematically over the
  study: :mod:`~nht_theory.runs.conditions_by_name`.

Measured on the 249 logs of arXiv 2603.13331: true repeats differ by at most 1.4e-9 at step 0, by
2.2e-6 at step 200 and 2.3e-4 at step 500, and by at most 0.26 anywhere: round-off moves the switch
by some steps, and V falls fast there. The closest pair of different seeds differs by 3e-6 at
step 0, which ``ROUND_OFF`` tells apart thirty times over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from nht_theory.conventions import DecayForm, OptimizerKind
from nht_theory.runs import columns
from nht_theory.runs.conditions_by_name import ConditionsByName
from nht_theory.runs.notes import Note, RunNoteKind
from nht_theory.runs.repeat_places import RepeatPlaces, beginning
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.settings import HYPERPARAMETER_NAMES, fill
from nht_theory.runs.study import Merge

ROUND_OFF = 1e-7
"""Largest relative difference of equal numbers summed in another order (float32 weights)."""
EARLY = 1e-3
"""Largest relative difference at the second common evaluation of a re-run."""
LATER = 0.3
"""Largest relative difference of V anywhere on the common range of two repeats. True repeats differ
by up to 0.262 (the largest of 77 in arXiv 2603.13331, while V falls at the switch); a run whose
norm was capped differs from its uncapped twin by 0.9."""
LEAST_COMMON = 3
"""Common evaluations without which identical trajectories prove nothing."""

_COMPARED = (columns.SQUARED_NORM, columns.TRAIN_LOSS, columns.HELDOUT_LOSS)
_KINDS = frozenset([*OptimizerKind, *DecayForm])
_IDENTITY = ("seed", "learning_rate", "weight_decay")
_COMPARED_HYPERPARAMETERS = (
    *_IDENTITY,
    *(n for n in HYPERPARAMETER_NAMES if n not in (*_IDENTITY, "extra", "total_steps")),
)


@dataclass
class _Cluster:
    """Records found to be one run, which of them is kept, and what is known about it."""

    members: list[Run]
    best: Run
    known: Hyperparameters

    def add(self, record: Run) -> None:
        self.members.append(record)
        self.best = min(self.best, record, key=_grid_then_length)
        self.known = fill(self.known, record.hyperparameters)


def merge_repeats(records: Sequence[Run]) -> tuple[tuple[Run, ...], tuple[Merge, ...]]:
    """Count each run once.

    Args:
        records: records with a trajectory, in a fixed order.

    Returns:
        the distinct runs, in the order of their first record, and the merges. Of repeats the one
        with the finest grid is kept, then the longest, then the first; it takes over the
        hyperparameters that only a repeat states.

    Example:
        >>> steps, v = np.array([0, 10, 20]), np.array([9.0, 8.0, 7.0])
        >>> same = Hyperparameters(seed=1, learning_rate=0.1, weight_decay=1.0)
        >>> fine = Run("fine", "a.csv", steps, {"squared_norm": v}, same)
        >>> coarse = Run("coarse", "b.csv", steps[::2], {"squared_norm": v[::2]}, same)
        >>> runs, merges = merge_repeats([coarse, fine])
        >>> [run.name for run in runs], merges[0].repeats
        (['fine'], ('coarse',))
    """
    clusters: list[_Cluster] = []
    places = _Places()
    conditions = ConditionsByName(records, _comparable, _identical)
    for record in records:
        candidates = sorted(places.near(record))
        home = next((i for i in candidates if _belongs(record, clusters[i], conditions)), None)
        if home is None:
            home = len(clusters)
            clusters.append(_Cluster([record], record, record.hyperparameters))
        else:
            clusters[home].add(record)
        places.add(record, home)
    runs = tuple(_kept(cluster) for cluster in clusters)
    merges = tuple(
        _merge(run, cluster)
        for run, cluster in zip(runs, clusters, strict=True)
        if len(cluster.members) > 1
    )
    return runs, merges


class Contradiction(IntEnum):
    """How two sets of hyperparameters differ."""

    NONE = 0
    WORDS = 1
    """Only in labels, which people choose freely."""
    VALUES = 2


def contradiction(one: Hyperparameters, other: Hyperparameters) -> Contradiction:
    """The gravest difference among the hyperparameters that both state.

    Example:
        >>> contradiction(Hyperparameters(seed=1), Hyperparameters(seed=2)).name
        'VALUES'
        >>> contradiction(Hyperparameters(task="mod 97"), Hyperparameters(task="addition")).name
        'WORDS'
        >>> contradiction(Hyperparameters(seed=1), Hyperparameters(optimizer="sgd")).name
        'NONE'
    """
    gravest = Contradiction.NONE
    for a, b in _stated_by_both(one, other):
        gravest = max(gravest, _difference(a, b))
        if gravest is Contradiction.VALUES:
            break
    return gravest


def _stated_by_both(
    one: Hyperparameters, other: Hyperparameters
) -> Iterator[tuple[object, object]]:
    for name in _COMPARED_HYPERPARAMETERS:
        yield getattr(one, name), getattr(other, name)
    for name in one.extra.keys() & other.extra.keys():
        yield one.extra[name], other.extra[name]


def _difference(one: object, other: object) -> Contradiction:
    if one is None or other is None or one == other:
        return Contradiction.NONE
    words = isinstance(one, str) and isinstance(other, str)
    if words and not (one in _KINDS and other in _KINDS):
        return Contradiction.WORDS
    return Contradiction.VALUES


def _identity(known: Hyperparameters) -> tuple[object, ...] | None:
    values = tuple(getattr(known, name) for name in _IDENTITY)
    return None if None in values else values


class _Places:
    """Where to look for repeats: under the same stated identity, or the same first evaluation."""

    def __init__(self) -> None:
        self._by_identity = RepeatPlaces(EARLY)
        # Where one is silent on its identity, only equality to round-off makes a repeat.
        self._by_start = RepeatPlaces(ROUND_OFF)

    def near(self, record: Run) -> set[int]:
        column = _column(record)
        if column is None:
            return set()
        identity = _identity(record.hyperparameters)
        found = self._by_identity.near(identity, record, column) if identity else set()
        step, cell = _start(record, column)
        for neighbour in (cell - 1, cell, cell + 1):
            found |= self._by_start.near((column, step, neighbour), record, column)
        return found

    def add(self, record: Run, home: int) -> None:
        column = _column(record)
        if column is None:
            return
        identity = _identity(record.hyperparameters)
        if identity:
            self._by_identity.add(identity, record, column, home)
        self._by_start.add((column, *_start(record, column)), record, column, home)


def _column(record: Run) -> str | None:
    return next((name for name in _COMPARED if record.has(name)), None)


def _start(record: Run, column: str) -> tuple[int, int]:
    """First step and, to round-off, first value: equal values lie in neighbouring cells."""
    steps, values = beginning(record, column)
    return steps[0], int(np.floor(np.log(max(abs(values[0]), 1e-300)) / (2 * ROUND_OFF)))


def _belongs(record: Run, cluster: _Cluster, conditions: ConditionsByName) -> bool:
    grade = contradiction(record.hyperparameters, cluster.known)
    if grade is Contradiction.VALUES:
        return False
    strict = grade is Contradiction.WORDS
    alike = next((one for one in cluster.members if agree(record, one, strict=strict)), None)
    if alike is None:
        return False
    # A coarse record may resemble two runs that differ: the one that is kept must agree as well.
    if cluster.best is not alike and _largest(record, cluster.best) > LATER:
        return False
    return not any(conditions.tell_apart(record, one) for one in (alike, cluster.best))


def _comparable(one: Run, other: Run) -> bool:
    return contradiction(one.hyperparameters, other.hyperparameters) is not Contradiction.VALUES


def _identical(one: Run, other: Run) -> bool:
    difference = _relative_differences(one, other)
    return difference is not None and bool(np.all(difference <= ROUND_OFF))


def agree(one: Run, other: Run, *, strict: bool = False) -> bool:
    """Whether two trajectories are those of one run (see the module's docstring).

    Args:
        one, other: the records, whose hyperparameters do not contradict each other.
        strict: their words differ, so that only identical trajectories will do.
    """
    difference = _relative_differences(one, other)
    if difference is None:
        return False
    stated = _identity(one.hyperparameters) and _identity(other.hyperparameters)
    if stated and not strict and len(difference) >= 2:
        apart = difference[difference > ROUND_OFF]
        begin_alike = difference[0] <= ROUND_OFF and (not apart.size or apart[0] <= EARLY)
        return bool(begin_alike and difference.max() <= LATER)
    return len(difference) >= LEAST_COMMON and bool(np.all(difference <= ROUND_OFF))


def _relative_differences(
    one: Run, other: Run
) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """At the common evaluations, in order; None when nothing that varies can be compared."""
    name = next((name for name in _COMPARED if one.has(name) and other.has(name)), None)
    if name is None:
        return None
    _, mine, theirs = np.intersect1d(one.steps, other.steps, return_indices=True)
    a, b = one.values[name][mine], other.values[name][theirs]
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = a[finite], b[finite]
    if len(a) < 2 or bool(np.all(a == a[0])):
        return None
    scale = np.maximum(np.abs(a), np.abs(b))
    return np.where(scale > 0, np.abs(a - b) / np.where(scale > 0, scale, 1.0), 0.0)


def _kept(cluster: _Cluster) -> Run:
    if len(cluster.members) == 1:
        return cluster.members[0]
    best = cluster.best
    known = fill(best.hyperparameters, cluster.known)
    note = Note(RunNoteKind.STORED_AGAIN, count=len(cluster.members))
    return replace(best, hyperparameters=known, notes=(*best.notes, note))


def _grid_then_length(run: Run) -> tuple[float, int]:
    spacing = float(np.median(np.diff(run.steps))) if len(run) > 1 else np.inf
    return spacing, -int(run.steps[-1])


def _merge(kept: Run, cluster: _Cluster) -> Merge:
    repeats = tuple(run.name for run in cluster.members if run.name != kept.name)
    differences: Mapping[str, float] = {
        run.name: _largest(kept, run) for run in cluster.members if run.name != kept.name
    }
    worst = max(differences.values())
    reason = (
        "same trajectory"
        if worst == 0
        else (
            f"same beginning to {ROUND_OFF:g} and nothing known differs "
            f"(largest later difference {worst:.2g} of V)"
        )
    )
    return Merge(kept.name, repeats, reason)


def _largest(one: Run, other: Run) -> float:
    difference = _relative_differences(one, other)
    return float("nan") if difference is None else float(np.max(difference))
