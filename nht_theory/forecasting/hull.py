"""Which earlier runs are like the run forecast, and how far it lies outside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.forecasting.calibration import Observation
from nht_theory.forecasting.shrunken_regression import Array

EXTRAPOLATION = 10.0
"""Factor by which a setting may lie outside the calibration runs before a forecast is refused."""


@dataclass(frozen=True, eq=False)
class Hull:
    """The settings that differ among the calibration runs and the run forecast.

    Attributes:
        names: the numeric settings that differ, sorted.
        calibration: their logarithms in the calibration runs, shape [n, k].
        target: their logarithms in the run forecast, shape [k].
    """

    names: tuple[str, ...]
    calibration: Array
    target: Array

    def outside(self) -> list[str]:
        """The settings of the run forecast that lie outside the range of the calibration runs by
        more than :data:`EXTRAPOLATION`, each with both, in words."""
        said = []
        for name, column, value in zip(self.names, self.calibration.T, self.target, strict=True):
            beyond = max(column.min() - value, value - column.max(), 0.0)
            if beyond > np.log(EXTRAPOLATION) * (1 + 1e-12):
                low, high = np.exp([column.min(), column.max()])
                said.append(f"{name} {np.exp(value):g} against {low:g} to {high:g}")
        return said


def hull(calibration: Sequence[Observation], target: Observation) -> Hull:
    """Logarithms of the settings that every run states and that are not all equal."""
    everyone = [*calibration, target]
    shared = set.intersection(*(set(one.settings) for one in everyone))
    names = tuple(
        sorted(name for name in shared if len({one.settings[name] for one in everyone}) > 1)
    )
    table = np.array([[np.log(one.settings[name]) for name in names] for one in everyone])
    table = table.reshape(len(everyone), len(names))
    return Hull(names, table[:-1], table[-1])


def comparable(calibration: Sequence[Observation], target: Observation) -> list[Observation]:
    """Calibration runs that are not the run itself and share its optimiser and task where both
    say them."""
    own = target.run
    alike = []
    for one in calibration:
        theirs = one.run.hyperparameters
        same_place = (one.run.name, one.run.source) == (own.name, own.source)
        repeat = (
            one.configuration == target.configuration
            and theirs.seed is not None
            and theirs.seed == own.hyperparameters.seed
        )
        differs = any(
            getattr(theirs, name) != getattr(own.hyperparameters, name)
            for name in ("optimizer", "task")
            if getattr(theirs, name) is not None and getattr(own.hyperparameters, name) is not None
        )
        if not (same_place or repeat or differs):
            alike.append(one)
    return alike
