"""Notes and omissions of reading checkpoints, as typed values with their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Self

from nht_theory.errors import NhtError


@dataclass(frozen=True)
class LeftOut:
    """Something that was found and not used, with the reason."""

    file: str
    reason: str


def refused(file: str, path: Path, error: NhtError) -> LeftOut:
    """A file that could not be used: the error without the path that ``file`` names anyway.

    Example:
        >>> error = NhtError("truncated", source="runs/a.pt", remedy="copy it again")
        >>> refused("a.pt", Path("runs/a.pt"), error)
        LeftOut(file='a.pt', reason='truncated; copy it again')
    """
    text = str(error)
    if error.source is not None and error.source.startswith(str(path)):
        text = text.removeprefix(str(path)).lstrip(": ")
    return LeftOut(file, text)


class NoteKind(Enum):
    """What reading checkpoints may notice; each value is the sentence it makes."""

    # of the numbers
    NOT_FINITE = "{count} of {name}'s elements are NaN or infinite"
    NOT_FINITE_AT = "{unit} {number}: {count} elements of {name} are NaN or infinite"
    # of parameters that are one, or two
    SHARED_MEMORY = "{name} shares its memory with {other}: counted once"
    STORED_TWICE = (
        "{name} holds the same bytes as {other}: taken as tied and stored twice, counted once"
    )
    EQUAL_ONCE = "{name} equals {other} at {file} only: two parameters"
    # of the names
    NAMES_STRIPPED = "{taken} taken off the names ({name} is {now})"
    NAMES_KEPT = "{taken} kept on the names: taking it off would make two names one"
    # of the place of the weights
    ONE_TENSOR = "the file holds one tensor without a name"
    FOUND_UNDER = "weights found under {key}"
    AVERAGES_TAKEN = "exponential moving averages taken, from {key}"
    NAMED_AVERAGES_TAKEN = "exponential moving averages taken ({key}.*)"
    AVERAGES_ALSO = (
        "live weights taken; the file also holds moving averages ({key}, choose them with "
        "weights='ema')"
    )
    NAMED_AVERAGES_ALSO = "live weights taken, not the {count} moving averages ({key}.*)"
    AVERAGES_ONLY = "the file holds moving averages only ({key})"
    # of the clock
    STEP_OF_OPTIMIZER = "the step is the one that the optimiser counted"
    STEP_UNKNOWN = "no step is stored or named: taken as 0"
    STEP_DISAGREES = "{file} says {named} in its name and {step} inside: the step inside is taken"
    ORDERED_BY_EPOCH = "no steps are known: ordered by epoch, which is no count of steps"
    ORDERED_BY_NUMBER = "ordered by the numbers in the names, whose unit is not known"
    # of the optimiser
    SEVERAL_OPTIMIZERS = "{count} optimisers are stored: the first is read"
    ADAM_OR_ADAMW = "Adam or AdamW: this version of torch does not store which"
    SEVERAL_DECAYS = "several weight decays: {decays}"
    DECAYED_UNKNOWN = "which parameters decay could not be matched to names: dimensions decide"


class Note(str):
    """A note: its kind and values, and as text the sentence that is made from them.

    Attributes:
        kind: what was noticed.
        values: what the sentence names, by name.

    Example:
        >>> note = Note(NoteKind.NOT_FINITE, count=2, name="epoch_gate.weight")
        >>> print(note, "|", note.kind.name, "|", note.values["count"])
        2 of epoch_gate.weight's elements are NaN or infinite | NOT_FINITE | 2
    """

    kind: Enum
    values: Mapping[str, object]

    def __new__(cls, kind: Enum, **values: object) -> Self:
        """Make the sentence of this kind."""
        own = super().__new__(cls, str(kind.value).format(**values))
        own.kind = kind
        own.values = MappingProxyType(values)
        return own

    def __reduce__(self) -> tuple[object, ...]:
        """What pickle and copy make it from: it is carried between processes."""
        return _made_again, (self.kind, dict(self.values))


def _made_again(kind: Enum, values: Mapping[str, object]) -> Note:
    return Note(kind, **values)
