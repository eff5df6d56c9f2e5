"""On what a forecast, a refusal or an advice stands: what kind of ground, with its numbers.

Decisions ask for the kind, the setting and the side of a ground. Its sentence is made here, from
these, and is not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class GroundKind(StrEnum):
    """What was found."""

    # for the law
    NORM_FALLS = "norm falls"
    # against the law, from the run itself
    NO_NORM_AT_MEMORIZATION = "no norm at memorisation"
    NO_DECAY_RATE = "no decay rate"
    SCALE_INVARIANT = "scale-invariant weights"
    DECAY_CHANGES = "weight decay changes"
    RATE_CHANGES = "learning rate changes"
    SCHEDULE_UNKNOWN = "schedule unknown"
    SCHEDULE_WITHOUT_LENGTH = "schedule without length"
    SCHEDULE_WITHOUT_MILESTONES = "schedule without milestones"
    SCHEDULE_UNREADABLE = "schedule unreadable"
    # against the law, from earlier runs
    FEW_LAWFUL = "few lawful runs"
    UNSTATED = "settings stated on one side only"
    OUTSIDE_CALIBRATION = "outside the calibration runs"
    LAWLESS_CONFIGURATION = "configuration broke the law"
    UNMEMORIZED_CONFIGURATION = "configuration not memorised within its budget"
    LAWLESS_SIDE = "law broken on this side"
    UNMEMORIZED_SIDE = "not memorised within the budget on this side"
    TOO_FAR = "too far from lawful runs"
    FOREIGN_START = "foreign start"
    REGRESSION_BETTER = "regression errs less"
    # against the law, from the norms
    NOT_ABOVE = "V_mem not above V_star"
    MAY_NOT_FALL_TO_STAR = "V_star may not be below V"
    NORM_GREW = "norm grew"
    BLOCKED = "blocked by the noise floor"
    # against any forecast
    GENERALIZED = "generalised already"
    FEW_DELAYS = "few delays"
    OUTLASTED = "outlasted earlier runs"
    NONE_MEMORIZED = "no earlier run memorised"
    LATE_TO_MEMORIZE = "late to memorise"
    NOT_MEMORIZED_YET = "not memorised yet"
    UNLOGGED = "accuracy not logged"
    CONFIGURATIONS_UNKNOWN = "configurations unknown"
    # beside a forecast
    FAILED_NEARBY = "runs nearby never memorised"
    # for or against stronger decay
    LAW_EXPECTS = "the law expects the switch"
    SCORE_POSITIVE = "separation score positive"
    SCORE_NOT_POSITIVE = "separation score not positive"
    FALLS_AT_WEAKER = "norm falls at the weaker decay"
    GROWS_AT_WEAKER = "norm grows at the weaker decay"
    UNKNOWN_AT_WEAKER = "norm unknown at the weaker decay"
    UNLOGGED_AT_WEAKER = "accuracy not logged at the weaker decay"


class Side(StrEnum):
    """Where a setting lies beside the range of earlier runs."""

    BELOW = "below"
    ABOVE = "above"


WEIGHT_DECAY = "weight_decay"
"""The setting whose strength decides the regime."""


@dataclass(frozen=True)
class Ground:
    """One ground.

    Attributes:
        kind: what was found.
        setting: the setting that it concerns, or the name of the schedule.
        side: of the earlier runs' range on which ``value`` lies.
        value: the number found.
        low, high: the range, or the bound (``low``), that it is compared with.
        factor: how far beyond the range the law reaches.
        count: how many runs were found, or the step at which something was.
        total: how many runs are needed, or were looked at.
        lawless: how many runs are of configurations that broke the law.
        names: further settings, schedules or values named.
        detail: what another library or the source said, to be repeated only.
    """

    kind: GroundKind
    setting: str = ""
    side: Side | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    factor: float | None = None
    count: int = 0
    total: int = 0
    lawless: int = 0
    names: tuple[str, ...] = ()
    detail: str = ""

    @property
    def decay_too_strong(self) -> bool:
        """Whether earlier runs broke the law at decays above those that obeyed it, where this one
        lies too: the only ground on which decay counts as too strong."""
        broke = self.kind is GroundKind.LAWLESS_SIDE
        return broke and self.setting == WEIGHT_DECAY and self.side is Side.ABOVE

    @property
    def of_lawfulness(self) -> bool:
        """Whether it says where earlier runs obeyed the law."""
        return self.kind in _OF_LAWFULNESS

    def __str__(self) -> str:
        """The ground in words.

        Example:
            >>> print(Ground(GroundKind.NORM_FALLS, value=3.5))
            the norm falls and V_mem/V_star is 3.5
        """
        made = _SENTENCES[self.kind]
        return made if isinstance(made, str) else made(self)


_OF_LAWFULNESS = frozenset(
    {
        GroundKind.LAWLESS_CONFIGURATION,
        GroundKind.UNMEMORIZED_CONFIGURATION,
        GroundKind.LAWLESS_SIDE,
        GroundKind.UNMEMORIZED_SIDE,
        GroundKind.TOO_FAR,
    }
)
_NAMES_SHOWN = 4


def _few_lawful(one: Ground) -> str:
    broke = f"; {one.lawless} are of configurations that broke it" if one.lawless else ""
    return f"{one.count} earlier runs obeyed the law, {one.total} are needed{broke}"


def _unstated(one: Ground) -> str:
    hidden = len(one.names) - _NAMES_SHOWN
    more = f" and {hidden} more" if hidden > 0 else ""
    return (
        f"{', '.join(one.names[:_NAMES_SHOWN])}{more}: stated on one side only, and no V at step 0 "
        "shows V_sc and V_st to be those of the earlier runs (state them with --set NAME=VALUE)"
    )


def _outside(one: Ground) -> str:
    known = f"{one.low:g}" if one.low == one.high else f"{one.low:g} to {one.high:g}"
    return f"outside the calibration runs: {one.setting} {one.value:g} against {known}"


def _beyond_the_lawful(one: Ground) -> str:
    return (
        f"{one.setting} {one.value:g} lies outside the runs that obeyed the law ({one.low:g} to "
        f"{one.high:g})"
    )


_SLOW = {WEIGHT_DECAY: "under weak decay", "learning_rate": "at a low learning rate"}


def _unmemorized_side(one: Ground) -> str:
    return (
        f"{_beyond_the_lawful(one)}, on a side where {one.count} earlier runs (at "
        f"{', '.join(one.names)}) had not memorised within their budget, which "
        f"{_SLOW.get(one.setting, 'there')} is not suppression"
    )


def _late_to_memorize(one: Ground) -> str:
    return f"the run has not memorised by step {one.count}, later than earlier runs make likely"


def _law_expects(one: Ground) -> str:
    came = "never in what was seen" if one.low is None else f"near step {one.low:.0f}"
    return (
        f"the law expects the switch near step {one.value:.0f}; at the weaker decay it came {came}"
    )


def _score(one: Ground) -> str:
    return f"S = {one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


_SENTENCES: Mapping[GroundKind, str | Callable[[Ground], str]] = {
    GroundKind.NORM_FALLS: lambda one: f"the norm falls and V_mem/V_star is {one.value:.3g}",
    GroundKind.NO_NORM_AT_MEMORIZATION: "the run logs no squared norm at memorisation",
    GroundKind.NO_DECAY_RATE: (
        "the run's settings give no pure-decay rate (learning rate, weight decay, form)"
    ),
    GroundKind.SCALE_INVARIANT: lambda one: (
        f"weights before a normalisation layer carry {one.value:.0%} of V: their norm does not "
        "bear on the function"
    ),
    GroundKind.DECAY_CHANGES: (
        "the logged weight decay changes during training, and nothing says how it goes on "
        "(forecast from a run at one weight decay)"
    ),
    GroundKind.RATE_CHANGES: (
        "the logged learning rate changes, and no schedule says how it goes on (state it: "
        "schedule, total_steps and the options of docs/run-format.md)"
    ),
    GroundKind.SCHEDULE_UNKNOWN: lambda one: (
        f"the learning rate follows a {one.setting} schedule, whose course is not known "
        f"({', '.join(one.names)} are)"
    ),
    GroundKind.SCHEDULE_WITHOUT_LENGTH: lambda one: (
        f"the {one.setting} schedule has no length (state total_steps)"
    ),
    GroundKind.SCHEDULE_WITHOUT_MILESTONES: lambda one: (
        f"the {one.setting} schedule has no milestones and factor (state both)"
    ),
    GroundKind.SCHEDULE_UNREADABLE: lambda one: (
        f"the {one.setting} schedule cannot be read ({one.detail})"
    ),
    GroundKind.FEW_LAWFUL: _few_lawful,
    GroundKind.UNSTATED: _unstated,
    GroundKind.OUTSIDE_CALIBRATION: _outside,
    GroundKind.LAWLESS_CONFIGURATION: "earlier runs of this very configuration broke the law",
    GroundKind.UNMEMORIZED_CONFIGURATION: (
        "earlier runs of this very configuration had not memorised within their budget, which "
        "under weak decay or at a low learning rate is not suppression"
    ),
    GroundKind.LAWLESS_SIDE: lambda one: (
        f"{_beyond_the_lawful(one)}, on a side where earlier runs broke it"
    ),
    GroundKind.UNMEMORIZED_SIDE: _unmemorized_side,
    GroundKind.TOO_FAR: lambda one: (
        f"{_beyond_the_lawful(one)} by more than a factor {one.factor:g}"
    ),
    GroundKind.FOREIGN_START: lambda one: (
        f"V at step 0 is {one.value:.4g}, where earlier runs make {one.low:.4g} to {one.high:.4g} "
        "likely: another network or initialisation, whose V_sc and V_st are its own"
    ),
    GroundKind.REGRESSION_BETTER: (
        "a regression on the settings errs less on configurations left out than the law"
    ),
    GroundKind.NOT_ABOVE: lambda one: (
        f"V at memorisation, {one.value:.4g}, is not above V_star of earlier runs, {one.low:.4g}"
    ),
    GroundKind.MAY_NOT_FALL_TO_STAR: "V_star of earlier runs may not be below V",
    GroundKind.NORM_GREW: lambda one: f"the norm has grown since memorisation, by {one.value:.0%}",
    GroundKind.BLOCKED: lambda one: (
        f"blocked by the noise floor: V_inf = {one.value:.4g} under pure gradient noise is not "
        f"below V_star = {one.low:.4g}"
    ),
    GroundKind.GENERALIZED: lambda one: f"the run generalised at step {one.count}",
    GroundKind.FEW_DELAYS: lambda one: (
        f"{one.count} comparable earlier runs show a delayed switch; a regression without the law "
        f"needs {one.total}"
    ),
    GroundKind.OUTLASTED: "the run has outlasted everything that earlier runs make likely",
    GroundKind.NONE_MEMORIZED: "no earlier run memorised",
    GroundKind.LATE_TO_MEMORIZE: _late_to_memorize,
    GroundKind.NOT_MEMORIZED_YET: lambda one: (
        f"training accuracy has not reached {one.value:g} by step {one.count}"
    ),
    GroundKind.CONFIGURATIONS_UNKNOWN: lambda one: one.detail,
    GroundKind.UNLOGGED: lambda one: (
        f"no {' and no '.join(one.names)} is logged up to step {one.count}: it is unknown whether "
        "the run has memorised or generalised already"
    ),
    GroundKind.FAILED_NEARBY: lambda one: (
        f"{one.count} of {one.total} earlier runs near these settings never memorised"
    ),
    GroundKind.LAW_EXPECTS: _law_expects,
    GroundKind.SCORE_POSITIVE: lambda one: (
        f"{_score(one)}: a lower norm goes with the structured solution"
    ),
    GroundKind.SCORE_NOT_POSITIVE: lambda one: f"{_score(one)}: a lower norm does not go with it",
    GroundKind.FALLS_AT_WEAKER: ("S does not decide; at the weaker decay the norm falls already"),
    GroundKind.GROWS_AT_WEAKER: (
        "S does not decide; at the weaker decay the norm grows: the weak regime"
    ),
    GroundKind.UNLOGGED_AT_WEAKER: (
        "no run at the weaker decay logs a held-out accuracy: it is unknown when they switched"
    ),
    GroundKind.UNKNOWN_AT_WEAKER: "no run at the weaker decay memorised with its norm logged",
}
