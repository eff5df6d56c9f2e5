"""What an intervention on the norm or on the decay does to the switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nht_theory.claims import selection
from nht_theory.estimators.results import RunEstimate, StudyEstimates
from nht_theory.inference.results import Alternative
from nht_theory.inference.survival import kaplan_meier
from nht_theory.inference.trend import page_l
from nht_theory.runs.run import Run
from validation.studies.markdown import number
from validation.studies.results import Table

NEVER = 1e9
"""A ceiling that no norm reaches: the run without the intervention."""


def norm_clamp(estimates: StudyEstimates) -> list[Table]:
    """From no clamp to a norm held as high as at memorisation."""

    def level(run: Run) -> float:
        held = selection.number(run, "squared_norm")
        return 0.0 if held is None or held >= NEVER else held

    return [_table(estimates, level, "V held at", "none", "the higher V is held")]


def decay_switch(estimates: StudyEstimates) -> list[Table]:
    """From unchanged decay to none."""

    def level(run: Run) -> float:
        return -(selection.number(run, "decay_switch.weight_decay") or 0.0)

    return [_table(estimates, level, "decay from then on", "0", "the less decay is left")]


def _table(
    estimates: StudyEstimates, level: Callable[[Run], float], name: str, zero: str, order: str
) -> Table:
    groups: dict[float, dict[object, tuple[float, bool]]] = {}
    for run, own in estimates.pairs():
        groups.setdefault(level(run), {})[run.hyperparameters.seed] = since_memorization(run, own)
    rows = []
    for one in sorted(groups):
        times, seen = zip(*groups[one].values(), strict=True)
        curve = kaplan_meier(times, seen)
        rows.append(
            [
                number(abs(one)) if one else zero,
                len(times),
                f"{sum(seen)} of {len(seen)}",
                number(curve.quantile(0.5)) or f"more than {number(max(times))}",
            ]
        )
    note = (
        "Steps counted from memorisation (from the start where a run never memorised); median by "
        f"Kaplan-Meier. Claim tested: the switch comes later {order}. {_trend(groups)}"
    )
    return Table(
        "Does the intervention delay the switch?",
        (name, "runs", "switched", "median steps to the switch"),
        rows,
        note,
    )


def since_memorization(run: Run, own: RunEstimate) -> tuple[float, bool]:
    """Steps from memorisation to the switch, and whether it was seen."""
    start = own.memorization_step or 0
    if own.generalization_step is None:
        return float(max(int(run.steps[-1]) - start, 0)), False
    return float(max(own.generalization_step - start, 0)), True


def _trend(groups: dict[float, dict[object, tuple[float, bool]]]) -> str:
    levels = sorted(groups)
    seeds = sorted(set.intersection(*(set(groups[one]) for one in levels)), key=str)
    if len(levels) < 2 or not seeds:
        return "No trend can be tested."
    table: list[Sequence[float]] = [[groups[one][seed][0] for one in levels] for seed in seeds]
    seen = [[groups[one][seed][1] for one in levels] for seed in seeds]
    later = page_l(np.array(table), observed=np.array(seen), alternative=Alternative.GREATER)
    sooner = page_l(np.array(table), observed=np.array(seen), alternative=Alternative.LESS)
    return (
        f"Page's L within seeds, {len(seeds)} seeds and {len(levels)} levels: p = "
        f"{later.p_value:.3g} for later, {sooner.p_value:.3g} for sooner ({later.method})."
    )
