"""Other norms that might carry the law: one group's, or all but the embeddings'."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from nht_theory.runs import columns
from nht_theory.runs.run import Run

_EMBEDDING = "embed"
"""Start of the name of the group that holds the embeddings."""


def other_norms(runs: Sequence[Run]) -> Mapping[str, Callable[[Run], Run]]:
    """Norms that every run logs besides the total, by name, each as the change of a run in which
    it stands where the total stood.

    Example:
        >>> import numpy as np
        >>> logged = {name: np.array([3.0]) for name in ("squared_norm", "squared_norm/embedding")}
        >>> list(other_norms([Run("a", None, np.array([0]), logged)]))
        ['V of embedding', 'V of all but embedding']
    """
    if not runs:
        return {}
    shared = set.intersection(*(set(run.norm_groups()) for run in runs))
    made: dict[str, Callable[[Run], Run]] = {}
    for group in sorted(shared):
        made[f"V of {group}"] = partial(_of_group, group=group)
        if group.startswith(_EMBEDDING):
            made[f"V of all but {group}"] = partial(_all_but, group=group)
    return made


def _of_group(run: Run, group: str) -> Run:
    series = run.column(columns.of_group(columns.SQUARED_NORM, group))
    return replace(run, values={**run.values, columns.SQUARED_NORM: series})


def _all_but(run: Run, group: str) -> Run:
    series = run.column(columns.of_group(columns.SQUARED_NORM, group))
    return replace(run, values={**run.values, columns.SQUARED_NORM: run.squared_norm - series})
