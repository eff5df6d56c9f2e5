"""Files written before the first run of a study, such as forecasts: which they were, and when."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from nht_theory.errors import InputError
from nht_theory.runs.run_format import REGISTRATION_FILE
from nht_train.sweep.state import RunView, Standing


def register(files: Sequence[Path], runs: Sequence[RunView], directory: Path) -> None:
    """Record the hash of each file and the time, as long as no run has begun.

    A file that is registered already, unchanged, is left as it is: a sweep may be started again.

    Args:
        files: to register.
        runs: how each run of the study stands.
        directory: of the study; one line a file is added to ``.registered.jsonl`` there.

    Raises:
        InputError: a file cannot be read, or is new or changed although a run has begun.

    Example:
        >>> import tempfile
        >>> study = Path(tempfile.mkdtemp())
        >>> _ = (study / "forecasts.json").write_text("{}")
        >>> register([study / "forecasts.json"], [], study)
        >>> json.loads((study / ".registered.jsonl").read_text())["file"]
        'forecasts.json'
    """
    record = directory / REGISTRATION_FILE
    known = (
        [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    )
    begun = [run.name for run in runs if run.standing is not Standing.WAITING or run.metrics]
    for file in files:
        try:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise InputError(error.strerror or str(error), source=file) from error
        if any(line["file"] == file.name and line["sha256"] == digest for line in known):
            continue
        if begun:
            raise InputError(
                f"not registered before the runs: {len(begun)} of them have begun ({begun[0]})",
                source=file,
                remedy="register it with a new study directory",
            )
        line = {
            "file": file.name,
            "sha256": digest,
            "registered": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with record.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
