"""Optimiser dependence: at equal settings SGD does not even memorise, AdamW does."""

from __future__ import annotations

from nht_theory.conventions import OptimizerKind, VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.binomial import wilson_interval
from nht_theory.predictions import selection
from nht_theory.predictions.rules import by_direction, more_for_p
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "optimizer_dependence"
COMPARED = (OptimizerKind.ADAMW, OptimizerKind.SGD)
HELD = ("learning_rate", "weight_decay", "p", "task")
NEEDS = "training accuracy of AdamW and SGD runs at the same learning rate and weight decay"


def judge(study: StudyEstimates) -> Verdict:
    """Fisher's exact test of the share of runs that memorise."""
    shared = at_shared_settings(study)
    counts = {
        kind: (
            sum(memorized for cell in shared for _, memorized in cell[kind]),
            sum(len(cell[kind]) for cell in shared),
        )
        for kind in COMPARED
    }
    if any(total == 0 for _, total in counts.values()):
        return not_applicable(NAME, f"needs {NEEDS}")
    from scipy import stats

    (adamw, adamw_n), (sgd, sgd_n) = (counts[kind] for kind in COMPARED)
    table = [[adamw, adamw_n - adamw], [sgd, sgd_n - sgd]]
    more = float(stats.fisher_exact(table, alternative="greater").pvalue)
    fewer = float(stats.fisher_exact(table, alternative="less").pvalue)
    verdict, p_value = by_direction(more, fewer)
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=sgd / sgd_n,
        statistic_name="share of SGD runs that memorise",
        interval=wilson_interval(sgd, sgd_n),
        p_value=p_value,
        n=adamw_n + sgd_n,
        n_censored=adamw_n - adamw + sgd_n - sgd,
        rule=f"{adamw} of {adamw_n} AdamW runs memorise, {sgd} of {sgd_n} SGD runs at the same "
        f"learning rate and weight decay; Fisher's exact test, p = {p_value:.3g}",
        power=more_for_p(p_value, adamw_n + sgd_n, "runs")
        if verdict is VerdictKind.INCONCLUSIVE
        else "",
        runs=tuple(name for cell in shared for kind in COMPARED for name, _ in cell[kind]),
    )


Cell = dict[OptimizerKind, list[tuple[str, bool]]]


def at_shared_settings(study: StudyEstimates) -> list[Cell]:
    """Optimiser -> (run, whether it memorised), at each setting where both were run."""
    cells: dict[tuple[object, ...], Cell] = {}
    for run, own in study.pairs():
        if own.memorization is None or run.hyperparameters.optimizer not in COMPARED:
            continue
        key = tuple(selection.setting(run, name) for name in HELD)
        kind = OptimizerKind(run.hyperparameters.optimizer)
        memorized = own.memorization_step is not None
        cells.setdefault(key, {}).setdefault(kind, []).append((run.name, memorized))
    return [cell for cell in cells.values() if len(cell) == len(COMPARED)]


PREDICTION = Prediction(
    name=NAME,
    claim="The transition depends on the optimiser through memorisation: at AdamW's settings SGD "
    "contracts the norm and never memorises, so that there is no shortcut to leave.",
    needs=NEEDS,
    rule="supported when a larger share of AdamW's runs memorises (Fisher's exact test, "
    "one-sided), refuted when a smaller one does",
    references=("arXiv:2603.13331",),
    formulas=("decoupled_rate", "momentum_rate"),
    against="SGD runs that memorise as often as AdamW's at the same learning rate and weight decay",
    in_favour="AdamW runs that memorise where SGD's at the same learning rate and weight "
    "decay do not",
    judge=judge,
)
