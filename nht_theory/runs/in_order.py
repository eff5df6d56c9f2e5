"""Map a function over many files on every core, with the results in the order of the files."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

MIN_FILES_PER_WORKER = 250
"""Files below which starting another process costs more than it saves."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_order(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int | None = None
) -> Iterator[Result]:
    """``function`` of each item, in order.

    Args:
        function: picklable, without side effects.
        items: picklable.
        workers: processes; None for as many as there are cores and work for. Other processes are
            used on Linux only, where they start without importing the caller's main module again.

    Example:
        >>> list(map_in_order(abs, [-1, 2, -3]))
        [1, 2, 3]
    """
    wanted = processes(len(items), workers)
    if wanted < 2:
        yield from map(function, items)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    chunk = max(1, min(100, len(items) // (4 * wanted)))
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        # A fork beside threads is safe here: the children only parse text into small arrays.
        warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
        with ProcessPoolExecutor(wanted, mp_context=context) as pool:
            yield from pool.map(function, items, chunksize=chunk)


def processes(items: int, workers: int | None) -> int:
    """How many processes :func:`map_in_order` takes; below two, it stays in this one."""
    if sys.platform != "linux":
        return 1
    cores = len(os.sched_getaffinity(0))
    return min(cores, items // MIN_FILES_PER_WORKER) if workers is None else workers
