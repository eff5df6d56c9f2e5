"""Which steps are evaluated and which keep their parameters."""

from __future__ import annotations

from nht_train.config import Checkpoints


def evaluation_steps(total_steps: int, every: int) -> frozenset[int]:
    """Every ``every`` steps from 0, and the last.

    Example:
        >>> sorted(evaluation_steps(10, 4))
        [0, 4, 8, 10]
    """
    return frozenset((*range(0, total_steps + 1, every), total_steps))


def checkpoint_steps(total_steps: int, checkpoints: Checkpoints) -> frozenset[int]:
    """Steps whose parameters are kept: none, fixed, or evenly spaced in log(step); and the ends.

    Example:
        >>> sorted(checkpoint_steps(1000, Checkpoints(schedule="log", per_decade=2)))
        [0, 1, 3, 10, 32, 100, 316, 1000]
        >>> sorted(checkpoint_steps(1000, Checkpoints(schedule="fixed", every=400)))
        [0, 400, 800, 1000]
        >>> sorted(checkpoint_steps(1000, Checkpoints(schedule="none")))
        []
    """
    if checkpoints.schedule == "none":
        return frozenset()
    if checkpoints.schedule == "fixed":
        return evaluation_steps(total_steps, checkpoints.every)
    steps = {0, total_steps}
    exponent = 0
    while (step := round(10 ** (exponent / checkpoints.per_decade))) <= total_steps:
        steps.add(step)
        exponent += 1
    return frozenset(steps)
