"""The paper's assumptions (A1) to (A5), checked on what a run logged: holds, fails, or unknown.

arXiv 2603.07323, section 3: (A1) the loss is L-smooth; (A2) its gradient vanishes on the
interpolating manifold; (A3) eta <= lambda/L; (A4) V_sc > V_st; (A5) the shortcut is reached first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from nht_theory.estimators.results import Crossing, Estimate, RunEstimate
from nht_theory.runs import columns
from nht_theory.runs.run import Run

VANISHING = 1e-2
"""A squared gradient below this share of its largest value counts as zero, (A2)."""
NEGLIGIBLE = 0.1
"""An alignment term below this share of the decay term is what a vanishing gradient leaves."""


class AssumptionStatus(StrEnum):
    """What can be said about an assumption."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "cannot be known"


@dataclass(frozen=True)
class AssumptionCheck:
    """One assumption on one run.

    Attributes:
        name: ``A1`` ... ``A5``.
        statement: the assumption, in words.
        status: holds, fails, cannot be known.
        value: the number it turns on, None where nothing was measured.
        limit: what the value is compared with, None where there is no bound.
        reason: how it was decided, or what would decide it.
    """

    name: str
    statement: str
    status: AssumptionStatus
    value: float | None
    limit: float | None
    reason: str


def check_assumptions(run: Run, own: RunEstimate) -> tuple[AssumptionCheck, ...]:
    """The five assumptions, in order.

    Args:
        run: the trajectory; ``smoothness`` and ``gradient_squared_norm`` are used where logged.
        own: its estimates (transitions and norms).

    Example:
        >>> from pathlib import Path
        >>> from nht_theory.estimators.summary import estimate_run
        >>> run = Run("a", Path("a"), np.array([0, 1]), {"squared_norm": np.array([2.0, 1.0])})
        >>> [check.status.value for check in check_assumptions(run, estimate_run(run))]
        ['cannot be known', 'cannot be known', 'cannot be known', 'cannot be known',
        'cannot be known']
    """
    smoothness = _largest(run, columns.SMOOTHNESS)
    return (
        _smooth(smoothness),
        _vanishing_gradient(run, own),
        _small_step(run, smoothness),
        _hierarchy(own),
        _shortcut_first(own.memorization, own.generalization),
    )


def _largest(run: Run, column: str) -> float | None:
    return float(np.nanmax(run.column(column))) if run.has(column) else None


def _smooth(smoothness: float | None) -> AssumptionCheck:
    statement = "the loss is L-smooth along the path"
    if smoothness is None:
        return AssumptionCheck(
            "A1",
            statement,
            AssumptionStatus.UNKNOWN,
            None,
            None,
            f"needs {columns.SMOOTHNESS}: ||grad L(theta') - grad L(theta)||/||theta' - theta||",
        )
    finite = math.isfinite(smoothness)
    return AssumptionCheck(
        "A1",
        statement,
        AssumptionStatus.HOLDS if finite else AssumptionStatus.FAILS,
        smoothness,
        None,
        "largest ratio of gradient difference to step along the path: a lower bound on L",
    )


def _vanishing_gradient(run: Run, own: RunEstimate) -> AssumptionCheck:
    statement = "the loss gradient vanishes once the run has memorised"
    start = own.memorization_step
    if start is None:
        reason = "needs memorisation: the run does not reach it, or does not log it"
        return AssumptionCheck("A2", statement, AssumptionStatus.UNKNOWN, None, None, reason)
    after = run.steps >= start
    if run.has(columns.GRADIENT_SQUARED_NORM):
        return _gradient_share(run.column(columns.GRADIENT_SQUARED_NORM), after, statement)
    if run.has(columns.ALIGNMENT, columns.DECAY):
        return _alignment_share(run, after, statement)
    reason = f"needs {columns.GRADIENT_SQUARED_NORM}, or {columns.ALIGNMENT} and {columns.DECAY}"
    return AssumptionCheck("A2", statement, AssumptionStatus.UNKNOWN, None, None, reason)


def _gradient_share(
    gradient: NDArray[np.float64], after: NDArray[np.bool_], statement: str
) -> AssumptionCheck:
    share = float(np.nanmedian(gradient[after]) / np.nanmax(gradient))
    holds = share <= VANISHING
    return AssumptionCheck(
        "A2",
        statement,
        AssumptionStatus.HOLDS if holds else AssumptionStatus.FAILS,
        share,
        VANISHING,
        "median squared gradient after memorisation over its largest value in the run",
    )


