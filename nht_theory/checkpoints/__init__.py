"""Checkpoints: found, ordered, read without executing anything, and summed up as squared norms.

The public names are :func:`squared_norms`, :func:`discover`, :func:`norm_trajectory` and
:func:`parameter_groups`; importing the package loads none of them yet.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nht_theory.checkpoints.discovery import Checkpoint as Checkpoint
    from nht_theory.checkpoints.discovery import CheckpointSeries as CheckpointSeries
    from nht_theory.checkpoints.discovery import discover as discover
    from nht_theory.checkpoints.groups import ParameterGroup as ParameterGroup
    from nht_theory.checkpoints.groups import parameter_groups as parameter_groups
    from nht_theory.checkpoints.norms import SquaredNorms as SquaredNorms
    from nht_theory.checkpoints.norms import squared_norms as squared_norms
    from nht_theory.checkpoints.trajectory import NormTrajectory as NormTrajectory
    from nht_theory.checkpoints.trajectory import norm_trajectory as norm_trajectory

_HOMES = {
    "Checkpoint": "discovery",
    "CheckpointSeries": "discovery",
    "discover": "discovery",
    "NormTrajectory": "trajectory",
    "norm_trajectory": "trajectory",
    "ParameterGroup": "groups",
    "parameter_groups": "groups",
    "SquaredNorms": "norms",
    "squared_norms": "norms",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
