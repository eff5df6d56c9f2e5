"""Which runs enter a test, and how they are grouped into configurations and strata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from nht_theory.conventions import EventStatus
from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates
from nht_theory.runs.run import Run

Pair = tuple[Run, RunEstimate]
SEPARATOR, EQUALS = ", ", "="


class Stratum(str):
    """Settings that runs share: what a comparison holds equal, and its label.

    The label is made from the settings and not read again. A value that holds "=" (and a name that
    holds "=" or ",") is quoted in it, so that two labels are equal only where the settings are.

    Attributes:
        settings: (name, value as text) pairs, sorted by name.

    Example:
        >>> one, other = Stratum([("task", "a, p=3")]), Stratum([("p", "3"), ("task", "a")])
        >>> print(one, "|", other)
        task='a, p=3' | p=3, task=a
        >>> one.settings, one == other
        ((('task', 'a, p=3'),), False)
    """

    settings: tuple[tuple[str, str], ...]

    def __new__(cls, settings: Iterable[tuple[str, str]]) -> Self:
        """Make the label of these settings."""
        pairs = tuple(settings)
        own = super().__new__(
            cls,
            SEPARATOR.join(
                f"{_quoted(name, EQUALS + ',')}={_quoted(value, EQUALS)}" for name, value in pairs
            ),
        )
        own.settings = pairs
        return own

    def __reduce__(self) -> tuple[type[Stratum], tuple[tuple[tuple[str, str], ...]]]:
        """What pickle and copy make it from."""
        return Stratum, (self.settings,)


def _quoted(text: str, marks: str) -> str:
    return repr(text) if any(mark in text for mark in marks) else text


def delayed(study: StudyEstimates) -> list[Pair]:
    """Runs that memorise and generalise at a later evaluation."""
    return [(run, own) for run, own in study.pairs() if own.delay is not None and own.delay > 0]


def memorized_but_censored(study: StudyEstimates) -> list[Pair]:
    """Runs that memorise and had not generalised when last seen (right-censored)."""
    return [
        (run, own)
        for run, own in study.pairs()
        if own.memorization_step is not None and own.censored
    ]


def with_transition(study: StudyEstimates) -> list[Pair]:
    """Runs that leave a shortcut solution, or have one to leave: they memorise, and generalise at
    a later evaluation or had not when last seen. A run that logs no training or no held-out
    accuracy may have had no transition at all, and is not among them."""
    return [
        (run, own)
        for run, own in study.pairs()
        if own.memorization_step is not None
        and not own.unknown
        and (own.delay is None or own.delay > 0)
    ]


def of_unknown_transition(study: StudyEstimates) -> list[Pair]:
    """Runs that do not say whether they had a transition: an accuracy is not logged, and what is
    logged does not settle it (a run that never memorises has none, whatever the other says)."""
    return [
        (run, own)
        for run, own in study.pairs()
        if EventStatus.UNKNOWN in (own.memorization_status, own.generalization_status)
        and own.memorization_status is not EventStatus.CENSORED
    ]


def norm_ratio(own: RunEstimate) -> float | None:
    """V_mem / V_star of one run; None where either is missing."""
    first, last = own.squared_norm_memorization, own.squared_norm_generalization
    if isinstance(first, Missing) or isinstance(last, Missing):
        return None
    return first.value / last.value


def by_configuration(
    pairs: Iterable[Pair], *, without: tuple[str, ...] = ()
) -> dict[str, list[Pair]]:
    """Pairs grouped by their configuration, in order of first appearance."""
    groups: dict[str, list[Pair]] = {}
    for run, own in pairs:
        groups.setdefault(stratum(run, *without), []).append((run, own))
    return groups


def varying_settings(study: StudyEstimates) -> tuple[str, ...]:
    """Settings that differ between the runs of a study: the ones worth printing."""
    seen: dict[str, set[str]] = {}
    for run in study.study.runs:
        for name, value in run.hyperparameters.configuration():
            seen.setdefault(name, set()).add(value)
    return tuple(sorted(name for name, values in seen.items() if len(values) > 1))


def described(run: Run, settings: tuple[str, ...]) -> str:
    """A run's name with the settings that tell it from the others, and its seed."""
    own = dict(run.hyperparameters.configuration())
    parts = [f"{name}={own[name]}" for name in settings if name in own]
    if run.hyperparameters.seed is not None:
        parts.append(f"seed={run.hyperparameters.seed}")
    return f"{run.name} ({', '.join(parts)})" if parts else run.name


def shortened(own: str, settings: tuple[str, ...]) -> str:
    """A stratum's label with only the settings that vary in the study; another label as it is.

    Example:
        >>> adamw = Stratum([("optimizer", "adamw"), ("p", "97"), ("weight_decay", "1.0")])
        >>> shortened(adamw, ("weight_decay",))
        'weight_decay=1.0'
    """
    if not isinstance(own, Stratum):
        return own
    return Stratum(pair for pair in own.settings if pair[0] in settings) or "all runs"


def setting(run: Run, *names: str) -> object | None:
    """A setting by any of its names, also where the source nests it (``model.width``)."""
    for name in names:
        own: object = getattr(run.hyperparameters, name, None)
        if own is not None:
            return own
        for key, value in run.hyperparameters.extra.items():
            if key == name or key.endswith(f".{name}"):
                return value
    return None


def number(run: Run, *names: str) -> float | None:
    """A setting as a number; None where it is absent or no number."""
    value = setting(run, *names)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def stratum(run: Run, *names: str) -> Stratum:
    """All settings but those named (at any depth of nesting): what a comparison holds equal."""
    return Stratum(
        (key, value)
        for key, value in run.hyperparameters.configuration()
        if not any(key == name or key.endswith(f".{name}") for name in names)
    )


def block(run: Run, *names: str) -> str:
    """A stratum with the seed: runs that differ in nothing but the settings named."""
    return f"{stratum(run, *names)} seed={run.hyperparameters.seed}"


def last_value(run: Run, column: str) -> float | None:
    """The last finite value of a column; None where it is not logged."""
    if not run.has(column):
        return None
    series = run.column(column)
    return float(series[np.isfinite(series)][-1])
