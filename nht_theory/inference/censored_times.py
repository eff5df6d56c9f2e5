"""Times that were not observed exactly: each lies in an interval, possibly without an end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.errors import DomainError
from nht_theory.inference.samples import Vector, check_same_length


@dataclass(frozen=True, eq=False)
class CensoredTimes:
    """Each time lies in (lower, upper].

    Attributes:
        lower: shape [n], >= 0: the last moment at which the event had not happened.
        upper: shape [n]: the first moment at which it had; infinite when right-censored; equal
            to ``lower`` when the time is known exactly.

    Example:
        >>> times = CensoredTimes.of([100, 200, 300], [200, 200, float("inf")])
        >>> times.n, times.n_right_censored, times.n_interval_censored
        (3, 1, 1)
    """

    lower: Vector
    upper: Vector

    @classmethod
    def of(cls, lower: ArrayLike, upper: ArrayLike) -> CensoredTimes:
        """Checked times from the ends of their intervals, shapes [n].

        Raises:
            DomainError: NaN, a negative time, upper < lower, an exact time of zero, or an
                interval (0, inf), which says nothing.
        """
        low = np.atleast_1d(np.asarray(lower, dtype=np.float64))
        high = np.atleast_1d(np.asarray(upper, dtype=np.float64))
        check_same_length(lower=low, upper=high)
        wrong = (
            ~np.isfinite(low)
            | np.isnan(high)
            | (low < 0)
            | (high < low)
            | (high == 0)
            | ((low == 0) & np.isposinf(high))
        )
        if low.ndim != 1 or low.size == 0 or wrong.any():
            where = np.flatnonzero(wrong)
            found = f"interval ({low[where[0]]}, {high[where[0]]}]" if where.size else "no interval"
            raise DomainError(
                f"{found} is not a censored time" if where.size else found,
                source="lower, upper",
                remedy="give 0 <= lower <= upper, with upper infinite where nothing was seen",
            )
        return cls(low, high)

    @classmethod
    def right_censored(cls, time: ArrayLike, observed: ArrayLike) -> CensoredTimes:
        """Exact times where ``observed``, otherwise only known to exceed ``time``."""
        moment = np.asarray(time, dtype=np.float64)
        seen = np.asarray(observed, dtype=bool)
        check_same_length(time=moment, observed=seen)
        return cls.of(moment, np.where(seen, moment, np.inf))

    def __len__(self) -> int:
        return int(self.lower.size)

    @property
    def n(self) -> int:
        """Number of times."""
        return int(self.lower.size)

    @property
    def is_right_censored(self) -> NDArray[np.bool_]:
        """Where the event was not seen."""
        return np.isposinf(self.upper)

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Where the time is known exactly."""
        return np.asarray(self.upper == self.lower)

    @property
    def n_right_censored(self) -> int:
        """How many events were not seen."""
        return int(self.is_right_censored.sum())

    @property
    def n_interval_censored(self) -> int:
        """How many events lie between two moments that differ."""
        return int((~self.is_right_censored & ~self.is_exact).sum())

    def take(self, rows: ArrayLike) -> CensoredTimes:
        """The times of some rows (indices or mask)."""
        chosen = np.asarray(rows)
        return CensoredTimes(self.lower[chosen], self.upper[chosen])

    def representative(self) -> Vector:
        """One positive time for each row, only to start a fit from: geometric middle of the
        interval, or one and a half times the last moment seen."""
        low = np.where(self.lower > 0, self.lower, 0.5 * np.minimum(self.upper, 1e300))
        high = np.where(self.is_right_censored, 2.25 * low, self.upper)
        return np.asarray(np.sqrt(low * high))
