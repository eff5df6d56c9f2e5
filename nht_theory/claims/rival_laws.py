"""Rival laws: does anything else describe the delays better, and predict unseen settings better?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nht_theory.claims import selection, separations
from nht_theory.claims.delays import Delays, NormOfOthers, delays
from nht_theory.claims.rules import ALPHA, more_for_p
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators import norms
from nht_theory.estimators.results import Estimate, Missing, RunEstimate, StudyEstimates
from nht_theory.inference.likelihood_model import Link
from nht_theory.inference.rival_laws import (
    RivalFit,
    RivalLaw,
    compare_rival_laws,
    vuong_over_groups,
)
from nht_theory.inference.samples import Vector
from nht_theory.runs.run import Run

NAME = "rival_laws"
LAW = "ln(V_sc/V_st)/gamma"
NESTED = "T_0 + ln(V_sc/V_st)/gamma + c/(eta lambda)"
"""Holds the law as a special case: an extension to report, no rival to lose against."""
FEWEST_CONFIGURATIONS = 4
NEEDS = (
    f"delayed runs in {FEWEST_CONFIGURATIONS} or more configurations whose separation is ordered, "
    "at two or more values of eta lambda"
)


def test(study: StudyEstimates) -> Verdict:
    """The law against each rival: Vuong's test over configurations, with held-out errors."""
    rows = delays(study, separations.where_ordered(study))
    found = 0 if rows is None else len(set(rows.configurations))
    if rows is None or found < FEWEST_CONFIGURATIONS or np.ptp(rows.log_inverse_rate) == 0:
        return not_applicable(NAME, f"needs {NEEDS}; {found} configurations qualify")
    fits, failed = compare(rows, laws(study, rows))
    own = next((fit for fit in fits if fit.law.name == LAW), None)
    if own is None or all(fit.law.name in (LAW, NESTED) for fit in fits):
        return not_applicable(NAME, f"needs {NEEDS}; {'; '.join(failed)}")
    rivals = [fit for fit in fits if fit.law.name not in (LAW, NESTED)]
    tests = {fit.law.name: vuong_by_configuration(own, fit, rows.configurations) for fit in rivals}
    best = min(rivals, key=lambda fit: fit.aicc)
    decisive = best.law.name
    beaten = [name for name, (z, p) in tests.items() if z < 0 and len(tests) * p <= ALPHA]
    if beaten:
        verdict = VerdictKind.REFUTED
        decisive = min(beaten, key=lambda name: tests[name][1])
    elif all(z > 0 for z, _ in tests.values()) and tests[decisive][1] <= ALPHA:
        verdict = VerdictKind.SUPPORTED
    else:
        verdict = VerdictKind.INCONCLUSIVE
    statistic, p_value = tests[decisive]
    if beaten:
        p_value *= len(tests)
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=statistic,
        statistic_name=f"Vuong's t over configurations, the law against {decisive} (positive for "
        "the law)",
        interval=None,
        p_value=min(1.0, p_value),
        n=rows.n,
        n_censored=rows.times.n_right_censored,
        units=found,
        unit="configurations",
        rule=f"Vuong's test over {found} configurations against each rival: t = {statistic:+.2f} "
        f"against {decisive}; the best by AICc is {best.law.name}, {best.aicc - own.aicc:+.1f} "
        f"beside the law; the law is beaten by "
        f"{', '.join(beaten) or 'none'}; p = {min(1.0, p_value):.3g}",
        power=more_for_p(p_value / 2, found, "configurations")
        if verdict is VerdictKind.INCONCLUSIVE and statistic > 0
        else "",
        details=(
            *(
                f"{fit.law.name}: AICc {fit.aicc:.1f} (weight {fit.weight:.3f}), leaving one "
                f"configuration out {fit.held_out.percentage_error:.1f} % a run, "
                f"{fit.held_out.percentage_error_by_group:.1f} % a configuration, log score "
                f"{fit.held_out.log_score:.3f}"
                + (
                    ""
                    if fit.law.name not in tests
                    else f"; law against it: t = {tests[fit.law.name][0]:+.2f}, "
                    f"p = {tests[fit.law.name][1]:.3g}"
                )
                for fit in fits
            ),
            separations.distinguishable_from_time(study).line,
            *failed,
            *rows.left_out,
        ),
        runs=tuple(run.name for run in rows.runs),
    )


