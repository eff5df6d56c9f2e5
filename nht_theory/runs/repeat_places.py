"""Where among many records the repeats of one are to be looked for, without comparing all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np

from nht_theory.runs.run import Run

PREFIX = 8
"""First evaluations that are kept of a record: the second in common is mostly among them."""

Steps = tuple[int, ...]
Values = tuple[float, ...]


@dataclass
class _Group:
    """Records of one bucket that log one column at the same first steps."""

    members: list[tuple[Values, int]] = field(default_factory=list)
    by_value: dict[int, dict[int, list[int]]] = field(default_factory=dict)

    def add(self, values: Values, home: int, tolerance: float) -> None:
        self.members.append((values, home))
        for place, cells in self.by_value.items():
            cells[_cell(values[place], tolerance)].append(home)

    def near(self, place: int, value: float, tolerance: float) -> Iterator[int]:
        """Homes whose value at a place may differ by no more than the tolerance."""
        if place not in self.by_value:
            cells: dict[int, list[int]] = defaultdict(list)
            for values, home in self.members:
                cells[_cell(values[place], tolerance)].append(home)
            self.by_value[place] = cells
        here = _cell(value, tolerance)
        for cell in (here - 1, here, here + 1):
            yield from self.by_value[place].get(cell, ())


class RepeatPlaces:
    """Records by what their repeats share: a key, and the value at the second common evaluation.

    Args:
        tolerance: largest relative difference at the second common evaluation.
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._buckets: dict[Hashable, dict[tuple[str, Steps], _Group]] = defaultdict(dict)

    def add(self, key: Hashable, record: Run, column: str, home: int) -> None:
        """File a record of a cluster, ``home``, under a key."""
        steps, values = beginning(record, column)
        group = self._buckets[key].setdefault((column, steps), _Group())
        group.add(values, home, self._tolerance)

    def near(self, key: Hashable, record: Run, column: str) -> set[int]:
        """Clusters under a key whose trajectories may begin like a record's."""
        steps, values = beginning(record, column)
        found: set[int] = set()
        for (theirs, their_steps), group in self._buckets.get(key, {}).items():
            places = _second_common(steps, their_steps) if theirs == column else None
            if places is None:
                found.update(home for _, home in group.members)
            else:
                mine, other = places
                found.update(group.near(other, values[mine], self._tolerance))
        return found


def beginning(record: Run, column: str) -> tuple[Steps, Values]:
    """The first steps at which a column is finite, and its values there."""
    series = record.values[column]
    places = np.flatnonzero(np.isfinite(series))[:PREFIX]
    return tuple(record.steps[places].tolist()), tuple(series[places].tolist())


def _second_common(one: Steps, other: Steps) -> tuple[int, int] | None:
    """Places of the second step that both have; None where the beginnings share fewer.

    Example:
        >>> _second_common((0, 10, 20, 30), (0, 20, 40))
        (2, 1)
    """
    common = [(place, other.index(step)) for place, step in enumerate(one) if step in other]
    return common[1] if len(common) > 1 else None


def _cell(value: float, tolerance: float) -> int:
    """Cells of twice the tolerance in the logarithm: near values lie in neighbouring ones."""
    return int(np.floor(np.log(max(abs(value), 1e-300)) / (2 * tolerance)))
