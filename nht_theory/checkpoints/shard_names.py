"""The files that an index may name."""

from __future__ import annotations

from pathlib import Path

from nht_theory.errors import InputError, UnsafeFileError


def shard_path(directory: Path, name: str, index: str) -> Path:
    """The shard of that name beside its index.

    Raises:
        UnsafeFileError: the name leads out of the directory, directly or by a link.
        InputError: there is no such file.
    """
    plain = name not in ("", ".", "..") and not any(c in name for c in "/\\\0") and len(name) < 256
    if not plain:
        raise UnsafeFileError(
            f"names the shard {name[:200]!r}, which leaves the directory",
            source=directory / index,
            remedy="a shard must be a file beside its index",
        )
    path = directory / name
    if path.is_symlink() and not path.resolve().is_relative_to(directory.resolve()):
        raise UnsafeFileError(
            f"the shard {name} is a link that leaves the directory",
            source=directory / index,
            remedy="copy the file it points to",
        )
    if not path.exists():
        raise InputError(
            f"names the shard {name}, which is absent",
            source=directory / index,
            remedy="copy the missing shard; half a model has no norm",
        )
    return path
