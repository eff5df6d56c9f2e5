"""What a pickle becomes when it is read as data: plain values, and what stands for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_SIMPLE_KEYS = (str, float, bool, bytes, type(None))
_LARGEST_KEY = 1 << 60
"""Integers below it have distinct hashes; others can be chosen to share one, and a dictionary of
them takes time that grows with the square of its size. So can tuples of numbers."""


@dataclass(frozen=True)
class Symbol:
    """A class or function that the file names, never imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class OpaqueObject:
    """What a call would have made: the callee, its arguments, and what was filled in later.

    Attributes:
        symbol: what was to be called; None where that is itself an opaque object.
        arguments: positional arguments.
        entries: items set on it, as of a subclass of dict.
        members: items appended to it, as of a subclass of list.
        state: what was to be given to ``__setstate__`` (often the attributes), or None.
    """

    __slots__ = ("arguments", "entries", "members", "state", "symbol")

    def __init__(self, symbol: Symbol | None, arguments: tuple[Any, ...]) -> None:
        self.symbol = symbol
        self.arguments = arguments
        self.entries: dict[Any, Any] = {}
        self.members: list[Any] = []
        self.state: Any = None

    def attributes(self) -> dict[Any, Any]:
        """The attributes that its state sets, with the items set on it; empty if unknown."""
        state = self.state
        if isinstance(state, tuple) and len(state) == 2:
            merged = [part for part in state if isinstance(part, dict)]
            state = {k: v for part in merged for k, v in part.items()}
        return {**self.entries, **(state if isinstance(state, dict) else {})}


class OpaqueKey:
    """A dictionary key that is not a plain value; equal only to itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True)
class Skipped:
    """A long string or block of bytes that was passed over."""

    kind: str
    length: int


def plain_key(key: Any) -> Any:
    """A key that is safe to hash: nested tuples take forever, and hashes of numbers can collide."""
    if isinstance(key, _SIMPLE_KEYS) or (type(key) is int and abs(key) < _LARGEST_KEY):
        return key
    if isinstance(key, tuple) and all(isinstance(part, str) for part in key):
        return key
    return OpaqueKey(key)
