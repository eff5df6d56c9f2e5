"""Part and whole: how much of a delay's "prediction" is the delay itself.

The published fits regress T on ln(V_mem/V_star)/gamma with gamma and V_star measured over that
same T. The predictor then contains T: where ln V falls along a line it equals T, whenever the run
switches. Measured again over the delay of another run it fits as well, and that is the null.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nht_theory.claims import selection
from nht_theory.claims.rules import ALPHA
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.errors import DomainError
from nht_theory.estimators.norms import usable
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.permutation import PartWholeNull, exchanges, part_whole_null
from nht_theory.inference.samples import Vector
from nht_theory.runs import columns

NAME = "part_whole"
FEWEST_RUNS = 8
FEWEST_EXCHANGES = 40
"""Ways to exchange the delays below which no doubled p-value reaches five per cent."""
NEEDS = (
    f"{FEWEST_RUNS} or more delayed runs with the norm, in configurations of two or more such "
    f"runs, whose delays can be exchanged within their configurations in {FEWEST_EXCHANGES} or "
    "more ways"
)


@dataclass(frozen=True)
class Fall:
    """ln V of a delayed run since it memorised.

    Attributes:
        run, configuration: names.
        delay: steps from memorisation to the switch.
        steps: since memorisation, of the usable evaluations, the first of them at or after it;
            float64, shape [n], n >= 2.
        log_norm: ln V there, shape [n].
    """

    run: str
    configuration: str
    delay: float
    steps: Vector
    log_norm: Vector


def test(study: StudyEstimates) -> Verdict:
    """R^2 of the delay on its own prediction, beside the R^2 that exchanged delays give."""
    rows = with_partners(falls(study))
    blocks = [row.configuration for row in rows]
    if len(rows) < FEWEST_RUNS or exchanges(blocks) < FEWEST_EXCHANGES:
        return not_applicable(NAME, f"needs {NEEDS}; {len(rows)} runs qualify")
    delays = np.array([row.delay for row in rows])
    table = predictions(rows, delays)
    try:
        null = part_whole_null(np.log(delays), table, blocks=blocks)
    except DomainError as error:
        return not_applicable(NAME, f"needs {NEEDS}; {error}")
    p_value = min(1.0, 2 * null.p_value)  # doubled, as one-sided p-values are for every claim
    verdict = VerdictKind.SUPPORTED if p_value <= ALPHA else VerdictKind.INCONCLUSIVE
    units = len(set(blocks))
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=null.r_squared,
        statistic_name="R^2 of ln T on ln of the prediction whose rate was measured over T",
        interval=None,
        p_value=p_value,
        n=null.n,
        n_censored=0,
        rule=f"R^2 = {null.r_squared:.3f}; with the delays exchanged between the runs of a "
        "configuration, and V_star and the rate measured again on each run's own trajectory, the "
        f"median is {null.null_median:.3f} and the 95 % quantile {null.null_upper:.3f} over "
        f"{null.permutations} permutations; p = {p_value:.3g}, twice the share that reach R^2",
        details=(
            "a high R^2 here is no evidence for the law by itself: compare it with the null",
            *_details(rows, table, null),
        ),
        runs=tuple(row.run for row in rows),
        units=units,
        unit="configurations of two or more runs",
    )


def falls(study: StudyEstimates) -> list[Fall]:
    """Every delayed run with V at two or more evaluations since it memorised."""
    found = []
    for run, own in selection.delayed(study):
        if not run.has(columns.SQUARED_NORM):
            continue
        since = run.steps - (own.memorization_step or 0)
        keep = usable(run.squared_norm) & (since >= 0)
        if keep.sum() > 1:
            found.append(
                Fall(
                    run=run.name,
                    configuration=selection.stratum(run),
                    delay=float(own.delay or 0),
                    steps=since[keep].astype(np.float64),
                    log_norm=np.log(run.squared_norm[keep]),
                )
            )
    return found


def with_partners(rows: list[Fall]) -> list[Fall]:
    """The runs whose configuration holds another one to exchange the delay with."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.configuration] = counts.get(row.configuration, 0) + 1
    return [row for row in rows if counts[row.configuration] > 1]


