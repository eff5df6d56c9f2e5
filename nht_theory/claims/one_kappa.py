"""The calibrated law of arXiv 2605.18845: T = ln(V_mem/V_star)/(2 kappa eta lambda), one kappa."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nht_theory.claims import selection
from nht_theory.claims.configuration_slopes import fit_over_configurations
from nht_theory.claims.delays import Delays, delays
from nht_theory.claims.rules import (
    ALPHA,
    EQUIVALENCE,
    NECESSITY_TOLERANCE,
    Decision,
    all_of,
    more_data,
    wanting,
)
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import CONFIDENCE, VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators.results import Estimate, Interval, StudyEstimates
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.samples import Vector

NAME = "one_kappa"
RATE, RATIO, SCATTER = "ln(1/(2 eta lambda))", "ln ln(V_mem/V_star)", "scatter"
LARGEST_SCATTER = math.log(EQUIVALENCE[1])
"""Standard deviation of ln kappa between configurations up to which they share one kappa."""
FEWEST_CONFIGURATIONS = 5
"""Three coefficients and two degrees of freedom."""
LEAST_SPREAD = 1e-6
NEEDS = (
    f"runs that memorise, with the norm, in {FEWEST_CONFIGURATIONS} or more configurations with "
    "two or more runs each that generalise, between which eta lambda and V_mem/V_star differ"
)


@dataclass(frozen=True, eq=False)
class Kappas:
    """ln kappa of each configuration with a delay that is bounded on both sides.

    Attributes:
        names: of the configurations.
        logs: ln kappa, shape [configurations].
        error_variance: of one of these, mean over configurations, from the scatter between seeds.
        freedom: degrees of freedom of that variance.
        unseen: configurations without a delay that is bounded on both sides, so that their kappa
            is only bounded.
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


def test(study: StudyEstimates) -> Verdict:
    """Slope of ln T on ln of the formula against one, and scatter of ln kappa against its bound."""
    every = delays(study)
    rows = None if every is None else within(every, measured(study, every))
    found = 0 if rows is None else len(set(rows.configurations))
    if every is None or rows is None or found < FEWEST_CONFIGURATIONS:
        return not_applicable(NAME, f"needs {NEEDS}; {found} configurations qualify")
    parts = {RATE: rows.log_inverse_rate, RATIO: rows.log_log_ratio}
    if flat := [name for name, own in parts.items() if float(np.ptp(own)) < LEAST_SPREAD]:
        return not_applicable(NAME, f"needs {NEEDS}; {' and '.join(flat)} never varies")
    try:
        # One slope on the whole formula would be one for any delay over which V falls at the rate:
        # V_star is then V at that delay, and the formula gives it back.
        slopes = fit_over_configurations(
            rows.times,
            np.column_stack([np.ones(rows.n), *parts.values()]),
            ("constant", *parts),
            rows.configurations,
        )
        kappas = kappa_of_configurations(rows, sum(parts.values(), np.zeros(rows.n)))
    except NhtError as error:
        return not_applicable(NAME, f"needs {NEEDS}; {error}")
    if len(kappas.names) < FEWEST_CONFIGURATIONS or kappas.freedom < 1:
        return not_applicable(
            NAME, f"needs {NEEDS}; {len(kappas.names)} configurations tell their kappa"
        )
    judged = {name: slopes.judged({name: 1.0}, EQUIVALENCE) for name in parts}
    judged[SCATTER] = kappas.scatter, judged_scatter(kappas)
    decisions = {name: decision for name, (_, decision) in judged.items()}
    verdict, p_value, by = all_of(decisions)
    missing = unshown(every, rows, kappas)
    verdict = wanting(missing, verdict)
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=judged[by][0],
        statistic_name="standard deviation of ln kappa between configurations"
        if by == SCATTER
        else f"slope of ln T on {by}",
        interval=decisions[by].interval,
        p_value=p_value,
        n=rows.n,
        n_censored=rows.times.n_right_censored,
        rule="; ".join(_said(name, *own) for name, own in judged.items())
        + f"; p = {p_value:.3g}"
        + (f"; {missing}" if missing else ""),
        details=_details(study, every, rows, kappas),
        power=more_data(decisions[by].more, found, "configurations")
        if verdict is VerdictKind.INCONCLUSIVE and by != SCATTER
        else "",
        runs=tuple(run.name for run in rows.runs),
        units=found,
        unit="configurations",
    )


