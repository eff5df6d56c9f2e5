"""The verdicts at other thresholds: a verdict that changes with them says so."""

from __future__ import annotations

from collections.abc import Sequence

from nht_theory.claims.judging import family_wise, test_each
from nht_theory.claims.verdict import Claim, ThresholdVerdict, Verdict
from nht_theory.conventions import ProgressCallback, Thresholds, VerdictKind
from nht_theory.estimators.summary import estimate_study
from nht_theory.runs.study import Study

LEVELS = (0.8, 0.9, 0.95, 0.99)
PERSISTENCES = (1, 3)


def other_thresholds(own: Thresholds) -> tuple[Thresholds, ...]:
    """Every level with every persistence of THEORY.md section 9, but the ones already used.

    Example:
        >>> len(other_thresholds(Thresholds()))
        7
    """
    grid = [
        Thresholds(train_accuracy=level, heldout_accuracy=level, persistence=persistence)
        for level in LEVELS
        for persistence in PERSISTENCES
    ]
    return tuple(thresholds for thresholds in grid if thresholds != own)


def verdicts_at_other_thresholds(
    study: Study,
    predictions: Sequence[Claim],
    verdicts: Sequence[Verdict],
    own: Thresholds,
    progress: ProgressCallback | None = None,
) -> dict[str, tuple[ThresholdVerdict, ...]]:
    """Prediction -> its verdict at each other threshold, after Holm as at the study's own.

    Args:
        study: what was read.
        predictions: every claim that is judged.
        verdicts: on them at the study's own thresholds, before Holm; those of claims that do not
            use the thresholds stand at every one.
        own: those thresholds.
        progress: called with (what, done, total) as work goes on.

    Returns:
        Claims that do not use the thresholds, or apply at none of them, are left out.
    """
    found: dict[str, list[ThresholdVerdict]] = {}
    others = other_thresholds(own)
    uses = [prediction for prediction in predictions if prediction.uses_thresholds]
    fixed = {verdict.claim for verdict in verdicts} - {used.name for used in uses}
    for done, thresholds in enumerate(others):
        if progress is not None:
            label = f"{thresholds.heldout_accuracy:g}, k = {thresholds.persistence}"
            progress(f"repeating at {label}", done, len(others))
        estimates = estimate_study(study, thresholds)
        standing = [verdict for verdict in verdicts if verdict.claim in fixed]
        for verdict in family_wise([*test_each(uses, estimates), *standing]):
            if verdict.claim not in fixed:
                found.setdefault(verdict.claim, []).append(
                    ThresholdVerdict(thresholds, verdict.verdict)
                )
    return {
        name: tuple(told)
        for name, told in found.items()
        if any(at.verdict is not VerdictKind.NOT_APPLICABLE for at in told)
    }
