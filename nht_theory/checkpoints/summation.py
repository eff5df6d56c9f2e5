"""Sums of squares: float32 products at the speed of memory, float64 sums, verified."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.floating]

ROW = 1024
"""Elements multiplied and added in float32 before float64 takes over."""
WINDOW = 1 << 22
"""Elements looked at together."""
_FLOAT64_BELOW = 1 << 14
"""A window with fewer elements is summed in float64 throughout: it costs nothing."""
_TOGETHER = 32
"""Windows verified together."""
_CHUNK = 1 << 15
"""Elements converted to float64 at a time: they stay in the cache."""
_WIDE_ROW = 1 << 12
"""Elements in one float64 product: short enough for OpenBLAS not to start threads."""
_TOLERANCE = 5e-8
"""Relative difference between float32 rows and float64 that makes float64 take over: three times
what the rounding of eight independent rows leaves."""
_SMALLEST = 2.0**-70
"""A sum below may have lost digits to underflow: an element loses 2^-126 at most."""


def sum_of_squares(values: Real, *, exact: bool = False) -> tuple[float, int]:
    """Sum of squares of a one-dimensional array, and how many elements are not finite.

    In float32, rows of :data:`ROW` elements are multiplied and added in float32 and the rows are
    added in float64. Rounding inside a row does not average out where elements repeat (a tensor
    of one constant is off by up to 5e-7), so of each window some rows are computed again in
    float64, and where they differ by more than 5e-8, or where a row overflowed, underflowed or
    outweighs the rest, float64 takes over for the window. The result is within 1e-7.

    Args:
        values: float32 or float64, shape [n].
        exact: sum in float64 throughout (relative error below 1e-13).

    Example:
        >>> sum_of_squares(np.full(100_000, 0.1, dtype=np.float32))[0] / 100_000 - 0.1**2 < 1e-9
        True
        >>> sum_of_squares(np.array([3.0, 4.0]))
        (25.0, 0)
    """
    total, not_finite = 0.0, 0
    with np.errstate(all="ignore"):
        for start in range(0, values.size, WINDOW):
            window = values[start : start + WINDOW]
            value = _in_float32(window) if _is_quick(window, exact) else math.nan
            if not math.isfinite(value):
                value, bad = _in_float64(window)
                not_finite += bad
            total += value
    return total, not_finite


def sums_of_squares(
    windows: Sequence[Real], before: Callable[[int], None] | None = None, *, exact: bool = False
) -> list[tuple[float, int]]:
    """:func:`sum_of_squares` of many windows, read in their order.

    The checks of several are made together, since after megabytes of data each call of numpy
    costs five microseconds.

    Args:
        windows: float32 or float64, each of shape [at most WINDOW].
        before: called with the index of a window before it is read, and again where float64
            takes over.
        exact: sum in float64 throughout.

    Example:
        >>> sums_of_squares([np.array([3.0, 4.0]), np.array([np.inf])])
        [(25.0, 0), (inf, 1)]
    """
    found: list[tuple[float, int]] = []
    with np.errstate(all="ignore"):
        for start in range(0, len(windows), _TOGETHER):
            indices = range(start, min(start + _TOGETHER, len(windows)))
            found.extend(_summed_together(windows, indices, before or _unannounced, exact))
    return found


def _unannounced(index: int) -> None:
    """Nobody wants to know."""


def _summed_together(
    windows: Sequence[Real], indices: range, before: Callable[[int], None], exact: bool
) -> list[tuple[float, int]]:
    quick = dict.fromkeys(index for index in indices if _is_quick(windows[index], exact))
    rows = _Float32Rows([windows[index] for index in quick])
    found: dict[int, tuple[float, int]] = {}
    for index in indices:
        before(index)
        if index in quick:
            rows.read_next()
        else:
            found[index] = _in_float64(windows[index])
    for index, value in zip(quick, rows.verified(), strict=True):
        if math.isfinite(value):
            found[index] = value, 0
        else:
            before(index)
            found[index] = _in_float64(windows[index])
    return [found[index] for index in indices]


def _is_quick(window: Real, exact: bool) -> bool:
    return not exact and window.size >= _FLOAT64_BELOW and window.dtype == np.float32


class _Rows(NamedTuple):
    """A window as rows, every ``step``-th of them to be verified, and what is left over."""

    rows: Real
    step: int
    sample: Real
    rest: Real

    @classmethod
    def of(cls, window: Real) -> _Rows:
        count = window.size // ROW
        rows = window[: count * ROW].reshape(count, ROW)
        step = max(1, count // min(64, max(8, count // 256)))
        return cls(rows, step, rows[::step], window[count * ROW :])


def _in_float32(window: Real) -> float:
    """The sum of one window; NaN or infinity where float32 is not good enough.

    What :class:`_Float32Rows` does for several, at half the price where there is only one.
    """
    rows, step, sample, rest = _Rows.of(window)
    sums = np.vecdot(rows, rows)
    total = float(np.add.reduce(sums, dtype=np.float64))
    wide, wide_rest = sample.astype(np.float64), rest.astype(np.float64)
    checked = float(np.add.reduce(np.vecdot(wide, wide)))
    sampled = float(np.add.reduce(sums[::step], dtype=np.float64))
    if not _agrees(total, float(np.maximum.reduce(sums)), sampled, checked):
        return math.nan
    return total + float(np.dot(wide_rest, wide_rest))


def _agrees(total: Any, largest: Any, sampled: Any, checked: Any) -> Any:
    """Whether float32 sums over rows (of all, the largest, of the sampled ones) can be believed:
    of one window, or of several as arrays."""
    in_range = (total >= _SMALLEST) & (largest <= total / 4)
    return in_range & (abs(sampled - checked) <= _TOLERANCE * checked)


class _Float32Rows:
    """The same of several windows, which are read first and verified together.

    What reading needs is laid out before: after a window has passed through the caches, every
    object that is looked at has to be fetched again.
    """

    def __init__(self, windows: Sequence[Real]) -> None:
        self._windows = [_Rows.of(window) for window in windows]
        self._sums = _Parts([len(window.rows) for window in self._windows], np.float32)
        self._checked = _Parts([len(window.sample) for window in self._windows], np.float64)
        self._rests = np.zeros(len(windows))
        self._read = 0

    def read_next(self) -> None:
        """Read the next window."""
        at = self._read
        self._read += 1
        rows, _, sample, rest = self._windows[at]
        np.vecdot(rows, rows, out=self._sums.parts[at])
        wide = sample.astype(np.float64)
        np.vecdot(wide, wide, out=self._checked.parts[at])
        if rest.size:
            wide = rest.astype(np.float64)
            self._rests[at] = np.dot(wide, wide)

    def verified(self) -> list[float]:
        """The sum of each window; NaN or infinity where float32 is not good enough."""
        if not self._windows:
            return []
        steps = [window.step for window in self._windows]
        sampled = [part[::step] for part, step in zip(self._sums.parts, steps, strict=True)]
        totals = self._sums.add_up(self._sums.whole)
        largest = np.maximum.reduceat(self._sums.whole, self._sums.starts)
        agrees = _agrees(
            totals,
            largest,
            self._checked.add_up(np.concatenate(sampled)),
            self._checked.add_up(self._checked.whole),
        )
        verified: list[float] = np.where(agrees, totals + self._rests, np.nan).tolist()
        return verified


class _Parts:
    """An array of consecutive parts, none of them empty."""

    def __init__(self, sizes: Sequence[int], kind: type[np.floating]) -> None:
        ends = list(accumulate(sizes))
        self.starts = [end - size for end, size in zip(ends, sizes, strict=True)]
        self.whole = np.empty(ends[-1] if ends else 0, kind)
        self.parts = [self.whole[a:b] for a, b in zip(self.starts, ends, strict=True)]

    def add_up(self, values: Real) -> NDArray[np.float64]:
        """Sum of each part of an array that is divided likewise."""
        return np.asarray(np.add.reduceat(values, self.starts, dtype=np.float64))


def _in_float64(window: Real) -> tuple[float, int]:
    total, not_finite = 0.0, 0
    for start in range(0, window.size, _CHUNK):
        chunk = window[start : start + _CHUNK].astype(np.float64, copy=False)
        whole = chunk.size - chunk.size % _WIDE_ROW
        rows, rest = chunk[:whole].reshape(-1, _WIDE_ROW), chunk[whole:]
        value = float(np.vecdot(rows, rows).sum()) + float(np.vecdot(rest, rest))
        if not np.isfinite(value):
            not_finite += int(np.count_nonzero(~np.isfinite(chunk)))
        total += value
    return total, not_finite
