"""The regime of a run from its trajectory alone: what the norm did, and was it memorised."""

from __future__ import annotations

import numpy as np

from nht_theory.conventions import Regime
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Crossing, Missing, Unavailable
from nht_theory.inference.information import aicc_least_squares
from nht_theory.runs import columns
from nht_theory.runs.run import Run

DECAY_FRACTION = 0.05
"""Share of its peak that V must lose after memorisation to count as contracting (the paper's
weak runs lose less than 1 %, its intermediate ones up to a fifth)."""
FEWEST_FOR_BREAK = 7
"""Evaluations below which AICc of five parameters does not exist."""
SUPPRESSION = 0.5
"""Share of its peak that V must lose without memorisation to count as suppressed."""


def decay_fraction(run: Run, since: int = 0) -> float | None:
    """D = 1 - V_end / V_max over the evaluations from ``since`` on; None without usable V.

    Source: THEORY.md section 8.

    Example:
        >>> run = Run("r", None, np.arange(3), {"squared_norm": np.array([1.0, 4.0, 1.0])})
        >>> decay_fraction(run)
        0.75
    """
    if not run.has(columns.SQUARED_NORM):
        return None
    series = run.squared_norm[usable(run.squared_norm) & (run.steps >= since)]
    return float(1 - series[-1] / series.max()) if series.size else None


def regime(run: Run, memorization: Crossing | None) -> Regime:
    """Label of a run by its norm; whether it generalised is left to the tests that use it.

    - strong: it never memorised, and V lost more than half of its peak;
    - intermediate: it memorised, and V contracted afterwards (by more than 5 % of its peak);
    - weak: it memorised, and V grew or held;
    - unknown: anything else, such as a run that stopped before memorising.

    Source: THEORY.md sections 4 and 8; arXiv 2603.07323, three regimes.
    """
    if memorization is None:
        return Regime.UNKNOWN
    if memorization.step is None:
        lost = decay_fraction(run)
        return Regime.STRONG if lost is not None and lost > SUPPRESSION else Regime.UNKNOWN
    lost = decay_fraction(run, since=memorization.step)
    if lost is None:
        return Regime.UNKNOWN
    return Regime.INTERMEDIATE if lost > DECAY_FRACTION else Regime.WEAK


def rises_then_falls(run: Run) -> bool | Missing:
    """Whether V of training peaks and falls, rather than moving one way, by AICc.

    Two lines in ln V that meet at a break compete with one line; the norm peaks and falls where
    the two are better and the first rises while the second falls. The initial norm, at step 0,
    is left out.

    Source: THEORY.md section 9 (P2); the broken line is chosen here.

    Example:
        >>> steps = np.arange(1, 21)
        >>> run = Run("r", None, steps, {"squared_norm": np.exp(-np.abs(steps - 8.0))})
        >>> rises_then_falls(run)
        True
    """
    if not run.has(columns.SQUARED_NORM):
        return Missing(Unavailable.NO_COLUMN, columns.SQUARED_NORM)
    keep = usable(run.squared_norm) & (run.steps > 0)
    steps = run.steps[keep].astype(np.float64)
    if steps.size < FEWEST_FOR_BREAK:
        return Missing(Unavailable.TOO_FEW_POINTS, f"{steps.size} evaluations of V in training")
    log_norm = np.log(run.squared_norm[keep])
    x = (steps - steps[0]) / np.ptp(steps)
    line = np.column_stack([np.ones(x.size), x])
    one_way = aicc_least_squares(_residuals(line, log_norm)[0], 2)
    best, peaks = one_way, False
    for place in x[1:-1]:
        bent = np.column_stack([line, (x - place).clip(0)])
        residuals, slopes = _residuals(bent, log_norm)
        criterion = aicc_least_squares(residuals, 4)
        if criterion < best:
            best, peaks = criterion, bool(slopes[1] > 0 > slopes[1] + slopes[2])
    return peaks


def _residuals(design: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    coefficients = np.linalg.lstsq(design, values, rcond=None)[0]
    return values - design @ coefficients, coefficients
