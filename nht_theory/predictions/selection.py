"""Which runs enter a test, and how they are grouped into configurations and strata."""

from __future__ import annotations

from collections.abc import Iterable

from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates
from nht_theory.runs.run import Run

Pair = tuple[Run, RunEstimate]


def delayed(study: StudyEstimates) -> list[Pair]:
    """Runs that memorise and generalise at a later evaluation."""
    return [(run, own) for run, own in study.pairs() if own.delay is not None and own.delay > 0]


def memorized_but_censored(study: StudyEstimates) -> list[Pair]:
    """Runs that memorise and had not generalised when last seen (right-censored)."""
    return [
        (run, own)
        for run, own in study.pairs()
        if own.memorization_step is not None and own.generalization is not None and own.censored
    ]


def norm_ratio(own: RunEstimate) -> float | None:
    """V_mem / V_star of one run; None where either is missing."""
    first, last = own.squared_norm_memorization, own.squared_norm_generalization
    if isinstance(first, Missing) or isinstance(last, Missing):
        return None
    return first.value / last.value


def configuration_label(run: Run, *, without: tuple[str, ...] = ()) -> str:
    """A configuration as text, with some settings left out (to make strata)."""
    settings = run.hyperparameters.configuration()
    return " ".join(f"{name}={value}" for name, value in settings if name not in without)


def by_configuration(
    pairs: Iterable[Pair], *, without: tuple[str, ...] = ()
) -> dict[str, list[Pair]]:
    """Pairs grouped by their configuration, in order of first appearance."""
    groups: dict[str, list[Pair]] = {}
    for run, own in pairs:
        groups.setdefault(configuration_label(run, without=without), []).append((run, own))
    return groups


def varying_settings(study: StudyEstimates) -> tuple[str, ...]:
    """Settings that differ between the runs of a study: the ones worth printing."""
    seen: dict[str, set[str]] = {}
    for run in study.study.runs:
        for name, value in run.hyperparameters.configuration():
            seen.setdefault(name, set()).add(value)
    return tuple(sorted(name for name, values in seen.items() if len(values) > 1))


def described(run: Run, settings: tuple[str, ...]) -> str:
    """A run's name with the settings that tell it from the others, and its seed."""
    own = dict(run.hyperparameters.configuration())
    parts = [f"{name}={own[name]}" for name in settings if name in own]
    if run.hyperparameters.seed is not None:
        parts.append(f"seed={run.hyperparameters.seed}")
    return f"{run.name} ({', '.join(parts)})" if parts else run.name