def _said(name: str, value: float, decision: Decision) -> str:
    low, high = decision.interval.low, decision.interval.high
    what, limits = f"slope on {name}", f"1 within {EQUIVALENCE}"
    if name == SCATTER:
        what, limits = "scatter of ln kappa", f"at most {LARGEST_SCATTER:.3f}"
    return f"{what} {value:.3f} [{low:.3f}, {high:.3f}] {decision.verdict.value} against {limits}"


def kappa_of_configurations(rows: Delays, formula: Vector) -> Kappas:
    """ln kappa of each configuration: minus the mean of ln T - ln(formula), censoring included.

    Raises:
        NhtError: the regression has no maximum.
    """
    labels = np.array(rows.configurations)
    # A delay within the first evaluation, or past the last one, bounds kappa from one side.
    events = ~rows.times.is_right_censored & (rows.times.lower > 0)
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


def measured(study: StudyEstimates, rows: Delays) -> NDArray[np.bool_]:
    """Rows of configurations whose formula is known to within what the claim lets kappa vary.

    Near V_mem = V_star the scatter of V_star between seeds is as large as the fall of ln V, and
    "kappa" is that scatter. The error of ln of the formula is taken as s/L, with L the mean of
    ln(V_mem/V_star) and s the standard deviation of ln V_star between seeds (the larger of the
    configuration's own and the one pooled over the study) with what the grids leave open.
    """
    scatter, falls = scatter_of_star(study), _falls(study, rows)
    known = {
        name: scatter.get(name, scatter.get("", math.inf)) <= LARGEST_SCATTER * fall
        for name, fall in falls.items()
    }
    return np.array([known[name] for name in rows.configurations])


def _falls(study: StudyEstimates, rows: Delays) -> dict[str, float]:
    """Configuration -> mean of ln(V_mem/V_star), runs that memorise below V_star included: without
    them the mean of what is left stays positive whatever V_star is."""
    starts: dict[str, list[float]] = {}
    for run, start in zip(rows.runs, rows.squared_norm_start, strict=True):
        starts.setdefault(selection.stratum(run), []).append(math.log(start))
    outside = {id(run) for run in rows.outside}
    for run, own in study.pairs():
        if id(run) in outside and isinstance(own.squared_norm_memorization, Estimate):
            start = own.squared_norm_memorization.value
            starts.setdefault(selection.stratum(run), []).append(math.log(start))
    stars, labels = np.log(rows.squared_norm_star), np.array(rows.configurations)
    return {
        name: float(np.mean(starts[name]) - stars[labels == name].mean())
        for name in set(rows.configurations)
    }


def scatter_of_star(study: StudyEstimates) -> dict[str, float]:
    """Configuration -> error of ln(V_mem/V_star) of one of its runs; "" -> pooled over all.

    Empty where no configuration has two runs that tell V_star.
    """
    squares, free, grids, own = 0.0, 0, {}, {}
    for name, pairs in selection.by_configuration(study.pairs()).items():
        stars = [
            star
            for _, each in pairs
            if isinstance(star := each.squared_norm_generalization, Estimate)
        ]
        starts = [
            start
            for _, each in pairs
            if isinstance(start := each.squared_norm_memorization, Estimate)
        ]
        if len(stars) < 2:
            continue
        logs = np.log([star.value for star in stars])
        grids[name] = _grid_variance(stars) + _grid_variance(starts)
        own[name] = float(logs.var(ddof=1)) * (1 + 1 / len(logs))
        squares, free = squares + float(logs.var()) * len(logs), free + len(logs) - 1
    if not free:
        return {}
    pooled = squares / free
    found = {name: math.sqrt(max(own[name], pooled) + grids[name]) for name in own}
    return {**found, "": math.sqrt(2 * pooled + max(grids.values()))}


