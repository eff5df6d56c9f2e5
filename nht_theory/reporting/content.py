"""What a report is made of, before anyone decides how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nht_theory.claims.verdict import Claim, Verdict
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.forecasting.backtest import ScoredForecast


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
    claims: Mapping[str, Claim] = field(default_factory=dict)
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
