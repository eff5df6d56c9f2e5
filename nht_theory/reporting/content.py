"""What a report is made of, before anyone decides how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.forecasting.forecast import Forecast
from nht_theory.predictions.verdict import Prediction, Verdict


@dataclass(frozen=True)
class ScoredForecast:
    """A forecast beside what happened.

    Attributes:
        forecast: as it was made.
        happened_at: generalisation step, None when it had not been seen.
        last_seen: last step of the run: where it is censored when nothing happened.
        memorization_step: from which the delay counts; None when not logged.
    """

    forecast: Forecast
    happened_at: int | None
    last_seen: int
    memorization_step: int | None = None

    @property
    def inside(self) -> bool | None:
        """Whether the step fell into the interval; None when that cannot be said (no interval,
        or censored before its upper end)."""
        interval = self.forecast.interval
        if interval is None:
            return None
        if self.happened_at is None:
            return False if self.last_seen > interval.high else None
        return self.happened_at in interval

    @property
    def relative_error(self) -> float | None:
        """(forecast - actual) / actual delay; None when either is missing."""
        if self.forecast.median is None or self.happened_at is None:
            return None
        delay = self.happened_at - (self.memorization_step or 0)
        return (self.forecast.median - self.happened_at) / delay if delay > 0 else None


@dataclass(frozen=True, eq=False)
class ReportContent:
    """Everything one report shows.

    Attributes:
        estimated: the study, with the estimates of its distinct runs.
        verdicts: one per claim, in the order they are shown.
        claims: the claims by name, for what they say and need.
        forecasts: forecasts of runs of this study beside what happened.
        forecasts_note: how those forecasts came about, or why there are none.
        version: of nht.
    """

    estimated: StudyEstimates
    verdicts: tuple[Verdict, ...]
    claims: Mapping[str, Prediction] = field(default_factory=dict)
    forecasts: tuple[ScoredForecast, ...] = ()
    forecasts_note: str = ""
    version: str = ""

    @property
    def judged(self) -> tuple[Verdict, ...]:
        """Verdicts of the claims that the data can judge."""
        return tuple(v for v in self.verdicts if v.verdict is not VerdictKind.NOT_APPLICABLE)

    @property
    def not_applicable(self) -> tuple[Verdict, ...]:
        """Claims for which the data lack something, which the verdict names."""
        return tuple(v for v in self.verdicts if v.verdict is VerdictKind.NOT_APPLICABLE)
