"""P1: the stronger the weight decay, the smaller the final norm."""

from __future__ import annotations

import numpy as np

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import Missing, StudyEstimates
from nht_theory.inference.bootstrap import cluster_bootstrap
from nht_theory.inference.results import Alternative
from nht_theory.inference.trend import jonckheere_terpstra
from nht_theory.predictions import selection
from nht_theory.predictions.rules import ALPHA
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "P1"
FEWEST_LEVELS = 3


def judge(study: StudyEstimates) -> Verdict:
    """Jonckheere-Terpstra trend of final V over weight decay, within settings and seed."""
    rows = [
        (
            selection.configuration_label(run, without=("weight_decay",)),
            run.hyperparameters.seed,
            run.hyperparameters.weight_decay,
            own.squared_norm_final.value,
        )
        for run, own in study.pairs()
        if run.hyperparameters.weight_decay is not None
        and not isinstance(own.squared_norm_final, Missing)
    ]
    levels: dict[str, set[float]] = {}
    for stratum, _, level, _ in rows:
        levels.setdefault(stratum, set()).add(level)
    rows = [row for row in rows if len(levels[row[0]]) >= FEWEST_LEVELS]
    blocks = np.array([f"{stratum} seed={seed}" for stratum, seed, _, _ in rows])
    decay = np.array([row[2] for row in rows], dtype=np.float64)
    final = np.array([row[3] for row in rows], dtype=np.float64)
    if not any(len(set(decay[blocks == block])) > 1 for block in set(blocks)):
        return not_applicable(
            NAME,
            f"needs the norm of runs at {FEWEST_LEVELS} or more weight decays, all else equal, and "
            "two of them for one seed",
        )
    fall = jonckheere_terpstra(final, decay, blocks=blocks, alternative=Alternative.LESS)
    rise = jonckheere_terpstra(final, decay, blocks=blocks, alternative=Alternative.GREATER)
    effect = cluster_bootstrap(
        lambda drawn: _concordance(final[drawn], decay[drawn], blocks[drawn]), blocks, unit="1"
    )
    if fall.p_value <= ALPHA:
        verdict, p_value = VerdictKind.SUPPORTED, fall.p_value
    elif rise.p_value <= ALPHA:
        verdict, p_value = VerdictKind.REFUTED, rise.p_value
    else:
        verdict, p_value = VerdictKind.INCONCLUSIVE, min(fall.p_value, rise.p_value)
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=effect.value,
        statistic_name="share of pairs of one seed in which more decay leaves the smaller final V",
        interval=effect.interval,
        p_value=p_value,
        n=len(rows),
        n_censored=0,
        rule=f"Jonckheere-Terpstra within {len(set(blocks))} blocks of equal settings and seed, "
        f"{fall.method}: falling p = {fall.p_value:.3g}, rising p = {rise.p_value:.3g}",
        details=(
            "final V is read at each run's last evaluation, whenever that was",
            f"left out: {len(study.estimates) - len(rows)} runs whose settings have fewer than "
            f"{FEWEST_LEVELS} weight decays, or without a norm",
        ),
    )


def _concordance(final: np.ndarray, decay: np.ndarray, blocks: np.ndarray) -> float:
    """Share of pairs of one block, with unequal decay, ordered as predicted; ties a half."""
    right = pairs = 0.0
    for block in set(blocks):
        own = blocks == block
        more = decay[own][:, None] > decay[own][None, :]
        difference = final[own][:, None] - final[own][None, :]
        pairs += float(more.sum())
        right += float((more & (difference < 0)).sum() + 0.5 * (more & (difference == 0)).sum())
    return right / pairs if pairs else float("nan")


PREDICTION = Prediction(
    name=NAME,
    claim="Final norms are ordered by weight decay: the stronger the decay, the smaller V.",
    needs=f"the norm of runs at {FEWEST_LEVELS} or more weight decays, all else equal",
    rule="supported when the falling trend is significant (one-sided), refuted when the rising "
    "one is",
    references=("arXiv:2603.07323", "jonckheere1954"),
    judge=judge,
)
