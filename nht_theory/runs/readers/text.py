"""Text files, read whole and within bounds."""

from __future__ import annotations

import json
from pathlib import Path

from nht_theory.errors import InputError, UnsafeFileError

LARGEST_TEXT = 2 * 1024**3
"""A log beyond this many bytes is refused rather than let exhaust the memory."""


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte-order mark.

    Raises:
        InputError: cannot be read, or is not text.
        UnsafeFileError: larger than ``LARGEST_TEXT``.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST_TEXT:
            raise UnsafeFileError(f"{size / 1e9:.1f} GB of text", source=path, remedy="split it")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), source=path) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not text (byte {error.start} is not UTF-8)", source=path) from None
    if "\0" in text:
        raise InputError("not text (contains NUL bytes)", source=path)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: Path) -> object:
    """The content of a JSON file.

    Raises:
        InputError: cannot be read or is not JSON (line and column named).
    """
    text = read_text(path)
    if not text.strip():
        raise InputError("empty", source=path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {error.msg} ({where})", source=path) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {type(error).__name__}", source=path) from None
