"""Delays of a study beside what the law predicts them from, none of it taken from the run's end.

The delay of a run contains its own V_star and its own contraction rate; a regression on those
fits whatever the data. So the rate here is the pure-decay rate, known before training, and V_star
comes from other configurations of the same task. Other seeds will not do: their V at the switch is
what V fell to over their own delays, which are this run's delay but for the scatter, so that
"T = ln(V_mem/V_star)/gamma" would hold of any delay whatever as long as V falls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nht_theory.claims import selection
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.results import (
    Estimate,
    Missing,
    RunEstimate,
    StudyEstimates,
    Unavailable,
)
from nht_theory.estimators.transitions import delay_bounds
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.samples import Vector
from nht_theory.runs.run import Run

VAGUE = 0.5
"""Share of ln(V_mem/V_star) by which V_mem may differ between the evaluations around
memorisation; beyond, the evaluation grid decides the ratio."""


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
            left_out["no other configuration of the same task tells V_star"] += 1
        elif start.value <= end:
            outside.append(run)
        elif spread(start) > VAGUE * np.log(start.value / end):
            left_out["evaluations too far apart to tell V at memorisation"] += 1
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
    """A norm that belongs to a run's end, taken from other configurations of the same task.

    These are equal in everything but weight decay and learning rate, and differ in one of the two.
    The law says that they share it; it is the geometric mean over them, each counted once.

    Args:
        study: the estimates to draw from.
        norm: V of a run, or why it has none.
    """

    def __init__(
        self,
        study: StudyEstimates,
        norm: Callable[[Run, RunEstimate], Estimate | Missing],
    ) -> None:
        known: dict[str, dict[str, list[float]]] = {}
        for run, own in study.pairs():
            value = norm(run, own)
            if isinstance(value, Estimate):
                by_configuration = known.setdefault(_task(run), {})
                logs = by_configuration.setdefault(selection.stratum(run), [])
                logs.append(float(np.log(value.value)))
        self._means = {
            task: {name: float(np.mean(logs)) for name, logs in by_configuration.items()}
            for task, by_configuration in known.items()
        }

    def __call__(self, run: Run) -> float | None:
        """Geometric mean over the other configurations; None where there is none."""
        own = selection.stratum(run)
        others = [mean for name, mean in self._means.get(_task(run), {}).items() if name != own]
        return float(np.exp(np.mean(others))) if others else None


def star(run: Run, own: RunEstimate) -> Estimate | Missing:
    """V_star: V at generalisation, where the evaluations around it tell it within a factor of
    two."""
    value = own.squared_norm_generalization
    if isinstance(value, Estimate) and spread(value) > np.log(2):
        return Missing(Unavailable.TOO_FEW_POINTS, "evaluations too far apart to tell V_star")
    return value


def spread(value: Estimate) -> float:
    """ln of the ratio of an interval's ends; zero where there is no interval.

    Example:
        >>> from nht_theory.estimators.results import Interval
        >>> spread(Estimate(2.0, "V", "m", 2, Interval(1.0, 4.0, 1.0, "")))
        1.3862943611198906
    """
    interval = value.interval
    return 0.0 if interval is None else float(np.log(interval.high / interval.low))


def _task(run: Run) -> str:
    return selection.stratum(run, "weight_decay", "learning_rate")
