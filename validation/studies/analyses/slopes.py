"""How the delay moves with a setting: censored regression of ln T on its logarithm."""

from __future__ import annotations

import numpy as np

from nht_theory.claims import selection
from nht_theory.errors import NhtError
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.transitions import delay_bounds
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes
from validation.studies.markdown import number
from validation.studies.results import Table

HEADER = ("setting", "slope of ln T", "95 % interval", "runs", "censored")


def on_learning_rate(estimates: StudyEstimates) -> list[Table]:
    """The law says -1: T proportional to 1/eta."""
    return [_table(estimates, ("learning_rate",), "The law says -1.")]


def on_modulus_and_fraction(estimates: StudyEstimates) -> list[Table]:
    """The law says that neither acts but through the log-ratio of norms."""
    note = "The law says that a setting acts through ln(V_sc/V_st) alone."
    return [_table(estimates, ("p", "train_fraction"), note)]


def on_width(estimates: StudyEstimates) -> list[Table]:
    """Delay against width, within each weight decay."""
    note = "T(N) of section 6.2 falls where the slope on width is negative."
    return [_table(estimates, ("width", "weight_decay"), note)]


def _table(estimates: StudyEstimates, names: tuple[str, ...], note: str) -> Table:
    method = (
        "Interval- and right-censored log-normal regression of the delay on the logarithms of the "
        f"settings, together. {note}"
    )
    return Table("Slopes of the delay", HEADER, slopes(estimates, names), method)


def slopes(estimates: StudyEstimates, names: tuple[str, ...]) -> list[list[object]]:
    """Slope of ln T on the logarithm of each setting that varies, one row each."""
    rows, bounds = [], []
    for run, own in estimates.pairs():
        values = [selection.number(run, name) for name in names]
        if own.memorization is None or own.generalization is None or None in values:
            continue
        times = delay_bounds(own.memorization, own.generalization)
        if times is None or times[1] == 0 or (times[0] == 0 and np.isinf(times[1])):
            continue
        rows.append(np.log(values))
        bounds.append(times)
    table = np.array(rows).reshape(len(rows), len(names))
    varying = [place for place in range(len(names)) if len(set(table[:, place])) > 1]
    if not varying:
        return [["none", "not defined: one level, or no run memorised", "", len(rows), ""]]
    low, high = zip(*bounds, strict=True)
    try:
        fit = fit_censored_regression(
            CensoredTimes.of(low, high),
            np.column_stack([np.ones(len(rows)), table[:, varying]]),
            ("constant", *(names[place] for place in varying)),
        )
    except NhtError as error:
        return [[", ".join(names), f"not defined: {error}", "", len(rows), ""]]
    made = []
    for place in varying:
        slope = fit.coefficient(names[place])
        interval = slope.interval
        made.append(
            [
                names[place],
                number(slope.value, 3),
                f"{number(interval.low, 3)} to {number(interval.high, 3)}" if interval else "",
                fit.n,
                fit.n_right_censored,
            ]
        )
    return made
