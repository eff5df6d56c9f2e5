"""Crossing V_star is necessary, not sufficient (arXiv 2605.18845): the second half.

That there are runs which cross and do not generalise is shown by one of them, if it is beyond
doubt. Necessity has a claim of its own (:mod:`nht_theory.claims.necessity`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.rules import ALPHA, NECESSITY_TOLERANCE
from nht_theory.claims.selection import Pair
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import Estimate, StudyEstimates
from nht_theory.inference.binomial import binomial_test
from nht_theory.inference.results import Alternative
from nht_theory.runs import columns

NAME = "crossing_not_sufficient"
LONG_AFTER = 2.0
"""Times the longest delay of the other runs of its configuration that a run must stay below V_star
without generalising."""
FEWEST_OTHERS = 3
"""Other runs that must tell V_star, so that its scatter between seeds is known."""
FEWEST_WITHOUT = math.ceil(math.log(ALPHA / 2) / math.log(1 - NECESSITY_TOLERANCE))
"""Configurations, none with a run that stays below V_star, that can refute."""
NEEDS = (
    f"a configuration with {FEWEST_OTHERS} or more runs that generalise after memorising, and "
    f"another that waits for {LONG_AFTER:g} times the longest of their delays and does not "
    f"generalise meanwhile; or {FEWEST_WITHOUT} configurations without such a run"
)


@dataclass(frozen=True)
class Stay:
    """How long and how low a run stayed without generalising, beside the others of its kind.

    Attributes:
        pair: the run.
        configuration: its label.
        steps: LONG_AFTER times the longest delay of the others.
        highest: largest V over the last ``steps`` before the run generalised or was last seen;
            None where it was not memorised and watched for so long.
        star: geometric mean of V at generalisation over the others.
        lowest_star: lowest V that the grid allows any of them at generalisation.
        p_value: one-sided, that V_star of this run is no higher than ``highest``, were it one of
            the others' kind; 1 where ``highest`` is None.
        crossed: whether V fell to ``star`` before the run generalised or was last seen.
    """

    pair: Pair
    configuration: str
    steps: float
    highest: float | None
    star: float
    lowest_star: float
    p_value: float
    crossed: bool

    @property
    def definite(self) -> bool:
        """Whether V stayed below every V_star that the evaluations of the others allow."""
        return self.highest is not None and self.highest < self.lowest_star


def test(study: StudyEstimates) -> Verdict:
    """Look for one run that stays below V_star for long; else count configurations without."""
    stays = stays_of(study)
    told = [own for own in stays if own.highest is not None or own.crossed]
    tried = [own for own in stays if own.highest is not None]
    configurations = {own.configuration for own in told}
    if not tried and len(configurations) < FEWEST_WITHOUT:
        return not_applicable(
            NAME,
            f"needs {NEEDS}; {len(configurations)} configurations have runs that cross, and none "
            "that waits for so long",
        )
    # Each run tried is a chance to be wrong, and "refuted" has the other half of the level.
    p_found = min([1.0, *(2 * len(tried) * own.p_value for own in tried if own.definite)])
    doubtful = {own.configuration for own in tried if own.highest < own.star}  # type: ignore[operator]
    rare = binomial_test(
        len(doubtful),
        len(configurations),
        probability=NECESSITY_TOLERANCE,
        alternative=Alternative.LESS,
    )
    p_none = min(1.0, 2 * rare.p_value)
    verdict = VerdictKind.INCONCLUSIVE
    if p_found <= ALPHA:
        verdict = VerdictKind.SUPPORTED
    elif p_none <= ALPHA:
        verdict = VerdictKind.REFUTED
    lowest = min(
        tried, key=lambda own: (not own.definite, own.p_value, own.pair[0].name), default=None
    )
    by_count = verdict is VerdictKind.REFUTED or lowest is None
    ratio = None if lowest is None or lowest.highest is None else lowest.highest / lowest.star
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=rare.statistic if by_count else ratio,
        statistic_name="share of configurations with a run that stays below V_star for long"
        if by_count
        else "highest V of the lowest such run while it stayed, over V_star of the others",
        interval=rare.interval if by_count else None,
        p_value=p_none if by_count else p_found,
        n=len(told),
        n_censored=sum(own.pair[1].censored for own in told),
        rule=f"{len(doubtful)} of {len(configurations)} configurations have a run that stays below "
        f"the V_star of the others, without generalising, for {LONG_AFTER:g} times their longest "
        f"delay; p = {p_found:.3g} for the surest of {len(tried)} runs tried (prediction interval "
        f"of ln V_star over seeds, Student's t, Bonferroni), {p_none:.3g} that such "
        f"configurations are fewer than {NECESSITY_TOLERANCE:.0%}",
        details=_details(study, tried),
        power=""
        if verdict is not VerdictKind.INCONCLUSIVE or doubtful
        else f"{FEWEST_WITHOUT} configurations without such a run would refute it; one sure run "
        "supports it",
        runs=tuple(own.pair[0].name for own in told),
        units=len(configurations),
        unit="configurations",
    )


def stays_of(study: StudyEstimates) -> list[Stay]:
    """Every memorised run beside the others of its configuration, where enough of them switch."""
    found = []
    for name, pairs in selection.by_configuration(study.pairs()).items():
        switched = [
            (pair, pair[1].squared_norm_generalization, pair[1].delay)
            for pair in pairs
            if pair[1].delay is not None and pair[1].delay > 0
        ]
        for pair in pairs:
            others = [
                (star, float(delay))
                for other, star, delay in switched
                if other is not pair and isinstance(star, Estimate) and delay is not None
            ]
            if len(others) >= FEWEST_OTHERS and (own := _stay(pair, name, others)) is not None:
                found.append(own)
    return found


def _stay(pair: Pair, configuration: str, others: list[tuple[Estimate, float]]) -> Stay | None:
    """One run beside the others; None where it does not memorise or its norm is not logged."""
    from scipy import stats

    run, own = pair
    memorized, generalized = own.memorization_step, own.generalization
    if memorized is None or generalized is None or not run.has(columns.SQUARED_NORM):
        return None
    steps = LONG_AFTER * max(delay for _, delay in others)
    norm, last = run.squared_norm, generalized.earlier_step
    waiting = usable(norm) & (run.steps >= memorized) & (run.steps <= last)
    if not waiting.any():
        return None
    late = waiting & (run.steps >= last - steps)
    watched = last - steps >= memorized and int(late.sum()) > 1
    highest = float(norm[late].max()) if watched else None
    logs = np.log([star.value for star, _ in others])
    star = float(np.exp(logs.mean()))
    bounds = [(e.interval.low, e.interval.high) for e, _ in others if e.interval is not None]
    grid = [math.log(high / low) ** 2 / 12 for low, high in bounds]  # of a place anywhere within
    spread = math.sqrt(float(logs.var(ddof=1)) + float(np.mean(grid or [0.0])))
    p_value = 1.0
    if highest is not None and spread > 0:
        distance = (math.log(highest) - float(logs.mean())) / (
            spread * math.sqrt(1 + 1 / len(others))
        )
        p_value = float(stats.t.cdf(distance, len(others) - 1))
    return Stay(
        pair,
        configuration,
        steps,
        highest,
        star,
        min([float(np.exp(logs.min())), *(low for low, _ in bounds)]),
        p_value,
        crossed=float(norm[waiting].min()) <= star and (watched or not own.censored),
    )


def _details(study: StudyEstimates, tried: list[Stay]) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    lines = [
        f"stays below: {selection.described(own.pair[0], settings)}: V at most {own.highest:.4g} "
        f"for {own.steps:.0f} steps without generalising; the others switch at {own.star:.4g}, "
        f"none below {own.lowest_star:.4g}; p = {own.p_value:.3g}"
        for own in sorted(tried, key=lambda own: (own.p_value, own.pair[0].name))
        if own.highest is not None and own.highest < own.star
    ]
    return tuple(lines)


CLAIM = Claim(
    name=NAME,
    statement="Falling below V_star is not sufficient for generalisation: some runs stay below the "
    "V_star of their kind for long and do not generalise.",
    needs=NEEDS,
    rule=f"a run counts when V stays, for {LONG_AFTER:g} times the longest delay of the other runs "
    "of its configuration and while it does not generalise, below every V at which these may have "
    "generalised on their grid; supported when for one run so low a V_star is surely outside "
    "their scatter (prediction interval of ln V_star, Student's t, Bonferroni over the runs tried, "
    "half of the level); refuted when fewer than "
    f"{NECESSITY_TOLERANCE:.0%} of the configurations have a run that stays below their mean "
    "V_star for so long (exact binomial, the other half)",
    references=("arXiv:2605.18845", "clopper1934"),
    formulas=("kappa_delay",),
    against="finer evaluations or more seeds by which the runs that stayed below V_star turn out "
    "to lie within its scatter",
    in_favour="one run that stays surely below the V_star of its configuration for long and does "
    "not generalise",
    undecidable=f"configurations with fewer than {FEWEST_OTHERS} other runs that generalise, runs "
    f"that were not watched for {LONG_AFTER:g} delays after they crossed, or a V_star that "
    "scatters between seeds by more than the runs fall below it",
    test=test,
)
