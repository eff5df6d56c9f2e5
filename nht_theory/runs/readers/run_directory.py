"""Run directories written by nht_train (:mod:`nht_theory.runs.run_format`)."""

from __future__ import annotations

from pathlib import Path

from nht_theory.checkpoints.notes import LeftOut
from nht_theory.errors import InputError
from nht_theory.runs import run_format, settings
from nht_theory.runs.notes import Note, RunNoteKind, notes_on
from nht_theory.runs.readers.json_lines import columns_of_rows, read_rows
from nht_theory.runs.record import Record
from nht_theory.runs.run import Hyperparameters


def read(directory: Path, name: str) -> Record:
    """Read one run.

    Raises:
        InputError: ``run.json`` or ``metrics.jsonl`` is absent or malformed. A malformed
            ``status.json`` only makes a note.
    """
    document = run_format.read_run(directory)
    log = directory / run_format.METRICS_FILE
    rows, left_out = read_rows(log)
    notes = list(notes_on(left_out))
    settled = True
    try:
        status = run_format.read_status(directory)
    except InputError as error:
        status = None
        notes.append(
            Note(RunNoteKind.STATUS_MALFORMED, file=run_format.STATUS_FILE, reason=error.problem)
        )
        left_out = (*left_out, LeftOut(run_format.STATUS_FILE, error.problem))
    if status is not None:
        settled = status.ended
        if status.state is not run_format.RunState.FINISHED:
            why = f" ({status.error})" if status.error else ""
            notes.append(
                Note(RunNoteKind.ENDED_EARLY, state=str(status.state), step=status.step, why=why)
            )
    recorded = Hyperparameters(
        seed=document.seed,
        parameter_count=document.parameter_count,
        total_steps=None if status is None else status.total_steps,
        extra=_implied_loss(document),
    )
    return Record(
        name=name,
        source=directory,
        cells=columns_of_rows(rows),
        known=settings.fill(document.hyperparameters, recorded),
        groups=document.groups,
        settled=settled,
        notes=tuple(notes),
        left_out=left_out,
    )


def _implied_loss(document: run_format.RunDocument) -> dict[str, str]:
    """The loss of a run that nht's trainer wrote before it named losses.

    Every task of its own minimised cross-entropy then; a user's task (``module:function``) may
    have had another loss.
    """
    task = document.config.get("task")
    name = task.get("name") if isinstance(task, dict) else None
    own = "nht" in document.package_versions and isinstance(name, str) and ":" not in name
    return {run_format.LOSS: "cross_entropy"} if own else {}
