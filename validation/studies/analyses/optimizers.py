"""gamma_V of each optimiser as measured, beside its rate without a loss gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nht_theory.claims.prefactor import SAME
from nht_theory.claims.rules import PAPER_EFFICIENCY, decide
from nht_theory.conventions import DecayForm
from nht_theory.dynamics import OptimizerDynamics
from nht_theory.errors import DomainError
from nht_theory.estimators.contraction import descent_window, signed_rate
from nht_theory.estimators.results import Estimate, Missing, RunEstimate, StudyEstimates
from nht_theory.runs import columns
from nht_theory.runs.run import Run
from validation.studies.analyses.configurations import counted, groups, settings, spread
from validation.studies.markdown import number
from validation.studies.results import Table


def rates(estimates: StudyEstimates) -> list[Table]:
    """Measured rate, theory's rate, c with its interval, and what the steps consisted of."""
    rows = []
    for key, pairs in groups(estimates).items():
        found = [rate for pair in pairs if (rate := measured_rate(*pair)) is not None]
        measured = [value for value, _ in found]
        theory, unit = pure_rate(pairs[0][0]), unit_rate(pairs[0][0])
        rows.append(
            [
                *key,
                counted(reason for _, reason in found),
                number(float(np.mean(measured))) if measured else "",
                theory if isinstance(theory, str) else number(theory),
                "" if isinstance(theory, str) else spread(value / theory for value in measured),
                *_efficiency(measured, unit),
                *[number(_mean_term(pairs, term), 3) for term in TERMS],
            ]
        )
    header = (
        *settings(estimates), "runs", "gamma_V measured", "gamma_V, loss silent",
        "measured over silent", "c = gamma_V/(2 eta lambda)", "95 % interval", "c >= 1/2",
        "decay", "alignment", "diffusion",
    )  # fmt: skip
    note = (
        "gamma_V: of the excess of V over its floor, from memorisation on (from the peak of V "
        "without one), per step; of V itself where V grows or stands still. Loss silent: "
        "THEORY.md section 2 (nht_theory.dynamics). "
        "c here divides by 2 eta lambda for every optimiser, as the paper does; for SGD with "
        "momentum pure decay itself is 1/(1 - mu). The last three: mean over the same steps of the "
        "measured terms of 1 - V'/V; where decay passes through the optimiser's state it counts "
        "as alignment."
    )
    return [Table("Contraction of each optimiser", header, rows, note)]


TERMS = (columns.DECAY, columns.ALIGNMENT, columns.DIFFUSION)


def measured_rate(run: Run, own: RunEstimate) -> tuple[float, str] | None:
    """gamma_V of either sign and the window it was read over; None where no window exists."""
    window = descent_window(run, own.memorization, own.collapse_step)
    if isinstance(window, Missing):
        return None
    rate = own.contraction_rate
    if isinstance(rate, Missing):  # it grows, or stands still
        rate = signed_rate(run, window)
    return (rate.value, window.reason) if isinstance(rate, Estimate) else None


def pure_rate(run: Run) -> float | str:
    """gamma_V with zero loss gradient, exact; in words where the theory has none."""
    chosen = run.hyperparameters
    try:
        return float(
            OptimizerDynamics(
                chosen.optimizer,
                chosen.learning_rate,
                chosen.weight_decay,
                decay_form=chosen.decay_form,
                momentum=(chosen.momentum or 0.0) if chosen.optimizer == "sgd" else 0.0,
            ).contraction_rate(chosen.learning_rate)
        )
    except DomainError:
        return "none of its own: 2 eta w/sqrt(v) under noise"


def unit_rate(run: Run) -> float:
    """2 eta lambda, the unit of c; twice that under the paper's L2 penalty."""
    chosen = run.hyperparameters
    factor = 4.0 if chosen.decay_form is DecayForm.L2_PENALTY else 2.0
    return factor * chosen.learning_rate * chosen.weight_decay


def _efficiency(measured: Sequence[float], unit: float) -> tuple[str, str, str]:
    if not measured or not unit:
        return "", "", "no rate"
    found = np.array(measured) / unit
    if len(found) < 2:
        return number(float(found[0])), "one run", ""
    error = float(np.std(found, ddof=1)) / np.sqrt(len(found))
    if error <= SAME:
        return number(float(found.mean())), "the runs agree to the last digit", ""
    made = decide(float(found.mean()), error, len(found) - 1, (PAPER_EFFICIENCY, np.inf))
    return (
        number(float(found.mean())),
        f"{number(made.interval.low, 3)} to {number(made.interval.high, 3)}",
        made.verdict.value,
    )


def _mean_term(pairs: Sequence[tuple[Run, RunEstimate]], column: str) -> float | None:
    means = []
    for run, own in pairs:
        window = descent_window(run, own.memorization, own.collapse_step)
        if isinstance(window, Missing) or not run.has(column):
            continue
        inside = (run.steps > window.first_step) & (run.steps <= window.last_step)
        series = run.column(column)[inside]
        if np.isfinite(series).any():
            means.append(float(np.nanmean(series)))
    return float(np.mean(means)) if means else None
