"""Which earlier runs obeyed the law, and whether a new run stands among them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nht_theory.forecasting.calibration import Configuration, ObservedRun
from nht_theory.forecasting.grounds import Ground, GroundKind, Side

EFFICIENCY_RANGE = (0.25, 1.25)
"""Efficiencies at which a delay counts as the law's: from half of the paper's own lower bound
(gamma >= eta lambda, c >= 1/2) to a quarter above pure decay (c = 1)."""
CLOCK_SETTINGS = ("learning_rate", "weight_decay")
"""The settings in which the law itself scales."""
EXTRAPOLATION = 10.0
"""Factor by which one of these may lie outside the earlier runs before the law is not claimed."""
OTHER_EXTRAPOLATION = 2.0
"""The same for any other setting: the law says nothing of how V_sc, V_st and c move with it."""


class Outcome(StrEnum):
    """How a finished run stands to the law."""

    OBEYED = "obeyed it"
    NOT_MEMORIZED = "not memorised within its budget"
    NO_DELAY = "generalised without a delay"
    OTHER_PACE = "the norm did not fall to the switch at the law's pace"


def outcome_of(one: ObservedRun) -> Outcome | None:
    """How a finished run stands to the law; None where it cannot be told.

    It obeyed when the norm fell from memorisation to the switch and did so at an efficiency within
    :data:`EFFICIENCY_RANGE`. A run that memorised and was stopped before it switched does not
    tell, nor does one that is still training and has not memorised yet.
    """
    if one.memorization is None or one.generalization is None:
        return None
    if one.memorization_step is None:
        return Outcome.NOT_MEMORIZED if one.run.settled else None
    if one.generalization_step is None:
        return None
    if one.delay is None:
        return Outcome.NO_DELAY
    if one.ratio is None or one.decay_rate is None:
        return Outcome.OTHER_PACE
    low, high = EFFICIENCY_RANGE
    paced = one.ratio > 1 and low <= math.log(one.ratio) / (one.decay_rate * one.delay) <= high
    return Outcome.OBEYED if paced else Outcome.OTHER_PACE


def obeyed_the_law(one: ObservedRun) -> bool | None:
    """Whether a finished run switched as the law says; None where it cannot be told.

    It did not when the run never memorised, or generalised without a delay (:func:`outcome_of`).
    """
    outcome = outcome_of(one)
    return None if outcome is None else outcome is Outcome.OBEYED


def too_far(name: str, value: float, low: float, high: float) -> bool:
    """Whether a setting lies farther outside the range of earlier runs than the law reaches.

    Example:
        >>> too_far("weight_decay", 0.3, 1.0, 2.0), too_far("d_model", 512.0, 128.0, 128.0)
        (False, True)
    """
    reach = EXTRAPOLATION if name in CLOCK_SETTINGS else OTHER_EXTRAPOLATION
    return max(value / high, low / value) > reach * (1 + 1e-12)


def lawful_configurations(
    observations: Sequence[ObservedRun],
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

    lawful: tuple[ObservedRun, ...]
    lawless: tuple[ObservedRun, ...]

    @classmethod
    def of(cls, observations: Sequence[ObservedRun]) -> Lawfulness:
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

    def objection(
        self, settings: Mapping[str, float], configuration: Configuration = ()
    ) -> Ground | None:
        """Why the law may not be claimed at these settings; None when it may."""
        return next(iter(self.objections(settings, configuration)), None)

    def objections(
        self, settings: Mapping[str, float], configuration: Configuration = ()
    ) -> tuple[Ground, ...]:
        """Everything that these runs hold against the law at these settings.

        Within the range of every setting over the lawful runs it may be claimed. Beyond the range
        it may not where a lawless run lies on the same side, since the law broke somewhere
        between; nor farther than it reaches (:func:`too_far`); nor where the configuration itself
        broke it. Below the lawful weight decays and learning rates a run that was not memorised
        within its budget shows no suppression, and is told apart.
        """
        found = []
        own = [one for one in self.lawless if one.configuration == configuration]
        if own:
            slow = any(self._side_of(name, settings) is Side.BELOW for name in CLOCK_SETTINGS)
            unmemorized = slow and _only_unmemorized(own)
            found.append(
                Ground(
                    GroundKind.UNMEMORIZED_CONFIGURATION
                    if unmemorized
                    else GroundKind.LAWLESS_CONFIGURATION
                )
            )
        beyond = (self._beyond(name, settings) for name in sorted(settings))
        return (*found, *(one for one in beyond if one is not None))

    def decay_too_strong(
        self, settings: Mapping[str, float], configuration: Configuration = ()
    ) -> Ground | None:
        """The ground on which weight decay is too strong at these settings; None where it is not,
        or where another setting too lies where the law may not be claimed."""
        against = self.objections(settings, configuration)
        of_decay = [one for one in against if one.decay_too_strong]
        others = [
            one
            for one in against
            if not one.decay_too_strong and one.kind is not GroundKind.LAWLESS_CONFIGURATION
        ]
        return of_decay[0] if of_decay and not others else None

    def _range(self, name: str) -> tuple[float, float] | None:
        known = [one.settings[name] for one in self.lawful if name in one.settings]
        return (min(known), max(known)) if known else None

    def _side_of(self, name: str, settings: Mapping[str, float]) -> Side | None:
        """The side of the lawful range on which a setting lies; None within it, or where either
        is unknown."""
        known = self._range(name)
        if known is None or name not in settings:
            return None
        if settings[name] > known[1]:
            return Side.ABOVE
        return Side.BELOW if settings[name] < known[0] else None

    def _beyond(self, name: str, settings: Mapping[str, float]) -> Ground | None:
        """What stands against the law where a setting lies beyond the lawful runs."""
        known, side = self._range(name), self._side_of(name, settings)
        if known is None or side is None:
            return None
        value, (low, high) = settings[name], known
        broken = [one for one in self.lawless if self._side_of(name, one.settings) is side]
        if name in CLOCK_SETTINGS and side is Side.BELOW and _only_unmemorized(broken):
            at = tuple(f"{level:g}" for level in sorted({one.settings[name] for one in broken}))
            kind = GroundKind.UNMEMORIZED_SIDE
            return Ground(kind, name, side, value, low, high, count=len(broken), names=at)
        if broken:
            kind = GroundKind.LAWLESS_SIDE
            return Ground(kind, name, side, value, low, high, count=len(broken))
        if too_far(name, value, low, high):
            reach = EXTRAPOLATION if name in CLOCK_SETTINGS else OTHER_EXTRAPOLATION
            return Ground(GroundKind.TOO_FAR, name, side, value, low, high, factor=reach)
        return None


def _only_unmemorized(runs: Sequence[ObservedRun]) -> bool:
    """Whether those of these runs that tell were all not memorised within their budget; False
    where none tells."""
    told = {outcome_of(one) for one in runs} - {None}
    return told == {Outcome.NOT_MEMORIZED}
