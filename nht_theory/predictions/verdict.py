"""What a test of a claim is, and what it may conclude."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nht_theory.conventions import VerdictKind
from nht_theory.estimators.results import Interval, StudyEstimates

__all__ = ["Prediction", "StudyEstimates", "Verdict", "not_applicable"]


@dataclass(frozen=True)
class Verdict:
    """The outcome of one test.

    Attributes:
        prediction: name of the claim tested.
        verdict: supported, refuted, inconclusive or not applicable.
        statistic: value of the test statistic, None when not applicable.
        statistic_name: what it is ("c = gamma_V/(2 eta lambda), median over runs").
        interval: of the statistic.
        p_value: of the test, before the Holm correction.
        n: independent runs that entered.
        n_censored: of these, how many were right-censored.
        rule: the sentence that decided.
        details: counter-examples by name, sensitivities, the excluded runs.
        holm_p_value: after Holm over every applicable test of the validation.
        stability: the verdict at each other threshold, as "0.95, k = 3: supported".
        power: for an inconclusive verdict, what would decide it.
        runs: names of the runs that entered; empty when not applicable.
    """

    prediction: str
    verdict: VerdictKind
    statistic: float | None
    statistic_name: str
    interval: Interval | None
    p_value: float | None
    n: int
    n_censored: int
    rule: str
    details: tuple[str, ...] = ()
    holm_p_value: float | None = None
    stability: tuple[str, ...] = ()
    power: str = ""
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """One claim of the paper and the test that judges it.

    Attributes:
        name: short identifier (``law``, ``P1``).
        claim: the claim, paraphrased.
        needs: what a study must hold for the test to apply.
        rule: how the verdict follows from the statistic.
        references: papers, by citation key or arXiv number.
        judge: the test.
        formulas: names of the formulas (``nht derive NAME``) from which it follows; empty for a
            claim that the paper states from observation.
        against: observations that would overturn a verdict of supported.
        in_favour: observations that would overturn a verdict of refuted.
        uses_thresholds: whether the verdict depends on when a run counts as memorised or
            generalised, so that it is repeated at other thresholds.
    """

    name: str
    claim: str
    needs: str
    rule: str
    references: tuple[str, ...]
    judge: Callable[[StudyEstimates], Verdict]
    uses_thresholds: bool = True
    formulas: tuple[str, ...] = ()
    against: str = ""
    in_favour: str = ""


def not_applicable(prediction: str, missing: str) -> Verdict:
    """The verdict of a test whose needs a study does not meet.

    Example:
        >>> not_applicable("P1", "needs at least three weight decays").verdict.value
        'not applicable'
    """
    return Verdict(
        prediction=prediction,
        verdict=VerdictKind.NOT_APPLICABLE,
        statistic=None,
        statistic_name="",
        interval=None,
        p_value=None,
        n=0,
        n_censored=0,
        rule=missing,
    )
