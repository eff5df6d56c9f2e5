"""What was found while reading and not used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LeftOut:
    """Something that was found and not used, with the reason."""

    file: str
    reason: str
