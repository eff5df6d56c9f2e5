"""The exceptions of the whole library: what was found, where, and what to do about it."""

from __future__ import annotations


class NhtError(Exception):
    """Base class: a problem that a user can mend.

    The command line prints it as one line and exits with code 2.

    Args:
        problem: what was found, in one clause ("no column holds a norm").
        source: the file, key or argument it was found in.
        remedy: what to do ("name the column with --map squared_norm=COLUMN").

    Example:
        >>> str(NhtError("no run found", source="runs/", remedy="give a directory of runs"))
        'runs/: no run found; give a directory of runs'
    """

    def __init__(self, problem: str, *, source: object = None, remedy: str = "") -> None:
        self.problem = problem
        self.source = None if source is None else str(source)
        self.remedy = remedy
        where = f"{self.source}: " if self.source else ""
        then = f"; {remedy}" if remedy else ""
        super().__init__(f"{where}{problem}{then}")


class InputError(NhtError):
    """A file, a key or an argument is missing, malformed or contradictory."""


class UnmatchedOptionError(InputError):
    """A column map or a pattern of names fits none of the logs that were read."""


class DomainError(NhtError, ValueError):
    """A number lies outside the domain on which a formula or an estimator is defined."""


class UnsafeFileError(InputError):
    """A file was refused because reading it could execute code or exhaust the machine."""


class ConvergenceError(NhtError):
    """A fit has no trustworthy maximum; the remedies are numbered, the likeliest first.

    Args:
        problem: what was found.
        source: the fit.
        remedies: what to do, in the order worth trying.

    Example:
        >>> str(ConvergenceError("scale tends to zero", source="fit", remedies=("add runs",)))
        'fit: scale tends to zero; (1) add runs'
    """

    def __init__(self, problem: str, *, source: object, remedies: tuple[str, ...]) -> None:
        self.remedies = remedies
        numbered = "; ".join(f"({place}) {text}" for place, text in enumerate(remedies, 1))
        super().__init__(problem, source=source, remedy=numbered)
