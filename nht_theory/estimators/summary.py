"""Everything that is estimated of a run, and of every distinct run of a study."""

from __future__ import annotations

from nht_theory.conventions import DEFAULT_THRESHOLDS, ProgressCallback, Thresholds
from nht_theory.estimators import norms
from nht_theory.estimators.contraction import contraction_rate, descent_window
from nht_theory.estimators.efficiency import efficiency
from nht_theory.estimators.regime import regime
from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates
from nht_theory.estimators.transitions import (
    censored_at_collapse,
    collapse_step,
    generalization,
    memorization,
)
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study


def estimate_run(run: Run, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> RunEstimate:
    """Transition times, norms, contraction rate, efficiency and regime of one run.

    What cannot be estimated is a :class:`Missing` with its reason, never an exception.
    """
    memorized, generalized = memorization(run, thresholds), generalization(run, thresholds)
    collapse = collapse_step(run, memorized)
    generalized = censored_at_collapse(generalized, collapse, run)
    window = descent_window(run, memorized, collapse)
    switch = None if generalized is None else generalized.step
    rate = window if isinstance(window, Missing) else contraction_rate(run, window, switch)
    return RunEstimate(
        run=run.name,
        thresholds=thresholds,
        memorization=memorized,
        generalization=generalized,
        collapse_step=collapse,
        contraction_rate=rate,
        efficiency=efficiency(run, window, rate),
        squared_norm_memorization=norms.squared_norm_at(run, memorized),
        squared_norm_generalization=norms.squared_norm_at(run, generalized),
        squared_norm_peak=norms.peak(run),
        squared_norm_final=norms.final(run),
        regime=regime(run, memorized),
    )


def estimate_study(
    study: Study,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    progress: ProgressCallback | None = None,
) -> StudyEstimates:
    """:func:`estimate_run` of every distinct run, in the study's order."""
    estimates = []
    for done, run in enumerate(study.runs):
        if progress is not None:
            progress("estimating", done, len(study.runs))
        estimates.append(estimate_run(run, thresholds))
    return StudyEstimates(study, tuple(estimates), thresholds)
