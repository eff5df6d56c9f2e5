"""The numbers of the delay law for a citation: slopes, prefactor, fit, held-out error, rivals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from nht_theory.claims import rival_laws, selection, separations
from nht_theory.claims.cited_number import CitedNumber
from nht_theory.claims.delays import Delays, delays
from nht_theory.claims.law import COLUMNS, CONSTANT, FEWEST_RUNS, RATE, RATIO, design, fit_law
from nht_theory.errors import NhtError
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.censored_regression import CensoredRegression
from nht_theory.inference.results import Interval
from nht_theory.inference.rival_laws import RivalFit, RivalLaw, leave_one_group_out

CENSORING = "kept: interval- and right-censored likelihood"
MODEL = (
    "ln T = a + b1 ln(1/gamma) + b2 ln ln(V_sc/V_st) + sigma W of the configurations' means, W "
    "standard normal"
)
SYMBOLS = (
    "T: steps from memorisation to generalisation; gamma: pure-decay rate of V, known before "
    "training; V_sc: V at memorisation; V_st: V at generalisation of other runs"
)
REFERENCES = ("arXiv:2603.13331", "kalbfleisch2002", "seabold2010")


@dataclass(frozen=True, eq=False)
class CitedLaw:
    """What a study says about the delay law.

    Attributes:
        numbers: slopes, prefactor, R^2, AICc and held-out error of the fitted law.
        rivals: every law on the same runs, sorted by AICc; empty where they cannot be compared.
        missing: why there are none, where there are none.
    """

    numbers: tuple[CitedNumber, ...]
    rivals: tuple[RivalFit, ...]
    missing: tuple[str, ...]


def cited_law(study: StudyEstimates, options: tuple[tuple[str, str], ...]) -> CitedLaw:
    """Numbers of the law on the configurations whose separation is ordered, as the verdict.

    Args:
        study: the estimates.
        options: thresholds and levels, repeated in each number.
    """
    ordered = {
        name: separations.ordered(own) for name, own in separations.separations(study).items()
    }
    rows = delays(study, lambda run: ordered[selection.stratum(run)])
    if rows is None or rows.n < FEWEST_RUNS:
        found = 0 if rows is None else rows.n
        return CitedLaw((), (), (f"delay law: {found} runs qualify, {FEWEST_RUNS} are needed",))
    try:
        fit = fit_law(rows)
    except NhtError as error:
        return CitedLaw((), (), (f"delay law: {error}",))
    numbers = _numbers(rows, fit, options)
    try:
        fits, failed = rival_laws.compare(rows, rival_laws.laws(study, rows))
    except NhtError as error:
        return CitedLaw(numbers, (), (f"rival laws: {error}",))
    return CitedLaw(numbers, tuple(fits), tuple(f"rival law {text}" for text in failed))


def _numbers(
    rows: Delays, fit: CensoredRegression, options: tuple[tuple[str, str], ...]
) -> tuple[CitedNumber, ...]:
    kind = f"Student's t over {fit.n} configurations"
    settings = (*options, ("distribution", str(fit.distribution)), ("errors", kind))

    def number(
        identifier: str,
        label: str,
        value: float,
        formula: str,
        *,
        unit: str = "1",
        standard_error: float | None = None,
        interval: Interval | None = None,
        method: str = f"maximum likelihood, {kind}",
        note: str = "",
        references: tuple[str, ...] = REFERENCES,
    ) -> CitedNumber:
        return CitedNumber(
            identifier=f"law.{identifier}",
            label=label,
            value=value,
            unit=unit,
            n=rows.n,
            n_censored=rows.times.n_right_censored,
            censoring=CENSORING,
            method=method,
            formula=f"{formula}; {SYMBOLS}",
            runs=tuple(run.name for run in rows.runs),
            options=settings,
            standard_error=standard_error,
            interval=interval,
            note=note,
            references=references,
            units=fit.n,
            units_are="configurations",
        )

    slopes = []
    for identifier, name, symbol in (("slope_rate", RATE, "b1"), ("slope_ratio", RATIO, "b2")):
        estimate = fit.coefficient(name)
        slopes.append(
            number(
                identifier,
                f"slope of ln T on {name}",
                estimate.value,
                f"{symbol} in {MODEL}",
                standard_error=estimate.standard_error,
                interval=estimate.interval,
                note="the law predicts 1",
            )
        )
    constant = fit.coefficient(CONSTANT)
    assert constant.interval is not None  # a coefficient always has one
    assert constant.standard_error is not None
    prefactor = math.exp(constant.value)
    return (
        *slopes,
        number(
            "prefactor",
            "prefactor exp(a)",
            prefactor,
            f"exp(a) in {MODEL}",
            standard_error=prefactor * constant.standard_error,
            interval=Interval(
                math.exp(constant.interval.low),
                math.exp(constant.interval.high),
                constant.interval.coverage,
                constant.interval.method,
            ),
            note="the law predicts 1/c with both slopes at 1",
        ),
        number("scatter", "scatter of ln T between configurations", fit.scale, f"sigma in {MODEL}"),
        _r_squared(rows, fit, number("r_squared", "R^2 of ln T", 0.0, "")),
        number(
            "aicc",
            "AICc of the law, slopes free",
            fit.aicc,
            f"-2 ln L + 2 k + 2 k (k + 1)/(n - k - 1), k = {fit.parameters}; {MODEL}",
            references=(*REFERENCES, "akaike1974", "hurvich1989"),
        ),
        *_held_out(rows, number("held_out", "held-out error", 0.0, "", unit="%")),
    )


def _r_squared(rows: Delays, fit: CensoredRegression, template: CitedNumber) -> CitedNumber:
    """R^2 on the log scale over the runs that switched, each at the middle of its interval."""
    seen = ~rows.times.is_right_censored
    log_time = np.log(rows.times.representative())[seen]
    residual = log_time - fit.location(design(rows))[seen]
    total = float(((log_time - log_time.mean()) ** 2).sum())
    return replace(
        template,
        value=1 - float(residual @ residual) / total,
        formula="1 - sum (ln T - fitted)^2 / sum (ln T - mean)^2 over the runs that switched, T "
        f"the geometric middle of its evaluation interval; {MODEL}",
        n=int(seen.sum()),
        n_censored=0,
        censoring="censored runs shape the fit and are not scored",
        runs=tuple(run.name for run, there in zip(rows.runs, seen, strict=True) if there),
    )


def _held_out(rows: Delays, template: CitedNumber) -> tuple[CitedNumber, ...]:
    try:
        error = leave_one_group_out(
            rows.times, RivalLaw("law", design(rows), COLUMNS), rows.configurations
        )
    except NhtError:
        return ()
    failed = f"; could not be predicted: {', '.join(error.failed)}" if error.failed else ""
    common = replace(
        template,
        method=f"leave one of {error.groups} configurations out{failed}",
        censoring="censored runs shape the fits; only runs that switched have a percentage error",
        references=REFERENCES,
    )
    return (
        replace(
            common,
            identifier="law.held_out_run",
            label="held-out error, a run",
            value=error.percentage_error,
            formula="mean of |predicted median / T - 1| over runs, fitted without their "
            f"configuration; {MODEL}",
        ),
        replace(
            common,
            identifier="law.held_out_configuration",
            label="held-out error, a configuration",
            value=error.percentage_error_by_group,
            formula="mean over configurations of |geometric mean of predicted median / T - 1|, "
            f"fitted without the configuration; {MODEL}",
        ),
    )


def cited_rivals(law: CitedLaw, template: tuple[CitedNumber, ...]) -> tuple[CitedNumber, ...]:
    """AICc and held-out errors of each rival as numbers of their own, for ``--explain``."""
    if not law.rivals or not template:
        return ()
    like = template[0]
    numbers = []
    for place, fit in enumerate(law.rivals, 1):
        formula = _formula(fit)
        for key, label, value, unit in (
            ("aicc", "AICc", fit.aicc, "1"),
            ("weight", "Akaike weight", fit.weight, "1"),
            ("held_out_run", "held-out error, a run", fit.held_out.percentage_error, "%"),
            (
                "held_out_configuration",
                "held-out error, a configuration",
                fit.held_out.percentage_error_by_group,
                "%",
            ),
            ("log_score", "held-out log score", fit.held_out.log_score, "1"),
        ):
            numbers.append(
                CitedNumber(
                    identifier=f"rival.{place}.{key}",
                    label=f"{label} of {fit.law.name}",
                    value=value,
                    unit=unit,
                    n=fit.fit.n,
                    n_censored=fit.fit.n_right_censored,
                    censoring=CENSORING,
                    method=f"{fit.law.link} link, {fit.fit.distribution} scatter, "
                    f"{fit.held_out.groups} configurations left out in turn",
                    formula=formula,
                    runs=like.runs,
                    options=like.options,
                    references=(*REFERENCES, "akaike1974", "hurvich1989", "vuong1989"),
                )
            )
    return tuple(numbers)


def _formula(fit: RivalFit) -> str:
    terms = ", ".join(
        f"{name} = {value:.5g}"
        for name, value in zip(fit.law.names, fit.fit.coefficients, strict=True)
    )
    return f"{fit.law.name} with {terms}, scatter of ln T {fit.fit.scale:.4f}"
