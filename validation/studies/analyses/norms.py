"""Which parameters carry V, and how fast each group falls."""

from __future__ import annotations

from collections import Counter

import numpy as np

from nht_theory.estimators.contraction import rate_window
from nht_theory.estimators.efficiency import pure_decay_rate
from nht_theory.estimators.groups import carrier, group_rates, layer_groups
from nht_theory.estimators.results import Estimate, Missing, StudyEstimates
from validation.studies.analyses.configurations import groups, settings
from validation.studies.markdown import number
from validation.studies.results import Table


def carriers(estimates: StudyEstimates) -> list[Table]:
    """The layer that holds most of V at memorisation, and c of it beside the other layers."""
    rows = []
    for key, pairs in groups(estimates).items():
        held = [
            found
            for run, own in pairs
            if own.memorization_step is not None
            and not isinstance(found := carrier(run, own.memorization_step), Missing)
        ]
        if not held:
            continue
        name = Counter(found for found, _ in held).most_common(1)[0][0]
        carrying, others = [], []
        for run, own in pairs:
            window = rate_window(run, own.memorization, own.generalization)
            if isinstance(window, Missing):
                continue
            pure = pure_decay_rate(run, window)
            if isinstance(pure, Missing):
                continue
            layers = {layer.name for layer in layer_groups(run)}
            for one in group_rates(run, window):
                if one.group in layers and isinstance(one.rate, Estimate):
                    part = carrying if one.group == name else others
                    part.append(one.rate.value / pure)
        rows.append(
            [
                *key,
                name,
                f"{sum(found == name for found, _ in held)} of {len(held)}",
                number(float(np.mean([share for found, share in held if found == name])), 3),
                number(float(np.mean(carrying)), 3) if carrying else "",
                f"{number(min(others), 3)} to {number(max(others), 3)}" if others else "",
            ]
        )
    header = (
        *settings(estimates), "carrier at T_mem", "runs", "share of V", "c of the carrier",
        "c of the other layers",
    )  # fmt: skip
    note = (
        "c of a layer: minus the slope of ln V_l over the window of the transition, in units of "
        "2 eta lambda."
    )
    return [Table("Who carries V", header, rows, note)]
