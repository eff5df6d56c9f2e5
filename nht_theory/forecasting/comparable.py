"""Which earlier runs a forecast of a run may learn from."""

from __future__ import annotations

from collections.abc import Sequence

from nht_theory.forecasting.calibration import Observation


def comparable(calibration: Sequence[Observation], target: Observation) -> list[Observation]:
    """Earlier runs that are not the run itself, nor stored repeats of it, and that share its
    optimiser and task (where both name them) and whether weights decay at all."""
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
        differs = _differ(theirs.optimizer, ours.optimizer) or _differ(theirs.task, ours.task)
        decay = [one.weight_decay for one in (theirs, ours) if one.weight_decay is not None]
        if not (same_place or repeat or differs or len({value > 0 for value in decay}) > 1):
            alike.append(one)
    return alike


def _differ(theirs: str | None, ours: str | None) -> bool:
    return theirs is not None and ours is not None and theirs != ours
