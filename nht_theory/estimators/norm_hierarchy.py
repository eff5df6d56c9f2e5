"""V_sc and V_st in every definition in use, and how far the choice moves the law's log-ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nht_theory.estimators import norms
from nht_theory.estimators.floored_decay import decay_to_floor
from nht_theory.estimators.results import (
    Estimate,
    Missing,
    RunEstimate,
    StudyEstimates,
    Unavailable,
)
from nht_theory.inference.binomial import median_estimate
from nht_theory.runs import columns
from nht_theory.runs.run import Run


@dataclass(frozen=True)
class NormHierarchy:
    """V on the shortcut side and on the structured side, each under several definitions.

    Attributes:
        shortcut: definition -> V_sc: ``at memorisation``, ``peak since memorisation``,
            ``plateau median`` (between the two transitions).
        structured: definition -> V_st: ``at generalisation``, ``final plateau``,
            ``fitted floor``.
    """

    shortcut: dict[str, Estimate | Missing]
    structured: dict[str, Estimate | Missing]

    def log_ratios(self) -> dict[tuple[str, str], float]:
        """ln(V_sc/V_st) for each pair of definitions that exist."""
        return {
            (above, below): math.log(high.value / low.value)
            for above, high in self.shortcut.items()
            for below, low in self.structured.items()
            if isinstance(high, Estimate) and isinstance(low, Estimate)
        }

    def sensitivity(self) -> tuple[float, float] | None:
        """Smallest and largest ln(V_sc/V_st) over the definitions; None where there is none."""
        ratios = self.log_ratios().values()
        return (min(ratios), max(ratios)) if ratios else None


def norm_hierarchy(run: Run, own: RunEstimate) -> NormHierarchy:
    """Every definition of V_sc and V_st on one run.

    Args:
        run: the run.
        own: its estimates, from which the transitions are taken.

    Source: THEORY.md section 8; the companion (arXiv 2603.13331) takes the final plateau for
    V_st, which is half of V at generalisation or less, so its formula overshoots.

    Example:
        >>> from nht_theory.estimators.summary import estimate_run
        >>> run = Run("r", None, np.arange(6) * 100, {
        ...     "train_accuracy": np.array([0, 1, 1, 1, 1, 1.0]),
        ...     "heldout_accuracy": np.array([0, 0, 0, 1, 1, 1.0]),
        ...     "squared_norm": np.array([9, 8, 4, 2, 1, 1.0])})
        >>> hierarchy = norm_hierarchy(run, estimate_run(run))
        >>> hierarchy.structured["final plateau"].value
        1.0
    """
    start, end = own.memorization_step, own.generalization_step
    return NormHierarchy(
        shortcut={
            "at memorisation": own.squared_norm_memorization,
            "peak since memorisation": _never(own) if start is None else norms.peak(run, start),
            "plateau median": _between(run, start, end),
        },
        structured={
            "at generalisation": own.squared_norm_generalization,
            "final plateau": _never(own) if end is None else norms.plateau(run),
            "fitted floor": _fitted_floor(run, start, end),
        },
    )


def median_log_ratios(study: StudyEstimates) -> dict[tuple[str, str], Estimate]:
    """ln(V_sc/V_st) for each pair of definitions: median over the runs that generalise later
    than they memorise.

    How far these medians lie apart says how much a result owes to the definition.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for run, own in study.pairs():
        if own.delay is not None and own.delay > 0:
            for pair, value in norm_hierarchy(run, own).log_ratios().items():
                found.setdefault(pair, []).append(value)
    return {pair: median_estimate(values, unit="1") for pair, values in found.items()}


def _never(own: RunEstimate) -> Missing:
    return Missing(Unavailable.NEVER_REACHED, f"run {own.run}")


def _between(run: Run, start: int | None, end: int | None) -> Estimate | Missing:
    """Median V from memorisation up to generalisation (or the end of the run)."""
    if not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, columns.SQUARED_NORM)
    if start is None:
        return Missing(Unavailable.NEVER_REACHED, "memorisation")
    last = int(run.steps[-1]) if end is None else end
    keep = (
        norms.usable(run.squared_norm) & (run.steps >= start) & (run.steps < max(last, start + 1))
    )
    series = run.squared_norm[keep]
    if not series.size:
        return Missing(Unavailable.NOT_FINITE, f"V between steps {start} and {last}")
    return Estimate(
        float(np.median(series)),
        norms.UNIT,
        f"median V from step {start} to before step {last}",
        int(series.size),
    )


def _fitted_floor(run: Run, start: int | None, end: int | None) -> Estimate | Missing:
    """Floor that V tends to after the switch, fitted to all of V from memorisation on."""
    if not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, columns.SQUARED_NORM)
    if start is None:
        return Missing(Unavailable.NEVER_REACHED, "memorisation")
    keep = norms.usable(run.squared_norm) & (run.steps >= start)
    fit = decay_to_floor(
        run.steps[keep].astype(np.float64), np.log(run.squared_norm[keep]), switch=end
    )
    if isinstance(fit, Missing):
        return fit
    if not (fit.told and fit.later_floor > 0):
        return Missing(Unavailable.AT_BOUND, "no floor can be told from the fall of V")
    return Estimate(
        fit.later_floor,
        norms.UNIT,
        f"floor of an exponential fitted from step {start} on, R^2 {fit.r_squared:.4f}",
        int(keep.sum()),
    )
