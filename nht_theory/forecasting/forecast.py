"""What a forecast is: when, how surely, on what basis, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from nht_theory.estimators.results import Interval
from nht_theory.forecasting.grounds import Ground


class Basis(StrEnum):
    """On what a forecast stands (THEORY.md section 10)."""

    LAW = "law"
    EMPIRICAL = "empirical"
    REFUSED = "refused"


class Stage(StrEnum):
    """What was known when the forecast was made."""

    BEFORE_TRAINING = "before training"
    MEMORIZATION = "memorisation"
    RUNNING = "running"


@dataclass(frozen=True)
class Forecast:
    """When a run is expected to generalise.

    Attributes:
        run: name of the run or configuration.
        stage: what was known.
        made_at: step at which it was made; nothing later was used.
        basis: law, empirical or refused.
        median: expected generalisation step, None when refused; infinite where the schedule is
            expected to end first.
        interval: the 90 % interval of that step.
        probability_within_budget: that the switch comes before training ends, where the budget
            is known; before training, the chance that the run never memorises is counted in,
            where earlier runs near its settings did not.
        reason: why this basis, or why refused, in words: those of ``grounds``.
        remedy: what would make a forecast possible, when refused.
        calibration: names of the runs it was calibrated on.
        method: which model, with its free parameters.
        central_interval: the 50 % interval of that step.
        law_median: where the basis is empirical, the step that the law would have said, shown
            as not applicable; None where it says none.
        delay: expected steps from memorisation to generalisation.
        delay_interval: the 90 % interval of those steps.
        parameters: how many were fitted (effective ones, where they are shrunken).
        grounds: why this basis, or why refused: what decisions ask.
    """

    run: str
    stage: Stage
    made_at: int
    basis: Basis
    median: float | None
    interval: Interval | None
    probability_within_budget: float | None
    reason: str
    remedy: str
    calibration: tuple[str, ...]
    method: str
    central_interval: Interval | None = None
    law_median: float | None = None
    delay: float | None = None
    delay_interval: Interval | None = None
    parameters: float | None = None
    grounds: tuple[Ground, ...] = ()


def in_words(grounds: Sequence[Ground]) -> str:
    """Grounds as one sentence.

    Example:
        >>> from nht_theory.forecasting.grounds import GroundKind
        >>> in_words([Ground(GroundKind.NONE_MEMORIZED), Ground(GroundKind.OUTLASTED)])
        'no earlier run memorised; the run has outlasted everything that earlier runs make likely'
    """
    return "; ".join(str(ground) for ground in grounds)
