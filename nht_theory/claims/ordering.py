"""One test shared by every claim of the form "the larger the setting, the smaller the outcome".

The unit is the configuration: seeds of one setting share whatever the setting did to them, so
their mean is one observation, and chance is what other orders of the configurations would give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.claims.rules import ALPHA, by_direction, more_for_p
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import VerdictKind
from nht_theory.inference.results import Alternative
from nht_theory.inference.samples import Vector
from nht_theory.inference.trend import jonckheere_terpstra


@dataclass(frozen=True)
class OrderedOutcome:
    """One run, or one configuration: an outcome at a level of the setting that varies.

    Attributes:
        block: the settings held equal.
        level: of the setting that varies.
        outcome: what is predicted to rise or fall with it.
        runs: names of the runs behind the outcome.
    """

    block: str
    level: float
    outcome: float
    runs: tuple[str, ...] = ()


def by_configuration(rows: Sequence[OrderedOutcome]) -> list[OrderedOutcome]:
    """One observation a block and level: the mean over its runs.

    Example:
        >>> rows = [OrderedOutcome("a", 1, 2.0, ("r",)), OrderedOutcome("a", 1, 4.0, ("s",))]
        >>> by_configuration(rows)
        [OrderedOutcome(block='a', level=1, outcome=3.0, runs=('r', 's'))]
    """
    groups: dict[tuple[str, float], list[OrderedOutcome]] = {}
    for row in rows:
        groups.setdefault((row.block, row.level), []).append(row)
    return [
        OrderedOutcome(
            block,
            level,
            float(np.mean([row.outcome for row in own])),
            tuple(name for row in own for name in row.runs),
        )
        for (block, level), own in groups.items()
    ]


def within_levels(rows: Sequence[OrderedOutcome], fewest: int) -> list[OrderedOutcome]:
    """The configurations whose block stands at two or more levels, in studies with ``fewest`` or
    more levels."""
    levels: dict[str, set[float]] = {}
    for row in rows:
        levels.setdefault(row.block, set()).add(row.level)
    kept = [row for row in rows if len(levels[row.block]) > 1]
    return by_configuration(kept) if len({row.level for row in kept}) >= fewest else []


def test_order(
    prediction: str,
    rows: Sequence[OrderedOutcome],
    *,
    falls: bool,
    statistic_name: str,
    n_censored: int = 0,
    details: tuple[str, ...] = (),
) -> Verdict:
    """Jonckheere-Terpstra over the configurations within blocks of equal settings.

    Args:
        prediction: name of the claim.
        rows: one a configuration, at least two levels in one block.
        falls: whether the outcome is predicted to fall as the level rises.
        statistic_name: what the share of pairs ordered as predicted means.
        n_censored: right-censored runs among them.
        details: passed on.
    """
    outcome = np.array([row.outcome for row in rows])
    level = np.array([row.level for row in rows])
    blocks = np.array([row.block for row in rows])
    signed = -outcome if falls else outcome
    rise = jonckheere_terpstra(signed, level, blocks=blocks, alternative=Alternative.GREATER)
    fall = jonckheere_terpstra(signed, level, blocks=blocks, alternative=Alternative.LESS)
    verdict, p_value = by_direction(rise.p_value, fall.p_value)
    runs = tuple(dict.fromkeys(name for row in rows for name in row.runs))
    return Verdict(
        claim=prediction,
        verdict=verdict,
        statistic=concordance(signed, level, blocks),
        statistic_name=statistic_name,
        interval=None,
        p_value=p_value,
        n=len(runs) or len(rows),
        n_censored=n_censored,
        units=len(rows),
        unit="configurations",
        rule=f"Jonckheere-Terpstra over {len(rows)} configurations within "
        f"{len(set(blocks.tolist()))} groups of equal settings, {rise.method}: p = "
        f"{rise.p_value:.3g} for the predicted order, {fall.p_value:.3g} for the opposite one, "
        f"{p_value:.3g} for either",
        details=details,
        power="" if verdict is not VerdictKind.INCONCLUSIVE else _power(p_value, level, blocks),
        runs=runs,
    )


def _power(p_value: float, level: Vector, blocks: Vector) -> str:
    """What would decide; where even a perfect order would not, how many levels would."""
    least = least_p_value(level, blocks)
    if least > ALPHA:
        return (
            f"even a perfect order of these {level.size} configurations has p = {least:.2g}: five "
            "levels of one group of equal settings, or more groups, are needed"
        )
    return more_for_p(p_value / 2, level.size, "configurations")


def least_p_value(level: Vector, blocks: Vector) -> float:
    """Two-sided p-value of a perfect order: twice the share of orders as good.

    Example:
        >>> least_p_value(np.arange(4.0), np.zeros(4)), least_p_value(np.arange(5.0), np.zeros(5))
        (0.08333333333333333, 0.016666666666666666)
    """
    orders = 1.0
    for name in np.unique(blocks):
        _, counts = np.unique(level[blocks == name], return_counts=True)
        orders *= math.factorial(int(counts.sum())) / math.prod(map(math.factorial, counts))
    return min(1.0, 2 / orders)


def concordance(signed: Vector, level: Vector, blocks: Vector) -> float:
    """Share of pairs of one block and unequal level in the predicted order, ties a half."""
    right, pairs = 0.0, 0
    for name in np.unique(blocks):
        own = blocks == name
        more = level[own][:, None] > level[own][None, :]
        difference = signed[own][:, None] - signed[own][None, :]
        pairs += int(more.sum())
        right += float((more & (difference > 0)).sum() + 0.5 * (more & (difference == 0)).sum())
    return right / pairs
