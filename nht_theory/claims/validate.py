"""Judge every prediction on a study, with the correction for having judged them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nht_theory.claims.judging import family_wise, test_each
from nht_theory.claims.registry import CLAIMS
from nht_theory.claims.stability import verdicts_at_other_thresholds
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import (
    CONFIDENCE,
    DEFAULT_THRESHOLDS,
    FORMULA_CONVENTION,
    ProgressCallback,
    Thresholds,
)
from nht_theory.estimators.assumption_summary import summarize_assumptions
from nht_theory.estimators.contraction import rate_window
from nht_theory.estimators.groups import group_rates
from nht_theory.estimators.norm_hierarchy import median_log_ratios
from nht_theory.estimators.results import (
    Estimate,
    Interval,
    Missing,
    RunEstimate,
    StudyEstimates,
)
from nht_theory.estimators.summary import estimate_study
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

ESTIMATED = (
    "contraction_rate",
    "efficiency",
    "squared_norm_memorization",
    "squared_norm_generalization",
    "squared_norm_peak",
    "squared_norm_final",
)


@dataclass(frozen=True, eq=False)
class Validation:
    """A study, what was estimated of its runs, and the verdict on every prediction.

    Attributes:
        study: what was read.
        estimates: of its distinct runs, in order.
        verdicts: one for each prediction of the registry, in its order.
        thresholds: at which events were read.
        log_ratios: (definition of V_sc, of V_st) -> median ln(V_sc/V_st) over delayed runs: how
            much a result owes to the definition.
    """

    study: Study
    estimates: tuple[RunEstimate, ...]
    verdicts: tuple[Verdict, ...]
    thresholds: Thresholds
    log_ratios: Mapping[tuple[str, str], Estimate] = field(default_factory=dict)

    def verdict(self, prediction: str) -> Verdict:
        """The verdict on one prediction, by its name."""
        return next(v for v in self.verdicts if v.claim == prediction)

    def to_dict(self) -> dict[str, Any]:
        """The documented JSON object of ``nht validate --json``: plain numbers, text and None."""
        study = self.study
        return {
            "source": str(study.source),
            "convention": FORMULA_CONVENTION,
            "confidence": CONFIDENCE,
            "thresholds": {
                "train_accuracy": self.thresholds.train_accuracy,
                "heldout_accuracy": self.thresholds.heldout_accuracy,
                "persistence": self.thresholds.persistence,
            },
            "runs": {
                "read": len(study.records),
                "left_out": [{"file": o.file, "reason": o.reason} for o in study.left_out],
                "censored": sum(own.censored for own in self.estimates),
                "unknown": sum(own.unknown for own in self.estimates),
                "distinct": len(study.runs),
                "configurations_known": study.configurations.known,
                "merged": [
                    {"kept": m.kept, "repeats": list(m.repeats), "reason": m.reason}
                    for m in study.merges
                ],
                "without_trajectory": [record.name for record in study.without_trajectory],
            },
            "notes": list(study.notes),
            "estimates": [
                {**estimate_to_dict(own), "groups": groups_to_list(run, own)}
                for run, own in zip(study.runs, self.estimates, strict=True)
            ],
            "log_ratios": [
                {
                    "squared_norm_shortcut": above,
                    "squared_norm_structured": below,
                    "median": ratio.value,
                    "interval": interval_to_list(ratio.interval),
                    "n": ratio.n,
                }
                for (above, below), ratio in self.log_ratios.items()
            ],
            "assumptions": [
                {
                    "name": own.name,
                    "statement": own.statement,
                    "holds": own.holds,
                    "fails": len(own.failing),
                    "unknown": own.unknown,
                    "failing": list(own.failing),
                    "reason": own.reason,
                }
                for own in summarize_assumptions(
                    StudyEstimates(study, self.estimates, self.thresholds)
                )
            ],
            "verdicts": [verdict_to_dict(own) for own in self.verdicts],
        }


def validate(
    study: Study,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    progress: ProgressCallback | None = None,
    *,
    stability: bool = True,
) -> Validation:
    """Estimate every distinct run of a study and judge every prediction on it.

    Args:
        study: what :func:`nht_theory.runs.load.load_study` returned.
        thresholds: levels that count as memorised and generalised.
        progress: called with (what, done, total) as work goes on.
        stability: whether to repeat every test at other thresholds (THEORY.md section 9).

    Returns:
        The estimates and verdicts. A verdict that rests on a p-value which does not survive
        Holm's correction over all applicable predictions is inconclusive, and its rule says so.
    """
    estimates = estimate_study(study, thresholds, progress)
    verdicts = test_each(CLAIMS, estimates, progress)
    elsewhere = (
        verdicts_at_other_thresholds(study, CLAIMS, verdicts, thresholds, progress)
        if stability
        else {}
    )
    verdicts = [
        replace(own, stability=elsewhere.get(own.claim, ())) for own in family_wise(verdicts)
    ]
    return Validation(
        study, estimates.estimates, tuple(verdicts), thresholds, median_log_ratios(estimates)
    )


def estimate_to_dict(own: RunEstimate) -> dict[str, Any]:
    """A run's estimates as plain numbers, with the intervals and the reasons of what is missing."""
    found = {name: getattr(own, name) for name in ESTIMATED}
    return {
        "run": own.run,
        "memorization_step": own.memorization_step,
        "generalization_step": own.generalization_step,
        "memorization_status": own.memorization_status.value,
        "generalization_status": own.generalization_status.value,
        "censored": own.censored,
        **{
            name: value.value if isinstance(value, Estimate) else None
            for name, value in found.items()
        },
        "regime": own.regime.value,
        "intervals": {
            name: interval_to_list(value.interval)
            for name, value in found.items()
            if isinstance(value, Estimate) and value.interval is not None
        },
        "missing": {
            name: f"{value.reason.value}: {value.detail}"
            for name, value in found.items()
            if isinstance(value, Missing)
        },
    }


def groups_to_list(run: Run, own: RunEstimate) -> list[dict[str, Any]]:
    """Rate, share and contribution of each parameter group whose norm is logged."""
    window = rate_window(run, own.memorization, own.generalization)
    if isinstance(window, Missing):
        return []
    return [
        {
            "group": group.group,
            "contraction_rate": group.rate.value if isinstance(group.rate, Estimate) else None,
            "share": group.share,
            "contribution": group.contribution,
        }
        for group in group_rates(run, window)
    ]


def interval_to_list(interval: Interval | None) -> list[float] | None:
    """[low, high], or None."""
    return None if interval is None else [interval.low, interval.high]


def verdict_to_dict(own: Verdict) -> dict[str, Any]:
    """A verdict as plain values; ``interval`` is [low, high]."""
    return {
        "prediction": own.claim,
        "verdict": own.verdict.value,
        "statistic": own.statistic,
        "interval": interval_to_list(own.interval),
        "p_value": own.p_value,
        "n": own.n,
        "n_censored": own.n_censored,
        "rule": own.rule,
        "statistic_name": own.statistic_name,
        "holm_p_value": own.holm_p_value,
        "details": list(own.details),
        "stability": [
            {
                "train_accuracy": at.thresholds.train_accuracy,
                "heldout_accuracy": at.thresholds.heldout_accuracy,
                "persistence": at.thresholds.persistence,
                "verdict": at.verdict.value,
            }
            for at in own.stability
        ],
        "power": own.power,
        "units": own.units,
        "unit": own.unit,
        "interval_method": "" if own.interval is None else own.interval.method,
        "failure": own.failure,
    }
