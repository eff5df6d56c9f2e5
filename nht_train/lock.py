"""One process a run: a lock that the system releases when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from nht_theory.errors import InputError
from nht_theory.runs.run_format import LOCK_FILE


class RunLock:
    """Holds a run directory until closed.

    Args:
        directory: of the run; created.
        patience_seconds: how long to ask again; :func:`is_locked` holds the lock for an instant.

    Raises:
        InputError: another process holds it.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as directory, RunLock(Path(directory)):
        ...     is_locked(Path(directory))
        True
    """

    def __init__(self, directory: Path, patience_seconds: float = 2.0) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._file = (directory / LOCK_FILE).open("a")
        deadline = time.monotonic() + patience_seconds
        while not self._try():
            if time.monotonic() >= deadline:
                self._file.close()
                raise InputError(
                    "another process is training this run",
                    source=directory,
                    remedy="wait until it ends, or stop it; its state is kept",
                )
            time.sleep(0.05)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Let the next process in."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def is_locked(directory: Path) -> bool:
    """Whether a living process holds the run."""
    if not (directory / LOCK_FILE).exists():
        return False
    try:
        RunLock(directory, patience_seconds=0.0).close()
    except InputError:
        return True
    return False
