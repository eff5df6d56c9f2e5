"""The regime that a run turned out to be in, to score what was forecast of it."""

from __future__ import annotations

import math

import numpy as np

from nht_theory.claims import selection
from nht_theory.conventions import Regime
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates
from nht_theory.runs.run import Run


def placed(run: Run, own: RunEstimate, needed: float | None) -> Regime:
    """The regime of a run: its trajectory's label, but weak where its clock ran too short.

    A run whose whole regularisation clock stays below the log-ratio that a transition needs is
    weak before training (THEORY.md section 4), however its norm has begun to fall.
    """
    budget = clock_budget(run)
    short = needed is not None and budget is not None and budget < needed
    return Regime.WEAK if short and own.regime is Regime.INTERMEDIATE else own.regime


def log_ratio_needed(study: StudyEstimates) -> float | None:
    """Median ln(V_mem/V_star) over the delayed runs; None where no run gives one."""
    ratios = [selection.norm_ratio(own) for _, own in selection.delayed(study)]
    logs = [math.log(ratio) for ratio in ratios if ratio is not None and ratio > 1]
    return float(np.median(logs)) if logs else None


def clock_budget(run: Run) -> float | None:
    """Regularisation clock at the run's last evaluation; None where its rate is not known."""
    if not len(run):
        return None
    last = int(run.steps[-1])
    rate = pure_decay_rate(run, Window(0, last, "whole run"))
    return None if isinstance(rate, Missing) else rate * last
