"""What the norm did and what was learnt, configuration by configuration, for P2.

The two labels are read from different columns: neither contains the other, nor the weight decay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from nht_theory.claims import selection
from nht_theory.estimators.norms import usable
from nht_theory.estimators.regime import SUPPRESSION
from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates
from nht_theory.estimators.rise_and_fall import rise_and_fall
from nht_theory.runs.run import Run

Label = TypeVar("Label", bound=StrEnum)


class Norm(StrEnum):
    """What V did over training."""

    GROWS = "the norm grows"
    PEAKS = "the norm peaks and falls"
    SUPPRESSED = "the norm is suppressed"
    OTHER = "the norm does none of these"


class Learning(StrEnum):
    """What the accuracies did."""

    PERSISTS = "the shortcut persists"
    DELAYED = "the switch is delayed"
    NEVER = "the data are not memorised"
    OTHER = "learning does none of these"


@dataclass(frozen=True)
class Configuration:
    """Both labels of one configuration: those of more than half of its runs.

    Attributes:
        label: all its settings.
        block: all its settings but the weight decay.
        weight_decay: of its runs.
        norm, learning: OTHER where no label has more than half of the runs.
        runs: names of the runs that both labels were read from.
    """

    label: str
    block: str
    weight_decay: float
    norm: Norm
    learning: Learning
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Labelled:
    """The configurations of a study, and the runs that could not be labelled, with the reason."""

    configurations: tuple[Configuration, ...]
    left_out: tuple[str, ...]


def norm_behaviour(run: Run) -> Norm | Missing:
    """Whether V grew, peaked, or was suppressed.

    It is suppressed when it has no peak and ends below half of the first V that is logged, that
    of the initialisation where there is one; it grows when it rises beyond its noise, does not
    fall again, and is not suppressed.

    Example:
        >>> import numpy as np
        >>> steps = np.arange(9)
        >>> norm_behaviour(Run("r", None, steps, {"squared_norm": np.exp(steps)})).value
        'the norm grows'
    """
    found = rise_and_fall(run)
    if isinstance(found, Missing):
        return found
    if found.peak_step is not None:
        return Norm.PEAKS
    series = run.squared_norm[usable(run.squared_norm)]
    if series[-1] < SUPPRESSION * series[0]:
        return Norm.SUPPRESSED
    return Norm.GROWS if found.rises else Norm.OTHER


def labelled(study: StudyEstimates) -> Labelled:
    """Label every configuration whose weight decay, accuracies and norm are known.

    A run that was not seen to memorise, or to generalise, is labelled by it only if it was
    watched for as long as the slowest run of its block that did; a shorter one may have been
    stopped too early, and is left out.
    """
    left_out: Counter[str] = Counter()
    known: list[selection.Pair] = []
    for run, own in study.pairs():
        if own.memorization is None or own.generalization is None:
            left_out["accuracies are not logged"] += 1
        elif run.hyperparameters.weight_decay is None:
            left_out["the weight decay is not known"] += 1
        else:
            known.append((run, own))
    groups: dict[str, list[tuple[Run, Norm, Learning]]] = {}
    for block in _by_block(known).values():
        slowest = _slowest(own for _, own in block)
        for run, own in block:
            norm, learning = norm_behaviour(run), learning_behaviour(own, *slowest)
            if isinstance(norm, Missing):
                left_out[f"V: {norm.reason.value}"] += 1
            elif learning is None:
                left_out["stopped before the slowest run of its block that switched"] += 1
            else:
                groups.setdefault(selection.stratum(run), []).append((run, norm, learning))
    return Labelled(
        tuple(_configuration(label, own) for label, own in groups.items()),
        tuple(f"{count} runs: {why}" for why, count in left_out.items()),
    )


def learning_behaviour(
    own: RunEstimate, slowest_memorization: int, slowest_generalization: int
) -> Learning | None:
    """What a run learnt; None where it was stopped too early to tell.

    Args:
        own: estimates of a run that logs both accuracies.
        slowest_memorization, slowest_generalization: last step at which a run of the block did.
    """
    assert own.memorization is not None  # the caller selects runs that log it
    assert own.generalization is not None
    if own.generalization_step is not None:
        # held-out accuracy without memorisation is no shortcut that was left
        delayed = own.delay is not None and own.delay > 0
        return Learning.DELAYED if delayed else Learning.OTHER
    if own.memorization_step is None:
        enough = own.memorization.earlier_step >= slowest_memorization
        return Learning.NEVER if enough else None
    enough = own.generalization.earlier_step >= slowest_generalization
    return Learning.PERSISTS if enough else None


def _by_block(pairs: Iterable[selection.Pair]) -> dict[str, list[selection.Pair]]:
    return selection.by_configuration(pairs, without=("weight_decay",))


def _slowest(estimates: Iterable[RunEstimate]) -> tuple[int, int]:
    """Last step at which a run memorised, and at which one generalised; 0 where none did."""
    own = list(estimates)
    return (
        max((one.memorization_step or 0 for one in own), default=0),
        max((one.generalization_step or 0 for one in own), default=0),
    )


def _configuration(label: str, own: list[tuple[Run, Norm, Learning]]) -> Configuration:
    run = own[0][0]
    decay = run.hyperparameters.weight_decay
    assert decay is not None  # the caller selects runs that have one
    return Configuration(
        label=label,
        block=selection.stratum(run, "weight_decay"),
        weight_decay=decay,
        norm=_of_most([norm for _, norm, _ in own], Norm.OTHER),
        learning=_of_most([learning for _, _, learning in own], Learning.OTHER),
        runs=tuple(run.name for run, _, _ in own),
    )


def _of_most(labels: list[Label], otherwise: Label) -> Label:
    """The label of more than half; ``otherwise`` where none is."""
    label, count = Counter(labels).most_common(1)[0]
    return label if 2 * count > len(labels) else otherwise
