"""SIGTERM and SIGINT become a question that the training loop asks between two steps."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interruption:
    """While entered, a first SIGTERM or SIGINT only sets :attr:`signal_number`.

    A second one does what it did before (and so ends a process that hangs). Outside the main
    thread Python cannot receive signals, and nothing changes.

    Example:
        >>> with Interruption() as interruption:
        ...     signal.raise_signal(signal.SIGTERM)
        ...     interruption.asked
        True
    """

    def __init__(self) -> None:
        self.signal_number: int | None = None
        self._previous: dict[signal.Signals, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return self.signal_number is not None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal_number = number
        self._restore()

    def _restore(self) -> None:
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, handler)