def _alignment_share(run: Run, after: NDArray[np.bool_], statement: str) -> AssumptionCheck:
    """A vanishing gradient leaves no alignment; a small alignment does not prove the converse."""
    decay = run.column(columns.DECAY)[after]
    alignment = run.column(columns.ALIGNMENT)[after]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.abs(alignment) / decay
    finite = ratios[np.isfinite(ratios)]
    share = float(np.median(finite)) if finite.size else math.nan
    fails = share > NEGLIGIBLE
    return AssumptionCheck(
        "A2",
        statement,
        AssumptionStatus.FAILS if fails else AssumptionStatus.UNKNOWN,
        share,
        NEGLIGIBLE,
        "median |alignment|/decay after memorisation; zero if the gradient vanishes"
        + ("" if fails else f", not only then: needs {columns.GRADIENT_SQUARED_NORM}"),
    )


def _small_step(run: Run, smoothness: float | None) -> AssumptionCheck:
    statement = "eta <= lambda/L"
    eta, decay = run.hyperparameters.learning_rate, run.hyperparameters.weight_decay
    if eta is None or decay is None:
        reason = "needs the learning rate and the weight decay"
        return AssumptionCheck("A3", statement, AssumptionStatus.UNKNOWN, None, None, reason)
    if smoothness is None:
        return AssumptionCheck(
            "A3",
            statement,
            AssumptionStatus.UNKNOWN,
            eta,
            None,
            f"needs {columns.SMOOTHNESS}; it asks for L <= lambda/eta = {decay / eta:.4g}",
        )
    limit = decay / smoothness if smoothness > 0 else math.inf
    # The measured smoothness is a lower bound on L: it can refute (A3), never prove it.
    fails = eta > limit
    return AssumptionCheck(
        "A3",
        statement,
        AssumptionStatus.FAILS if fails else AssumptionStatus.HOLDS,
        eta,
        limit,
        "eta against lambda/L with L measured along the path"
        + ("" if fails else " (a larger L off the path is not excluded)"),
    )


def _hierarchy(own: RunEstimate) -> AssumptionCheck:
    statement = "the shortcut's norm exceeds the structured one's: V_sc > V_st"
    upper, lower = own.squared_norm_memorization, own.squared_norm_generalization
    if not isinstance(upper, Estimate) or not isinstance(lower, Estimate):
        reason = "needs V at memorisation and at generalisation"
        return AssumptionCheck("A4", statement, AssumptionStatus.UNKNOWN, None, None, reason)
    ratio = upper.value / lower.value
    status = AssumptionStatus.HOLDS if ratio > 1.0 else AssumptionStatus.FAILS
    reason = "V at memorisation over V at generalisation"
    if upper.interval and lower.interval:
        least = upper.interval.low / lower.interval.high
        most = upper.interval.high / lower.interval.low
        reason += f", {least:.4g} to {most:.4g} within the evaluation grid"
        if least <= 1.0 < most:
            status = AssumptionStatus.UNKNOWN
    return AssumptionCheck("A4", statement, status, ratio, 1.0, reason)


def _shortcut_first(
    memorization: Crossing | None, generalization: Crossing | None
) -> AssumptionCheck:
    statement = "the shortcut is reached before the structured solution"
    if memorization is None or generalization is None or memorization.step is None:
        reason = "needs memorisation, and a held-out metric"
        return AssumptionCheck("A5", statement, AssumptionStatus.UNKNOWN, None, None, reason)
    if generalization.step is None:
        wait = float(generalization.earlier_step - memorization.step)
        reason = "memorised, and not generalised to the end: at least this many steps between"
        return AssumptionCheck("A5", statement, AssumptionStatus.HOLDS, wait, 0.0, reason)
    if memorization.step <= generalization.earlier_step:
        status = AssumptionStatus.HOLDS
    elif generalization.step <= memorization.earlier_step:
        status = AssumptionStatus.FAILS
    else:
        status = AssumptionStatus.UNKNOWN
    wait = float(generalization.step - memorization.step)
    reason = "steps between the two evaluations"
    if status is AssumptionStatus.UNKNOWN:
        reason += "; both lie between the same two, so the grid cannot tell"
    return AssumptionCheck("A5", statement, status, wait, 0.0, reason)
