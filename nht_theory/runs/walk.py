"""Walk a directory that somebody else left behind: in a fixed order, and never out of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nht_theory.checkpoints.directory_units import DISTRIBUTED_METADATA
from nht_theory.checkpoints.mapped_file import why_not_followed
from nht_theory.checkpoints.notes import LeftOut
from nht_theory.runs import run_format

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Folder:
    """One visited directory.

    Attributes:
        path: the directory.
        relative: its path from the root, ``""`` for the root.
        files: names of its regular files, in natural order.
        folders: names of its subdirectories, in natural order.
    """

    path: Path
    relative: str
    files: tuple[str, ...]
    folders: tuple[str, ...]


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key under which ``step_200`` comes before ``step_1000``.

    Example:
        >>> sorted(["step_1000", "step_200", "a"], key=natural)
        ['a', 'step_200', 'step_1000']
    """
    parts = _DIGITS.split(name)
    return tuple((1, int(p), "") if p.isdecimal() else (0, 0, p) for p in parts if p)


OF_RUN_DIRECTORY = frozenset({run_format.CHECKPOINT_DIRECTORY, run_format.LATEST_DIRECTORY})
"""Subdirectories of a run directory, whose metrics hold all that these do."""


def walk(root: Path, left_out: list[LeftOut]) -> Iterator[Folder]:
    """Visit ``root`` and what lies in it, parents first, in natural order.

    Links are not followed, hidden entries and the checkpoints of a run directory are not entered,
    and what cannot be listed is reported. The lock of a live run, the record of registered files
    and a half-written file of ours are known, and no news.

    Args:
        root: a directory.
        left_out: receives what is not visited.
    """
    pending = [(root, "")]
    while pending:
        path, relative = pending.pop()
        files: list[str] = []
        folders: list[str] = []
        try:
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: natural(entry.name))
        except OSError as error:
            left_out.append(LeftOut(relative or str(path), error.strerror or str(error)))
            continue
        for entry in entries:
            label = f"{relative}{entry.name}"
            if run_format.is_housekeeping(entry.name):
                continue
            if entry.name.startswith(".") and entry.name != DISTRIBUTED_METADATA:
                left_out.append(LeftOut(label, "hidden"))
            elif entry.is_symlink():
                left_out.append(LeftOut(label, why_not_followed(Path(entry.path), root)))
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            else:
                left_out.append(LeftOut(label, "not a regular file"))
        if run_format.RUN_FILE in files and run_format.METRICS_FILE in files:
            folders = [name for name in folders if name not in OF_RUN_DIRECTORY]
        yield Folder(path, relative, tuple(files), tuple(folders))
        pending.extend((path / name, f"{relative}{name}/") for name in reversed(folders))
