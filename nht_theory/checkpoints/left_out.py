"""What was found while reading and not used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nht_theory.errors import NhtError


@dataclass(frozen=True)
class LeftOut:
    """Something that was found and not used, with the reason."""

    file: str
    reason: str


def refused(file: str, path: Path, error: NhtError) -> LeftOut:
    """A file that could not be used: the error without the path that ``file`` names anyway.

    Example:
        >>> error = NhtError("truncated", source="runs/a.pt", remedy="copy it again")
        >>> refused("a.pt", Path("runs/a.pt"), error)
        LeftOut(file='a.pt', reason='truncated; copy it again')
    """
    text = str(error)
    if error.source is not None and error.source.startswith(str(path)):
        text = text.removeprefix(str(path)).lstrip(": ")
    return LeftOut(file, text)
