"""Whether a run will memorise at all: strong decay takes the norm away before it can."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.grounds import Ground, GroundKind

NEAR = 2.0
"""Factor within which every setting of an earlier run must lie to speak for the run forecast."""


@dataclass(frozen=True)
class MemorizationChance:
    """How earlier runs with nearly the same settings ended.

    Attributes:
        probability: that a run like them memorises (the posterior mean under Jeffreys' prior).
        failed: runs that were watched for the whole budget and never memorised.
        runs: these, and the runs that memorised.
    """

    probability: float
    failed: int
    runs: int

    @property
    def ground(self) -> Ground:
        """What a forecast says of it."""
        return Ground(GroundKind.FAILED_NEARBY, count=self.failed, total=self.runs)


def memorization_chance(
    target: ObservedRun, observations: Sequence[ObservedRun], names: Sequence[str], budget: int
) -> MemorizationChance | None:
    """The chance that a run memorises; None where no earlier run near it failed to.

    Args:
        target: the run forecast.
        observations: comparable earlier runs.
        names: settings in which they differ.
        budget: steps that the run may take: a run stopped earlier without memorising does not
            tell.

    Source: derived here.
    """
    near = [one for one in observations if _is_near(one, target, names)]
    memorized = sum(one.memorization_step is not None for one in near)
    failed = sum(
        one.memorization is not None
        and one.memorization_step is None
        and int(one.run.steps[-1]) >= budget
        for one in near
    )
    if not failed:
        return None
    runs = memorized + failed
    return MemorizationChance((memorized + 0.5) / (runs + 1), failed, runs)


def _is_near(one: ObservedRun, target: ObservedRun, names: Sequence[str]) -> bool:
    return all(
        abs(math.log(one.settings[name] / target.settings[name])) <= math.log(NEAR) * (1 + 1e-12)
        for name in names
    )
