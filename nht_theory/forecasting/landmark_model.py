"""How much longer, from the state a run is in: earlier runs compared at the same point of the way.

The delay expected before training, D, sets each run's own clock. At elapsed share s of D every
earlier run that had not switched yet gives one row: its state then, and the time that it still
took. The regression of ln(time left / D) on the state, fitted at the share that the run
forecast has reached, is read off at the run's own state (landmarking; van Houwelingen 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.forecasting.bayesian_ridge import (
    RESIDUAL_DEGREES,
    RESIDUAL_SD,
    Array,
    StudentT,
)
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.group_folds import GroupFolds, ridge
from nht_theory.forecasting.log_delay_model import LogDelayModel
from nht_theory.forecasting.training_state import StateSeries, state_names, state_series

MINIMUM_ROWS = 20
"""Earlier runs not yet switched, below which an earlier share of the way is used."""
MINIMUM_FOLDS = 3
"""Configurations that leaving one out needs."""
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Ridge penalties tried on the standardised state: how many runs without effect each counts for.
The one with the least held-out error is used."""
MARGIN = 0.5
"""Standard deviations to which a state outside those of the earlier runs is brought back."""
STRANGE = 10.0
"""Standard deviations outside those of the earlier runs from which a state tells nothing."""


@dataclass(frozen=True, eq=False)
class LandmarkModel:
    """Earlier runs with their states and expected delays.

    Attributes:
        series: state of each earlier run with a delay.
        ends: when each generalised, shape [n].
        expected: ln delay expected of each, its own configuration left out, shape [n].
        folds: which runs share a configuration.
        names: state features whose columns every run logs.
    """

    series: tuple[StateSeries, ...]
    ends: Array
    expected: Array
    folds: GroupFolds
    names: tuple[str, ...]

    @classmethod
    def of(cls, prior: LogDelayModel, logged: frozenset[str]) -> LandmarkModel | None:
        """Earlier runs that ``prior`` was fitted on, seen through the columns that they share
        with the run forecast, which logs ``logged``; None where too few runs or configurations
        show a delay."""
        pairs = zip(prior.observations, prior.held_out, strict=True)
        shown = [(one, expected) for one, expected in pairs if one.delay is not None]
        used = [one for one, _ in shown]
        folds = GroupFolds.of([one.configuration for one in used])
        names = state_names([one.run for one in used], logged)
        if len(used) < MINIMUM_ROWS or folds.count < MINIMUM_FOLDS or not names:
            return None
        return cls(
            tuple(state_series(one, names) for one in used),
            np.array([one.generalization_time for one in used], dtype=np.float64),
            np.array([expected for _, expected in shown]),
            folds,
            names,
        )

    def remaining(
        self, target: ObservedRun, now: float, expected: float
    ) -> LandmarkForecast | None:
        """Distribution of ln(steps left) of a run in its state at ``now``; None where that state
        lies more than :data:`STRANGE` standard deviations outside those of the earlier runs.

        The state is not extrapolated: each feature is brought to within half a standard
        deviation of the range that the earlier runs show at the same share of the way.

        Args:
            target: the run, cut at ``now``.
            now: an evaluated step, at or after its memorisation.
            expected: ln delay expected of it before training.
        """
        own = state_series(target, self.names)
        share = max(now - own.start, 0.0) / np.exp(expected)
        rows, left, kept = self._rows_at(share)
        centre, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
        states = (rows - centre) / spread
        shown = (own.at(now, float(np.exp(expected))) - centre) / spread
        low, high = states.min(axis=0), states.max(axis=0)
        if max((low - shown).max(), (shown - high).max()) > STRANGE:
            return None
        state = np.clip(shown, low - MARGIN, high + MARGIN)
        design = np.column_stack([np.ones(len(rows)), states])
        folds = GroupFolds.of([int(one) for one in self.folds.fold[kept]])
        penalty, errors = _choose_penalty(design, left, folds)
        location = np.concatenate([[1.0], state]) @ ridge(design, left, penalty)
        squares = RESIDUAL_DEGREES * RESIDUAL_SD**2 + float(errors @ errors)
        scale = float(np.sqrt(squares / (RESIDUAL_DEGREES + errors.size)))
        return LandmarkForecast(
            StudentT(expected + float(location), scale, RESIDUAL_DEGREES + folds.count - 1),
            self.series[0].features,
            effective_parameters(design, penalty),
            int(kept.size),
        )

    def _rows_at(self, share: float) -> tuple[Array, Array, NDArray[np.int64]]:
        """States, ln(time left / D) and places of the runs not yet switched at a share of D."""
        delays = np.exp(self.expected)
        starts = np.array([one.start for one in self.series])
        while True:
            moments = starts + share * delays
            left = self.ends - moments
            kept = np.flatnonzero(left > 1.0)
            if kept.size >= MINIMUM_ROWS or share == 0.0:
                break
            share = share * 0.9 if share > 1e-3 else 0.0
        rows = np.array([self.series[i].at(moments[i], delays[i]) for i in kept])
        return rows, np.log(left[kept]) - self.expected[kept], kept


@dataclass(frozen=True)
class LandmarkForecast:
    """What the state of a run says.

    Attributes:
        log_steps: distribution of ln(steps left).
        features: of the state.
        parameters: effective number of fitted parameters (trace of the ridge's hat matrix).
        n: earlier runs compared.
    """

    log_steps: StudentT
    features: tuple[str, ...]
    parameters: float
    n: int


def _choose_penalty(design: Array, left: Array, folds: GroupFolds) -> tuple[Array, Array]:
    """The penalty with the least held-out square error, and its held-out errors."""
    tried = []
    for strength in PENALTIES:
        penalty = np.array([1e-6] + [strength] * (design.shape[1] - 1))
        errors = left - folds.held_out(design, left, penalty)
        tried.append((float(errors @ errors), penalty, errors))
    _, penalty, errors = min(tried, key=lambda one: one[0])
    return penalty, errors


def effective_parameters(design: Array, penalty: Array) -> float:
    """Trace of the hat matrix of a ridge regression.

    Example:
        >>> effective_parameters(np.eye(3), np.zeros(3))
        3.0
    """
    normal = design.T @ design
    return float(np.trace(np.linalg.solve(normal + np.diag(penalty), normal)))
