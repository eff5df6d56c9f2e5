"""Which short runs to train first, so that a long one can be forecast: cheapest, then nearest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.forecasting.bayesian_ridge import BayesianRidge
from nht_theory.forecasting.calibration import ObservedRun

LEARNING_RATES = (2.0, 1.0)
"""Multiples of the target's learning rate that pilots may use: more speeds the clock."""
STRONGEST_DECAY = 1.0
"""Weight decay above which a pilot is not tried first: AdamW at 2 and more breaks the law in the
public logs. A target with stronger decay is its own strongest pilot."""
_STEP = math.sqrt(2.0)
"""Ratio of neighbouring weight decays."""
_CAUTION = 1.3
"""A pilot is started only when the steps left are this multiple of its expected cost."""
FIRST_COST = 2.4
"""Expected cost of the first pilot in units of 1/(eta lambda): memorisation and a ratio of norms
of about five at an efficiency of two thirds; only its order matters."""


@dataclass(frozen=True)
class PilotRun:
    """A short run to train.

    Attributes:
        learning_rate, weight_decay: settings; everything else is the target's.
        seed_offset: added to the target's seed.
        expected_steps: until it generalises.
    """

    learning_rate: float
    weight_decay: float
    seed_offset: int
    expected_steps: float


def next_pilot(
    learning_rate: float, weight_decay: float, done: Sequence[ObservedRun], steps_left: float
) -> PilotRun | None:
    """The next pilot within the steps that are left.

    The first is the fastest: twice the target's learning rate and the strongest decay that is
    thought safe. When that one did not switch it is tried again at half the decay. From then on
    the setting nearest to the target is taken whose expected cost fits, by the cost of the
    pilots so far in units of 1/(eta lambda); when none nearer fits, the cheapest is repeated
    with another seed, since one run alone cannot show its own spread.

    Args:
        learning_rate, weight_decay: of the target.
        done: the pilots trained so far.
        steps_left: of the pilot budget.

    Returns:
        None when nothing more fits.

    Example:
        >>> first = next_pilot(1e-3, 0.1, [], 3000)
        >>> first.learning_rate, first.weight_decay, first.expected_steps
        (0.002, 1.0, 1200.0)
    """
    strongest = max(weight_decay, STRONGEST_DECAY)
    switched = [one for one in done if one.generalization_time is not None]
    if not switched:
        decay = strongest * 0.5 ** len(done)
        rate = LEARNING_RATES[0] * learning_rate
        cost = FIRST_COST / (rate * decay)
        if cost > steps_left or decay < weight_decay:
            return None
        return PilotRun(rate, decay, 0, cost)
    tried = {(one.settings["learning_rate"], one.settings["weight_decay"]) for one in done}
    offered = [
        PilotRun(rate, decay, 0, _expected(switched, rate, decay))
        for factor in LEARNING_RATES
        for rate in [factor * learning_rate]
        for decay in _decays(weight_decay, strongest)
        if not any(math.isclose(rate, r) and math.isclose(decay, d) for r, d in tried)
    ]
    fitting = [one for one in offered if _CAUTION * one.expected_steps <= steps_left]
    if fitting:
        return min(fitting, key=lambda one: _distance(one, learning_rate, weight_decay))
    cheapest = min(switched, key=lambda one: one.generalization_time or math.inf)
    cost = float(cheapest.generalization_time or math.inf)
    if len(switched) > 1 or _CAUTION * cost > steps_left:
        return None
    settings = cheapest.settings
    return PilotRun(settings["learning_rate"], settings["weight_decay"], len(done), cost)


def _decays(weakest: float, strongest: float) -> list[float]:
    count = math.floor(math.log(strongest / weakest) / math.log(_STEP) + 1e-9)
    return [strongest / _STEP**place for place in range(count + 1)]


def _expected(switched: Sequence[ObservedRun], rate: float, decay: float) -> float:
    """Steps to the switch, by the pilots' own steps in units of 1/(eta lambda)."""
    clock = [
        (one.generalization_time or 1.0)
        * one.settings["learning_rate"]
        * one.settings["weight_decay"]
        for one in switched
    ]
    made = BayesianRidge.fit(np.zeros((len(clock), 0)), np.log(clock))
    return float(np.exp(made.predict(np.zeros(0)).location)) / (rate * decay)


def _distance(pilot: PilotRun, learning_rate: float, weight_decay: float) -> float:
    return abs(math.log(pilot.learning_rate / learning_rate)) + abs(
        math.log(pilot.weight_decay / weight_decay)
    )
