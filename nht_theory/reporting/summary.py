"""The three questions a report answers, in words and numbers: when, does it hold, what to cite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import EventStatus, VerdictKind
from nht_theory.forecasting.backtest import ScoredForecast
from nht_theory.reporting.content import ReportContent
from nht_theory.runs.configurations import REMEDY


@dataclass(frozen=True)
class ClaimList:
    """The claims of one verdict.

    Example:
        >>> print(ClaimList(VerdictKind.NOT_APPLICABLE, ("P1", "law")))
        Not applicable: P1, law.
    """

    verdict: VerdictKind
    claims: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.heading}: {', '.join(self.claims)}."

    @property
    def heading(self) -> str:
        """The verdict, as a sentence begins."""
        return self.verdict.capitalize()


@dataclass(frozen=True)
class Answer:
    """One question with its answer: a headline and the sentences that qualify it.

    Attributes:
        question, headline: in words.
        sentences: what qualifies the headline.
        claims: claims by verdict, which follow the sentences.
    """

    question: str
    headline: str
    sentences: tuple[str, ...]
    claims: tuple[ClaimList, ...] = ()


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    Example:
        >>> plural(1, "run"), plural(284, "run"), plural(2, "analysis")
        ('1 run', '284 runs', '2 analyses')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-2] + 'es' if noun.endswith('sis') else noun + 's'}"


def in_digits(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, whole from 1,000 on.

    Example:
        >>> in_digits(2648.31), in_digits(0.00140177), in_digits(0.95114, 4)
        ('2,648', '0.0014', '0.9511')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def answers(content: ReportContent) -> tuple[Answer, Answer, Answer]:
    """The answers to the three questions, in order."""
    return _when(content), _holds(content), _cite(content)


def _when(content: ReportContent) -> Answer:
    estimates = content.estimated.estimates
    question = "When do these networks leave their shortcut?"
    if not estimates:
        return Answer(question, "No run was read", ("What was left out is listed below.",))
    delays = [e.delay for e in estimates if e.delay is not None]
    logged = [e for e in estimates if not e.unknown]
    if not logged:
        said = f"{plural(len(estimates), 'run')} with norms but without a held-out accuracy."
        return Answer(question, "No accuracy is logged: only norms can be judged", (said,))
    switched = sum(not e.censored for e in logged)
    memorized = _counted([e.memorization_status for e in estimates])
    sentences = [
        f"{memorized} memorised; {switched} generalised; "
        f"{len(logged) - switched} had not when last seen (censored, and counted as such)."
    ]
    lost = [e.run for e in estimates if e.collapse_step is not None]
    if lost:
        sentences.append(
            f"Lost again what was memorised, and censored there: {', '.join(lost[:3])}"
            f"{f' and {len(lost) - 3} more' if len(lost) > 3 else ''}."
        )
    if len(logged) < len(estimates):
        sentences.append(
            f"Unknown, for want of a held-out accuracy: {len(estimates) - len(logged)}."
        )
    sentences += _forecast_sentences(content.forecasts)
    if content.forecasts_note:
        sentences.append(content.forecasts_note)
    if not delays:
        headline = f"{switched} of {len(logged)} switched; no delay could be measured"
        return Answer(question, headline, tuple(sentences))
    low, middle, high = np.quantile(delays, [0.25, 0.5, 0.75])
    headline = f"{middle:,.0f} steps after memorising (median of {len(delays)})"
    sentences.insert(0, f"Half of the delays seen lie between {low:,.0f} and {high:,.0f} steps.")
    return Answer(question, headline, tuple(sentences))


def _counted(statuses: Sequence[EventStatus]) -> str:
    """How many reached an event, of those that tell, and how many do not tell.

    Example:
        >>> _counted([EventStatus.REACHED, EventStatus.CENSORED, EventStatus.UNKNOWN])
        '1 of 2 runs (of 1 more it is unknown)'
    """
    counts = Counter(statuses)
    unknown = counts[EventStatus.UNKNOWN]
    told = plural(len(statuses) - unknown, "run")
    more = f" (of {unknown} more it is unknown)" if unknown else ""
    return f"{counts[EventStatus.REACHED]} of {told}{more}"


def _forecast_sentences(forecasts: tuple[ScoredForecast, ...]) -> list[str]:
    if not forecasts:
        return []
    errors = [abs(f.relative_error) for f in forecasts if f.relative_error is not None]
    judged = [f.inside for f in forecasts if f.inside is not None]
    refused = sum(f.forecast.median is None for f in forecasts)
    said = [f"{plural(len(forecasts), 'forecast')} at memorisation, {refused} refused."]
    if errors:
        said.append(
            f"They missed the delay by {np.median(errors):.0%} at the median; "
            f"{sum(judged)} of {len(judged)} fell into their 90 % interval."
        )
    return said


def _holds(content: ReportContent) -> Answer:
    question = "Does the theory hold for them?"
    counts = Counter(verdict.verdict for verdict in content.verdicts)
    configurations = content.estimated.study.configurations
    if not configurations.known:
        said = f"{configurations}; {REMEDY}."
        return Answer(question, "No claim can be judged: the settings are unknown", (said,))
    if not content.verdicts or counts[VerdictKind.NOT_APPLICABLE] == len(content.verdicts):
        headline = "No claim can be judged on these data"
        return Answer(question, headline, ("Each claim below says what it would need.",))
    headline = ", ".join(f"{counts[kind]} {kind}" for kind in VerdictKind if counts[kind])
    listed = (
        ClaimList(kind, tuple(v.claim for v in content.verdicts if v.verdict is kind))
        for kind in VerdictKind
    )
    return Answer(question, headline, (), tuple(one for one in listed if one.claims))


def _cite(content: ReportContent) -> Answer:
    study, thresholds = content.estimated.study, content.estimated.thresholds
    records, runs = len(study.records), len(study.runs)
    repeats = sum(len(merge.repeats) for merge in study.merges)
    censored = sum(estimate.censored for estimate in content.estimated.estimates)
    unknown = sum(estimate.unknown for estimate in content.estimated.estimates)
    sentences = [
        f"Read: {plural(records, 'record')}; {plural(repeats, 'repeat')} merged; "
        f"{len(study.without_trajectory)} without a log; {len(study.left_out)} left out.",
        f"Thresholds: training {thresholds.train_accuracy:g}, "
        f"held-out {thresholds.heldout_accuracy:g}, "
        f"held for {plural(thresholds.persistence, 'evaluation')}.",
        f"Ready to paste: nht cite {study.source}",
    ]
    headline = f"n = {plural(runs, 'distinct run')}, {censored} censored"
    headline += f", {unknown} unknown" if unknown else ""
    return Answer("What may be cited?", headline, tuple(sentences))


def effect(verdict: Verdict, *, named: bool = True, coverage: bool = True) -> str:
    """The statistic with its interval, in words and numbers; "" when there is none.

    Args:
        verdict: of a claim.
        named: whether to say what the statistic is.
        coverage: whether to say that of the interval.
    """
    if verdict.statistic is None:
        return ""
    interval = verdict.interval
    around = ""
    if interval is not None:
        around = f" [{in_digits(interval.low)}, {in_digits(interval.high)}]"
        around += f" ({interval.coverage:.0%})" if coverage else ""
    name = f" ({verdict.statistic_name})" if named and verdict.statistic_name else ""
    return f"{in_digits(verdict.statistic, 4)}{around}{name}"


def stability_in_words(verdict: Verdict) -> str:
    """Whether the verdict depends on the thresholds, in words; "" when it was judged at one only.

    Example:
        >>> from nht_theory.conventions import Thresholds
        >>> from nht_theory.claims.verdict import ThresholdVerdict
        >>> told = (ThresholdVerdict(Thresholds(0.8, 0.8), VerdictKind.SUPPORTED),
        ...         ThresholdVerdict(Thresholds(0.9, 0.9), VerdictKind.INCONCLUSIVE))
        >>> own = Verdict("a", VerdictKind.SUPPORTED, 1.0, "s", None, None, 5, 0, "rule",
        ...               stability=told)
        >>> stability_in_words(own)
        'inconclusive at (0.9, k = 1); supported at the other 1'
    """
    settings: dict[VerdictKind, list[str]] = {}
    for at in verdict.stability:
        settings.setdefault(at.verdict, []).append(f"({at.setting})")
    if len(settings) == 1:
        return f"{next(iter(settings))} at all {len(verdict.stability)} of them"
    same = settings.pop(verdict.verdict, [])
    changed = [f"{kind} at {', '.join(names)}" for kind, names in settings.items()]
    rest = [f"{verdict.verdict} at the other {len(same)}"] if same else []
    return "; ".join([*changed, *rest])
