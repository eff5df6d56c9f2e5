"""One test shared by every claim of the form "the larger the setting, the smaller the outcome"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import Estimate
from nht_theory.inference.bootstrap import cluster_bootstrap
from nht_theory.inference.results import Alternative
from nht_theory.inference.samples import Vector
from nht_theory.inference.trend import jonckheere_terpstra
from nht_theory.predictions.rules import by_direction, more_for_p
from nht_theory.predictions.verdict import Verdict


@dataclass(frozen=True)
class Observation:
    """One run: its outcome, the level of the setting that varies, and the block it belongs to.

    ``runs`` names the run, or the runs that the outcome was made of.
    """

    block: str
    level: float
    outcome: float
    runs: tuple[str, ...] = ()


def within_levels(rows: Sequence[Observation], fewest: int) -> list[Observation]:
    """The rows whose block stands at two or more levels, in studies with ``fewest`` or more."""
    levels: dict[str, set[float]] = {}
    for row in rows:
        levels.setdefault(row.block, set()).add(row.level)
    kept = [row for row in rows if len(levels[row.block]) > 1]
    return kept if len({row.level for row in kept}) >= fewest else []


def judge_order(
    prediction: str,
    rows: Sequence[Observation],
    *,
    falls: bool,
    statistic_name: str,
    n_censored: int = 0,
    details: tuple[str, ...] = (),
) -> Verdict:
    """Jonckheere-Terpstra within blocks of equal settings and seed.

    Args:
        prediction: name of the claim.
        rows: at least two levels in one block.
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
    share = concordance(signed, level, blocks)
    return Verdict(
        prediction=prediction,
        verdict=verdict,
        statistic=share.value,
        statistic_name=statistic_name,
        interval=share.interval,
        p_value=p_value,
        n=len(rows),
        n_censored=n_censored,
        rule=f"Jonckheere-Terpstra within {len(set(blocks.tolist()))} blocks of equal settings and "
        f"seed, {rise.method}: p = {rise.p_value:.3g} for the predicted order, "
        f"{fall.p_value:.3g} for the opposite one",
        details=details,
        power=""
        if verdict is not VerdictKind.INCONCLUSIVE
        else more_for_p(p_value, len(rows), "runs"),
        runs=tuple(dict.fromkeys(name for row in rows for name in row.runs)),
    )


def concordance(signed: Vector, level: Vector, blocks: Vector) -> Estimate:
    """Share of pairs of one block and unequal level in the predicted order, ties a half.

    The pairs of each block are counted once, so that the bootstrap over blocks is a weighted sum.
    """
    names = sorted(set(blocks.tolist()))
    right, pairs = np.zeros(len(names)), np.zeros(len(names))
    for place, name in enumerate(names):
        own = blocks == name
        more = level[own][:, None] > level[own][None, :]
        difference = signed[own][:, None] - signed[own][None, :]
        pairs[place] = more.sum()
        right[place] = (more & (difference > 0)).sum() + 0.5 * (more & (difference == 0)).sum()
    return cluster_bootstrap(
        lambda drawn: (
            float(right[drawn].sum() / pairs[drawn].sum())
            if pairs[drawn].sum() > 0
            else float("nan")
        ),
        names,
        unit="1",
    )
