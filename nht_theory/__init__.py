"""When will a network leave its shortcut, does the theory hold for my runs, what may I cite?

The public verbs are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nht_theory.claims.validate import validate
    from nht_theory.runs.load import load_study

_HOME = {
    "load_study": "nht_theory.runs.load",
    "validate": "nht_theory.claims.validate",
}

__all__ = ["load_study", "validate"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    # What a notebook shows of a result is decided above the result's own layer.
    import_module("nht_theory.reporting.notebook").attach()
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