def predictions(rows: list[Fall], delays: Vector) -> NDArray[np.float64]:
    """ln of the predicted delay of each run over each delay, shape [runs, delays]."""
    return np.array([[log_prediction(row, float(delay)) for delay in delays] for row in rows])


def log_prediction(row: Fall, delay: float) -> float:
    """ln of ln(V_mem/V_star)/gamma with both measured over ``delay`` steps since memorisation.

    V_star is V at the end of those steps, ln V interpolated between evaluations and, beyond the
    last one, continued along the least-squares line since memorisation. gamma is minus the
    least-squares slope of ln V over the evaluations up to there and that end.

    Returns:
        NaN where V does not fall over those steps: there is no prediction.

    Example:
        >>> steps = np.arange(0, 600, 100.0)
        >>> fall = Fall("r", "all", 300.0, steps, 8 - 0.002 * steps)
        >>> [round(float(np.exp(log_prediction(fall, delay)))) for delay in (250.0, 900.0)]
        [250, 900]
    """
    inside = row.steps < delay
    if delay <= row.steps[-1]:
        end = float(np.interp(delay, row.steps, row.log_norm))
    else:
        slope = _slope(row.steps, row.log_norm)
        end = float(row.log_norm[-1] + slope * (delay - row.steps[-1]))
    steps, log_norm = np.append(row.steps[inside], delay), np.append(row.log_norm[inside], end)
    if steps.size < 2:
        return math.nan
    rate, log_ratio = -_slope(steps, log_norm), float(log_norm[0] - end)
    return math.log(log_ratio / rate) if rate > 0 and log_ratio > 0 else math.nan


def _slope(steps: Vector, log_norm: Vector) -> float:
    centred = steps - steps.mean()
    return float(centred @ log_norm / (centred @ centred))


def _details(rows: list[Fall], table: NDArray[np.float64], null: PartWholeNull) -> tuple[str, ...]:
    """What was continued, what had no prediction, and the exchange between configurations."""
    delays = np.array([row.delay for row in rows])
    same = np.array([[one.configuration == other.configuration for other in rows] for one in rows])
    np.fill_diagonal(same, val=False)
    beyond = np.array([[delay > row.steps[-1] for delay in delays] for row in rows])
    everywhere = part_whole_null(np.log(delays), table)
    undefined = int(np.isnan(np.diagonal(table)).sum())
    return (
        f"{int((beyond & same).sum())} of {int(same.sum())} exchanges end beyond the run: ln V "
        "continues along its line there",
        f"{undefined} of {len(rows)} runs have V no lower at their switch and enter only with the "
        f"delays of others; without a prediction under exchange: {null.undefined:.1%}",
        "with the delays exchanged between all runs the null's median is "
        f"{everywhere.null_median:.3f}; that null also breaks what delay and norm share through "
        "the settings, so it does not decide",
    )


CLAIM = Claim(
    name=NAME,
    statement="ln(V_mem/V_star)/gamma, measured on the run itself, explains the delay beyond "
    "what it shares with it.",
    needs=NEEDS,
    rule="supported when R^2 exceeds (p, doubled, at most 0.05) what it is with the delays "
    "exchanged between the runs of a configuration and V_star and the rate measured again on each "
    "run's own trajectory; else inconclusive: no R^2 refutes it. The exchange stays within "
    "configurations: delay and norm both depend on the settings, which an exchange between them "
    "would count as evidence",
    references=("phipson2010", "arXiv:2603.13331"),
    formulas=("law_steps",),
    against="delays that, exchanged between the runs of a configuration, are predicted as well",
    in_favour="the claim is never refuted: an R^2 no higher than the null's says that the "
    "regression shows nothing",
    undecidable="a study with one run a configuration, or in which ln V falls along a line: the "
    "prediction then equals whatever delay it was measured over",
    test=test,
)
