"""P3: accuracy on what the shortcut gets wrong is best at an intermediate weight decay."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.ordering import OrderedOutcome, by_configuration, concordance
from nht_theory.claims.rules import ALPHA
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.binomial import wilson_interval
from nht_theory.inference.samples import Vector
from nht_theory.inference.trend import jonckheere_terpstra
from nht_theory.runs import columns
from nht_theory.runs.run import Run

NAME = "P3"
FEWEST_LEVELS = 3
RESOLUTION = 0.005
"""Accuracies closer than half a point count as equal."""
EXACT_COMBINATIONS = 60_000
"""Assignments of the ends that are enumerated; beyond, as many are drawn."""
NEEDS = (
    f"worst-group or held-out accuracy of runs at {FEWEST_LEVELS} or more weight decays, all else "
    "equal"
)
CONTRAST = "mean accuracy of the inner weight decays less that of the better end"
TREND = "share of pairs in which the stronger decay has the smaller accuracy"


def test(study: StudyEstimates) -> Verdict:
    """Contrast of the inner weight decays against the better end, over configurations."""
    measured = [
        (run, value, run.hyperparameters.weight_decay)
        for run, _ in study.pairs()
        if run.hyperparameters.weight_decay is not None
        and (value := structured_accuracy(run)) is not None
    ]
    rows = in_full_groups(
        by_configuration(
            [
                OrderedOutcome(selection.stratum(run, "weight_decay"), level, value, (run.name,))
                for run, value, level in measured
            ]
        )
    )
    if not rows:
        return not_applicable(NAME, f"needs {NEEDS}")
    found = compare(rows)
    runs = tuple(name for row in rows for name in row.runs)
    return Verdict(
        claim=NAME,
        verdict=found.verdict,
        statistic=found.share_falling if found.decided_by_trend else found.contrast,
        statistic_name=TREND if found.decided_by_trend else CONTRAST,
        interval=None,
        p_value=found.p_value,
        n=len(runs),
        n_censored=0,
        units=len(rows),
        unit="configurations",
        rule=f"contrast {found.contrast:.3f}, as large for {found.p_inner:.3g} of the ways to "
        f"place the ends; accuracy falls with decay in {found.share_falling:.0%} of the pairs, "
        f"Jonckheere-Terpstra p = {found.p_trend:.3g}; the best is "
        f"{'an end' if found.best_at_end else 'inside'}; Bonferroni over the two, p = "
        f"{found.p_value:.3g}",
        power=f"even ends that are the worst of all would have p = {found.least:.2g}: more groups "
        "of equal settings, or more weight decays, are needed"
        if found.verdict is VerdictKind.INCONCLUSIVE and found.least > ALPHA
        else "",
        details=tuple(line for run, _, _ in measured if (line := worst_group_line(run))),
        runs=runs,
    )


@dataclass(frozen=True)
class Interior:
    """Whether the best weight decay lies inside the range that was tried.

    Attributes:
        contrast: inner configurations less the better end, mean over groups of equal settings.
        share_falling: of pairs in which the stronger decay has the smaller accuracy.
        p_inner: share of the ways to place the ends with a contrast as large.
        p_trend: two-sided, of a trend of accuracy over weight decay.
        best_at_end: whether an end is better than the best inner configuration, on average.
        least: smallest p-value that these configurations could give in support.
        decided_by_trend: whether ``p_value`` is that of the trend, not of the contrast.
        verdict, p_value: two-sided in all: the two tests share the level.
    """

    contrast: float
    share_falling: float
    p_inner: float
    p_trend: float
    best_at_end: bool
    least: float
    decided_by_trend: bool
    verdict: VerdictKind
    p_value: float


def compare(rows: Sequence[OrderedOutcome]) -> Interior:
    """Two tests of equal accuracies, that share the level.

    One against a better inside: under the null any two configurations of a group may have stood
    at its ends. The other against a trend, which refutes where the best stands at an end.

    Args:
        rows: one a configuration, in groups of three levels or more.
    """
    groups = [_in_order(rows, name) for name in dict.fromkeys(row.block for row in rows)]
    observed = float(np.mean([_contrast(group, 0, group.size - 1) for group in groups]))
    null = _null_contrasts(groups)
    tolerance = 1e-12 * max(1.0, float(np.abs(null).max()))
    p_inner = float(np.mean(null >= observed - tolerance))
    level = np.array([row.level for row in rows])
    outcome = np.array([row.outcome for row in rows])
    blocks = np.array([row.block for row in rows])
    p_trend = jonckheere_terpstra(outcome, level, blocks=blocks).p_value
    at_end = float(np.mean([max(g[0], g[-1]) - g[1:-1].max() for g in groups])) > 0
    against = p_trend if at_end else 1.0
    p_value = min(1.0, 2 * min(p_inner, against))
    verdict = VerdictKind.INCONCLUSIVE
    if p_value <= ALPHA:
        verdict = VerdictKind.SUPPORTED if p_inner <= against else VerdictKind.REFUTED
    return Interior(
        contrast=observed,
        share_falling=concordance(-outcome, level, blocks),
        p_inner=p_inner,
        p_trend=p_trend,
        best_at_end=at_end,
        least=min(1.0, 2 / math.prod(math.comb(group.size, 2) for group in groups)),
        decided_by_trend=against < p_inner,
        verdict=verdict,
        p_value=p_value,
    )


def _in_order(rows: Sequence[OrderedOutcome], block: str) -> Vector:
    """Outcomes of one group from the weakest to the strongest decay."""
    own = sorted((row for row in rows if row.block == block), key=lambda row: row.level)
    return np.array([row.outcome for row in own])


def _contrast(outcomes: Vector, first: int, last: int) -> float:
    """Mean of all but two configurations, less the better of these two."""
    inner = np.delete(outcomes, [first, last])
    return float(inner.mean() - max(outcomes[first], outcomes[last]))


def _null_contrasts(groups: Sequence[Vector]) -> Vector:
    """Mean contrast for the ways to place the ends of each group: all, or a seeded sample."""
    each = [
        np.array([_contrast(group, *ends) for ends in itertools.combinations(range(group.size), 2)])
        for group in groups
    ]
    if math.prod(own.size for own in each) <= EXACT_COMBINATIONS:
        total = np.zeros(1)
        for own in each:
            total = np.add.outer(total, own).ravel()
        return np.asarray(total / len(each))
    generator = np.random.default_rng(0)
    drawn = [generator.choice(own, size=EXACT_COMBINATIONS) for own in each]
    return np.asarray(np.mean(drawn, axis=0))


def structured_accuracy(run: Run) -> float | None:
    """Final worst-group accuracy, else final held-out (clean) accuracy; None without either."""
    worst = selection.last_value(run, columns.WORST_GROUP_ACCURACY)
    return worst if worst is not None else selection.last_value(run, columns.HELDOUT_ACCURACY)


def in_full_groups(rows: Sequence[OrderedOutcome]) -> list[OrderedOutcome]:
    """The configurations of groups that stand at enough levels to have inner ones."""
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


CLAIM = Claim(
    name=NAME,
    statement="Worst-group (or clean) accuracy is ordered by regime: best at an intermediate "
    "weight decay, worse under weak and under strong decay.",
    needs=NEEDS,
    rule="over configurations (each the mean of its seeds) within equal other settings: supported "
    "when the inner weight decays are better than the better end beyond what any other choice of "
    "the ends would give; refuted when accuracy has a trend over weight decay (Jonckheere-"
    "Terpstra) and an end is the best; the two tests share the level",
    references=("arXiv:2603.07323", "jonckheere1954", "wilson1927"),
    formulas=("clock_margin", "strong_boundary"),
    against="an accuracy that rises or falls over weight decay and is best at an end",
    in_favour="groups of configurations in which the middle of the range of weight decays is "
    "better than both ends",
    undecidable="one group of equal settings at nine weight decays or fewer cannot support it, "
    "however many seeds",
    test=test,
    uses_thresholds=False,
)
