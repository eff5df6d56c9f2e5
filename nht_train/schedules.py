"""Learning-rate schedules that a configuration can name.

The multiples come from :mod:`nht_theory.dynamics.schedules`, so that the clock of the theory and
the training run go by the same numbers. They depend on the step alone: a resumed run continues
exactly where it was.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from nht_theory.dynamics.schedules import Constant, Cosine, LinearWarmup, Schedule, StepDecay

Multiples = NDArray[np.float64]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]

SCHEDULES = {
    "constant": "nht_train.schedules:constant",
    "linear_warmup": "nht_train.schedules:linear_warmup",
    "cosine": "nht_train.schedules:cosine",
    "step": "nht_train.schedules:step",
}
"""name -> module:function, where the function returns the learning rate of each update as a
multiple of the configured one, shape [total_steps]."""


def constant(*, total_steps: int) -> Multiples:
    """The configured learning rate throughout.

    Example:
        >>> constant(total_steps=3)
        array([1., 1., 1.])
    """
    return Constant().multiples(0, total_steps)


def linear_warmup(*, total_steps: int, warmup_steps: Positive = 10) -> Multiples:
    """Linear rise over ``warmup_steps`` updates, then constant.

    Example:
        >>> linear_warmup(total_steps=6, warmup_steps=4)
        array([0.25, 0.5 , 0.75, 1.  , 1.  , 1.  ])
    """
    return LinearWarmup(warmup_steps).multiples(0, total_steps)


def cosine(*, total_steps: int, warmup_steps: Count = 0, final_multiple: Share = 0.0) -> Multiples:
    """Linear warm-up, then half a cosine down to ``final_multiple`` at ``total_steps``.

    Raises:
        DomainError: the warm-up is not shorter than the run.

    Example:
        >>> cosine(total_steps=4).round(4)
        array([1.    , 0.8536, 0.5   , 0.1464])
    """
    if total_steps == 0:
        return np.empty(0)
    schedule: Schedule = Cosine(total_steps - warmup_steps, final_multiple)
    if warmup_steps:
        schedule = LinearWarmup(warmup_steps, schedule)
    return schedule.multiples(0, total_steps)


def step(*, total_steps: int, milestones: list[Positive], factor: Share = 0.1) -> Multiples:
    """Multiplied by ``factor`` from each milestone on.

    Example:
        >>> step(total_steps=4, milestones=[2], factor=0.5)
        array([1. , 1. , 0.5, 0.5])
    """
    return StepDecay(tuple(milestones), factor).multiples(0, total_steps)
