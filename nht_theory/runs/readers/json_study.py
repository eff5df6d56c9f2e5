"""JSON studies: a list of records, or ``{"runs": [...]}``, each with its settings and ``logs``.

A file that is one log (a list of evaluations, or columns of equal length) is a study of one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from nht_theory.errors import InputError
from nht_theory.runs import column_names, columns, events
from nht_theory.runs.notes import Note, RunNoteKind
from nht_theory.runs.readers.json_lines import columns_of_rows
from nht_theory.runs.record import Record
from nht_theory.runs.settings import split

RUN_KEYS = ("runs", "records")
SUMMARY_KEYS = ("results",)
"""Lists under these keys count only if they hold logs: otherwise they repeat the events of runs."""
LOG_KEYS = ("logs", "log", "history", "metrics")

COMPANION_CONFIGURATIONS: dict[str, dict[str, object]] = {
    "sgd_2lam": {"optimizer": "sgd", "decay_form": "l2_penalty"},
    "sgd_1lam": {"optimizer": "sgd", "decay_form": "decoupled"},
    "adamw_1lam": {"optimizer": "adamw"},
}
"""Labels in the logs of arXiv 2603.13331: SGD with PyTorch's weight_decay 2*lam (the penalty
lam*||theta||^2 of arXiv 2603.07323, eq. 2) or lam, and AdamW with lam."""
COMPANION_KEYS = frozenset({"eta", "lam", "V_at_mem", "T_grok"})
"""Keys that tell a record of arXiv 2603.13331, which trains with AdamW unless it says otherwise."""


def is_study(content: object) -> bool:
    """Whether a parsed JSON file is a study: records that hold a log or events."""
    records = _records(content)
    return bool(records) and any(_is_record(record) for record in records)


def why_not(content: object) -> str:
    """Why a parsed JSON file is no study."""
    if isinstance(content, dict):
        for key in SUMMARY_KEYS:
            if isinstance(content.get(key), list):
                return f"a summary: nothing under {key!r} has a log"
        return f"no log under any of its keys ({', '.join(list(content)[:6])})"
    return "holds no log"


def read(path: Path, name: str, content: object) -> tuple[list[Record], list[tuple[str, str]]]:
    """Read every record of a study.

    Args:
        path: the file.
        name: name of the study; records are ``name[0]``, ``name[1]`` ... in the file's order.
        content: the parsed file.

    Returns:
        the records, and (record, reason) for each one that cannot be used.
    """
    records, refused = [], []
    for index, stored in enumerate(_records(content)):
        label = f"{name}[{index}]"
        if not isinstance(stored, dict) or not _is_record(stored):
            refused.append((label, "neither a log nor an event"))
            continue
        try:
            records.append(_record(path, label, stored))
        except InputError as error:
            refused.append((label, error.problem))
    return records, refused


def _records(content: object) -> list[object]:
    if isinstance(content, dict):
        for key in (*RUN_KEYS, *SUMMARY_KEYS):
            found = content.get(key)
            if isinstance(found, list) and (key in RUN_KEYS or any(map(_log, found))):
                return list(found)
        if _log(content) is not None:
            return [content]
        return [{LOG_KEYS[0]: content}] if _is_log(content) else []
    if isinstance(content, list):
        return [{LOG_KEYS[0]: content}] if _is_log(content) else content
    return []


def _is_log(content: list[object] | dict[str, object]) -> bool:
    """Whether evaluations are listed, or columns of equal length, one of them the step."""
    if isinstance(content, list):
        rows = [row for row in content if isinstance(row, dict)]
        return bool(rows) and len(rows) == len(content) and _has_step(rows[0])
    sizes = {len(column) if isinstance(column, list) else -1 for column in content.values()}
    return len(sizes) == 1 and sizes.pop() > 0 and _has_step(content)


def _has_step(names: Iterable[str]) -> bool:
    found = column_names.resolve(names, {}).sources
    return columns.STEP in found and len(found) > 1


def _is_record(record: object) -> bool:
    if not isinstance(record, dict):
        return False
    return _log(record) is not None or bool(
        {*events.MEMORIZATION, *events.GENERALIZATION} & record.keys()
    )


def _log(record: object) -> object:
    if not isinstance(record, dict):
        return None
    return next((record[key] for key in LOG_KEYS if isinstance(record.get(key), dict | list)), None)


def _record(path: Path, label: str, stored: Mapping[str, object]) -> Record:
    log = _log(stored)
    cells: dict[str, list[object]] = {}
    if isinstance(log, list):
        if not all(isinstance(row, dict) for row in log):
            raise InputError("its log is not a list of objects")
        cells = columns_of_rows(log)
    elif isinstance(log, dict):
        cells = {key: column for key, column in log.items() if isinstance(column, list)}
        if len({len(column) for column in cells.values()}) > 1:
            sizes = ", ".join(f"{key} {len(column)}" for key, column in cells.items())
            raise InputError(f"the columns of its log differ in length ({sizes})")
    beside = {key: value for key, value in stored.items() if key not in LOG_KEYS}
    settings, results = split(beside)
    notes: tuple[Note, ...] = ()
    configuration = stored.get("config")
    if isinstance(configuration, str) and configuration in COMPANION_CONFIGURATIONS:
        settings.update(COMPANION_CONFIGURATIONS[configuration])
    elif stored.keys() >= COMPANION_KEYS and "optimizer" not in stored:
        settings["optimizer"] = "adamw"
        notes = (Note(RunNoteKind.OPTIMIZER_FROM_PAPER),)
    return Record(
        name=label,
        source=path,
        cells=cells,
        settings=settings,
        results=results,
        notes=notes,
    )
