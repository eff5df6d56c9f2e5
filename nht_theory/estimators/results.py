"""What the estimators return: frozen values that know their units, method and uncertainty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nht_theory.conventions import DEFAULT_THRESHOLDS, EventStatus, Regime, Thresholds
from nht_theory.inference.results import Estimate, Interval, Missing, Unavailable
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

__all__ = [
    "Crossing",
    "Estimate",
    "Interval",
    "Missing",
    "RunEstimate",
    "StudyEstimates",
    "Unavailable",
]


@dataclass(frozen=True)
class Crossing:
    """When a metric first reaches its threshold and stays there.

    Attributes:
        column: canonical column of the metric.
        threshold: level that counts as reached.
        persistence: evaluations for which it must hold.
        step: first evaluation at or above the level; None when right-censored.
        earlier_step: last evaluation before ``step`` (the event lies in
            (earlier_step, step]), or, when right-censored, the last step that was seen.
    """

    column: str
    threshold: float
    persistence: int
    step: int | None
    earlier_step: int

    @property
    def censored(self) -> bool:
        """Whether the event had not happened at the last evaluation."""
        return self.step is None


def event_status(event: Crossing | None) -> EventStatus:
    """Whether an event was reached, is censored, or cannot be known (its metric is not logged).

    Example:
        >>> event_status(None).value, event_status(Crossing("a", 0.99, 1, None, 30)).value
        ('unknown', 'censored')
    """
    if event is None:
        return EventStatus.UNKNOWN
    return EventStatus.CENSORED if event.censored else EventStatus.REACHED


@dataclass(frozen=True)
class RunEstimate:
    """Everything that was estimated of one run.

    Attributes:
        run: name of the run.
        thresholds: at which the transitions were read.
        memorization, generalization: the two crossings (None where the metric is not logged).
        collapse_step: first evaluation from which a run that had memorised stays far below it to
            its end; an unseen generalisation is censored just before.
        contraction_rate: gamma_V per step: the rate at which the excess of V over its floor falls,
            from memorisation on, switch or not (from the peak of V where the run never memorises).
            Without an interval it is that of V itself, a lower bound: no floor could be told.
        efficiency: c = gamma_V / (2 eta lambda), dimensionless: ``contraction_rate`` over the
            pure-decay rate of the same window, and nothing else. The verdict on the prefactor
            uses it where it has an interval.
        squared_norm_memorization: V at memorisation, with the interval that the grid leaves.
        squared_norm_generalization: V_star, V at generalisation.
        squared_norm_peak, squared_norm_final: over the run.
        regime: label from the trajectory alone.
    """

    run: str
    thresholds: Thresholds
    memorization: Crossing | None
    generalization: Crossing | None
    collapse_step: int | None
    contraction_rate: Estimate | Missing
    efficiency: Estimate | Missing
    squared_norm_memorization: Estimate | Missing
    squared_norm_generalization: Estimate | Missing
    squared_norm_peak: Estimate | Missing
    squared_norm_final: Estimate | Missing
    regime: Regime

    @property
    def memorization_step(self) -> int | None:
        """First evaluation at which the run has memorised; None if never or not logged."""
        return None if self.memorization is None else self.memorization.step

    @property
    def generalization_step(self) -> int | None:
        """First evaluation at which the run generalises; None if never or not logged."""
        return None if self.generalization is None else self.generalization.step

    @property
    def memorization_status(self) -> EventStatus:
        """Whether memorisation was reached, is censored, or is unknown."""
        return event_status(self.memorization)

    @property
    def generalization_status(self) -> EventStatus:
        """Whether generalisation was reached, is censored, or is unknown."""
        return event_status(self.generalization)

    @property
    def censored(self) -> bool:
        """Whether held-out accuracy is logged and the run had not generalised when last seen."""
        return self.generalization_status is EventStatus.CENSORED

    @property
    def unknown(self) -> bool:
        """Whether nothing tells if the run generalised: no held-out accuracy is logged."""
        return self.generalization_status is EventStatus.UNKNOWN

    @property
    def delay(self) -> int | None:
        """Steps from memorisation to generalisation; None if either is missing."""
        if self.memorization_step is None or self.generalization_step is None:
            return None
        return self.generalization_step - self.memorization_step


@dataclass(frozen=True, eq=False)
class StudyEstimates:
    """A study with the estimates of its distinct runs, in the same order."""

    study: Study
    estimates: tuple[RunEstimate, ...]
    thresholds: Thresholds = DEFAULT_THRESHOLDS

    def pairs(self) -> Iterator[tuple[Run, RunEstimate]]:
        """Each distinct run with its estimate."""
        return zip(self.study.runs, self.estimates, strict=True)
