"""Under cross-entropy the logit scale, not the norm, explains the delay (arXiv 2606.18465).

And under squared error it does not. The two are told apart where they are moved apart: by an
output temperature, an initialisation, a head. Where they move together (weight decay alone, or a
clamp alone) the regression finds neither, and there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.configuration_slopes import ConfigurationSlopes, fit_over_configurations
from nht_theory.claims.rules import ALPHA, Decision, all_of, more_data
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators.contraction import Window
from nht_theory.estimators.efficiency import eta_lambda
from nht_theory.estimators.norms import squared_norm_at
from nht_theory.estimators.results import Estimate, Missing, RunEstimate, StudyEstimates
from nht_theory.estimators.transitions import delay_bounds
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.samples import Vector
from nht_theory.runs import columns
from nht_theory.runs.run import Run

NAME = "logit_scale"
CROSS_ENTROPY, SQUARED_ERROR = "cross-entropy", "squared error"
LOSS_SETTINGS = ("loss", "loss_fn", "loss_function", "criterion", "objective")
LOSSES: Mapping[str, str] = {
    **dict.fromkeys(
        ("cross_entropy", "crossentropy", "ce", "cross_entropy_loss", "crossentropyloss",
         "softmax_cross_entropy"),
        CROSS_ENTROPY,
    ),
    **dict.fromkeys(
        ("mse", "mse_loss", "mseloss", "squared_error", "mean_squared_error", "l2"),
        SQUARED_ERROR,
    ),
}  # fmt: skip
SCALE, NORM, CLOCK, DECAY_TIME = "logit scale", "norm", "clock", "1/(eta lambda)"
LITTLE = 4.0
"""Effects that differ surely by this factor: the smaller one adds next to nothing (a sixteenth of
the variance at most)."""
ABOVE_ZERO = (0.0, math.inf)
PINNED = 0.05
"""Standard deviation of ln(logit scale) over configurations below which the loss holds it fast."""
LEAST_SPREAD = 1e-3
"""Standard deviation of a predictor over configurations below which it counts as constant."""
LEAST_RELIABILITY = 0.8
"""Share of the variance of ln(logit scale) between configurations, at a given norm and clock, that
is not scatter of seeds: below it the slope is pulled towards zero, and the norm takes over what it
loses."""
FEWEST_BEYOND = 2
"""Configurations beyond the coefficients: degrees of freedom that the scatter needs."""
NEEDS = (
    f"the columns {columns.LOGIT_SCALE} and {columns.SQUARED_NORM}, the loss as a setting, and "
    "runs that memorise in six or more configurations of one loss (seven where eta lambda differs)"
)


@dataclass(frozen=True, eq=False)
class Rows:
    """Memorised runs of one loss, with what they held when they memorised.

    Attributes:
        runs: n of them.
        times: delay from memorisation to generalisation.
        configurations: label of each run's configuration.
        predictors: logarithm of each predictor, mean over the runs of a configuration, shape [n].
        reliability: of what the other predictors leave of the logit scale's mean over a
            configuration; NaN where no seed repeats.
    """

    runs: tuple[Run, ...]
    times: CensoredTimes
    configurations: tuple[str, ...]
    predictors: Mapping[str, Vector]
    reliability: float

    @property
    def units(self) -> int:
        """Number of configurations."""
        return len(set(self.configurations))

    @cached_property
    def slopes(self) -> ConfigurationSlopes:
        """ln T on every predictor, each over its standard deviation."""
        scaled = {name: own / self.spread(name) for name, own in self.predictors.items()}
        return fit_over_configurations(
            self.times,
            np.column_stack([np.ones(len(self.runs)), *scaled.values()]),
            ("constant", *scaled),
            self.configurations,
        )

    def without(self, name: str) -> Rows:
        """The rows with one predictor less."""
        kept = {own: values for own, values in self.predictors.items() if own != name}
        return replace(self, predictors=kept)

    def spread(self, name: str) -> float:
        """Standard deviation of a predictor over configurations."""
        firsts = [self.configurations.index(own) for own in sorted(set(self.configurations))]
        return float(self.predictors[name][firsts].std(ddof=1))


@dataclass(frozen=True)
class Half:
    """What one loss says: a decision, and the estimate that it is about."""

    decision: Decision
    value: float
    name: str


def test(study: StudyEstimates) -> Verdict:
    """Each half on the runs of its loss; both must hold where both are seen."""
    halves: dict[str, Half] = {}
    used: list[Rows] = []
    missing: list[str] = []
    for loss, judge_half in ((CROSS_ENTROPY, under_cross_entropy), (SQUARED_ERROR, under_mse)):
        rows = rows_of(study, loss)
        reason = lacking(rows)
        if rows is not None and not reason:
            try:
                halves[loss] = judge_half(rows)
                used.append(rows)
                continue
            except NhtError as error:
                reason = str(error)
        missing.append(f"{loss}: {reason}")
    if not halves:
        return not_applicable(NAME, f"needs {NEEDS}; " + "; ".join(missing))
    verdict, p_value, by = all_of({loss: half.decision for loss, half in halves.items()})
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=halves[by].value,
        statistic_name=f"under {by}: {halves[by].name}, in ln T for a standard deviation of each",
        interval=halves[by].decision.interval,
        p_value=p_value,
        n=sum(len(rows.runs) for rows in used),
        n_censored=sum(rows.times.n_right_censored for rows in used),
        rule="; ".join(_said(loss, half) for loss, half in halves.items())
        + f"; p = {p_value:.3g}"
        + "".join(f"; nothing is said about {reason}" for reason in missing),
        details=tuple(line for rows in used for line in _details(rows)),
        power=""
        if verdict is not VerdictKind.INCONCLUSIVE
        else more_data(halves[by].decision.more, sum(r.units for r in used), "configurations"),
        runs=tuple(run.name for rows in used for run in rows.runs),
        units=sum(rows.units for rows in used),
        unit="configurations",
    )


def loss_of(run: Run) -> str | None:
    """The loss that a run states, as one of the two that the claim speaks about; else None.

    Example:
        >>> from nht_theory.runs.run import Hyperparameters
        >>> known = Hyperparameters(extra={"criterion": "nn.MSELoss"})
        >>> loss_of(Run("r", None, np.arange(1), hyperparameters=known))
        'squared error'
    """
    stated = selection.setting(run, *LOSS_SETTINGS)
    if not isinstance(stated, str):
        return None
    name = stated.rsplit(".", 1)[-1].strip().lower().replace("-", "_").replace(" ", "_")
    return LOSSES.get(name)


def rows_of(study: StudyEstimates, loss: str) -> Rows | None:
    """The memorised runs of one loss; None where there is none with every predictor."""
    found: list[tuple[Run, float, float, dict[str, float]]] = []
    for run, own in study.pairs():
        if loss_of(run) != loss or own.memorization is None or own.generalization is None:
            continue
        bounds = delay_bounds(own.memorization, own.generalization)
        if bounds is None or bounds[1] == 0 or (bounds[0] == 0 and np.isinf(bounds[1])):
            continue
        if (held := at_memorization(run, own)) is not None:
            found.append((run, *bounds, held))
    if not found:
        return None
    labels = tuple(selection.stratum(run) for run, _, _, _ in found)
    each = {
        name: np.array([held[name] for *_, held in found])
        for name in (SCALE, NORM, CLOCK, DECAY_TIME)
        if all(name in held for *_, held in found)
    }
    rows = Rows(
        runs=tuple(run for run, *_ in found),
        times=CensoredTimes.of([low for _, low, _, _ in found], [high for _, _, high, _ in found]),
        configurations=labels,
        predictors={name: _means(values, labels) for name, values in each.items()},
        reliability=math.nan,
    )
    for name in (NORM, CLOCK, DECAY_TIME):
        if name in each and rows.units > 1 and rows.spread(name) < LEAST_SPREAD:
            rows = rows.without(name)
    others = [own for name, own in rows.predictors.items() if name != SCALE]
    return replace(rows, reliability=reliability(each[SCALE], labels, others))


def at_memorization(run: Run, own: RunEstimate) -> dict[str, float] | None:
    """Logarithms of what a run held when it memorised; None where scale or norm is unknown."""
    norm = own.squared_norm_memorization
    if isinstance(norm, Missing) or not run.has(columns.LOGIT_SCALE) or own.memorization is None:
        return None
    # The one definition of a value at a crossing, applied to another column.
    as_norm = replace(
        run, values={**run.values, columns.SQUARED_NORM: run.column(columns.LOGIT_SCALE)}
    )
    scale = squared_norm_at(as_norm, own.memorization)
    if not isinstance(scale, Estimate) or own.memorization.step is None:
        return None
    held = {
        SCALE: float(np.log(scale.value)),
        NORM: float(np.log(norm.value)) / 2,
        CLOCK: float(np.log(max(own.memorization.step, 1))),
    }
    product = eta_lambda(run, Window(0, int(run.steps[-1]), "whole run"))
    if not isinstance(product, Missing):
        held[DECAY_TIME] = -float(np.log(product))
    return held


def reliability(values: Vector, labels: tuple[str, ...], others: Sequence[Vector] = ()) -> float:
    """Share of the variance of configuration means that is not scatter of their runs.

    Args:
        values: one a run, shape [n].
        labels: configuration of each.
        others: predictors of the same shape, the same within a configuration; the variance is what
            they leave of the means.

    Returns:
        NaN where no configuration repeats, or too few are there.

    Example:
        >>> round(reliability(np.array([0.0, 0.1, 1.0, 1.1]), ("a", "a", "b", "b")), 4)
        0.995
    """
    names = sorted(set(labels))
    own = [values[[label == name for label in labels]] for name in names]
    free = sum(len(one) - 1 for one in own)
    rest = len(names) - 1 - len(others)
    if free < 1 or rest < 1:
        return float("nan")
    means = np.array([one.mean() for one in own])
    firsts = [labels.index(name) for name in names]
    design = np.column_stack([np.ones(len(names)), *(other[firsts] for other in others)])
    left = means - design @ np.linalg.lstsq(design, means, rcond=None)[0]
    variance = float((left**2).sum()) / rest
    within = sum(float(((one - one.mean()) ** 2).sum()) for one in own) / free
    error = within * float(np.mean([1 / len(one) for one in own]))
    return max(0.0, 1 - error / variance) if variance > 0 else float("nan")


def lacking(rows: Rows | None) -> str:
    """What the runs of one loss lack; "" where they can be judged."""
    if rows is None:
        return "no memorised run states this loss and logs both"
    needed = len(rows.predictors) + 1 + FEWEST_BEYOND
    if rows.units < needed:
        return f"{rows.units} configurations, {needed} are needed"
    if NORM not in rows.predictors:
        return "the norm is the same in every configuration"
    if rows.spread(SCALE) >= PINNED and not rows.reliability >= LEAST_RELIABILITY:
        known = "unknown" if np.isnan(rows.reliability) else f"{rows.reliability:.2f}"
        return (
            "the reliability of the logit scale at memorisation, given the norm and the clocks, is "
            f"{known}, {LEAST_RELIABILITY:g} is needed: it moves with them, or with the seed"
        )
    return ""


def under_cross_entropy(rows: Rows) -> Half:
    """The effect of the logit scale is surely several times the norm's, and above the clocks'."""
    beaten = [
        exceeds(rows, SCALE, rival, factor, sign=1)
        for rival, factor in ((NORM, LITTLE), (CLOCK, 1.0), (DECAY_TIME, 1.0))
        if rival in rows.predictors
    ]
    least = max(beaten, key=_doubt)
    against = exceeds(rows, NORM, SCALE)
    if least.decision.verdict is not VerdictKind.SUPPORTED and against.decision.p_value <= ALPHA:
        return _refuting(against)
    return least


def under_mse(rows: Rows) -> Half:
    """The logit scale is held fast while the norm has an effect, or its effect is surely less."""
    if rows.spread(SCALE) < PINNED:
        return exceeds(rows.without(SCALE), NORM, SCALE)
    least, against = exceeds(rows, NORM, SCALE), exceeds(rows, SCALE, NORM)
    if least.decision.verdict is not VerdictKind.SUPPORTED and against.decision.p_value <= ALPHA:
        return _refuting(against)
    return least


def exceeds(
    rows: Rows, larger: str, smaller: str, factor: float = 1.0, *, sign: int | None = None
) -> Half:
    """Whether one effect surely exceeds ``factor`` times another in size.

    An effect is what a standard deviation over configurations does to ln T, all else in the
    regression equal. The first exceeds the second when it exceeds both the second and its
    negative; the less sure of the two contrasts is returned, supported or inconclusive.

    Args:
        rows: of one loss.
        larger, smaller: names of predictors; a ``smaller`` that is no predictor has no effect.
        factor: how many times the second.
        sign: +1 where the first must be positive; None takes the sign that is found.
    """
    slopes = rows.slopes
    chosen = sign or (1 if slopes.judged({larger: 1.0}, ABOVE_ZERO)[0] > 0 else -1)
    tried = []
    for side in (-1, 1) if smaller in rows.predictors else (0,):
        value, own = slopes.judged({larger: chosen, smaller: side * factor}, ABOVE_ZERO)
        if own.verdict is VerdictKind.REFUTED:  # only shows; what shows against is another one
            own = replace(own, verdict=VerdictKind.INCONCLUSIVE, p_value=1.0, more=math.inf)
        shown = f"{'' if chosen > 0 else '-'}effect of the {larger}"
        if side:
            shown += f" {'-' if side < 0 else '+'} {factor:g} x effect of the {smaller}"
        tried.append(Half(own, value, shown))
    return max(tried, key=_doubt)


def _doubt(half: Half) -> tuple[bool, float]:
    return half.decision.verdict is not VerdictKind.SUPPORTED, half.decision.p_value


def _refuting(half: Half) -> Half:
    return replace(half, decision=replace(half.decision, verdict=VerdictKind.REFUTED))


def _said(loss: str, half: Half) -> str:
    own = half.decision
    return (
        f"under {loss} {half.name} = {half.value:.3f} [{own.interval.low:.3f}, "
        f"{own.interval.high:.3f}], {own.verdict.value}"
    )


def _details(rows: Rows) -> tuple[str, ...]:
    loss = loss_of(rows.runs[0])
    return (
        *(
            f"under {loss}: ln({name}) has a standard deviation of {rows.spread(name):.3f} over "
            f"{rows.units} configurations"
            for name in rows.predictors
        ),
        f"under {loss}: reliability of the logit scale at memorisation {rows.reliability:.2f}",
    )


def _means(values: Vector, labels: tuple[str, ...]) -> Vector:
    """Each value replaced by the mean over its configuration."""
    own = np.array(labels)
    return np.array([values[own == label].mean() for label in labels])


CLAIM = Claim(
    name=NAME,
    statement="Under cross-entropy the logit scale, not the norm, explains the delay; under "
    "squared error it does not.",
    needs=NEEDS,
    rule="censored log-normal regression of ln T, for each loss, on what a configuration holds at "
    "memorisation: ln(logit scale), ln(norm), and two clocks, ln of the step of memorisation and "
    "ln(1/(eta lambda)); errors by the jackknife over configurations, effects for a standard "
    "deviation of each. Cross-entropy: supported when the effect of the logit scale is positive, "
    "surely exceeds "
    f"{LITTLE:g} times the norm's and exceeds either clock's; refuted when the norm's surely "
    "exceeds the logit scale's. Squared error: supported when the norm's surely exceeds the logit "
    f"scale's, or has an effect while ln(logit scale) varies by less than {PINNED:g}; refuted when "
    "the logit scale's surely exceeds the norm's. A loss without runs is not judged, and the "
    "verdict speaks of the other alone",
    references=("arXiv:2606.18465", "kalbfleisch2002", "mackinnon2023"),
    formulas=("logit_scale_homogeneity",),
    against="configurations under cross-entropy in which the norm at a given logit scale moves the "
    "delay more than the logit scale at a given norm, or the reverse under squared error",
    in_favour="configurations under cross-entropy that differ in logit scale at one norm and in "
    "norm at one logit scale, whose delays follow the logit scale",
    undecidable="settings that move norm and logit scale together (weight decay or a clamp alone), "
    "logit scales that scatter between seeds as much as between configurations, one run a "
    "configuration, or a loss that is not stated",
    test=test,
)
