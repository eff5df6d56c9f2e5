"""Which earlier runs obeyed the law, and whether a new run stands among them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nht_theory.forecasting.calibration import Configuration, Observation

EFFICIENCY_RANGE = (0.25, 1.25)
"""Efficiencies at which a delay counts as the law's: from half of the paper's own lower bound
(gamma >= eta lambda, c >= 1/2) to a quarter above pure decay (c = 1)."""
CLOCK_SETTINGS = ("learning_rate", "weight_decay")
"""The settings in which the law itself scales."""
EXTRAPOLATION = 10.0
"""Factor by which one of these may lie outside the earlier runs before the law is not claimed."""
OTHER_EXTRAPOLATION = 2.0
"""The same for any other setting: the law says nothing of how V_sc, V_st and c move with it."""


def obeyed_the_law(one: Observation) -> bool | None:
    """Whether a finished run switched as the law says; None where it cannot be told.

    It did when the norm fell from memorisation to the switch and did so at an efficiency within
    :data:`EFFICIENCY_RANGE`. It did not when the run never memorised, or generalised without a
    delay. A run that memorised and was stopped before it switched does not tell.
    """
    if one.memorization is None or one.generalization is None:
        return None
    if one.memorization_step is None:
        return False if one.run.settled else None
    if one.generalization_step is None:
        return None
    if one.delay is None or one.ratio is None or one.decay_rate is None:
        return False
    low, high = EFFICIENCY_RANGE
    return one.ratio > 1 and low <= math.log(one.ratio) / (one.decay_rate * one.delay) <= high


def too_far(name: str, value: float, low: float, high: float) -> bool:
    """Whether a setting lies farther outside the range of earlier runs than the law reaches.

    Example:
        >>> too_far("weight_decay", 0.3, 1.0, 2.0), too_far("d_model", 512.0, 128.0, 128.0)
        (False, True)
    """
    reach = EXTRAPOLATION if name in CLOCK_SETTINGS else OTHER_EXTRAPOLATION
    return max(value / high, low / value) > reach * (1 + 1e-12)


def lawful_configurations(
    observations: Sequence[Observation],
) -> Mapping[Configuration, bool]:
    """For each configuration whose runs tell, whether most of them obeyed the law."""
    told = defaultdict(list)
    for one in observations:
        outcome = obeyed_the_law(one)
        if outcome is not None:
            told[one.configuration].append(outcome)
    return {key: 2 * sum(outcomes) > len(outcomes) for key, outcomes in told.items()}


@dataclass(frozen=True, eq=False)
class Lawfulness:
    """Earlier runs, split by whether their configuration obeyed the law.

    Attributes:
        lawful: runs with a delay, in configurations that obeyed it.
        lawless: runs of configurations that did not, whatever happened to them.
    """

    lawful: tuple[Observation, ...]
    lawless: tuple[Observation, ...]

    @classmethod
    def of(cls, observations: Sequence[Observation]) -> Lawfulness:
        """Split earlier runs; those of configurations that do not tell are in neither part."""
        told = lawful_configurations(observations)
        lawful = (
            one
            for one in observations
            if told.get(one.configuration)
            and one.delay is not None
            and one.ratio is not None
            and one.decay_rate is not None
        )
        lawless = (one for one in observations if told.get(one.configuration) is False)
        return cls(tuple(lawful), tuple(lawless))

    def objection(self, settings: Mapping[str, float], configuration: Configuration = ()) -> str:
        """Why the law may not be claimed at these settings; empty when it may.

        Within the range of every setting over the lawful runs it may. Beyond the range it may
        not where a lawless run lies on the same side, since the law broke somewhere between; nor
        farther than it reaches (:func:`too_far`); nor where the configuration itself broke it.
        """
        if any(one.configuration == configuration for one in self.lawless):
            return "earlier runs of this very configuration broke the law"
        for name in sorted(settings):
            known = [one.settings[name] for one in self.lawful if name in one.settings]
            if not known or min(known) <= settings[name] <= max(known):
                continue
            value, low, high = settings[name], min(known), max(known)
            said = (
                f"{name} {value:g} lies outside the runs that obeyed the law ({low:g} to {high:g})"
            )
            broken = [one.settings[name] for one in self.lawless if name in one.settings]
            if any(other > high if value > high else other < low for other in broken):
                return f"{said}, on a side where earlier runs broke it"
            if too_far(name, value, low, high):
                reach = EXTRAPOLATION if name in CLOCK_SETTINGS else OTHER_EXTRAPOLATION
                return f"{said} by more than a factor {reach:g}"
        return ""
