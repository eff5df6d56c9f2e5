"""Sums of squares: float32 products at the speed of memory, float64 sums, verified."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.floating]

ROW = 1024
"""Elements multiplied and added in float32 before float64 takes over."""
WINDOW = 1 << 22
"""Elements looked at together."""
_FLOAT64_BELOW = 1 << 14
"""A window with fewer elements is summed in float64 throughout: it costs nothing."""
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
            value = None
            if not exact and window.dtype == np.float32 and window.size >= _FLOAT64_BELOW:
                value = _in_float32(window)
            if value is None:
                value, bad = _in_float64(window)
                not_finite += bad
            total += value
    return total, not_finite


def _in_float32(window: Real) -> float | None:
    """The sum, or None where float32 rows are not good enough.

    As few calls of numpy as will do: after megabytes of data each costs five microseconds.
    """
    whole = window.size // ROW
    rows, rest = window[: whole * ROW].reshape(whole, ROW), window[whole * ROW :]
    sums = np.vecdot(rows, rows)
    step = max(1, whole // min(64, max(8, whole // 256)))
    sample = rows[::step]
    again = np.zeros((len(sample) + 1, ROW))
    again[:-1] = sample
    again[-1, : rest.size] = rest
    verified = np.vecdot(again, again)
    wide = sums.astype(np.float64)
    total = float(np.add.reduce(wide))
    # The largest row is below the root of the sum of squared rows.
    if not (total >= _SMALLEST and float(np.dot(wide, wide)) <= (total / 4) ** 2):
        return None
    checked = float(np.add.reduce(verified[:-1]))
    if abs(float(np.add.reduce(wide[::step])) - checked) > _TOLERANCE * checked:
        return None
    total += float(verified[-1])
    return total if np.isfinite(total) else None


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
