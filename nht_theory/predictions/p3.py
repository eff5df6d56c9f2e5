"""P3: accuracy on what the shortcut gets wrong is best at an intermediate weight decay."""

from __future__ import annotations

import math

import numpy as np

from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.binomial import wilson_interval
from nht_theory.predictions import selection
from nht_theory.predictions.ordering import Observation, judge_order, within_levels
from nht_theory.predictions.rules import decide, power_of
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable
from nht_theory.runs import columns
from nht_theory.runs.run import Run

NAME = "P3"
FEWEST_LEVELS = 3
RESOLUTION = 0.005
"""Accuracies closer than half a point count as equal: the least scatter between blocks."""
NEEDS = (
    f"worst-group or held-out accuracy of runs at {FEWEST_LEVELS} or more weight decays, all else "
    "equal, in two or more blocks (settings and seed)"
)


def judge(study: StudyEstimates) -> Verdict:
    """Contrast of the inner weight decays against the better end, within blocks."""
    measured = [
        (run, value, run.hyperparameters.weight_decay)
        for run, _ in study.pairs()
        if run.hyperparameters.weight_decay is not None
        and (value := structured_accuracy(run)) is not None
    ]
    rows = [
        Observation(selection.block(run, "weight_decay"), level, value, (run.name,))
        for run, value, level in measured
    ]
    contrasts = inner_contrasts(rows)
    if len(contrasts) < 2:
        return not_applicable(NAME, f"needs {NEEDS}; {len(contrasts)} blocks qualify")
    spread = max(float(np.std(contrasts, ddof=1)), RESOLUTION) / math.sqrt(len(contrasts))
    decision = decide(
        float(np.mean(contrasts)),
        spread,
        len(contrasts) - 1,
        (0.0, math.inf),
    )
    entering = _in_full_blocks(rows)
    trend = judge_order(NAME, within_levels(rows, 2), falls=True, statistic_name="")
    return Verdict(
        prediction=NAME,
        verdict=decision.verdict,
        statistic=float(np.mean(contrasts)),
        statistic_name="mean accuracy of the inner weight decays less that of the better end",
        interval=decision.interval,
        p_value=decision.p_value,
        n=len(entering),
        n_censored=0,
        rule=f"95 % interval of the contrast over {len(contrasts)} blocks "
        f"[{decision.interval.low:.3f}, {decision.interval.high:.3f}] against 0; p = "
        f"{decision.p_value:.3g}",
        power=power_of(decision, len(contrasts), "blocks"),
        details=(
            f"accuracy against weight decay, falling: {trend.rule}",
            *(line for run, _, _ in measured if (line := worst_group_line(run))),
        ),
        runs=tuple(name for row in entering for name in row.runs),
    )


def structured_accuracy(run: Run) -> float | None:
    """Final worst-group accuracy, else final held-out (clean) accuracy; None without either."""
    worst = selection.last_value(run, columns.WORST_GROUP_ACCURACY)
    return worst if worst is not None else selection.last_value(run, columns.HELDOUT_ACCURACY)


def inner_contrasts(rows: list[Observation]) -> list[float]:
    """For each block with three levels or more: mean outcome of the inner levels less that of
    the better end. Which end is better is decided over all other blocks, so that the choice does
    not feed on the block's own noise."""
    full: dict[str, dict[float, list[float]]] = {}
    for row in _in_full_blocks(rows):
        full.setdefault(row.block, {}).setdefault(row.level, []).append(row.outcome)
    ends = {
        name: (np.mean(levels[min(levels)]), np.mean(levels[max(levels)]))
        for name, levels in full.items()
    }
    contrasts = []
    for name, levels in full.items():
        others = [end for other, end in ends.items() if other != name]
        if not others:
            continue
        better = int(np.argmax(np.mean(others, axis=0)))
        inner = [np.mean(v) for level, v in levels.items() if min(levels) < level < max(levels)]
        contrasts.append(float(np.mean(inner) - ends[name][better]))
    return contrasts


def _in_full_blocks(rows: list[Observation]) -> list[Observation]:
    """The rows of blocks that stand at enough levels to have inner ones."""
    levels: dict[str, set[float]] = {}
    for row in rows:
        levels.setdefault(row.block, set()).add(row.level)
    return [row for row in rows if len(levels[row.block]) >= FEWEST_LEVELS]


def worst_group_line(run: Run) -> str:
    """Final worst-group accuracy of a run with its Wilson interval; empty without group counts."""
    groups = columns.groups_of(columns.GROUP_ACCURACY, run.values)
    finals = {
        group: (accuracy, count)
        for group in groups
        if (accuracy := selection.last_value(run, columns.of_group(columns.GROUP_ACCURACY, group)))
        is not None
        and (count := selection.last_value(run, columns.of_group(columns.GROUP_COUNT, group)))
    }
    if not finals:
        return ""
    worst = min(finals, key=lambda group: finals[group][0])
    accuracy, count = finals[worst]
    interval = wilson_interval(round(accuracy * count), round(count))
    return (
        f"{run.name}: worst group {worst}, {accuracy:.3f} [{interval.low:.3f}, "
        f"{interval.high:.3f}] of {count:.0f} (Wilson)"
    )


PREDICTION = Prediction(
    name=NAME,
    claim="Worst-group (or clean) accuracy is ordered by regime: best at an intermediate weight "
    "decay, worse under weak and under strong decay.",
    needs=NEEDS,
    rule="supported when the contrast between the inner weight decays and the better end is above "
    "zero (95 % interval over blocks), refuted when below",
    references=("arXiv:2603.07323", "wilson1927"),
    formulas=("clock_margin", "strong_boundary"),
    against="blocks in which an end of the range of weight decays is better than its middle",
    in_favour="blocks in which the middle of the range of weight decays is better than both ends",
    judge=judge,
    uses_thresholds=False,
)
