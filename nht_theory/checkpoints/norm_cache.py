"""Squared norms kept from an earlier look, so that a second look costs nothing.

An entry is found by what identifies the bytes: for every file of the checkpoint its device,
inode, size, times of last change of content and of status, and a digest of its beginning, its end
and samples between. A digest of everything would cost more than the norms (a hash reads slower
than a dot product), and samples alone would miss a change between them; the time of status
change cannot be set back by the tools that write files, so any rewriting is seen. Files changed
within the last two seconds are not kept, because a second change might carry the same time.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from nht_theory.checkpoints.directory_units import INDEX_SUFFIXES
from nht_theory.checkpoints.norms import SquaredNorms
from nht_theory.checkpoints.notes import LeftOut, Note, NoteKind
from nht_theory.checkpoints.optimizer_state import OptimizerSettings
from nht_theory.conventions import DecayForm

CACHE_VARIABLE = "NHT_CACHE_DIR"
"""Environment variable that moves the cache."""
_VERSION = 3
"""Rises when the same bytes would give another answer: new rules of selection, new sums."""
_SETTLED_NS = 2_000_000_000
_SAMPLES = 32
_SAMPLE_BYTES = 4096
_ENTRIES = 20_000
_BESIDE = ("trainer_state.json", "optimizer.pt", "optimizer.bin")


def cache_directory() -> Path:
    """Where entries are kept: ``$NHT_CACHE_DIR``, or the user's cache directory."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named) / "norms"
    from platformdirs import user_cache_path

    return user_cache_path("nht") / "norms"


def cache_key(path: Path, *, exact: bool, weights: str) -> str | None:
    """What identifies the answer, or None where it must not be kept.

    Args:
        path: of the checkpoint.
        exact, weights: as in :func:`nht_theory.checkpoints.squared_norms`.
    """
    digest = hashlib.sha256(json.dumps([_VERSION, exact, weights, path.name]).encode())
    now = time.time_ns()
    try:
        for file in _files(path):
            with open(file, "rb", buffering=0) as opened:
                status = os.fstat(opened.fileno())
                if max(status.st_mtime_ns, status.st_ctime_ns) > now - _SETTLED_NS:
                    return None
                identity = (
                    file.name,
                    status.st_dev,
                    status.st_ino,
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                )
                digest.update(json.dumps(identity).encode())
                last = max(0, status.st_size - _SAMPLE_BYTES)
                for sample in range(_SAMPLES + 1):
                    digest.update(
                        os.pread(opened.fileno(), _SAMPLE_BYTES, last * sample // _SAMPLES)
                    )
    except OSError:
        return None
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    """Every file that the answer depends on."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file())
    if path.name.endswith(INDEX_SUFFIXES):
        return sorted(file for file in path.parent.iterdir() if file.is_file())
    beside = [path.parent / name for name in _BESIDE]
    return [path, *(file for file in beside if file.is_file())]


def load(key: str, source: Path) -> SquaredNorms | None:
    """The entry of that key, or None: absent, or written by another version."""
    try:
        document = json.loads(_place(key).read_text())
        return _from_document(document, source)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def store(key: str, norms: SquaredNorms) -> None:
    """Keep an answer; a cache that cannot be written is no error."""
    place = _place(key)
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=place.parent, suffix=".part")
        with os.fdopen(handle, "w") as opened:
            json.dump(_to_document(norms), opened)
        os.replace(temporary, place)
    except OSError:
        return


def prune(limit: int = _ENTRIES) -> None:
    """Remove the oldest entries above the limit."""
    try:
        entries = [(entry.stat().st_mtime, entry) for entry in cache_directory().glob("??/*.json")]
        for _, entry in sorted(entries)[: max(0, len(entries) - limit)]:
            entry.unlink(missing_ok=True)
    except OSError:
        return


def _place(key: str) -> Path:
    return cache_directory() / key[:2] / f"{key}.json"


def _to_document(norms: SquaredNorms) -> dict[str, Any]:
    return {
        "format": norms.format,
        "values": dict(norms.values_by_name),
        "shapes": {name: list(shape) for name, shape in norms.shapes.items()},
        "ties": dict(norms.ties),
        "copies": dict(norms.copies),
        "not_finite": dict(norms.not_finite),
        "step": norms.step,
        "optimizer": None
        if norms.optimizer is None
        else {**asdict(norms.optimizer), "notes": _notes_document(norms.optimizer.notes)},
        "left_out": [[entry.file, entry.reason] for entry in norms.left_out],
        "notes": _notes_document(norms.notes),
    }


def _from_document(document: dict[str, Any], source: Path) -> SquaredNorms:
    return SquaredNorms(
        source=source,
        format=str(document["format"]),
        values_by_name={name: float(value) for name, value in document["values"].items()},
        shapes={name: tuple(shape) for name, shape in document["shapes"].items()},
        ties=document["ties"],
        copies=document["copies"],
        not_finite=document["not_finite"],
        step=document["step"],
        optimizer=_settings(document["optimizer"]),
        left_out=tuple(LeftOut(file, reason) for file, reason in document["left_out"]),
        notes=_notes(document["notes"]),
    )


def _notes_document(notes: Iterable[Note]) -> list[list[Any]]:
    """Kind and values of each note: the sentence is made again from them."""
    return [[note.kind.name, dict(note.values)] for note in notes]


def _notes(document: Iterable[tuple[str, dict[str, Any]]]) -> tuple[Note, ...]:
    return tuple(Note(NoteKind[kind], **values) for kind, values in document)


def _settings(document: dict[str, Any] | None) -> OptimizerSettings | None:
    if document is None:
        return None
    known = {entry.name: document[entry.name] for entry in fields(OptimizerSettings)}
    if known["decayed"] is not None:
        known["decayed"] = tuple(known["decayed"])
    if known["decay_form"] is not None:
        known["decay_form"] = DecayForm(known["decay_form"])
    known["notes"] = _notes(known["notes"])
    return OptimizerSettings(**known)