def laws(study: StudyEstimates, rows: Delays) -> list[RivalLaw]:
    """The law and its rivals on the same rows (THEORY.md, sections 3 and 9)."""
    one = np.ones((rows.n, 1))
    log_eta, log_lambda = _logs(rows.runs, "learning_rate"), _logs(rows.runs, "weight_decay")
    rate = rows.log_inverse_rate
    pure = np.exp(rate)
    delay = pure * np.exp(rows.log_log_ratio)
    candidates = [
        RivalLaw(LAW, one, ("ln(1/c)",), offset=rate + rows.log_log_ratio),
        RivalLaw("A/(eta lambda)", one, ("ln A",), offset=rate),
        RivalLaw(
            "T_0 + A/lambda",
            np.column_stack([one, np.exp(-log_lambda)]),
            ("T_0", "A"),
            link=Link.IDENTITY,
        ),
        RivalLaw(
            "free power law of eta and lambda",
            _independent([one[:, 0], log_eta, log_lambda]),
            ("constant", "ln eta", "ln lambda"),
        ),
        RivalLaw(
            NESTED,
            np.column_stack([one, delay, pure]),
            ("T_0", "1/c", "c"),
            link=Link.IDENTITY,
        ),
        RivalLaw(
            "exponential of the held norm",
            np.column_stack([one, np.sqrt(rows.squared_norm_start)]),
            ("constant", "N_mem"),
        ),
    ]
    excess = _excess_ratio(study, rows)
    if excess is not None:
        candidates.append(
            RivalLaw("ln of the excess norm, over gamma", one, ("ln(1/c)",), offset=rate + excess)
        )
    return [_named(law) for law in candidates]


def compare(rows: Delays, candidates: list[RivalLaw]) -> tuple[list[RivalFit], list[str]]:
    """Fits sorted by AICc, and one line for each law that could not be fitted."""
    try:
        return list(compare_rival_laws(rows.times, candidates, rows.configurations)), []
    except NhtError:
        pass  # one of them cannot be fitted: find out which
    possible, failed = [], []
    for law in candidates:
        try:
            compare_rival_laws(rows.times, [law], rows.configurations)
        except NhtError as error:
            failed.append(f"{law.name}: {error}")
        else:
            possible.append(law)
    if not possible:
        return [], failed
    return list(compare_rival_laws(rows.times, possible, rows.configurations)), failed


def vuong_by_configuration(
    law: RivalFit, rival: RivalFit, configurations: tuple[str, ...]
) -> tuple[float, float]:
    """Vuong's t (positive favours the law) and p on log-likelihoods summed over configurations,
    because the runs of one configuration err together."""
    test = vuong_over_groups(law.fit, rival.fit, configurations)
    return test.statistic, test.p_value


def _excess_ratio(study: StudyEstimates, rows: Delays) -> Vector | None:
    """ln ln((V_mem - V_end)/(V_star - V_end)), V_end the final plateau of other runs."""
    plateau = NormOfOthers(study, _final_plateau)
    ends = [plateau(run) for run in rows.runs]
    if any(end is None for end in ends):
        return None
    end = np.array(ends, dtype=np.float64)
    above = rows.squared_norm_star > end
    if not above.all():
        return None
    ratio = (rows.squared_norm_start - end) / (rows.squared_norm_star - end)
    return np.asarray(np.log(np.log(ratio)))


def _final_plateau(run: Run, own: RunEstimate) -> Estimate | Missing:
    return own.squared_norm_generalization if own.censored else norms.plateau(run)


def _logs(runs: tuple[Run, ...], name: str) -> Vector:
    return np.log([selection.number(run, name) or np.nan for run in runs])


def _independent(columns: list[Vector]) -> Vector:
    """The columns that do not follow from those before them."""
    kept: list[Vector] = []
    for column in columns:
        tried = np.column_stack([*kept, column])
        if np.linalg.matrix_rank(tried, tol=1e-8 * np.linalg.norm(tried)) == tried.shape[1]:
            kept.append(column)
    return np.column_stack(kept)


def _named(law: RivalLaw) -> RivalLaw:
    """The law with as many names as columns."""
    return replace(law, names=law.names[: law.design.shape[1]])


CLAIM = Claim(
    name=NAME,
    statement="The law describes delays better than A/(eta lambda), T_0 + A/lambda, a free power "
    "law, the excess norm or an exponential of the norm.",
    needs=NEEDS,
    rule="refuted when a rival is better by Vuong's test over configurations (Bonferroni over the "
    "rivals), supported when the law is better than the best of them; AICc and the error on "
    "configurations left out are printed for all",
    references=("akaike1974", "hurvich1989", "vuong1989", "arXiv:2603.13331"),
    formulas=("law_steps", "nested_law", "hitting_time_with_floor"),
    against="configurations in which one of the rivals is surely the better description",
    in_favour="configurations in which the law is surely better than the best rival",
    undecidable=f"fewer than {FEWEST_CONFIGURATIONS} configurations; settings along which two laws "
    "predict the same (one learning rate and one task: then A/(eta lambda) is the law itself)",
    test=test,
)
