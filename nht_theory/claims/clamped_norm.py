"""With the norm held, T grows as exp(alpha rho) (arXiv 2606.13753).

rho is the norm held, over the norm at which runs of the same settings generalise when nobody
holds it (both ||theta||, not squared). What was held is read from the log: a stated clamp that
the norm does not obey is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.configuration_slopes import ConfigurationSlopes, fit_over_configurations
from nht_theory.claims.rules import EQUIVALENCE, Decision, all_of, power_of, wanting
from nht_theory.claims.selection import Pair
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import CONFIDENCE, VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Crossing, Estimate, Interval, RunEstimate, StudyEstimates
from nht_theory.estimators.transitions import delay_bounds
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.samples import Vector
from nht_theory.runs import columns
from nht_theory.runs.run import Run

NAME = "clamped_norm"
ALPHA_REPORTED = 7.5
LIMITS = (EQUIVALENCE[0] * ALPHA_REPORTED, EQUIVALENCE[1] * ALPHA_REPORTED)
CLAMP_SETTINGS = ("norm_clamp", "norm_cap", "clamp")
"""Settings, at any depth, by which a source states that the norm was held."""
RATIO_SETTING = "rho"
"""Inside one of these, the ratio itself; elsewhere it means the strength of a shortcut."""
HELD_WITHIN = 0.02
"""Largest relative range of the norm over the delay at which it counts as held."""
FEWEST_LEVELS = 3
SLOPE, FORM = "alpha", "ln rho"
NEEDS = (
    f"memorised runs whose norm was held at {FEWEST_LEVELS} or more ratios to the norm at which "
    "free runs of the same settings generalise, in three configurations more than there are "
    "groups of equal settings"
)


@dataclass(frozen=True)
class Held:
    """A run whose norm was held: its ratio, its delay's bounds, and what its kind shares."""

    run: Run
    ratio: float
    low: float
    high: float
    group: str


def test(study: StudyEstimates) -> Verdict:
    """alpha, with an intercept for each group of equal settings, against 7.5 within a quarter."""
    rows, left_out = within_groups(*held_runs(study))
    groups = sorted({row.group for row in rows})
    configurations = [selection.stratum(row.run) for row in rows]
    found = len(set(configurations))
    levels = {round(row.ratio, 2) for row in rows}
    if len(levels) < FEWEST_LEVELS or found < len(groups) + FEWEST_LEVELS:
        reason = f"{len(rows)} runs at {len(levels)} ratios in {found} configurations qualify"
        return not_applicable(NAME, "; ".join([f"needs {NEEDS}; {reason}", *left_out]))
    ratio = np.array([row.ratio for row in rows])
    try:
        slopes = _fit(rows, groups, {SLOPE: ratio}, configurations)
        power_law = _fit(rows, groups, {SLOPE: np.log(ratio)}, configurations)
    except NhtError as error:
        return not_applicable(NAME, f"needs {NEEDS}; {error}")
    slope, decision = slopes.judged({SLOPE: 1.0}, LIMITS)
    bend, form_decision = _bend(rows, groups, ratio, configurations)
    decisions = {SLOPE: decision, FORM: form_decision}
    form = slopes.fit.log_likelihood - power_law.fit.log_likelihood
    verdict, p_value, by = all_of(decisions)
    missing = "a power law of rho describes the delays better" if form < 0 else ""
    verdict = wanting(missing, verdict)
    low, high = decision.interval.low, decision.interval.high
    growth = "surely grows" if low > 0 else "surely falls" if high < 0 else "may not grow"
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=slope if by == SLOPE else bend,
        statistic_name="alpha: slope of ln T on rho, the held norm over that of free runs at "
        "generalisation"
        if by == SLOPE
        else "slope of ln T on ln rho, beside rho: zero for an exponential",
        interval=decisions[by].interval,
        p_value=p_value,
        n=len(rows),
        n_censored=sum(math.isinf(row.high) for row in rows),
        rule=f"T {growth} with rho; alpha = {slope:.2f} [{low:.2f}, {high:.2f}], "
        f"{ALPHA_REPORTED:g} {'inside' if low <= ALPHA_REPORTED <= high else 'outside'}, "
        f"{decision.verdict.value} against {LIMITS[0]:g} to {LIMITS[1]:g}; log-likelihood of the "
        f"exponential less that of a power law {form:+.2f}; p = {p_value:.3g}"
        + (f"; {missing}" if missing else ""),
        details=(
            f"power law instead: T as rho to the {power_law.judged({SLOPE: 1.0}, LIMITS)[0]:.2f}",
            *(f"held at rho = {row.ratio:.3f}: {row.run.name}" for row in rows),
            *left_out,
        ),
        power=power_of(decision, found, "configurations")
        if verdict is VerdictKind.INCONCLUSIVE and not missing
        else "",
        runs=tuple(row.run.name for row in rows),
        units=found,
        unit="configurations",
    )


