"""The regime of a run from its trajectory alone: what the norm did, and was it memorised."""

from __future__ import annotations

from nht_theory.conventions import Regime
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Crossing, Missing
from nht_theory.estimators.rise_and_fall import rise_and_fall
from nht_theory.runs import columns
from nht_theory.runs.run import Run

DECAY_FRACTION = 0.05
"""Share of its peak that V must lose after memorisation to count as contracting (the paper's
weak runs lose less than 1 %, its intermediate ones up to a fifth)."""
SUPPRESSION = 0.5
"""Share of its peak that V must lose without memorisation to count as suppressed."""


def decay_fraction(run: Run, since: int = 0) -> float | None:
    """D = 1 - V_end / V_max over the evaluations from ``since`` on; None without usable V.

    Source: THEORY.md section 8.

    Example:
        >>> import numpy as np
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
    """Whether V of training peaks: rises and then falls, both beyond its own noise.

    Source: THEORY.md section 9 (P2); :func:`nht_theory.estimators.rise_and_fall.rise_and_fall`.

    Example:
        >>> import numpy as np
        >>> steps = np.arange(1, 21)
        >>> run = Run("r", None, steps, {"squared_norm": np.exp(-np.abs(steps - 8.0))})
        >>> rises_then_falls(run)
        True
    """
    found = rise_and_fall(run)
    return found if isinstance(found, Missing) else found.peak_step is not None
