"""Which parts of a run's name tell conditions apart, so that no copy of a run is meant by them.

Runs that were forked, frozen or clamped begin alike, and their files say in a word what was done to
them: ``k3_s0`` and ``kinf_s0`` are a norm cap of three and none. A part that varies
systematically forbids a merge. It does where at least two pairs of records differ in exactly it
(``k3_s0`` and ``kinf_s0``, ``k3_s1`` and ``kinf_s1``) and no stated number contradicts; settings
that one of the two states, or that are words, count as parts of the name. Only where all these
pairs are one trajectory to round-off does it tell copies apart: a folder that was stored twice.
A part that gives a known setting another number (``wd0.3`` and ``wd1.0``) always forbids it.

A position in a file (``results[6]``) is no name, and the name of a file of many records is that of
a collection: such records are told apart by what they state and by their trajectories alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from nht_theory.runs.run import Run
from nht_theory.runs.settings import SYNONYMS, TASK_SETTINGS

_SEPARATORS = re.compile(r"[^A-Za-z0-9.]+")
_LETTERS_OR_DIGITS = re.compile(r"[A-Za-z]+|[0-9.]+")
_POSITION = re.compile(r"\[\d+\]")
_NUMBERED = re.compile(r"([A-Za-z]+)(\d+(?:\.\d+)?(?:[eE]-?\d+)?)")
_SETTINGS = frozenset(
    name
    for ours, names in {**SYNONYMS, **TASK_SETTINGS}.items()
    if ours not in ("seed", "total_steps")
    for name in names
)

Parts = Counter[str]
Difference = tuple[tuple[str, ...], tuple[str, ...]]
Comparison = Callable[[Run, Run], bool]


def parts_of(record: Run) -> Parts | None:
    """The parts of a record's name with its settings; None where a position is all its name.

    Example:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> sorted(parts_of(Run("caps/k3_s0", Path("."), np.arange(2))))
        ['caps', 'k3', 's0']
    """
    if _POSITION.search(record.name):
        return None
    words = [word for word in _SEPARATORS.split(record.name) if word]
    if len(words) == 1:
        words = _LETTERS_OR_DIGITS.findall(words[0])
    chosen = record.hyperparameters
    settings = {**chosen.extra, "task": chosen.task}
    stated = (f"{name}={value}" for name, value in settings.items() if value is not None)
    return Counter([*words, *stated])


def _other_number(one: Parts, other: Parts) -> bool:
    """Whether two sets of parts give a known setting two numbers.

    Example:
        >>> _other_number(Counter(["wd0.3", "s0"]), Counter(["wd1.0", "s1"]))
        True
        >>> _other_number(Counter(["run3"]), Counter(["run4"]))
        False
    """
    mine, theirs = _numbers(one), _numbers(other)
    return any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys())


def _numbers(parts: Parts) -> dict[str, float]:
    found = filter(None, map(_NUMBERED.fullmatch, parts))
    return {
        name: float(number)
        for name, number in (match.groups() for match in found)
        if name.lower() in _SETTINGS
    }


class ConditionsByName:
    """The systematic parts of the names of a study.

    Args:
        records: all that may be merged.
        comparable: whether no stated number of two records contradicts.
        identical: whether two records are one trajectory to round-off.
    """

    def __init__(
        self, records: Sequence[Run], comparable: Comparison, identical: Comparison
    ) -> None:
        self._comparable, self._identical = comparable, identical
        self._parts: dict[int, Parts] = {}
        self._with_part: dict[str, list[Run]] = defaultdict(list)
        self._with_parts: dict[frozenset[tuple[str, int]], list[Run]] = defaultdict(list)
        for record in records:
            parts = parts_of(record)
            if parts is None:
                continue
            self._parts[id(record)] = parts
            self._with_parts[frozenset(parts.items())].append(record)
            for part in parts:
                self._with_part[part].append(record)
        self._known: dict[Difference, bool] = {}

    def tell_apart(self, one: Run, other: Run) -> bool:
        """Whether a part in which two records differ varies systematically over the study."""
        mine, theirs = self._parts.get(id(one)), self._parts.get(id(other))
        if mine is None or theirs is None or mine == theirs:
            return False
        if _other_number(mine - theirs, theirs - mine):
            return True
        sides = sorted(tuple(sorted(side.elements())) for side in (mine - theirs, theirs - mine))
        difference = (sides[0], sides[1])
        if difference not in self._known:
            self._known[difference] = self._systematic(difference)
        return self._known[difference]

    def _systematic(self, difference: Difference) -> bool:
        pairs = list(self._pairs(difference))
        return len(pairs) > 1 and not all(self._identical(*pair) for pair in pairs)

    def _pairs(self, difference: Difference) -> Iterator[tuple[Run, Run]]:
        """Pairs of records whose parts differ in exactly this."""
        one, other = sorted(difference, key=len, reverse=True)
        rarest = min(one, key=lambda part: len(self._with_part[part]))
        without, instead = Counter(one), Counter(other)
        for record in self._with_part[rarest]:
            parts = self._parts[id(record)]
            if without - parts:
                continue
            wanted = frozenset((parts - without + instead).items())
            for partner in self._with_parts.get(wanted, ()):
                if self._comparable(record, partner):
                    yield record, partner
