"""Which earlier runs a forecast of a run may learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.scheduled_clock import in_peak_steps

_ALWAYS = ("optimizer", "task", "decay_form")
"""Conditions that always count."""


def comparable(calibration: Sequence[ObservedRun], target: ObservedRun) -> list[ObservedRun]:
    """Earlier runs that are not the run itself, nor stored repeats of it, and that share every
    condition that both state (optimiser, task, form of decay, what the source says in words) and
    whether weights decay at all; their steps are those of the regularisation clock
    (:func:`in_peak_steps`)."""
    conditions = {**target.conditions}
    for label in _labels(calibration):
        conditions.pop(label, None)
    own = target.run
    alike = []
    for one in calibration:
        theirs, ours = one.run.hyperparameters, own.hyperparameters
        same_place = (one.run.name, one.run.source) == (own.name, own.source)
        repeat = (
            one.configuration == target.configuration
            and theirs.seed is not None
            and theirs.seed == ours.seed
        )
        differs = any(one.conditions.get(name, said) != said for name, said in conditions.items())
        decay = [one.weight_decay for one in (theirs, ours) if one.weight_decay is not None]
        if not (same_place or repeat or differs or len({value > 0 for value in decay}) > 1):
            alike.append(in_peak_steps(one))
    return alike


def _labels(calibration: Sequence[ObservedRun]) -> set[str]:
    """Names whose text differs from run to run: they name the run, not what was trained."""
    told: dict[str, Counter[str]] = {}
    for one in calibration:
        for name, said in one.conditions.items():
            told.setdefault(name, Counter())[said] += 1
    return {
        name
        for name, counts in told.items()
        if name not in _ALWAYS and len(counts) > 1 and max(counts.values()) == 1
    }
