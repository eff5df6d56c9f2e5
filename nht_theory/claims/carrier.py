"""The carrier of V: is the total norm the coordinate, or that of one parameter group?

Where one group carries most of V, the total's fall says little about the function. The law is
fitted to the same delays with the gap of each group in turn, and judged on configurations that
the fit has not seen.
"""

from __future__ import annotations

import numpy as np

from nht_theory.claims.delays import Delays, delays
from nht_theory.claims.rival_laws import vuong_by_configuration
from nht_theory.claims.rules import ALPHA
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.conventions import VerdictKind
from nht_theory.errors import NhtError
from nht_theory.estimators.groups import group_run, layer_groups
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.inference.rival_laws import RivalFit, RivalLaw, compare_rival_laws
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

NAME = "carrier"
TOTAL = "total"
FEWEST_CONFIGURATIONS = 3
NEEDS = (
    f"delayed runs in {FEWEST_CONFIGURATIONS} or more configurations with the squared norms of two "
    "or more parameter groups, each of which falls"
)


def test(study: StudyEstimates) -> Verdict:
    """The law on the total V against the law on each group's V, on configurations left out."""
    by_group = delays_by_group(study)
    common = {run.name for run in study.study.runs}
    for name, rows in by_group.items():
        common &= {_base(run, name) for run in rows.runs}
    total = by_group.get(TOTAL)
    if total is None or len(by_group) < 3 or len(common) < FEWEST_CONFIGURATIONS:
        return not_applicable(NAME, f"needs {NEEDS}")
    kept = np.array([_base(run, TOTAL) in common for run in total.runs])
    configurations = tuple(c for c, keep in zip(total.configurations, kept, strict=True) if keep)
    laws = [_law(name, rows, common) for name, rows in by_group.items()]
    try:
        fits = compare_rival_laws(total.times.take(kept), laws, configurations)
    except NhtError as error:
        return not_applicable(NAME, f"needs {NEEDS}; {error}")
    runs = tuple(run.name for run, keep in zip(total.runs, kept, strict=True) if keep)
    return _verdict(fits, configurations, runs, int(total.times.take(kept).n_right_censored))


def delays_by_group(study: StudyEstimates) -> dict[str, Delays]:
    """``total`` and each group -> the delays with that norm in the place of V."""
    names = [
        name
        for name in dict.fromkeys(g for run in study.study.runs for g in _groups(run))
        if all(name in _groups(run) for run in study.study.runs if _groups(run))
    ]
    found: dict[str, Delays] = {}
    own = delays(study)
    if own is not None:
        found[TOTAL] = own
    for name in names:
        runs = tuple(group_run(run, name) for run in study.study.runs if name in _groups(run))
        part = Study(study.study.source, runs, runs)
        rows = delays(estimate_study(part, study.thresholds))
        if rows is not None:
            found[name] = rows
    return found


def _groups(run: Run) -> tuple[str, ...]:
    """The layers of a run where its groups are known, else every group that is logged."""
    layers = tuple(group.name for group in layer_groups(run))
    return layers or run.norm_groups()


def _base(run: Run, group: str) -> str:
    """Name of the run that a group run was made from (see :func:`group_run`)."""
    return run.name if group == TOTAL else run.name.removesuffix(f"/{group}")


def _law(name: str, rows: Delays, common: set[str]) -> RivalLaw:
    kept = np.array([_base(run, name) in common for run in rows.runs])
    return RivalLaw(
        name,
        np.ones((int(kept.sum()), 1)),
        ("ln(1/c)",),
        offset=(rows.log_inverse_rate + rows.log_log_ratio)[kept],
    )


def _verdict(
    fits: tuple[RivalFit, ...],
    configurations: tuple[str, ...],
    runs: tuple[str, ...],
    n_censored: int,
) -> Verdict:
    total = next(fit for fit in fits if fit.law.name == TOTAL)
    parts = [fit for fit in fits if fit is not total]
    tests = {fit.law.name: vuong_by_configuration(total, fit, configurations) for fit in parts}
    best = min(parts, key=lambda fit: fit.held_out.percentage_error)
    beaten = [name for name, (z, p) in tests.items() if z < 0 and len(tests) * p <= ALPHA]
    decisive = best.law.name
    if beaten:
        verdict = VerdictKind.REFUTED
        decisive = min(beaten, key=lambda name: tests[name][1])
    elif all(z > 0 and len(tests) * p <= ALPHA for z, p in tests.values()):
        verdict = VerdictKind.SUPPORTED
        decisive = max(tests, key=lambda name: tests[name][1])
    else:
        verdict = VerdictKind.INCONCLUSIVE
    statistic, p_value = tests[decisive][0], len(tests) * tests[decisive][1]
    return Verdict(
        claim=NAME,
        verdict=verdict,
        statistic=statistic,
        statistic_name=f"Vuong's t over configurations, the total against {decisive} (positive for "
        "the total)",
        interval=None,
        p_value=min(1.0, p_value),
        n=total.fit.n,
        n_censored=n_censored,
        units=len(set(configurations)),
        unit="configurations",
        rule=f"{best.law.name} predicts unseen configurations best among the groups, "
        f"{best.held_out.percentage_error:.1f} % against {total.held_out.percentage_error:.1f} % "
        f"for the total; Vuong's test over {len(set(configurations))} configurations, t = "
        f"{statistic:+.2f} for the total against {decisive}, Bonferroni p = "
        f"{min(1.0, p_value):.3g}",
        details=tuple(
            f"{fit.law.name}: AICc {fit.aicc:.1f}, {fit.held_out.percentage_error:.1f} % a run"
            for fit in fits
        ),
        runs=runs,
    )


CLAIM = Claim(
    name=NAME,
    statement="The total norm is the coordinate of the transition: its gap tells the delay at "
    "least as well as that of any parameter group.",
    needs=NEEDS,
    rule="refuted when the law on one group's V is better than on the total by Vuong's test over "
    "configurations (Bonferroni over the groups), supported when the total is better than all",
    references=("vuong1989", "akaike1974"),
    formulas=("weighted_contraction",),
    against="configurations in which the norm of one parameter group tells the delay surely better",
    in_favour="configurations in which the total tells the delay surely better than every group",
    undecidable=f"fewer than {FEWEST_CONFIGURATIONS} configurations, or groups that all carry the "
    "same share of V throughout",
    test=test,
)
