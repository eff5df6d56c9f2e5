"""A clock: what a per-step rate adds up to under a schedule, and when it has added up enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.dynamics.schedules import Schedule
from nht_theory.errors import DomainError

Array = NDArray[np.float64]

CLOCK_TOLERANCE = 1e-12
"""Relative: a clock that falls short by less than this has arrived (rounding of the sum)."""


@dataclass(frozen=True)
class Clock:
    """The running sum of a rate that depends on the learning rate alone.

    Attributes:
        schedule: of the learning rate.
        per_step: rate at each multiple of the peak learning rate, vectorised, >= 0.

    Example:
        >>> from nht_theory.dynamics.schedules import LinearWarmup
        >>> clock = Clock(LinearWarmup(warmup_steps=4), lambda multiple: 0.5 * multiple)
        >>> clock.at([0, 4, 6])
        array([0.  , 1.25, 2.25])
        >>> clock.steps_to([1.25, 2.0])
        array([4., 6.])
    """

    schedule: Schedule
    per_step: Callable[[Array], Array]

    @cached_property
    def _table(self) -> Array:
        multiples = self.schedule.multiples(0, self.schedule.horizon)
        return np.concatenate([[0.0], np.cumsum(self.per_step(multiples))])

    @cached_property
    def _final_rate(self) -> float:
        horizon = self.schedule.horizon
        return float(self.per_step(self.schedule.multiples(horizon, horizon + 1))[0])

    def at(self, steps: ArrayLike) -> Array:
        """The sum over the first ``steps`` steps (whole numbers >= 0, any shape).

        Raises:
            DomainError: a step is negative, not whole or not finite.
        """
        t = np.asarray(steps, dtype=np.float64)
        if not np.isfinite(t).all() or (t < 0).any() or (t != np.rint(t)).any():
            raise DomainError(
                "a step is negative, fractional or not finite",
                source="clock",
                remedy="steps are whole numbers, at least 0",
            )
        last = self.schedule.horizon
        inside = self._table[np.minimum(t, last).astype(np.int64)]
        return np.asarray(inside + np.maximum(t - last, 0.0) * self._final_rate)

    def steps_to(self, target: ArrayLike) -> Array:
        """The least whole number of steps whose sum reaches ``target``; infinity if none does.

        Raises:
            DomainError: a target is NaN.
        """
        wanted = np.asarray(target, dtype=np.float64)
        if np.isnan(wanted).any():
            raise DomainError("a target is NaN", source="clock", remedy="give numbers")
        last = self.schedule.horizon
        enough = wanted * (1.0 - CLOCK_TOLERANCE)
        inside = np.searchsorted(self._table, enough).astype(np.float64)
        if self._final_rate > 0.0:
            later = last + np.ceil((enough - self._table[-1]) / self._final_rate)
        else:
            later = np.full(wanted.shape, math.inf)
        return np.where(inside <= last, inside, later)