def held_runs(study: StudyEstimates) -> tuple[list[Held], list[str]]:
    """Runs whose norm was held over the delay, and why others with a stated clamp were not used."""
    free: dict[str, list[float]] = {}
    stated: list[Pair] = []
    for run, own in study.pairs():
        if clamp_of(run) and not _never_reached(run):
            stated.append((run, own))
        elif isinstance(own.squared_norm_generalization, Estimate):
            star = own.squared_norm_generalization.value
            free.setdefault(group_of(run), []).append(math.log(star) / 2)
    rows, left_out = [], []
    for run, own in stated:
        row = _held(run, own, free)
        if isinstance(row, str):
            left_out.append(f"left out: {run.name}: {row}")
        else:
            rows.append(row)
    return rows, left_out


def within_groups(rows: list[Held], left_out: list[str]) -> tuple[list[Held], list[str]]:
    """The rows of groups that hold two or more ratios; alone, an intercept takes a group up."""
    levels: dict[str, set[float]] = {}
    for row in rows:
        levels.setdefault(row.group, set()).add(round(row.ratio, 2))
    alone = [row for row in rows if len(levels[row.group]) < 2]
    return (
        [row for row in rows if row not in alone],
        [*left_out, *(f"left out: {row.run.name}: the only ratio of its kind" for row in alone)],
    )


def clamp_of(run: Run) -> dict[str, object]:
    """What the run states of a clamp, by the last part of each name; empty where nothing.

    Example:
        >>> from nht_theory.runs.run import Hyperparameters
        >>> extra = {"norm_clamp": {"squared_norm": 9.0, "mode": "hold"}}
        >>> clamp_of(Run("r", None, np.arange(1), hyperparameters=Hyperparameters(extra=extra)))
        {'squared_norm': 9.0, 'mode': 'hold'}
    """
    found: dict[str, object] = {}
    for key, value in run.hyperparameters.extra.items():
        parts = key.split(".")
        if not any(part in CLAMP_SETTINGS for part in parts) or value in (None, False, "none", ""):
            continue
        found.update(value if isinstance(value, Mapping) else {parts[-1]: value})
    return found


