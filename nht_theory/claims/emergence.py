"""Emergence (section 6.2 of the paper): four claims about size, decay and the order of events."""

from __future__ import annotations

import math
from dataclasses import replace

from nht_theory.claims import selection, separations
from nht_theory.claims.configuration_signs import signed_configurations
from nht_theory.claims.ordering import OrderedOutcome, test_order, within_levels
from nht_theory.claims.rules import ALPHA, more_for_p
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Estimate, Missing, StudyEstimates
from nht_theory.estimators.rise_and_fall import rise_and_fall
from nht_theory.inference.binomial import binomial_test
from nht_theory.runs.run import Run

SIZE = ("parameter_count", "width", "d_model", "feed_forward")
"""Settings that say how large a model is: they vary together and are not held equal."""
FEWEST_SIZES = 3


def size(run: Run) -> float | None:
    """Number of parameters, else the width; None where neither is known."""
    return selection.number(run, *SIZE)


def test_ratio(study: StudyEstimates) -> Verdict:
    """(i) V_sc/V_st falls with the size of the model."""
    rows = within_levels(
        [
            OrderedOutcome(selection.stratum(run, *SIZE), large, ratio, (run.name,))
            for run, own in selection.delayed(study)
            if (large := size(run)) is not None and (ratio := selection.norm_ratio(own)) is not None
        ],
        FEWEST_SIZES,
    )
    if not rows:
        return not_applicable(RATIO.name, f"needs {RATIO.needs}")
    return test_order(
        RATIO.name,
        rows,
        falls=True,
        statistic_name="share of pairs in which the larger model has the smaller V_sc/V_st",
    )


def test_decay(study: StudyEstimates) -> Verdict:
    """(ii) Stronger decay lowers the critical size N*."""
    tried: dict[tuple[str, str, float], list[tuple[float, bool, str]]] = {}
    for run, own in study.pairs():
        large, decay = size(run), run.hyperparameters.weight_decay
        if large is None or decay is None or own.generalization is None:
            continue
        key = (selection.stratum(run, "weight_decay", *SIZE), str(run.hyperparameters.seed), decay)
        tried.setdefault(key, []).append((large, not own.censored, run.name))
    rows, censored = [], 0
    for (settings, _, decay), runs in tried.items():
        if len({large for large, _, _ in runs}) < FEWEST_SIZES:
            continue
        reached = [large for large, switched, _ in runs if switched]
        censored += not reached
        critical = min(reached) if reached else 2 * max(large for large, _, _ in runs)
        rows.append(OrderedOutcome(settings, decay, critical, tuple(name for _, _, name in runs)))
    rows = within_levels(rows, 2)
    if not rows:
        return not_applicable(DECAY.name, f"needs {DECAY.needs}")
    return test_order(
        DECAY.name,
        rows,
        falls=True,
        statistic_name="share of pairs in which more decay has the smaller critical size",
        n_censored=censored,
        details=("where no size switched, N* counts as twice the largest that was tried",),
    )


def test_order_of_events(study: StudyEstimates) -> Verdict:
    """(iii) The norm peaks and falls before the accuracy jumps.

    Every run that switches counts, with a delay or without: one whose norm did not rise and fall
    before its switch is evidence against.
    """
    signs: dict[str, list[float]] = {}
    names: list[str] = []
    unknown = 0
    for run, own in study.pairs():
        if own.generalization_step is None:
            continue
        before = peaks_before(run, own.generalization_step)
        if before is None:
            unknown += 1
            continue
        signs.setdefault(selection.stratum(run), []).append(1.0 if before else -1.0)
        names.append(run.name)
    if not signs:
        return not_applicable(EVENTS.name, f"needs {EVENTS.needs}")
    found = signed_configurations(signs, unit="1")
    runs = [sign for own in signs.values() for sign in own]
    told = found.positive + found.negative
    share = binomial_test(found.positive, told) if told else None
    alone = "; one configuration decides nothing beyond it" if found.n == 1 else ""
    return Verdict(
        claim=EVENTS.name,
        verdict=found.verdict,
        statistic=share.statistic if share else 0.5,
        statistic_name="share of configurations whose norm peaks and falls before the switch",
        interval=share.interval if share else None,
        p_value=found.p_value,
        n=len(runs),
        n_censored=0,
        rule=f"the norm rises and falls before the switch in {runs.count(1.0)} of {len(runs)} "
        f"runs, in most runs of {found.positive} of {found.n} configurations, and in fewer than "
        f"half of those of {found.negative}; exact two-sided sign test over configurations, p = "
        f"{found.p_value:.3g}{alone}",
        details=(f"left out: {unknown} runs that switch, with too few evaluations of V, or none",),
        power=more_for_p(found.p_value / 2, found.n, "configurations")
        if found.verdict is VerdictKind.INCONCLUSIVE
        else "",
        runs=tuple(names),
        units=told,
        unit="configurations",
    )


