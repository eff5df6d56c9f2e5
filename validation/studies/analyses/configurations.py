"""The runs summed up by configuration."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nht_theory.claims import prefactor, selection, separations
from nht_theory.estimators.results import Estimate, RunEstimate, StudyEstimates
from nht_theory.runs.run import Run
from validation.studies.markdown import number
from validation.studies.results import Table

Pair = tuple[Run, RunEstimate]


def groups(estimates: StudyEstimates) -> dict[tuple[str, ...], list[Pair]]:
    """Runs by the settings that vary in the study, sorted by these."""
    names = settings(estimates)
    found: dict[tuple[str, ...], list[Pair]] = {}
    for run, own in estimates.pairs():
        chosen = dict(run.hyperparameters.configuration())
        found.setdefault(tuple(chosen.get(name, "") for name in names), []).append((run, own))
    return dict(sorted(found.items(), key=lambda item: [_order(part) for part in item[0]]))


def settings(estimates: StudyEstimates) -> tuple[str, ...]:
    """Settings that vary; the number of parameters only where nothing else does."""
    names = selection.varying_settings(estimates)
    return tuple(name for name in names if name != "parameter_count") or names


def _order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def by_configuration(estimates: StudyEstimates) -> list[Table]:
    """Transitions, norms and rates, one line a configuration."""
    rows = []
    for key, pairs in groups(estimates).items():
        own = [one for _, one in pairs]
        rows.append(
            [
                *key,
                len(pairs),
                _share(one.memorization_step is not None for one in own),
                spread(one.memorization_step for one in own),
                _share(one.generalization_step is not None for one in own),
                spread(one.generalization_step for one in own),
                mean(one.squared_norm_memorization for one in own),
                mean(one.squared_norm_generalization for one in own),
                mean(one.squared_norm_final for one in own),
                spread_of_estimates(prefactor.signed_efficiency(run, one) for run, one in pairs),
                counted(one.regime.value for one in own),
            ]
        )
    header = (
        *settings(estimates), "runs", "memorised", "T_mem", "switched", "T_gen",
        "V at T_mem", "V at T_gen", "V at the end", "c", "regimes",
    )  # fmt: skip
    note = (
        "Means over seeds, with the standard deviation between them; T_gen over the runs that "
        "switched within the budget. c = gamma_V over the optimiser's pure-decay rate, gamma_V "
        "that of the excess of V over its floor from T_mem on (from the peak of V without one)."
    )
    return [Table("Runs by configuration", header, rows, note)]


def separation_table(estimates: StudyEstimates) -> list[Table]:
    """S with its interval and W, a configuration a line."""
    names = selection.varying_settings(estimates)
    rows = [
        [selection.shortened(name, names), *separation_cells(own)]
        for name, own in separations.separations(estimates).items()
    ]
    note = "S: Somers' D of V given reliance on the shortcut, over the checkpoints since T_mem."
    return [Table("Separation", ("configuration", "S", "95 % interval", "W"), rows, note)]


def separation_cells(own: object) -> list[str]:
    """S, its interval and W as cells; the reason where S is not defined."""
    score, sharpness = own.score, own.sharpness  # type: ignore[attr-defined]
    if not isinstance(score, Estimate):
        return [f"not defined: {score.detail or score.reason.value}", "", ""]
    return [
        f"{score.value:.3f}",
        f"{score.interval.low:.3f} to {score.interval.high:.3f}" if score.interval else "one run",
        f"{sharpness.value:.2f}" if isinstance(sharpness, Estimate) else "",
    ]


def counted(labels: Iterable[str]) -> str:
    """How often each label occurs, in words."""
    found = list(labels)
    return ", ".join(f"{found.count(name)} {name}" for name in sorted(set(found)))


def spread(values: Iterable[float | None]) -> str:
    """Mean and standard deviation of what there is."""
    known = [float(value) for value in values if value is not None]
    if not known:
        return ""
    if len(known) == 1:
        return number(known[0])
    return f"{number(float(np.mean(known)))} ± {number(float(np.std(known, ddof=1)), 3)}"


def spread_of_estimates(values: Iterable[object]) -> str:
    """The same of estimates."""
    return spread(value.value for value in values if isinstance(value, Estimate))


def mean(values: Iterable[object]) -> str:
    """Mean of the estimates there are."""
    known = [value.value for value in values if isinstance(value, Estimate)]
    return number(float(np.mean(known))) if known else ""


def _share(flags: Iterable[bool]) -> str:
    found = list(flags)
    return f"{sum(found)} of {len(found)}"
