"""The verdicts at other thresholds: a verdict that changes with them says so."""

from __future__ import annotations

from collections.abc import Sequence

from nht_theory.conventions import Thresholds, VerdictKind
from nht_theory.estimators.summary import Progress, estimate_study
from nht_theory.predictions.verdict import Prediction
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
    predictions: Sequence[Prediction],
    own: Thresholds,
    progress: Progress | None = None,
) -> dict[str, tuple[str, ...]]:
    """Prediction -> its verdict at each other threshold, before Holm, as a line of text.

    Predictions that do not use the thresholds, or apply at none of them, are left out.
    """
    found: dict[str, list[str]] = {}
    others = other_thresholds(own)
    for done, thresholds in enumerate(others):
        label = f"{thresholds.heldout_accuracy:g}, k = {thresholds.persistence}"
        if progress is not None:
            progress(f"repeating at {label}", done, len(others))
        estimates = estimate_study(study, thresholds, floor=False)
        for prediction in predictions:
            if prediction.uses_thresholds:
                verdict = prediction.judge(estimates).verdict.value
                found.setdefault(prediction.name, []).append(f"{label}: {verdict}")
    return {
        name: tuple(lines)
        for name, lines in found.items()
        if not all(line.endswith(VerdictKind.NOT_APPLICABLE) for line in lines)
    }
