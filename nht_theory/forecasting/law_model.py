"""The law as a model of delays: V_mem, V_star and c as powers of the settings.

delay = ln(V_mem/V_star) / (c r), r the pure-decay rate of V (2 eta lambda when decay is
decoupled). Which settings V_star and c depend on is chosen by the error of the delay on
configurations left out, never by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nht_theory.errors import DomainError
from nht_theory.forecasting.bayesian_ridge import Array
from nht_theory.forecasting.calibration import ObservedRun
from nht_theory.forecasting.group_folds import GroupFolds, ridge
from nht_theory.forecasting.log_delay_model import LogDelayModel, prior_penalty

SMALLEST_LOG_RATIO = 0.05
"""ln(V_mem/V_star) is not taken below this: at zero the law has no delay."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """The calibration runs as arrays over runs [n]."""

    design: Array
    log_memorization: Array
    log_star: Array
    clock: Array
    log_delay: Array
    folds: GroupFolds

    def left_out(self, columns: tuple[int, ...], target: Array) -> Array:
        """Prediction of every run by each fit that left a configuration out, shape [K, n]."""
        design = self.design[:, columns]
        return np.asarray(self.folds.coefficients(design, target, _penalty(design)) @ design.T)

    @cached_property
    def left_out_memorization(self) -> Array:
        """ln V_mem, which depends on every setting: once for all choices."""
        return self.left_out(tuple(range(self.design.shape[1])), self.log_memorization)


@dataclass(frozen=True)
class _Features:
    """Columns of the design that V_star and c depend on; V_mem depends on all."""

    star: tuple[int, ...]
    efficiency: tuple[int, ...]

    def neighbours(self, count: int) -> Iterator[_Features]:
        """The choices that differ by one feature."""
        for column in range(1, count):
            yield replace(self, star=_toggle(self.star, column))
            yield replace(self, efficiency=_toggle(self.efficiency, column))


def fit_law_model(observations: Sequence[ObservedRun], names: tuple[str, ...]) -> LawModel:
    """Fit the law to finished runs that obey it.

    Args:
        observations: runs with a delay, both norms and a decay rate.
        names: settings that every run states, which V_mem, V_star and c may depend on.

    Raises:
        DomainError: a run lacks what the law needs.

    Source: arXiv 2603.07323, theorem 3.1, in the exact form of THEORY.md section 3; the
    regression is derived here.
    """
    rows, centre = _rows(observations, names)
    count = rows.design.shape[1]
    everything = tuple(range(count))
    chosen = _Features(everything, everything)
    error = _error(_held_out(rows, chosen), rows)
    while names:
        tried = [(_error(_held_out(rows, one), rows), one) for one in chosen.neighbours(count)]
        best, features = min(tried, key=lambda pair: pair[0])
        if not best < error:
            break
        error, chosen = best, features
    held_out = _held_out(rows, chosen)
    fitted = _Coefficients.fit(rows, chosen)
    delays = LogDelayModel(
        names=names,
        centre=centre,
        log_delay=fitted.log_delay,
        held_out=held_out,
        errors=rows.log_delay - held_out,
        observations=tuple(observations),
        parameters=count + len(chosen.star) + len(chosen.efficiency),
        method=f"ln(V_mem/V_star)/(c r), V_mem of ({', '.join(names)}), V_star of "
        f"({_named(chosen.star, names)}), c of ({_named(chosen.efficiency, names)})",
    )
    return LawModel(delays, fitted)


@dataclass(frozen=True, eq=False)
class LawModel:
    """The law fitted to earlier runs.

    Attributes:
        delays: ln delay from settings, with its held-out errors.
    """

    delays: LogDelayModel
    _fitted: _Coefficients

    def log_memorization(self, settings: Mapping[str, float]) -> float:
        """ln V_mem expected at these settings."""
        return self._fitted.log_memorization(self.delays.centred(settings))

    def log_star(self, settings: Mapping[str, float]) -> float:
        """ln V_star expected at these settings."""
        return self._fitted.log_star(self.delays.centred(settings))


@dataclass(frozen=True, eq=False)
class _Coefficients:
    """Linear forms in (1, centred log settings) for ln V_mem, ln V_star and ln c."""

    features: _Features
    above: Array
    below: Array
    slowing: Array

    @classmethod
    def fit(cls, rows: _Rows, features: _Features) -> _Coefficients:
        star, efficiency = rows.design[:, features.star], rows.design[:, features.efficiency]
        above = ridge(rows.design, rows.log_memorization, _penalty(rows.design))
        below = ridge(star, rows.log_star, _penalty(star))
        unresisted = _log_unresisted(rows.design @ above - star @ below, rows.clock)
        slowing = ridge(efficiency, unresisted - rows.log_delay, _penalty(efficiency))
        return cls(features, above, below, slowing)

    def log_memorization(self, logs: Array) -> float:
        return float(_row(logs) @ self.above)

    def log_star(self, logs: Array) -> float:
        return float(_row(logs)[list(self.features.star)] @ self.below)

    def log_delay(self, logs: Array, decay_rate: float | None) -> float:
        if decay_rate is None:
            raise DomainError("the law needs a decay rate", remedy="give learning rate and decay")
        log_ratio = np.array(self.log_memorization(logs) - self.log_star(logs))
        slowing = _row(logs)[list(self.features.efficiency)] @ self.slowing
        return float(_log_unresisted(log_ratio, np.array(decay_rate)) - slowing)


def _row(logs: Array) -> Array:
    return np.concatenate([[1.0], logs])


def _rows(observations: Sequence[ObservedRun], names: tuple[str, ...]) -> tuple[_Rows, Array]:
    table = []
    for one in observations:
        above, star = one.squared_norm_memorization, one.squared_norm_generalization
        if above is None or star is None or one.delay is None or one.decay_rate is None:
            raise DomainError("the run shows no delay with both norms", source=one.run.name)
        logs = [np.log(one.settings[name]) for name in names]
        table.append([np.log(above), np.log(star), one.decay_rate, np.log(one.delay), *logs])
    values = np.array(table)
    centre = values[:, 4:].mean(axis=0)
    design = np.column_stack([np.ones(len(values)), values[:, 4:] - centre])
    folds = GroupFolds.of([one.configuration for one in observations])
    log_memorization, log_star, clock, log_delay = values[:, :4].T
    return _Rows(design, log_memorization, log_star, clock, log_delay, folds), centre


def _held_out(rows: _Rows, features: _Features) -> Array:
    """ln delay of each run by the fit that left its configuration out, shape [n]."""
    below = rows.left_out(features.star, rows.log_star)
    unresisted = _log_unresisted(rows.left_out_memorization - below, rows.clock)
    slowing = rows.left_out(features.efficiency, unresisted - rows.log_delay)
    held_out: Array = (unresisted - slowing)[rows.folds.own]
    return held_out


def _log_unresisted(log_ratio: Array, rate: Array) -> Array:
    """ln of the delay under decay alone (c = 1)."""
    return np.asarray(np.log(np.maximum(log_ratio, SMALLEST_LOG_RATIO) / rate))


def _error(held_out: Array, rows: _Rows) -> float:
    """Mean absolute log error of a run plus that of a configuration's mean."""
    errors = rows.log_delay - held_out
    sums = np.bincount(rows.folds.fold, errors, minlength=rows.folds.count)
    sizes = np.bincount(rows.folds.fold, minlength=rows.folds.count)
    return float(np.abs(errors).mean() + np.abs(sums / sizes).mean())


def _penalty(design: Array) -> Array:
    return prior_penalty(design.shape[1])


def _toggle(columns: tuple[int, ...], column: int) -> tuple[int, ...]:
    return tuple(sorted(set(columns) ^ {column}))


def _named(columns: tuple[int, ...], names: tuple[str, ...]) -> str:
    return ", ".join(names[column - 1] for column in columns if column) or "nothing"
