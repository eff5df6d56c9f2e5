"""Sparse parity: the delay and the ratio of norms, as the companion gives them."""

from __future__ import annotations

from nht_theory.claims import selection
from nht_theory.estimators.results import Estimate, StudyEstimates
from validation.studies.markdown import number
from validation.studies.results import Table


def ratios(estimates: StudyEstimates) -> list[Table]:
    """Delay and V at the end over V at memorisation, a run a line."""
    rows = []
    for run, own in estimates.pairs():
        start, end = own.squared_norm_memorization, own.squared_norm_final
        known = isinstance(start, Estimate) and isinstance(end, Estimate)
        rows.append(
            [
                selection.setting(run, "n"),
                run.hyperparameters.seed,
                own.memorization_step,
                own.generalization_step,
                own.delay,
                number(end.value / start.value) if known else "",
                number(selection.norm_ratio(own)),
            ]
        )
    header = ("n", "seed", "T_mem", "T_gen", "delay", "V_end/V_mem", "V_mem/V_gen")
    note = (
        "The companion prints V_final/V_mem between 1.64 and 1.97; a ratio above one is a norm "
        "that grew after memorisation."
    )
    return [Table("Delay and ratio of each run", header, rows, note)]
