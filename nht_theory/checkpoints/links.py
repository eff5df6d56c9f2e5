"""Symbolic links in a directory that somebody else left behind: none is followed."""

from __future__ import annotations

from pathlib import Path


def why_not_followed(link: Path, root: Path) -> str:
    """What a link below ``root`` is, for the list of what is left out.

    Example:
        >>> import tempfile
        >>> root = Path(tempfile.mkdtemp())
        >>> for name, target in (("loop", "loop"), ("out", "/"), ("in", ".")):
        ...     (root / name).symlink_to(target)
        >>> for name in ("loop", "out", "in"):
        ...     print(why_not_followed(root / name, root))
        a link that leads nowhere or in a circle
        a link that leaves the directory: not followed
        a link into the directory: its target is read in its place
    """
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return "a link that leads nowhere or in a circle"
    if not target.is_relative_to(root.resolve()):
        return "a link that leaves the directory: not followed"
    return "a link into the directory: its target is read in its place"
