"""Judge claims one by one, and correct the verdicts for having judged several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nht_theory.claims.rules import ALPHA
from nht_theory.claims.verdict import Claim, Verdict, failed, not_applicable
from nht_theory.conventions import ProgressCallback, VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.inference.holm import holm
from nht_theory.runs.configurations import REMEDY


def test_each(
    predictions: Sequence[Claim],
    estimates: StudyEstimates,
    progress: ProgressCallback | None = None,
) -> list[Verdict]:
    """The verdict on each claim, before Holm.

    A claim whose test ends in an error is not applicable, with the error named; the others are
    judged all the same. The unit of inference of every claim is the configuration, so that none is
    judged where the runs do not say which of them share one.
    """
    configurations = estimates.study.configurations
    if not configurations.known:
        reason = f"{configurations}; {REMEDY}"
        return [not_applicable(prediction.name, reason) for prediction in predictions]
    verdicts = []
    for done, prediction in enumerate(predictions):
        if progress is not None:
            progress(f"judging {prediction.name}", done, len(predictions))
        try:
            verdicts.append(prediction.test(estimates))
        except Exception as error:
            verdicts.append(failed(prediction.name, error))
    return verdicts


def family_wise(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts with Holm-adjusted p-values, overruled where those exceed the level.

    Example:
        >>> decided = Verdict("a", VerdictKind.SUPPORTED, 1.0, "s", None, 0.03, 5, 0, "rule")
        >>> other = replace(decided, claim="b", p_value=0.2, verdict=VerdictKind.INCONCLUSIVE)
        >>> [v.verdict.value for v in family_wise([decided, other])]
        ['inconclusive', 'inconclusive']
    """
    judged = [own for own in verdicts if own.p_value is not None]
    adjusted = dict(
        zip(
            (own.claim for own in judged),
            holm([own.p_value for own in judged if own.p_value is not None]),
            strict=True,
        )
    )
    return tuple(
        _overruled(own, float(adjusted[own.claim]), len(judged)) if own.claim in adjusted else own
        for own in verdicts
    )


def _overruled(own: Verdict, adjusted: float, tests: int) -> Verdict:
    decided = own.verdict in (VerdictKind.SUPPORTED, VerdictKind.REFUTED)
    if not decided or adjusted <= ALPHA:
        return replace(own, holm_p_value=adjusted)
    return replace(
        own,
        verdict=VerdictKind.INCONCLUSIVE,
        holm_p_value=adjusted,
        rule=f"{own.rule}; {own.verdict.value} on its own, but p = {adjusted:.3g} after Holm over "
        f"{tests} tests",
    )
