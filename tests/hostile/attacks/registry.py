"""Hostile checkpoints, made by code: each must be refused quickly, cheaply and inertly.

Every attack writes one file or directory and returns its path. ``CANARY`` in a payload is a file
that exists afterwards if anything in the attack was run.
"""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

ATTACKS: dict[str, Callable[[Path, Path], Path]] = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


class Calls:
    """Pickles as a call of ``function``."""

    def __init__(self, function, *arguments):
        self.parts = (function, arguments)

    def __reduce__(self):
        return self.parts


def torch_zip(path: Path, pickled: bytes, storages: dict[str, bytes] | None = None) -> Path:
    """What torch.save writes, around any pickle."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", b"little")
        for key, data in (storages or {}).items():
            archive.writestr(f"archive/data/{key}", data)
        archive.writestr("archive/version", b"3\n")
    return path


def legacy(path: Path, pickled: bytes) -> Path:
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True, "protocol_version": 1001}]
    path.write_bytes(b"".join(pickle.dumps(p, 2) for p in parts) + pickled + pickle.dumps([], 2))
    return path


def safetensors(path: Path, header: object, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path
