"""Learning-rate schedules: the factor on the base learning rate, from the step alone.

Without hidden state a resumed run continues exactly where it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

Schedule = Callable[[int], float]
"""number of updates already done -> factor on the learning rate of the next one."""

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]

SCHEDULES = {
    "constant": "nht_train.schedules:constant",
    "linear_warmup": "nht_train.schedules:linear_warmup",
    "cosine": "nht_train.schedules:cosine",
}
"""name -> module:function, where the function returns a :data:`Schedule`."""


def constant(*, total_steps: int) -> Schedule:
    """The base learning rate throughout.

    Example:
        >>> constant(total_steps=10)(3)
        1.0
    """
    return lambda step: 1.0


def linear_warmup(*, total_steps: int, warmup_steps: Count = 10) -> Schedule:
    """Linear rise to the base learning rate over ``warmup_steps`` updates, then constant.

    Example:
        >>> [linear_warmup(total_steps=10, warmup_steps=4)(step) for step in (0, 1, 3, 9)]
        [0.25, 0.5, 1.0, 1.0]
    """
    return lambda step: min(1.0, (step + 1) / max(warmup_steps, 1))


def cosine(*, total_steps: int, warmup_steps: Count = 0, final_fraction: Share = 0.0) -> Schedule:
    """Linear warm-up, then half a cosine down to ``final_fraction`` at ``total_steps``.

    Example:
        >>> [round(cosine(total_steps=4)(step), 4) for step in range(5)]
        [1.0, 0.8536, 0.5, 0.1464, 0.0]
    """

    def factor(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        progress = (step - warmup_steps) / max(total_steps - warmup_steps, 1)
        return final_fraction + (1 - final_fraction) * (1 + math.cos(math.pi * progress)) / 2

    return factor
