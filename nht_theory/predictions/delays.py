"""Delays of a study beside what the law predicts them from, none of it taken from the run's end.

The delay of a run contains its own V_star and its own contraction rate; a regression on those
fits whatever the data. So the rate here is the pure-decay rate, known before training, and
V_star comes from other runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.results import Estimate, Missing, RunEstimate, StudyEstimates
from nht_theory.estimators.transitions import delay_bounds
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.samples import Vector
from nht_theory.predictions import selection
from nht_theory.runs.run import Run


@dataclass(frozen=True, eq=False)
class Delays:
    """One row for each distinct run that memorised and that the law speaks about.

    Attributes:
        runs: the runs, n of them.
        times: delay from memorisation to generalisation, interval- or right-censored, in steps.
        log_inverse_rate: ln(1/gamma) with gamma the pure-decay rate of V, shape [n].
        log_log_ratio: ln ln(V_mem/V_star) with V_star from other runs, shape [n].
        configurations: label of each run's configuration.
        squared_norm_start: V_mem of each run, shape [n].
        squared_norm_star: V_star from other runs, shape [n].
        outside: runs that memorised and for which the ratio is not above one: the law predicts
            no delay for them.
        left_out: what else was not used, and why.
    """

    runs: tuple[Run, ...]
    times: CensoredTimes
    log_inverse_rate: Vector
    log_log_ratio: Vector
    configurations: tuple[str, ...]
    squared_norm_start: Vector
    squared_norm_star: Vector
    outside: tuple[Run, ...]
    left_out: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.runs)


def delays(
    study: StudyEstimates, eligible: Callable[[Run], bool] = lambda _: True
) -> Delays | None:
    """The rows of a study; None where fewer than two runs qualify.

    Args:
        study: the estimates.
        eligible: runs for which it is false are left out, and counted as such.
    """
    star_of_others = NormOfOthers(study, star)
    rows: list[tuple[Run, float, float, float, float, float]] = []
    outside: list[Run] = []
    left_out: Counter[str] = Counter()
    for run, own in study.pairs():
        if own.memorization is None or own.generalization is None:
            left_out["training or held-out accuracy is not logged"] += 1
            continue
        if not eligible(run):
            left_out["the separation of their configuration is not ordered"] += 1
            continue
        bounds = delay_bounds(own.memorization, own.generalization)
        if bounds is None:
            left_out["never memorised"] += 1
            continue
        low, high = bounds
        if high == 0 or (low == 0 and np.isinf(high)):
            left_out["the grid does not separate the two events"] += 1
            continue
        start, end = own.squared_norm_memorization, star_of_others(run)
        rate = pure_decay_rate(run, Window(0, int(run.steps[-1]), "whole run"))
        if isinstance(rate, Missing):
            left_out[f"{rate.reason.value}: {rate.detail}"] += 1
        elif isinstance(start, Missing):
            left_out[f"V at memorisation: {start.reason.value}"] += 1
        elif end is None:
            left_out["no other run tells V_star"] += 1
        elif start.value <= end:
            outside.append(run)
        else:
            rows.append((run, low, high, rate, start.value, end))
    if len(rows) < 2:
        return None
    runs, low_ends, high_ends, rates, starts, stars = zip(*rows, strict=True)
    return Delays(
        runs=runs,
        times=CensoredTimes.of(low_ends, high_ends),
        log_inverse_rate=-np.log(rates),
        log_log_ratio=np.log(np.log(np.array(starts) / np.array(stars))),
        configurations=tuple(selection.stratum(run) for run in runs),
        squared_norm_start=np.array(starts),
        squared_norm_star=np.array(stars),
        outside=tuple(outside),
        left_out=tuple(f"left out: {count} runs, {reason}" for reason, count in left_out.items()),
    )


class NormOfOthers:
    """A norm that belongs to a run's end, taken from the other runs of its study.

    The nearest ones that have it: of the same configuration; else of the same but for weight
    decay and learning rate; else all others. The geometric mean is taken.

    Args:
        study: the estimates to draw from.
        norm: V of a run, or why it has none.
    """

    def __init__(
        self,
        study: StudyEstimates,
        norm: Callable[[Run, RunEstimate], Estimate | Missing],
    ) -> None:
        self._levels: list[tuple[Callable[[Run], str], dict[str, list[tuple[Run, float]]]]] = []
        known = [
            (run, float(np.log(value.value)))
            for run, own in study.pairs()
            if isinstance(value := norm(run, own), Estimate)
        ]
        for same in (_configuration, _but_for_decay_and_rate, _any):
            groups: dict[str, list[tuple[Run, float]]] = {}
            for run, log_norm in known:
                groups.setdefault(same(run), []).append((run, log_norm))
            self._levels.append((same, groups))

    def __call__(self, run: Run) -> float | None:
        """Geometric mean over the nearest other runs; None where there is none."""
        for same, groups in self._levels:
            logs = [value for other, value in groups.get(same(run), ()) if other is not run]
            if logs:
                return float(np.exp(np.mean(logs)))
        return None


def star(run: Run, own: RunEstimate) -> Estimate | Missing:
    """V_star: V at generalisation."""
    return own.squared_norm_generalization


def _configuration(run: Run) -> str:
    return selection.stratum(run)


def _but_for_decay_and_rate(run: Run) -> str:
    return selection.stratum(run, "weight_decay", "learning_rate")


def _any(run: Run) -> str:
    return ""
