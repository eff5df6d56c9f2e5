"""Transformers' ``trainer_state.json``, of which each ``checkpoint-N`` holds a longer one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs.notes import notes_on
from nht_theory.runs.readers.json_lines import columns_of_rows
from nht_theory.runs.readers.text import read_json
from nht_theory.runs.record import Record

FILE = "trainer_state.json"
_END_OF_TRAINING = "train_runtime"
"""Marks the entry whose ``train_loss`` is a mean over all of training: no evaluation."""


def read(paths: Sequence[Path], name: str) -> Record:
    """Read one run.

    Args:
        paths: its ``trainer_state.json`` files, the latest first. Each holds the history of those
            before it, so the first that can be read is the run.
        name: name of the run.

    Raises:
        InputError: none can be read.
    """
    left_out: list[LeftOut] = []
    for index, path in enumerate(paths):
        label = f"{path.parent.name}/{path.name}"
        try:
            record = _read(path, name)
        except InputError as error:
            left_out.append(LeftOut(label, error.problem))
            continue
        earlier = [
            LeftOut(f"{other.parent.name}/{other.name}", f"continued by {label}")
            for other in paths[index + 1 :]
        ]
        notes = notes_on(left_out)
        return Record(
            name=record.name,
            source=record.source,
            cells=record.cells,
            settings=record.settings,
            notes=notes,
            left_out=(*left_out, *earlier),
        )
    raise InputError("; ".join(item.reason for item in left_out), source=paths[0])


def _read(path: Path, name: str) -> Record:
    content = read_json(path)
    history = content.get("log_history") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(history, list):
        raise InputError("no log_history", source=path)
    if not all(isinstance(row, dict) for row in history):
        raise InputError("log_history is not a list of objects", source=path)
    rows = [row for row in history if _END_OF_TRAINING not in row]
    if not rows:
        raise InputError("log_history is empty", source=path)
    settings = {
        key: content[key]
        for key in ("max_steps", "train_batch_size")
        if isinstance(content.get(key), int)
    }
    return Record(name=name, source=path, cells=columns_of_rows(rows), settings=settings)
