"""P2: three regimes of weight decay: the shortcut persists, a delayed switch, suppression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nht_theory.claims import selection
from nht_theory.claims.configuration_regimes import (
    Configuration,
    Labelled,
    Learning,
    Norm,
    labelled,
)
from nht_theory.claims.rules import ALPHA, by_direction, more_for_p
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.holm import holm
from nht_theory.inference.labels import ordered_labels, shared_labels
from nht_theory.inference.results import Alternative, HypothesisTest

NAME = "P2"
FEWEST_LEVELS = 3
NEEDS = (
    f"accuracies and the norm of configurations at {FEWEST_LEVELS} or more weight decays with all "
    "else equal, in which learning takes at least two of three courses: shortcut persists, "
    "delayed switch, data not memorised"
)
NORMS = (Norm.GROWS, Norm.PEAKS, Norm.SUPPRESSED)
LEARNING = (Learning.PERSISTS, Learning.DELAYED, Learning.NEVER)
REGIMES = ("weak", "intermediate", "strong")


@dataclass(frozen=True)
class Clause:
    """One statement of the claim, tested by itself.

    Attributes:
        text: the statement.
        count: configurations that show what it speaks of.
        verdict: of its own two-sided exact test.
        p_value: of that test.
        test: in the predicted direction.
    """

    text: str
    count: int
    verdict: VerdictKind
    p_value: float
    test: HypothesisTest


def test(study: StudyEstimates) -> Verdict:
    """Nine clauses, each with an exact test over configurations."""
    found = labelled(study)
    rows = _comparable(found.configurations)
    courses = {row.learning for row in rows} - {Learning.OTHER}
    if len(courses) < 2:
        seen = ", ".join(sorted(courses)) or "none"
        return not_applicable(
            NAME, f"needs {NEEDS}; {len(rows)} comparable configurations, courses seen: {seen}"
        )
    clauses = _clauses(rows)
    adjusted = holm([clause.p_value for clause in clauses])
    refuting = [
        place
        for place, clause in enumerate(clauses)
        if clause.verdict is VerdictKind.REFUTED and adjusted[place] <= ALPHA
    ]
    weakest = max(range(len(clauses)), key=lambda place: clauses[place].p_value)
    if refuting:
        decided = min(refuting, key=lambda place: float(adjusted[place]))
        verdict, p_value = VerdictKind.REFUTED, float(adjusted[decided])
    elif all(clause.verdict is VerdictKind.SUPPORTED for clause in clauses):
        decided, verdict, p_value = weakest, VerdictKind.SUPPORTED, clauses[weakest].p_value
    else:
        decided, verdict, p_value = weakest, VerdictKind.INCONCLUSIVE, clauses[weakest].p_value
    clause = clauses[decided]
    runs = tuple(name for row in rows for name in row.runs)
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=clause.test.statistic,
        statistic_name=f"{clause.test.statistic_name}: {clause.text}",
        interval=None,
        p_value=p_value,
        n=len(runs),
        n_censored=sum(own.censored for run, own in study.pairs() if run.name in set(runs)),
        rule=_rule(verdict, clause, p_value),
        details=_details(study, found, rows, clauses, adjusted.tolist()),
        power=_power(verdict, clauses, p_value, len(rows)),
        runs=runs,
        units=len(rows),
        unit="configurations",
    )


def _comparable(configurations: Sequence[Configuration]) -> list[Configuration]:
    """Those whose block holds three or more weight decays."""
    levels: dict[str, set[float]] = {}
    for row in configurations:
        levels.setdefault(row.block, set()).add(row.weight_decay)
    return [row for row in configurations if len(levels[row.block]) >= FEWEST_LEVELS]


def _clauses(rows: Sequence[Configuration]) -> list[Clause]:
    """What each regime says of the norm, of learning, and of the two together."""
    clauses = []
    for regime, norm, learning in zip(REGIMES, NORMS, LEARNING, strict=True):
        clauses += [
            _placed(rows, regime, norm, NORMS, lambda row: row.norm),
            _placed(rows, regime, learning, LEARNING, lambda row: row.learning),
            _together(rows, norm, learning),
        ]
    return clauses


def _placed(
    rows: Sequence[Configuration],
    regime: str,
    label: str,
    ordered: Sequence[str],
    labelling: Callable[[Configuration], str],
) -> Clause:
    """Whether a label stands where its regime says in the order of weight decay.

    The weak label against all others, the strong one likewise; the intermediate one above the
    weak and below the strong.
    """
    labels = [labelling(row) for row in rows]
    if regime == "intermediate":
        weak, _, strong = ordered
        order, where = {(weak, label), (label, strong)}, "between the two others"
    else:
        labels = [label if own == label else "other" for own in labels]
        weak_side = regime == "weak"
        order = {(label, "other") if weak_side else ("other", label)}
        where = (
            "at weaker decay than elsewhere" if weak_side else "at stronger decay than elsewhere"
        )
    decays = [row.weight_decay for row in rows]
    blocks = [row.block for row in rows]

    def test(alternative: Alternative) -> HypothesisTest:
        return ordered_labels(labels, decays, blocks, order, alternative=alternative)

    return _clause(f"{label}, {where}", labels.count(label), test)


def _together(rows: Sequence[Configuration], norm: Norm, learning: Learning) -> Clause:
    """Whether a regime's norm and its learning fall on the same configurations."""
    first = [row.norm is norm for row in rows]
    second = [row.learning is learning for row in rows]
    blocks = [row.block for row in rows]

    def test(alternative: Alternative) -> HypothesisTest:
        return shared_labels(first, second, blocks, alternative=alternative)

    both = sum(a and b for a, b in zip(first, second, strict=True))
    return _clause(f"where {norm}, {learning}", both, test)


