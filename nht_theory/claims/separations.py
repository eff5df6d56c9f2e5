"""Where the separation is clean: S and W of each configuration, computed once a study.

S above 0.8 says that V and the two solutions go together. It does not say that V tells them
apart: a clock, early for the shortcut and late for the structure, scores as high wherever V falls
in time. :func:`distinguishable_from_time` says what V adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.rules import CLEAN_SEPARATION, CLEAN_SHARPNESS, Decision, decide
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import Estimate, Missing, StudyEstimates
from nht_theory.estimators.separation import ALL_CLOCKS, Separation, separation
from nht_theory.inference.concordance import mean_difference
from nht_theory.runs.run import Run

NO_MORE_THAN_TIME = "not distinguishable from time"


def where_ordered(study: StudyEstimates) -> Callable[[Run], bool]:
    """Whether a run belongs to a configuration whose separation is :func:`ordered`.

    The scope is read off the outcome of the runs themselves, and time alone can bring a
    configuration into it: it names where the law is claimed and is no evidence for it.
    """
    by_name = {name: ordered(own) for name, own in separations(study).items()}
    return lambda run: by_name[selection.stratum(run)]


@lru_cache(maxsize=16)
def separations(study: StudyEstimates) -> Mapping[str, Separation]:
    """Configuration -> its separation, from memorisation on."""
    return {
        name: separation(pairs) for name, pairs in selection.by_configuration(study.pairs()).items()
    }


@lru_cache(maxsize=16)
def across_decays(study: StudyEstimates) -> Mapping[str, Separation]:
    """Equal settings but for the weight decay -> the separation by one level of V for all decays.

    Every memorised run counts, and the configurations are the units. The clocks it is compared
    with include time multiplied by eta lambda: V of a run that falls at a rate proportional to
    its decay is no more than that clock.
    """
    groups = selection.by_configuration(study.pairs(), without=("weight_decay",))
    return {
        name: separation(pairs, clocks=ALL_CLOCKS, unit_of=selection.stratum)
        for name, pairs in groups.items()
        if len({run.hyperparameters.weight_decay for run, _ in pairs}) > 1
    }


@dataclass(frozen=True)
class AgainstTime:
    """What V adds to a clock over some configurations.

    Attributes:
        score, placebo: S of V and of the better clock of each configuration over pairs of two
            runs, means; None where no configuration has two runs and both sides.
        decision: on the mean gain of V over the clock against zero, with its interval; None where
            too few runs give it an error.
        configurations: in which both are known.
        runs: in these.
    """

    score: float | None
    placebo: float | None
    decision: Decision | None
    configurations: int
    runs: int

    @property
    def gain(self) -> float | None:
        """S of V less S of the clock, mean over configurations."""
        return None if self.score is None or self.placebo is None else self.score - self.placebo

    @property
    def distinguishable(self) -> bool:
        """Whether V surely orders the two sides better than a clock does."""
        return self.decision is not None and self.decision.verdict is VerdictKind.SUPPORTED

    @property
    def line(self) -> str:
        """The comparison as text.

        Example:
            >>> AgainstTime(None, None, None, 0, 0).line
            'V against time: unknown, no configuration has two runs and both sides'
        """
        if self.score is None or self.placebo is None:
            return "V against time: unknown, no configuration has two runs and both sides"
        known = ""
        if self.decision is not None:
            inside = self.decision.interval
            known = f" [{inside.low:.3f}, {inside.high:.3f}]"
        said = "V adds to time" if self.distinguishable else f"V is {NO_MORE_THAN_TIME}"
        return (
            f"S of V {self.score:.3f}, S of the better clock {self.placebo:.3f}, means over "
            f"{self.configurations} configurations; gain {self.score - self.placebo:.3f}{known}: "
            f"{said}"
        )


def distinguishable_from_time(
    study: StudyEstimates, names: Iterable[str] | None = None
) -> AgainstTime:
    """Whether V orders shortcut and structure better than a clock, over configurations.

    Args:
        study: what was estimated.
        names: of the configurations; those in the scope of :func:`where_ordered` where None.
    """
    by_name = separations(study)
    chosen = [name for name, own in by_name.items() if ordered(own)] if names is None else names
    return against_time([by_name[name] for name in chosen])


def against_time(separated: Iterable[Separation]) -> AgainstTime:
    """The mean gain of V over the better clock, with an error between configurations and within.

    Configurations of two or more runs count, by their pairs of two runs. Student over them (over
    the runs of a single one), with the error of :func:`mean_difference`.
    """
    known = [
        (own.within.value, own.gain, len(own.runs))
        for own in separated
        if own.within is not None and isinstance(own.gain, Estimate)
    ]
    if not known:
        return AgainstTime(None, None, None, 0, 0)
    gains = [gain for _, gain, _ in known]
    joined, score = mean_difference(gains), float(np.mean([value for value, _, _ in known]))
    return AgainstTime(
        score=score,
        placebo=score - float(np.mean([gain.value for gain in gains])),
        decision=None if joined is None else _against_zero(*joined),
        configurations=len(known),
        runs=sum(runs for _, _, runs in known),
    )


def _against_zero(gain: float, error: float, freedom: float) -> Decision:
    """Whether a gain is surely positive; its interval ends where the gain of one D over another
    can."""
    decision = decide(gain, error, freedom, (0.0, math.inf))
    inside = decision.interval
    return replace(
        decision, interval=replace(inside, low=max(inside.low, -2.0), high=min(inside.high, 2.0))
    )


def ordered(own: Separation) -> bool:
    """Whether the two sides are ordered in V: S above 0.8, by V itself or by the time it falls in.

    This is where the law lives, not a claim: the few seeds of a configuration rarely make S sure
    (three that agree leave it anywhere above -0.2), and :func:`clean` asks for that.
    Where no run has switched yet S is undefined, and nothing contradicts an order: these
    configurations hold the right-censored runs, which a test of timing may not drop. Where the
    shortcut side was never seen (the run generalises while it memorises) there is no shortcut to
    leave, and the configuration does not qualify.
    """
    if isinstance(own.score, Missing):
        return own.shortcut_seen and not own.structured_seen
    return own.score.value > CLEAN_SEPARATION


def decided_side(own: Separation) -> bool | None:
    """True where S lies surely above 0.8, False where surely below, None where undecided."""
    if isinstance(own.score, Missing) or own.score.interval is None:
        return None
    if own.score.interval.low > CLEAN_SEPARATION:
        return True
    return False if own.score.interval.high < CLEAN_SEPARATION else None


def clean(own: Separation) -> bool:
    """Whether a configuration meets both conditions of THEORY.md section 8."""
    return (
        isinstance(own.score, Estimate)
        and decided_side(own) is True
        and isinstance(own.sharpness, Estimate)
        and own.sharpness.value < CLEAN_SHARPNESS
    )


def described(own: Separation) -> str:
    """S of V beside S of the better clock, and W, of one configuration as text."""
    beside = ""
    if isinstance(own.placebo, Estimate):
        beside = f" (of {own.clock}: {own.placebo.value:.3f})"
    return f"S = {_text(own.score)}{beside}, W = {_text(own.sharpness)}"


def _text(value: Estimate | Missing) -> str:
    if isinstance(value, Missing):
        return f"undefined ({value.detail or value.reason.value})"
    if value.interval is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.interval.low:.3f}, {value.interval.high:.3f}]"


def across_line(own: Separation) -> str:
    """S by one level of V for all weight decays beside one time for all, as text."""
    units = own.score.n if isinstance(own.score, Estimate) else 0
    beside = f"; of the better clock, {own.clock}: {_text(own.placebo)}" if own.clock else ""
    gain = f"; gain {_text(own.gain)}" if own.clock else ""
    return f"S = {_text(own.score)}{beside}{gain}, over {units} configurations"
