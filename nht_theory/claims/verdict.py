"""What a test of a claim is, and what it may conclude."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from nht_theory.conventions import Thresholds, VerdictKind
from nht_theory.estimators.results import Interval, StudyEstimates

__all__ = [
    "Claim",
    "StudyEstimates",
    "ThresholdVerdict",
    "Verdict",
    "failed",
    "not_applicable",
]


@dataclass(frozen=True)
class ThresholdVerdict:
    """The verdict on one claim where other thresholds say when a run has switched.

    Attributes:
        thresholds: the levels, and for how many evaluations they must hold.
        verdict: after Holm over the claims judged at those thresholds.
    """

    thresholds: Thresholds
    verdict: VerdictKind

    @property
    def setting(self) -> str:
        """The thresholds as a label.

        Example:
            >>> ThresholdVerdict(Thresholds(persistence=3), VerdictKind.REFUTED).setting
            '0.99, k = 3'
        """
        held = self.thresholds.heldout_accuracy
        return f"{held:g}, k = {self.thresholds.persistence}"


@dataclass(frozen=True)
class Verdict:
    """The outcome of one test.

    Attributes:
        prediction: name of the claim tested.
        verdict: supported, refuted, inconclusive or not applicable.
        statistic: value of the estimate that decided, None when not applicable.
        statistic_name: what it is ("c = gamma_V/(2 eta lambda), median over runs").
        interval: of the statistic; its method names the distribution and degrees of freedom.
        p_value: of the test of that estimate, before the Holm correction.
        n: independent runs that entered.
        n_censored: of these, how many were right-censored.
        rule: the sentence that decided.
        details: counter-examples by name, sensitivities, the excluded runs.
        holm_p_value: after Holm over every applicable test of the validation.
        stability: the verdict at each other threshold.
        power: for an inconclusive verdict, what would decide it.
        runs: names of the runs that entered; empty when not applicable.
        units: how many independent units the interval and the p-value rest on; None where the
            test counts nothing.
        unit: what these are ("configurations", "pairs of one seed").
        failure: the error that ended the test, "" where it ran to its end.
    """

    claim: str
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
    stability: tuple[ThresholdVerdict, ...] = ()
    power: str = ""
    runs: tuple[str, ...] = ()
    units: int | None = None
    unit: str = ""
    failure: str = ""

    @property
    def rests_on(self) -> str:
        """The independent units behind interval and p-value; "" where the test counts none.

        Example:
            >>> Verdict("P6", VerdictKind.SUPPORTED, 1.0, "slope", None, 0.01, 20, 0, "rule",
            ...         units=5, unit="configurations").rests_on
            '5 configurations'
        """
        return "" if self.units is None else f"{self.units} {self.unit}"


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and the test that judges it.

    Attributes:
        name: short identifier (``law``, ``P1``).
        claim: the claim, paraphrased.
        needs: what a study must hold for the test to apply.
        rule: how the verdict follows from the statistic.
        references: papers, by citation key or arXiv number.
        test: of the claim, on the estimates of a study.
        formulas: names of the formulas (``nht derive NAME``) from which it follows; empty for a
            claim that the paper states from observation.
        against: observations that would overturn a verdict of supported.
        in_favour: observations that would overturn a verdict of refuted.
        undecidable: the data on which the test can come to no verdict.
        uses_thresholds: whether the verdict depends on when a run counts as memorised or
            generalised, so that it is repeated at other thresholds.
    """

    name: str
    statement: str
    needs: str
    rule: str
    references: tuple[str, ...]
    test: Callable[[StudyEstimates], Verdict]
    uses_thresholds: bool = True
    formulas: tuple[str, ...] = ()
    against: str = ""
    in_favour: str = ""
    undecidable: str = ""


def not_applicable(prediction: str, missing: str) -> Verdict:
    """The verdict of a test whose needs a study does not meet.

    Example:
        >>> not_applicable("P1", "needs at least three weight decays").verdict.value
        'not applicable'
    """
    return Verdict(
        claim=prediction,
        verdict=VerdictKind.NOT_APPLICABLE,
        statistic=None,
        statistic_name="",
        interval=None,
        p_value=None,
        n=0,
        n_censored=0,
        rule=missing,
    )


def failed(prediction: str, error: Exception) -> Verdict:
    """The verdict of a test that an error ended: not applicable, with the error named.

    Example:
        >>> failed("P1", ValueError("no columns")).failure
        'ValueError: no columns'
    """
    named = f"{type(error).__name__}: {error}"
    return replace(
        not_applicable(prediction, f"could not be judged: {named}"),
        failure=named,
    )