def _clause(text: str, count: int, test: Callable[[Alternative], HypothesisTest]) -> Clause:
    predicted, opposite = test(Alternative.GREATER), test(Alternative.LESS)
    verdict, p_value = by_direction(predicted.p_value, opposite.p_value)
    return Clause(text, count, verdict, p_value, predicted)


def _rule(verdict: VerdictKind, clause: Clause, p_value: float) -> str:
    if verdict is VerdictKind.REFUTED:
        return (
            f'the opposite of "{clause.text}" holds beyond chance, p = {p_value:.3g} after Holm '
            f"over the clauses; {clause.test.method}"
        )
    if verdict is VerdictKind.SUPPORTED:
        return (
            f'every clause holds beyond chance; the weakest is "{clause.text}", p = {p_value:.3g}; '
            f"{clause.test.method}"
        )
    return (
        f'not every clause holds beyond chance, and none fails surely; the weakest is "'
        f'{clause.text}", p = {p_value:.3g}; {clause.test.method}'
    )


def _details(
    study: StudyEstimates,
    found: Labelled,
    rows: Sequence[Configuration],
    clauses: Sequence[Clause],
    adjusted: Sequence[float],
) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    lines = [
        f"clause: {clause.text}: {clause.count} of {len(rows)} configurations, two-sided p = "
        f"{clause.p_value:.3g}, after Holm {own:.3g}, {_said(clause)}"
        for clause, own in zip(clauses, adjusted, strict=True)
    ]
    lines += [
        f"{selection.shortened(row.label, settings)}: {row.norm}, {row.learning} "
        f"({len(row.runs)} runs)"
        for row in sorted(rows, key=lambda row: (row.block, row.weight_decay))
    ]
    alone = len(found.configurations) - len(rows)
    if alone:
        lines.append(
            f"left out: {alone} configurations with fewer than {FEWEST_LEVELS} weight decays"
        )
    return (*lines, *(f"left out: {line}" for line in found.left_out))


def _said(clause: Clause) -> str:
    return {
        VerdictKind.SUPPORTED: "holds",
        VerdictKind.REFUTED: "the opposite holds",
    }.get(clause.verdict, "not decided")


def _power(verdict: VerdictKind, clauses: Sequence[Clause], p_value: float, n: int) -> str:
    if verdict is not VerdictKind.INCONCLUSIVE:
        return ""
    absent = [clause.text for clause in clauses if clause.count == 0]
    if absent:
        return f"configurations that show what was not seen: {'; '.join(absent)}"
    return more_for_p(p_value / 2, n, "configurations")


CLAIM = Claim(
    name=NAME,
    statement="Three regimes: under weak decay the norm grows and the shortcut persists, under "
    "intermediate decay the norm peaks and falls and the switch is delayed, under strong decay "
    "norm and learning are suppressed.",
    needs=NEEDS,
    rule="each regime's norm, its learning, and both together are clauses of their own, tested by "
    "exact permutation over the weight decays of equal settings, a configuration counting as most "
    f"of its runs do: supported when all nine hold at {ALPHA:.0%} (two-sided), which needs all "
    "three regimes; refuted when the opposite of one does after Holm over the nine",
    references=("arXiv:2603.07323", "mann1947", "jonckheere1954", "fisher1922", "holm1979"),
    formulas=("clock_margin", "weak_boundary", "blocked_boundary", "strong_boundary"),
    against="a clause whose opposite holds: for instance shortcuts that persist at stronger decay "
    "than the delayed switches, or growing norms where the switch comes",
    in_favour="configurations in the order of the three regimes, with the norm and the learning "
    "that each claims",
    undecidable="a study in which only one course of learning is seen, a norm that does the same "
    "in every configuration, or fewer than three configurations of each regime at equal other "
    "settings; shortcuts may persist only because training ended",
    test=test,
)
