"""Python's garbage collector, put off while many objects are made of which none becomes garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Collect no garbage meanwhile; threads may do so at the same time.

    Example:
        >>> with gc_disabled():
        ...     gc.isenabled()
        False
        >>> gc.isenabled()
        True
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
