"""The calibrated law of arXiv 2605.18845: T = ln(V_mem/V_star)/(2 kappa eta lambda), one kappa."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nht_theory.conventions import CONFIDENCE, VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators.results import Interval, StudyEstimates
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.samples import Vector
from nht_theory.predictions import selection
from nht_theory.predictions.configuration_slopes import all_of, judged_slope, wanting
from nht_theory.predictions.delays import Delays, delays
from nht_theory.predictions.rules import (
    ALPHA,
    EQUIVALENCE,
    NECESSITY_TOLERANCE,
    Decision,
    more_data,
)
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "one_kappa"
SLOPE, SCATTER = "slope", "scatter"
LARGEST_SCATTER = math.log(EQUIVALENCE[1])
"""Standard deviation of ln kappa between configurations up to which they share one kappa."""
FEWEST_CONFIGURATIONS = 4
"""Two coefficients and two degrees of freedom."""
LEAST_SPREAD = 1e-6
NEEDS = (
    f"runs that memorise, with the norm, in {FEWEST_CONFIGURATIONS} or more configurations with "
    "two or more runs each that generalise, between which the formula differs"
)


@dataclass(frozen=True, eq=False)
class Kappas:
    """ln kappa of each configuration in which a run generalised.

    Attributes:
        names: of the configurations.
        logs: ln kappa, shape [configurations].
        error_variance: of one of these, mean over configurations, from the scatter between seeds.
        freedom: degrees of freedom of that variance.
        unseen: configurations in which no run generalised, so that kappa is only bounded.
    """

    names: tuple[str, ...]
    logs: Vector
    error_variance: float
    freedom: int
    unseen: tuple[str, ...]

    @property
    def scatter(self) -> float:
        """Standard deviation between configurations, without what seeds add."""
        return math.sqrt(max(0.0, float(self.logs.var(ddof=1)) - self.error_variance))


def judge(study: StudyEstimates) -> Verdict:
    """Slope of ln T on ln of the formula against one, and scatter of ln kappa against its bound."""
    rows = delays(study)
    found = 0 if rows is None else len(set(rows.configurations))
    if rows is None or found < FEWEST_CONFIGURATIONS:
        return not_applicable(NAME, f"needs {NEEDS}; {found} configurations qualify")
    formula = rows.log_inverse_rate + rows.log_log_ratio
    if float(np.ptp(formula)) < LEAST_SPREAD:
        return not_applicable(NAME, f"needs {NEEDS}; it is the same everywhere")
    try:
        fit = fit_censored_regression(
            rows.times,
            np.column_stack([np.ones(rows.n), formula]),
            ("constant", SLOPE),
            clusters=rows.configurations,
        )
        kappas = kappa_of_configurations(rows, formula)
    except NhtError as error:
        return not_applicable(NAME, f"needs {NEEDS}; {error}")
    if len(kappas.names) < FEWEST_CONFIGURATIONS or kappas.freedom < 1:
        return not_applicable(
            NAME, f"needs {NEEDS}; {len(kappas.names)} configurations tell their kappa"
        )
    slope, slope_decision = judged_slope(fit, SLOPE, EQUIVALENCE)
    decisions = {SLOPE: slope_decision, SCATTER: judged_scatter(kappas)}
    verdict, p_value, by = all_of(decisions)
    missing = unshown(rows, kappas)
    verdict = wanting(missing, verdict)
    value = slope if by == SLOPE else kappas.scatter
    return Verdict(
        prediction=NAME,
        verdict=verdict,
        statistic=value,
        statistic_name="slope of ln T on ln of the formula"
        if by == SLOPE
        else "standard deviation of ln kappa between configurations",
        interval=decisions[by].interval,
        p_value=p_value,
        n=rows.n,
        n_censored=rows.times.n_right_censored,
        rule=f"slope {slope:.3f} [{slope_decision.interval.low:.3f}, "
        f"{slope_decision.interval.high:.3f}] {slope_decision.verdict.value} against 1 within "
        f"{EQUIVALENCE}; scatter of ln kappa {kappas.scatter:.3f} "
        f"[{decisions[SCATTER].interval.low:.3f}, {decisions[SCATTER].interval.high:.3f}] "
        f"{decisions[SCATTER].verdict.value} against at most {LARGEST_SCATTER:.3f}; decided by the "
        f"{by}, p = {p_value:.3g}" + (f"; {missing}" if missing else ""),
        details=_details(study, rows, kappas),
        power=more_data(decisions[by].more, found, "configurations")
        if verdict is VerdictKind.INCONCLUSIVE and by == SLOPE
        else "",
        runs=tuple(run.name for run in rows.runs),
        units=found,
        unit="configurations",
    )


def kappa_of_configurations(rows: Delays, formula: Vector) -> Kappas:
    """ln kappa of each configuration: minus the mean of ln T - ln(formula), censoring included.

    Raises:
        NhtError: the regression has no maximum.
    """
    labels = np.array(rows.configurations)
    events = ~rows.times.is_right_censored
    seen = [name for name in sorted(set(labels.tolist())) if events[labels == name].any()]
    unseen = tuple(name for name in sorted(set(labels.tolist())) if name not in seen)
    keep = np.isin(labels, seen)
    freedom = int(events[keep].sum()) - len(seen)
    if freedom < 1 or len(seen) < FEWEST_CONFIGURATIONS:
        return Kappas(tuple(seen), np.zeros(len(seen)), math.nan, 0, unseen)
    fit = fit_censored_regression(
        rows.times.take(keep),
        np.column_stack([labels[keep] == name for name in seen]).astype(np.float64),
        tuple(f"configuration {place}" for place in range(len(seen))),
        offset=formula[keep],
    )
    errors = [fit.coefficient(name).standard_error or 0.0 for name in fit.names]
    variance = float(np.mean(np.square(errors)))
    return Kappas(tuple(seen), -fit.coefficients, variance, freedom, unseen)


def judged_scatter(kappas: Kappas) -> Decision:
    """The standard deviation of ln kappa between configurations against its bound.

    Its upper limit leaves the scatter of the seeds in, its lower limit takes out the most that
    this can be: both err on the side of no decision.
    """
    from scipy import stats

    tail = ALPHA / 2
    free = len(kappas.names) - 1
    squares = free * float(kappas.logs.var(ddof=1))
    law, seeds = stats.chi2(free), stats.chi2(kappas.freedom)
    from_seeds = kappas.error_variance * kappas.freedom / float(seeds.ppf(tail))
    low = math.sqrt(max(0.0, squares / float(law.ppf(1 - tail)) - from_seeds))
    high = math.sqrt(squares / float(law.ppf(tail)))
    bound = LARGEST_SCATTER**2
    small = min(1.0, 2 * float(law.cdf(squares / bound)))
    large = min(1.0, 2 * float(law.sf(squares / (bound + from_seeds))))
    interval = Interval(low, high, CONFIDENCE, f"chi-square, {free} degrees of freedom")
    if high <= LARGEST_SCATTER:
        return Decision(VerdictKind.SUPPORTED, small, interval)
    if low >= LARGEST_SCATTER:
        return Decision(VerdictKind.REFUTED, large, interval)
    return Decision(VerdictKind.INCONCLUSIVE, min(small, large), interval, math.inf)


def unshown(rows: Delays, kappas: Kappas) -> str:
    """Why "supported" would say too much, whatever the two decisions; "" where it would not."""
    share = len(rows.outside) / (rows.n + len(rows.outside))
    if share > NECESSITY_TOLERANCE:
        return f"{share:.0%} of the runs memorise at or below V_star, where the formula says none"
    if kappas.unseen:
        return (
            f"{len(kappas.unseen)} configurations never generalise, which only bounds their kappa"
        )
    return ""


def _details(study: StudyEstimates, rows: Delays, kappas: Kappas) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    return (
        f"kappa = {math.exp(float(kappas.logs.mean())):.3f}, geometric mean over configurations",
        *(
            f"kappa = {math.exp(own):.3f}: {selection.shortened(name, settings)}"
            for name, own in zip(kappas.names, kappas.logs, strict=True)
        ),
        *(f"never generalises: {selection.shortened(name, settings)}" for name in kappas.unseen),
        *(
            f"V_mem not above the V_star of other runs: {selection.described(run, settings)}"
            for run in rows.outside
        ),
        *rows.left_out,
    )


PREDICTION = Prediction(
    name=NAME,
    claim="The delay is ln(V_mem/V_star)/(2 kappa eta lambda) with one kappa for every "
    "configuration.",
    needs=NEEDS,
    rule="interval- and right-censored log-normal regression of ln T on ln of the formula, V_star "
    "from other runs, configurations as clusters: supported when the slope is equivalent to 1 "
    f"within {EQUIVALENCE}, and the standard deviation of ln kappa between configurations is "
    f"surely at most ln {EQUIVALENCE[1]:g}; refuted when either surely is not (Bonferroni); "
    f"inconclusive where more than {NECESSITY_TOLERANCE:.0%} of the runs lie outside the formula",
    references=("arXiv:2605.18845", "kalbfleisch2002", "schuirmann1987"),
    formulas=("kappa_delay",),
    against="configurations whose kappa differ surely by more than a quarter, or delays that do "
    "not grow in proportion to the formula",
    in_favour="delays in proportion to the formula, with a kappa that varies surely by less than a "
    "quarter between configurations",
    undecidable=f"fewer than {FEWEST_CONFIGURATIONS} configurations, one run a configuration, or a "
    "formula that hardly differs between them",
    judge=judge,
)