def group_of(run: Run) -> selection.Stratum:
    """All settings but those of the clamp: what held and free runs of one kind share."""
    return selection.Stratum(
        (key, value)
        for key, value in run.hyperparameters.configuration()
        if not any(part in CLAMP_SETTINGS for part in key.split("."))
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _never_reached(run: Run) -> bool:
    """Whether the clamp is a ceiling on V that the run never came near: a control."""
    clamp = clamp_of(run)
    ceiling = _number(clamp.get(columns.SQUARED_NORM))
    if clamp.get("mode", "ceiling") != "ceiling" or ceiling is None:
        return False
    if not run.has(columns.SQUARED_NORM):
        return False
    return float(run.squared_norm[usable(run.squared_norm)].max()) < (1 - HELD_WITHIN) * ceiling


def _held(run: Run, own: RunEstimate, free: Mapping[str, list[float]]) -> Held | str:
    """The row of a run that states a clamp, or why there is none."""
    events = _events(run, own)
    if isinstance(events, str):
        return events
    first, last = events
    bounds = delay_bounds(first, last)
    if bounds is None or bounds[1] == 0 or (bounds[0] == 0 and math.isinf(bounds[1])):
        return "the grid does not separate memorisation and the switch"
    norm = _norm_between(run, first, last)
    if not norm.size:
        return "no norm is logged between memorisation and the switch"
    if float(norm.max() / norm.min()) > 1 + HELD_WITHIN:
        return f"its norm is not held: it varies by a factor of {norm.max() / norm.min():.3f}"
    group = group_of(run)
    ratio = _number(clamp_of(run).get(RATIO_SETTING))
    if ratio is None and group not in free:
        return "no free run of the same settings generalises"
    if ratio is None:
        ratio = float(np.exp(np.mean(np.log(norm)) - np.mean(free[group])))
    return Held(run, ratio, bounds[0], bounds[1], group)


def _events(run: Run, own: RunEstimate) -> tuple[Crossing, Crossing] | str:
    """From where the delay counts, and the switch; or why they are not known."""
    first, last = own.memorization, own.generalization
    if first is None or last is None:
        return "an accuracy is not logged"
    if first.step is None:
        return "it never memorises"
    begin = int(_number(clamp_of(run).get("from_step")) or 0)
    return (replace(first, step=begin, earlier_step=begin) if begin > first.step else first), last


def _norm_between(run: Run, first: Crossing, last: Crossing) -> Vector:
    """||theta|| at the evaluations of the delay; empty where it is not logged."""
    if not run.has(columns.SQUARED_NORM):
        return np.empty(0)
    begin = run.steps[0] if first.step is None else first.step
    end = last.earlier_step if last.step is None else last.step
    # The clamp acts after an update: the evaluation at its first step may come before it.
    inside = usable(run.squared_norm) & (run.steps > begin) & (run.steps <= end)
    return np.sqrt(run.squared_norm[inside])


def _fit(
    rows: list[Held],
    groups: list[str],
    predictors: Mapping[str, Vector],
    configurations: Sequence[str],
) -> ConfigurationSlopes:
    """ln T on predictors with an intercept for each group."""
    intercepts = {
        f"intercept {place}": np.array([float(row.group == group) for row in rows])
        for place, group in enumerate(groups)
    }
    columns_of_design = {**intercepts, **predictors}
    return fit_over_configurations(
        CensoredTimes.of([row.low for row in rows], [row.high for row in rows]),
        np.column_stack([*columns_of_design.values()]),
        tuple(columns_of_design),
        configurations,
    )


def _bend(
    rows: list[Held], groups: list[str], ratio: Vector, configurations: Sequence[str]
) -> tuple[float, Decision]:
    """Slope on ln rho in the regression that holds rho as well, and its decision.

    It refutes where the slope is surely positive: ln T then grows like a logarithm of rho, as
    under a power law. Elsewhere it has no objection: over a narrow range of rho the two forms are
    one, which is nothing against either.
    """
    none = Decision(VerdictKind.SUPPORTED, 0.0, Interval(-math.inf, math.inf, CONFIDENCE, "none"))
    if len(set(configurations)) < len(groups) + 1 + FEWEST_LEVELS:
        return math.nan, none
    try:
        both = _fit(rows, groups, {SLOPE: ratio, FORM: np.log(ratio)}, configurations)
    except NhtError:
        return math.nan, none
    value, own = both.judged({FORM: 1.0}, (-math.inf, 0.0))
    return value, own if own.verdict is VerdictKind.REFUTED else none


CLAIM = Claim(
    name=NAME,
    statement="With the norm held at rho times the norm at which free runs generalise, the delay "
    f"grows as exp(alpha rho), alpha about {ALPHA_REPORTED:g}.",
    needs=NEEDS,
    rule="interval- and right-censored log-normal regression of ln T on rho, with an intercept for "
    "each group of equal settings and errors by the jackknife over configurations; T counts from "
    "memorisation or from the clamp's first step, whichever comes later; the norm counts as held "
    f"where it varies by less than {HELD_WITHIN:.0%} over the delay; supported when alpha surely "
    f"lies within {LIMITS[0]:g} to {LIMITS[1]:g} and a power law of rho has no higher likelihood, "
    "refuted when alpha surely lies outside, or ln T surely bends as under a power law (slope on "
    "ln rho beside rho above zero; Bonferroni)",
    references=("arXiv:2606.13753", "kalbfleisch2002", "mackinnon2023"),
    formulas=("clamped_norm_delay",),
    against="held norms at which the delay surely grows by less, or more, than by the exponent, or "
    "surely follows a power law of rho",
    in_favour=f"held norms at which the delay grows with an exponent surely within {LIMITS[0]:g} "
    f"to {LIMITS[1]:g}",
    undecidable="runs whose norm is not held, fewer than three held ratios, no free run of the "
    "same settings, or a range of rho too narrow to tell an exponential",
    test=test,
)
