"""The paper's assumptions over the runs of a study: where each holds, fails, or is unknown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nht_theory.estimators.assumptions import AssumptionStatus, check_assumptions
from nht_theory.estimators.results import StudyEstimates


@dataclass(frozen=True)
class AssumptionSummary:
    """One assumption over the distinct runs of a study.

    Attributes:
        name: ``A1`` ... ``A5``.
        statement: the assumption, in words.
        holds: runs in which it holds as far as was measured.
        failing: names of the runs in which it fails.
        unknown: runs that do not tell.
        reason: how it was decided where it was, else what would decide it; the most frequent.
    """

    name: str
    statement: str
    holds: int
    failing: tuple[str, ...]
    unknown: int
    reason: str

    @property
    def known(self) -> bool:
        """Whether any run tells."""
        return bool(self.holds or self.failing)


def summarize_assumptions(study: StudyEstimates) -> tuple[AssumptionSummary, ...]:
    """(A1) to (A5) over a study, in order; none for a study without runs.

    Example:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from nht_theory.estimators.summary import estimate_study
        >>> from nht_theory.runs.run import Run
        >>> from nht_theory.runs.study import Study
        >>> norms = {"squared_norm": np.array([4.0, 2.0]), "train_accuracy": np.ones(2),
        ...          "heldout_accuracy": np.array([0.0, 1.0])}
        >>> runs = (Run("a", Path("a"), np.array([0, 100]), norms),)
        >>> found = summarize_assumptions(estimate_study(Study(Path("s"), runs, runs)))
        >>> [(one.name, one.holds, one.unknown) for one in found]
        [('A1', 0, 1), ('A2', 0, 1), ('A3', 0, 1), ('A4', 1, 0), ('A5', 1, 0)]
    """
    by_run = [(run.name, check_assumptions(run, own)) for run, own in study.pairs()]
    summaries = []
    for checks in zip(*(checks for _, checks in by_run), strict=True):
        statuses = [check.status for check in checks]
        unknown = statuses.count(AssumptionStatus.UNKNOWN)
        told = [c.reason for c in checks if c.status is not AssumptionStatus.UNKNOWN]
        reasons = Counter(told or [check.reason for check in checks])
        summaries.append(
            AssumptionSummary(
                name=checks[0].name,
                statement=checks[0].statement,
                holds=statuses.count(AssumptionStatus.HOLDS),
                failing=tuple(
                    name
                    for (name, _), status in zip(by_run, statuses, strict=True)
                    if status is AssumptionStatus.FAILS
                ),
                unknown=unknown,
                reason=reasons.most_common(1)[0][0],
            )
        )
    return tuple(summaries)
