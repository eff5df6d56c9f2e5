"""What reading a run may notice (:mod:`nht_theory.checkpoints.notes` holds what notes are)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from nht_theory.checkpoints.notes import LeftOut, Note

__all__ = ["Note", "RunNoteKind", "notes_on"]


class RunNoteKind(Enum):
    """Kinds of notes on logs, settings and events; each value is the sentence it makes."""

    # of the clock
    EPOCH_CLOCK = "no step column: {name} is the clock, rates are per {name}"
    CHECKPOINT_CLOCK = "the clock of its checkpoints is their {unit}"
    PLACED_BY_EPOCH = (
        "checkpoints known by their epoch stand at the last step that the log has of it"
    )
    # of the rows
    NOT_FINITE = "{column}: {count} values are NaN or infinite, first at step {step:g}"
    WITHOUT_STEP = "{count} rows without a step are left out"
    RESTARTED = (
        "{count} evaluations logged again after a restart (steps {first} to {last}): the later "
        "record is kept"
    )
    LOGGED_TWICE = "{count} steps logged twice (first {first}): the later record is kept"
    OUT_OF_ORDER = "rows were out of order: sorted by step"
    WORST_OF_GROUPS = "worst_group_accuracy is the lowest of {count} group accuracies"
    PER_CENT = "accuracies are in per cent (up to {highest:g}): divided by 100"
    PART_LEFT_OUT = "{file}: {reason}"
    NO_LAST_NEWLINE = "no newline after the last row: its last cell may be cut"
    STATUS_MALFORMED = "{file} is malformed: {reason}"
    ENDED_EARLY = "{state} at step {step}{why}"
    # of checkpoints joined to a log
    JOINED = "norms of {count} checkpoints joined to the log"
    OTHER_NORM = (
        "the logged norm differs from that of the checkpoints by up to {difference:.2g} (it may be "
        "of some parameters only): the logged one is used"
    )
    STORED_AGAIN = "stored {count} times: counted once"
    # of the settings
    NAME_UNMATCHED = "name does not match the pattern {pattern}"
    NOT_UNDERSTOOD = "{name} is {value!r}: not understood"
    TWO_RATES = "two learning rates: {first}, and {name} {second} for the hidden matrices"
    NAME_CONTRADICTS = (
        "{name} is {inside} in the file and {outside} in its name: the file is believed"
    )
    OPTIMIZER_FROM_PAPER = "optimizer not stored: AdamW, as arXiv 2603.13331 says of these logs"
    # of recorded events
    NEVER = "{name} is {value}: read as not reached"
    AT_BUDGET = "{name} is {value}, the budget: read as not reached"
    # of a whole study
    COLUMN_SQUARED = "{ours} is {theirs} squared (a norm that is not squared), {count} run{plural}"
    COLUMN_READ_AS = "{ours} is {theirs}, {count} run{plural}"
    COLUMNS_UNUSED = "columns not used: {names}"


def notes_on(left_out: Iterable[LeftOut]) -> tuple[Note, ...]:
    """A note on each part of a run that was left out."""
    return tuple(
        Note(RunNoteKind.PART_LEFT_OUT, file=item.file, reason=item.reason) for item in left_out
    )
