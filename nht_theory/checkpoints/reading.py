"""The checkpoints of a series, read in parallel and remembered."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nht_theory.checkpoints import norm_cache
from nht_theory.checkpoints.norms import SquaredNorms, squared_norms
from nht_theory.checkpoints.progress import Meter, ScanCallback
from nht_theory.errors import InputError

_MOST_WORKERS = 4
"""More do not read faster than memory."""
_WORTH_A_THREAD = 1 << 25
"""Mean bytes of a checkpoint below which two threads take up to twice as long as one: opening holds
the interpreter's lock, only multiplying does not (measured at 0.2, 3, 20 and 100 MB; from a disk
that is not cached they make no difference)."""


def read_all(
    paths: Sequence[Path],
    *,
    exact: bool,
    weights: str,
    cache: bool,
    workers: int | None,
    progress: ScanCallback | None,
) -> list[SquaredNorms | InputError]:
    """The squared norms of each checkpoint, or the error that says why there are none.

    Threads suffice for large ones: numpy multiplies without holding the interpreter's lock.
    """
    sizes = [bytes_on_disk(path) for path in paths]
    meter = Meter(progress, len(paths), sum(sizes))
    large = sum(sizes) >= _WORTH_A_THREAD * len(sizes)
    threads = workers or (min(_MOST_WORKERS, _cores()) if large else 1)

    def read(path: Path, size: int) -> SquaredNorms | InputError:
        counted = 0

        def count(amount: int) -> None:
            nonlocal counted
            counted += amount
            meter.read(amount)

        try:
            return _remembered(path, exact=exact, weights=weights, cache=cache, read=count)
        except InputError as error:
            return error
        finally:
            meter.finished(skipped=size - counted)

    if threads == 1 or len(paths) <= 1:
        found = [read(path, size) for path, size in zip(paths, sizes, strict=True)]
    else:
        with ThreadPoolExecutor(min(threads, len(paths))) as pool:
            found = list(pool.map(read, paths, sizes))
    if cache:
        norm_cache.prune()
    return found


def _remembered(
    path: Path, *, exact: bool, weights: str, cache: bool, read: Callable[[int], None]
) -> SquaredNorms:
    key = norm_cache.cache_key(path, exact=exact, weights=weights) if cache else None
    if key is not None:
        kept = norm_cache.load(key, path)
        if kept is not None:
            return kept
    norms = squared_norms(path, exact=exact, weights=weights, read=read)
    if key is not None and key == norm_cache.cache_key(path, exact=exact, weights=weights):
        norm_cache.store(key, norms)
    return norms


def bytes_on_disk(path: Path) -> int:
    """Size of a checkpoint that is a file, or the files of one directory; 0 where unknown."""
    try:
        if path.is_dir():
            return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
        return path.stat().st_size
    except OSError:
        return 0


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
