"""Optimiser dependence: at equal settings SGD does not even memorise, AdamW does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nht_theory.claims import selection
from nht_theory.claims.rules import ALPHA
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import OptimizerKind, VerdictKind
from nht_theory.estimators.results import RunEstimate, StudyEstimates
from nht_theory.inference.binomial import binomial_test
from nht_theory.inference.results import Alternative, HypothesisTest
from nht_theory.runs.run import Run

NAME = "optimizer_dependence"
COMPARED = (OptimizerKind.ADAMW, OptimizerKind.SGD)
OF_THE_OPTIMIZER = (
    "optimizer",
    "decay_form",
    "beta_1",
    "beta_2",
    "momentum",
    "nesterov",
    "dampening",
    "amsgrad",
    "eps",
    "epsilon",
)
"""Settings that belong to one optimiser and cannot be held equal between two."""
ALMOST_NEVER = 0.1
"""Share up to which SGD counts as never memorising. "Never" cannot be shown of a share, only that
it is small; a tenth is the share of exceptions that ten runs, as many as a study has of a kind,
would still more likely than not (65 %) reveal."""
FEWEST = math.ceil(math.log(ALPHA / 2) / math.log(1 - ALMOST_NEVER))
"""Units without a memorisation from which a share of more than a tenth is excluded: 36."""
NEEDS = (
    "training accuracy of AdamW and SGD runs at the same stated learning rate and weight decay, "
    "all else equal, with SGD trained at least as long as AdamW takes to memorise"
)


@dataclass(frozen=True)
class Cell:
    """One setting at which both optimisers were run.

    Attributes:
        adamw, sgd: names of the runs that tell, with whether each memorised.
        stopped_early: SGD runs that had not memorised when they were stopped before any AdamW run
            that memorises would have been: they do not tell.
    """

    adamw: dict[str, bool]
    sgd: dict[str, bool]
    stopped_early: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """What the two exact tests are made of, each a number of units out of all.

    Attributes:
        adamw: units at which AdamW memorises.
        sgd_ever: units at which any SGD run memorises.
        sgd_mostly: units at which at least half of the SGD runs memorise.
        unit: "runs" of the one setting there is, else "settings".
    """

    adamw: tuple[int, int]
    sgd_ever: tuple[int, int]
    sgd_mostly: tuple[int, int]
    unit: str


def test(study: StudyEstimates) -> Verdict:
    """Exact binomial tests of both shares against a tenth, over settings where there are many."""
    cells = at_shared_settings(study)
    if not cells:
        return not_applicable(NAME, f"needs {NEEDS}")
    counts = counted(cells)
    verdict, share, decided = _decided(counts)
    flags = [flag for cell in cells for flag in (*cell.adamw.values(), *cell.sgd.values())]
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=decided.statistic,
        statistic_name=share,
        interval=decided.interval,
        p_value=_twice(decided),
        n=len(flags),
        n_censored=len(flags) - sum(flags),
        rule=_rule(cells, counts, _twice(decided)),
        details=_details(cells),
        power=_power(counts, verdict),
        runs=tuple(name for cell in cells for name in (*cell.adamw, *cell.sgd)),
        units=decided.n,
        unit=counts.unit,
    )


def _decided(counts: Counts) -> tuple[VerdictKind, str, HypothesisTest]:
    """Verdict, name of the share that decided, and its test."""
    single = counts.unit == "runs"
    names = [
        f"share of {kind} runs that memorise" if single else f"share of settings at which {said}"
        for kind, said in (
            ("SGD", "SGD memorises in at least half of its runs"),
            ("SGD", "SGD ever memorises"),
            ("AdamW", "AdamW memorises in at least half of its runs"),
        )
    ]
    often = _against(counts.sgd_mostly, Alternative.GREATER)
    if _twice(often) <= ALPHA:
        return VerdictKind.REFUTED, names[0], often
    clauses = [
        (names[1], _against(counts.sgd_ever, Alternative.LESS)),
        (names[2], _against(counts.adamw, Alternative.GREATER)),
    ]
    # Both must hold, so the one that is shown less surely decides.
    name, weaker = max(clauses, key=lambda clause: clause[1].p_value)
    shown = _twice(weaker) <= ALPHA
    return VerdictKind.SUPPORTED if shown else VerdictKind.INCONCLUSIVE, name, weaker


def at_shared_settings(study: StudyEstimates) -> list[Cell]:
    """Each setting at which both optimisers were run and tell whether they memorise."""
    found: dict[object, dict[OptimizerKind, list[tuple[Run, RunEstimate]]]] = {}
    for run, own in study.pairs():
        chosen = run.hyperparameters
        if own.memorization is None or chosen.optimizer not in COMPARED:
            continue
        if chosen.learning_rate is None or chosen.weight_decay is None:
            continue
        kinds = found.setdefault(selection.stratum(run, *OF_THE_OPTIMIZER), {})
        kinds.setdefault(OptimizerKind(chosen.optimizer), []).append((run, own))
    cells = [_cell(kinds) for kinds in found.values() if len(kinds) == len(COMPARED)]
    return [cell for cell in cells if cell.sgd]


def _cell(kinds: dict[OptimizerKind, list[tuple[Run, RunEstimate]]]) -> Cell:
    adamw, sgd = (kinds[kind] for kind in COMPARED)
    needed = max((own.memorization_step or 0 for _, own in adamw), default=0)
    early = tuple(
        run.name
        for run, own in sgd
        if own.memorization_step is None and int(run.steps[-1]) < needed
    )
    return Cell(
        {run.name: own.memorization_step is not None for run, own in adamw},
        {run.name: own.memorization_step is not None for run, own in sgd if run.name not in early},
        early,
    )


def counted(cells: Sequence[Cell]) -> Counts:
    """Runs are the units of a single setting; of several, settings are, since the runs of one
    share all that makes it memorise or not.

    Example:
        >>> cell = Cell({"a": True, "b": True}, {"c": False, "d": True, "e": False})
        >>> counted([cell]).sgd_ever, counted([cell, cell]).sgd_ever
        ((1, 3), (2, 2))
        >>> counted([cell, cell]).sgd_mostly
        (0, 2)
    """
    if len(cells) == 1:
        adamw, sgd = (tuple(runs.values()) for runs in (cells[0].adamw, cells[0].sgd))
        memorized = (sum(sgd), len(sgd))
        return Counts((sum(adamw), len(adamw)), memorized, memorized, "runs")
    n = len(cells)
    return Counts(
        (sum(_mostly(cell.adamw) for cell in cells), n),
        (sum(any(cell.sgd.values()) for cell in cells), n),
        (sum(_mostly(cell.sgd) for cell in cells), n),
        "settings",
    )


def _mostly(memorized: dict[str, bool]) -> bool:
    return 2 * sum(memorized.values()) >= len(memorized)


def _against(count: tuple[int, int], alternative: Alternative) -> HypothesisTest:
    return binomial_test(*count, probability=ALMOST_NEVER, alternative=alternative)


def _twice(test: HypothesisTest) -> float:
    """The p-value that falls below 5 % as the two-sided 95 % interval clears the bound."""
    return min(1.0, 2 * test.p_value)


def _rule(cells: Sequence[Cell], counts: Counts, p_value: float) -> str:
    adamw, sgd = (
        (sum(sum(kind.values()) for kind in kinds), sum(len(kind) for kind in kinds))
        for kinds in ([cell.adamw for cell in cells], [cell.sgd for cell in cells])
    )
    where = (
        "at the one setting there is, of which alone this speaks"
        if len(cells) == 1
        else f"over {len(cells)} settings, which are the units: SGD memorises at "
        f"{counts.sgd_ever[0]} of them, in at least half of its runs at {counts.sgd_mostly[0]}"
    )
    return (
        f"{adamw[0]} of {adamw[1]} AdamW runs memorise and {sgd[0]} of {sgd[1]} SGD runs, {where}; "
        f"exact binomial against a share of {ALMOST_NEVER:g}, p = {p_value:.3g}"
    )


def _details(cells: Sequence[Cell]) -> tuple[str, ...]:
    exceptions = [name for cell in cells for name, flag in cell.sgd.items() if flag]
    early = [name for cell in cells for name in cell.stopped_early]
    return (
        *(f"SGD memorises: {name}" for name in exceptions),
        *(f"left out: {name}, stopped before AdamW memorises" for name in early),
    )


def _power(counts: Counts, verdict: VerdictKind) -> str:
    if verdict is not VerdictKind.INCONCLUSIVE or counts.sgd_ever[0]:
        return ""
    return (
        f"{FEWEST} {counts.unit} of SGD without a memorisation, instead of {counts.sgd_ever[1]}, "
        "would show it where AdamW memorises"
    )


CLAIM = Claim(
    name=NAME,
    statement="The transition depends on the optimiser through memorisation: at AdamW's settings "
    "SGD contracts the norm and never memorises, so that there is no shortcut to leave.",
    needs=NEEDS,
    rule=f"supported when SGD surely memorises in fewer than {ALMOST_NEVER:.0%} and AdamW surely "
    f"in more (exact binomial, 95 % Clopper-Pearson limits), refuted when SGD surely memorises in "
    f"more than {ALMOST_NEVER:.0%}; the units are settings, or the runs of a single setting",
    references=("arXiv:2603.13331", "clopper1934"),
    formulas=("decoupled_rate", "momentum_rate"),
    against="SGD runs that memorise at the learning rate and weight decay of AdamW runs that do",
    in_favour="AdamW runs that memorise where SGD's at the same learning rate and weight "
    "decay do not",
    test=test,
    undecidable=f"a study with fewer than {FEWEST} settings (or, at a single setting, SGD runs) "
    "cannot support it, since a share of a tenth could have gone unseen",
)
