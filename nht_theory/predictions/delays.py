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
from nht_theory.estimators.results import Missing, StudyEstimates
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
        outside: runs that memorised and for which the ratio is not above one: the law predicts
            no delay for them.
        left_out: what else was not used, and why.
    """

    runs: tuple[Run, ...]
    times: CensoredTimes
    log_inverse_rate: Vector
    log_log_ratio: Vector
    configurations: tuple[str, ...]
    outside: tuple[Run, ...]
    left_out: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.runs)


def delays(study: StudyEstimates) -> Delays | None:
    """The rows of a study; None where fewer than two runs qualify."""
    star_of_others = StarOfOthers(study)
    rows: list[tuple[Run, float, float, float, float]] = []
    outside: list[Run] = []
    left_out: Counter[str] = Counter()
    for run, own in study.pairs():
        if own.memorization is None or own.generalization is None:
            left_out["training or held-out accuracy is not logged"] += 1
            continue
        bounds = delay_bounds(own.memorization, own.generalization)
        if bounds is None:
            left_out["never memorised"] += 1
            continue
        low, high = bounds
        if high == 0 or (low == 0 and np.isinf(high)):
            left_out["the grid does not separate the two events"] += 1
            continue
        start, star = own.squared_norm_memorization, star_of_others(run)
        rate = pure_decay_rate(run, Window(0, int(run.steps[-1]), "whole run"))
        if isinstance(rate, Missing):
            left_out[f"{rate.reason.value}: {rate.detail}"] += 1
        elif isinstance(start, Missing):
            left_out[f"V at memorisation: {start.reason.value}"] += 1
        elif star is None:
            left_out["no other run tells V_star"] += 1
        elif start.value <= star:
            outside.append(run)
        else:
            ratio = float(np.log(np.log(start.value / star)))
            rows.append((run, low, high, float(-np.log(rate)), ratio))
    if len(rows) < 2:
        return None
    runs, low_ends, high_ends, inverse_rates, ratios = zip(*rows, strict=True)
    return Delays(
        runs=runs,
        times=CensoredTimes.of(low_ends, high_ends),
        log_inverse_rate=np.array(inverse_rates),
        log_log_ratio=np.array(ratios),
        configurations=tuple(selection.configuration_label(run) for run in runs),
        outside=tuple(outside),
        left_out=tuple(f"left out: {count} runs, {reason}" for reason, count in left_out.items()),
    )


class StarOfOthers:
    """V_star of a run from the other runs of its study: the nearest ones that generalised.

    Nearest means the same configuration; else the same but for weight decay and learning rate;
    else all others. The geometric mean is taken.

    Args:
        study: the estimates to draw from.
    """

    def __init__(self, study: StudyEstimates) -> None:
        self._known = [
            (run, float(np.log(own.squared_norm_generalization.value)))
            for run, own in study.pairs()
            if not isinstance(own.squared_norm_generalization, Missing)
        ]

    def __call__(self, run: Run) -> float | None:
        """Geometric mean of V_star over the nearest other runs; None where there is none."""
        same: Callable[[Run], object]
        for same in (
            selection.configuration_label,
            lambda other: selection.configuration_label(
                other, without=("weight_decay", "learning_rate")
            ),
            lambda _: "",
        ):
            wanted = same(run)
            logs = [
                value for other, value in self._known if other is not run and same(other) == wanted
            ]
            if logs:
                return float(np.exp(np.mean(logs)))
        return None
