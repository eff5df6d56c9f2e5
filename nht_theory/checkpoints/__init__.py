"""Checkpoints: found, ordered, read without executing anything, and summed up as squared norms.

The public names are :func:`squared_norms`, :func:`discover`, :func:`norm_trajectory` and
:func:`parameter_groups`; importing the package loads none of them yet.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nht_theory.checkpoints.groups import ParameterGroup as ParameterGroup
    from nht_theory.checkpoints.groups import parameter_groups as parameter_groups
    from nht_theory.checkpoints.norms import SquaredNorms as SquaredNorms
    from nht_theory.checkpoints.norms import squared_norms as squared_norms

_HOMES = {
    "ParameterGroup": "groups",
    "parameter_groups": "groups",
    "SquaredNorms": "norms",
    "squared_norms": "norms",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