def peaks_before(run: Run, switch: int) -> bool | None:
    """Whether V rose and fell, beyond its noise, up to the switch; None where it cannot be told.

    Where too few evaluations come before the switch, only a whole run without a peak before it
    tells that there was none. A rise may have come before the first evaluation, too, unless that
    is closer to step 0 than to the next.

    Example:
        >>> import numpy as np
        >>> steps = np.arange(20)
        >>> run = Run("r", None, steps, {"squared_norm": 30.0 - np.abs(steps - 8)})
        >>> peaks_before(run, 14), peaks_before(run, 7)
        (True, False)
    """
    found = rise_and_fall(run, until=switch)
    if isinstance(found, Missing):
        found = rise_and_fall(run)
        if isinstance(found, Missing):
            return None
        if found.peak_step is not None:
            return None if found.peak_step < switch else False
    elif found.peak_step is not None:
        return True
    start = run.steps[usable(run.squared_norm)][:2]
    return None if start[0] >= start[1] - start[0] else False


def test_sharpness(study: StudyEstimates) -> Verdict:
    """(iv) The cleaner the separation, the sharper the threshold."""
    rows = [
        OrderedOutcome("all configurations", float(side), own.sharpness.value, own.runs)
        for own in separations.separations(study).values()
        if isinstance(own.sharpness, Estimate)
        and (side := separations.decided_side(own)) is not None
    ]
    clean = [row.outcome for row in rows if row.level]
    unclean = [row.outcome for row in rows if not row.level]
    if not clean or not unclean or not fewest_p_value(len(clean), len(unclean)) <= ALPHA:
        return not_applicable(
            SHARPNESS.name,
            f"needs {SHARPNESS.needs}; {len(clean)} are surely clean, {len(unclean)} surely not",
        )
    own = test_order(
        SHARPNESS.name,
        rows,
        falls=True,
        statistic_name="share of pairs of configurations in which the clean one has the smaller W",
        details=(
            "W of a configuration is the median over its runs; it cannot fall below the "
            "evaluation grid over the delay",
        ),
    )
    return replace(
        own,
        rule=f"{len(clean)} clean configurations against {len(unclean)}; {own.rule}; two-sided "
        f"p = {own.p_value:.3g}",
        units=len(rows),
        unit="configurations",
    )


def fewest_p_value(clean: int, unclean: int) -> float:
    """Two-sided p-value of two groups of these sizes that do not overlap.

    Example:
        >>> fewest_p_value(3, 3), round(fewest_p_value(4, 4), 3)
        (0.1, 0.029)
    """
    return 2 / math.comb(clean + unclean, clean)


RATIO = Claim(
    name="emergence_ratio",
    statement="(i) The hierarchy V_sc/V_st falls with the size of the model.",
    needs=f"delayed runs at {FEWEST_SIZES} or more sizes, all else equal, with the norm",
    rule="Jonckheere-Terpstra over configurations within equal other settings, two-sided: "
    "supported when the ratio falls with size, refuted when it rises",
    references=("arXiv:2603.07323", "jonckheere1954"),
    formulas=("critical_size",),
    against="sizes over which V_sc/V_st rises",
    in_favour="sizes over which V_sc/V_st falls",
    undecidable="one group of equal settings at four sizes or fewer, however many seeds",
    test=test_ratio,
)
DECAY = Claim(
    name="emergence_decay",
    statement="(ii) Stronger decay lowers the critical size N* at which the switch fits the "
    "budget.",
    needs=f"runs at {FEWEST_SIZES} or more sizes for each of two or more weight decays",
    rule="N* of a configuration is the mean over its seeds; Jonckheere-Terpstra over weight "
    "decays within equal other settings, two-sided: supported when N* falls with weight decay, "
    "refuted when it rises",
    references=("arXiv:2603.07323", "jonckheere1954"),
    formulas=("critical_size", "critical_size_slope"),
    against="a critical size that rises with weight decay",
    in_favour="a critical size that falls with weight decay",
    undecidable="one group of equal settings at four weight decays or fewer, however many seeds",
    test=test_decay,
)
EVENTS = Claim(
    name="emergence_events",
    statement="(iii) The norm peaks and falls before the accuracy jumps.",
    needs="runs that generalise, with the norm at six or more evaluations",
    rule="supported when the norm rises and falls, both beyond its own noise, before the switch in "
    "more configurations than chance gives (exact two-sided sign test; a configuration counts as "
    "most of its runs do), refuted when in fewer: a switch without such a peak before it is "
    "evidence against",
    references=("arXiv:2603.07323",),
    formulas=("one_step_contraction",),
    against="configurations that switch without their norm having risen and fallen before",
    in_favour="configurations whose norm rises and falls before the switch",
    undecidable="fewer than six configurations that switch, or norms logged too rarely to see a "
    "peak",
    test=test_order_of_events,
)
SHARPNESS = Claim(
    name="emergence_sharpness",
    statement="(iv) Cleaner separation gives a sharper threshold.",
    needs="S and W of configurations on both sides, S surely above 0.8 and surely below, as many "
    "as can be told apart at 5 % (four and four, or two and eight)",
    rule="supported when W is smaller in the configurations with S surely above 0.8 than in those "
    "with S surely below (exact Jonckheere-Terpstra over the two, two-sided at 5 %), refuted when "
    "larger; configurations are the units",
    references=("arXiv:2603.07323", "jonckheere1954", "somers1962"),
    against="configurations with clean separation and a slower switch than those without",
    in_favour="configurations with clean separation and a sharper switch than those without",
    undecidable="fewer than eight configurations whose S is surely on one side of 0.8, which takes "
    "about a dozen seeds in each clean one; an evaluation grid as coarse as the switch",
    test=test_sharpness,
)
