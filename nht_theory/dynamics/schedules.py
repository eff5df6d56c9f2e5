"""Learning-rate schedules as multiples of the peak learning rate, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.conventions import ScheduleKind
from nht_theory.errors import DomainError, InputError

Array = NDArray[np.float64]


class Schedule(Protocol):
    """A learning-rate schedule; step 0 is the first update."""

    @property
    def kind(self) -> ScheduleKind:
        """Its name."""

    @property
    def horizon(self) -> int:
        """Step from which the multiple stays what it is there (0 if constant)."""

    def multiples(self, start: int, stop: int) -> Array:
        """Learning rate / peak at steps start, ..., stop - 1: float64, shape [stop - start]."""


def _positive_whole(value: int, name: str) -> None:
    if value != int(value) or value < 1:
        raise DomainError(f"{name} is {value}", remedy="it is a whole number of steps, at least 1")


@dataclass(frozen=True)
class Constant:
    """The peak learning rate at every step.

    Example:
        >>> Constant().multiples(0, 3)
        array([1., 1., 1.])
    """

    kind = ScheduleKind.CONSTANT
    horizon = 0

    def multiples(self, start: int, stop: int) -> Array:
        """One at every step; see :class:`Schedule`."""
        return np.ones(stop - start)


@dataclass(frozen=True)
class Cosine:
    """Half a cosine from the peak to ``final_multiple`` of it over ``total_steps``, then held.

    As torch's ``CosineAnnealingLR`` with eta_min = final_multiple * peak.

    Example:
        >>> Cosine(total_steps=4).multiples(0, 5).round(3)
        array([1.   , 0.854, 0.5  , 0.146, 0.   ])
    """

    total_steps: int
    final_multiple: float = 0.0
    kind = ScheduleKind.COSINE

    def __post_init__(self) -> None:
        _positive_whole(self.total_steps, "total_steps")
        if not 0 <= self.final_multiple <= 1:
            raise DomainError(
                f"final_multiple is {self.final_multiple}", remedy="it lies between 0 and 1"
            )

    @property
    def horizon(self) -> int:
        """The last step of the cosine."""
        return self.total_steps

    def multiples(self, start: int, stop: int) -> Array:
        """The half cosine; see :class:`Schedule`."""
        phase = np.minimum(np.arange(start, stop), self.total_steps) / self.total_steps
        fall = (1.0 + np.cos(np.pi * phase)) / 2.0
        return self.final_multiple + (1.0 - self.final_multiple) * fall


@dataclass(frozen=True)
class LinearWarmup:
    """1/n, 2/n, ..., 1 over ``warmup_steps`` = n, then another schedule from its own step 0.

    Example:
        >>> LinearWarmup(warmup_steps=4).multiples(0, 6)
        array([0.25, 0.5 , 0.75, 1.  , 1.  , 1.  ])
    """

    warmup_steps: int
    then: Schedule = field(default_factory=Constant)
    kind = ScheduleKind.LINEAR_WARMUP

    def __post_init__(self) -> None:
        _positive_whole(self.warmup_steps, "warmup_steps")

    @property
    def horizon(self) -> int:
        """Warm-up plus the horizon of what follows."""
        return self.warmup_steps + self.then.horizon

    def multiples(self, start: int, stop: int) -> Array:
        """The ramp and what follows; see :class:`Schedule`."""
        ramp = (np.arange(start, min(stop, self.warmup_steps)) + 1.0) / self.warmup_steps
        if stop <= self.warmup_steps:
            return ramp
        after = self.then.multiples(max(start - self.warmup_steps, 0), stop - self.warmup_steps)
        return np.concatenate([ramp, after])


@dataclass(frozen=True)
class StepDecay:
    """Multiplied by ``factor`` at each milestone, as torch's ``MultiStepLR``.

    Example:
        >>> StepDecay(milestones=(2, 4), factor=0.5).multiples(0, 6)
        array([1.  , 1.  , 0.5 , 0.5 , 0.25, 0.25])
    """

    milestones: tuple[int, ...]
    factor: float = 0.1
    kind = ScheduleKind.STEP

    def __post_init__(self) -> None:
        if not self.milestones or list(self.milestones) != sorted(set(self.milestones)):
            raise DomainError(
                f"milestones are {self.milestones}", remedy="give steps in increasing order"
            )
        _positive_whole(self.milestones[0], "first milestone")
        if not 0 <= self.factor <= 1:
            raise DomainError(f"factor is {self.factor}", remedy="it lies between 0 and 1")

    @property
    def horizon(self) -> int:
        """The last milestone."""
        return self.milestones[-1]

    def multiples(self, start: int, stop: int) -> Array:
        """The staircase; see :class:`Schedule`."""
        passed = np.searchsorted(self.milestones, np.arange(start, stop), side="right")
        return np.asarray(self.factor ** passed.astype(np.float64))


@dataclass(frozen=True, eq=False)
class ArraySchedule:
    """Multiples given step by step; the last one is held.

    Example:
        >>> ArraySchedule([1.0, 0.5]).multiples(0, 4)
        array([1. , 0.5, 0.5, 0.5])
    """

    values: ArrayLike
    kind = ScheduleKind.ARRAY
    _multiples: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        multiples = np.array(self.values, dtype=np.float64)
        if multiples.ndim != 1 or multiples.size == 0:
            raise DomainError(
                f"schedule has shape {multiples.shape}", remedy="give one multiple per step"
            )
        if not np.isfinite(multiples).all() or (multiples < 0).any():
            raise DomainError(
                "schedule holds a negative or non-finite multiple",
                remedy="every multiple of the peak is finite and at least 0",
            )
        object.__setattr__(self, "_multiples", multiples)

    @property
    def horizon(self) -> int:
        """The last given step."""
        return int(self._multiples.size) - 1

    def multiples(self, start: int, stop: int) -> Array:
        """The given values; see :class:`Schedule`."""
        return self._multiples[np.minimum(np.arange(start, stop), self.horizon)]


def schedule_from_name(
    name: str, *, total_steps: int | None = None, warmup_steps: int = 0
) -> Schedule:
    """A schedule by its name, with an optional linear warm-up before it.

    Args:
        name: constant, linear_warmup or cosine (the others need more than a name).
        total_steps: length of the whole run; cosine needs it and ends there.
        warmup_steps: length of the warm-up; linear_warmup needs it.

    Raises:
        InputError: an unknown name, or a length that the schedule needs is missing.

    Example:
        >>> schedule_from_name("cosine", total_steps=10, warmup_steps=2).multiples(0, 3)
        array([0.5, 1. , 1. ])
    """
    if warmup_steps and total_steps is not None and warmup_steps >= total_steps:
        raise InputError(
            f"warm-up of {warmup_steps} steps in a run of {total_steps}",
            remedy="the warm-up is shorter than the run",
        )
    following: Schedule
    if name in (ScheduleKind.CONSTANT, ScheduleKind.LINEAR_WARMUP):
        following = Constant()
        if name == ScheduleKind.LINEAR_WARMUP and not warmup_steps:
            raise InputError("linear_warmup has no length", remedy="give the warm-up steps")
    elif name == ScheduleKind.COSINE:
        if total_steps is None:
            raise InputError("cosine has no length", remedy="give the total number of steps")
        following = Cosine(total_steps - warmup_steps)
    else:
        raise InputError(
            f"no schedule {name!r} by name alone",
            remedy="use constant, linear_warmup or cosine; build StepDecay or ArraySchedule "
            "yourself",
        )
    return LinearWarmup(warmup_steps, following) if warmup_steps else following