def _grid_variance(values: list[Estimate]) -> float:
    """Mean variance of ln V of a place anywhere between the two evaluations around an event."""
    widths = [
        math.log(own.interval.high / own.interval.low) ** 2 / 12
        for own in values
        if own.interval is not None and own.interval.low > 0
    ]
    return float(np.mean(widths)) if widths else 0.0


def within(rows: Delays, keep: NDArray[np.bool_]) -> Delays | None:
    """Some of the rows; None where none is kept."""
    if not keep.any():
        return None
    places = np.flatnonzero(keep)
    return replace(
        rows,
        runs=tuple(rows.runs[place] for place in places),
        times=rows.times.take(places),
        log_inverse_rate=rows.log_inverse_rate[places],
        log_log_ratio=rows.log_log_ratio[places],
        configurations=tuple(rows.configurations[place] for place in places),
        squared_norm_start=rows.squared_norm_start[places],
        squared_norm_star=rows.squared_norm_star[places],
    )


def unshown(every: Delays, rows: Delays, kappas: Kappas) -> str:
    """Why "supported" would say too much, whatever the two decisions; "" where it would not."""
    beyond = len(every.outside) + every.n - rows.n
    share = beyond / (every.n + len(every.outside))
    if share > NECESSITY_TOLERANCE:
        return f"{share:.0%} of the runs memorise at, below or hardly above V_star"
    if kappas.unseen:
        return f"{len(kappas.unseen)} configurations only bound their kappa from one side"
    return ""


def _details(study: StudyEstimates, every: Delays, rows: Delays, kappas: Kappas) -> tuple[str, ...]:
    settings = selection.varying_settings(study)
    beyond = [
        name for name in dict.fromkeys(every.configurations) if name not in rows.configurations
    ]
    return (
        f"kappa = {math.exp(float(kappas.logs.mean())):.3f}, geometric mean over configurations",
        *(
            f"kappa = {math.exp(own):.3f}: {selection.shortened(name, settings)}"
            for name, own in zip(kappas.names, kappas.logs, strict=True)
        ),
        *(f"kappa only bounded: {selection.shortened(name, settings)}" for name in kappas.unseen),
        *(
            "ln(V_mem/V_star) hardly above the scatter of V_star: "
            f"{selection.shortened(name, settings)}"
            for name in beyond
        ),
        *(
            f"V_mem not above the V_star of other runs: {selection.described(run, settings)}"
            for run in every.outside
        ),
        *every.left_out,
    )


CLAIM = Claim(
    name=NAME,
    statement="The delay is ln(V_mem/V_star)/(2 kappa eta lambda) with one kappa for every "
    "configuration.",
    needs=NEEDS,
    rule="interval- and right-censored log-normal regression of ln T on ln(1/(2 eta lambda)) and "
    "on ln ln(V_mem/V_star), V_star as in the law, jackknife over configurations: supported when "
    f"both slopes are equivalent to 1 within {EQUIVALENCE}, and the standard deviation of ln kappa "
    f"between configurations is surely at most ln {EQUIVALENCE[1]:g}; refuted when one of the "
    "three surely is not (Bonferroni); "
    "configurations count where the error of ln of the formula, from the scatter of V_star between "
    f"seeds, is below ln {EQUIVALENCE[1]:g}; never supported where more than "
    f"{NECESSITY_TOLERANCE:.0%} of the runs do not count",
    references=("arXiv:2605.18845", "kalbfleisch2002", "mackinnon2023", "schuirmann1987"),
    formulas=("kappa_delay",),
    against="configurations whose kappa differ surely by more than a quarter, or delays that do "
    "not grow in proportion to the formula",
    in_favour="delays in proportion to the formula, with a kappa that varies surely by less than a "
    "quarter between configurations",
    undecidable=f"fewer than {FEWEST_CONFIGURATIONS} configurations, one run a configuration, a "
    "V_mem/V_star or an eta lambda that hardly differs between them or moves with the other, "
    "or a V_mem that lies within the scatter of V_star",
    test=test,
)
