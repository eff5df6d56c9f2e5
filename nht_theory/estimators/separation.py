"""Separation score S and sharpness W: does a norm threshold tell shortcut from structure?

phi is the reliance on the shortcut, between 0 and 1. S is Somers' D of V given phi over the
pooled checkpoints: 1 when V orders the two sides perfectly, 0 when it knows nothing, negative
when the order is inverted. A clock orders them too, since the shortcut comes first, so S is given
beside that of a clock (the placebo). W is how long phi takes to fall, relative to the delay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nht_theory.estimators import norms
from nht_theory.estimators.results import Estimate, Missing, RunEstimate, Unavailable
from nht_theory.inference.binomial import median_estimate
from nht_theory.inference.concordance import (
    GroupScore,
    clustered_difference,
    clustered_somers_d,
    group_score,
    somers_d,
)
from nht_theory.runs import columns
from nht_theory.runs.run import Run, Series

SPLIT = 0.5
"""phi above it counts as shortcut, below as structured."""
CLOCKS = ("time since memorisation", "training step")
DECAY_CLOCK = "time since memorisation times eta lambda"
"""A clock that also differs from the others where weight decays are pooled."""
ALL_CLOCKS = (*CLOCKS, DECAY_CLOCK)
NOT_MEASURED = Missing(Unavailable.NO_COLUMN, "not measured")


@dataclass(frozen=True)
class Separation:
    """S and W of a set of runs.

    Attributes:
        score: S with its interval over whole runs.
        sharpness: W, median over the runs, with its interval.
        reliance: where phi came from.
        shortcut_seen, structured_seen: which sides of phi the checkpoints show.
        runs: names of the runs whose checkpoints entered.
        placebo: S of a clock in the place of V, with its interval.
        clock: which clock, the one of :data:`CLOCKS` that orders the sides best.
        gain: S of V less that of the clock over pairs of two runs, with its interval. Within a
            run every clock is in order, and a level of V need not hold for other runs.
        within: S over pairs of two runs with its variance between them; None where no two runs
            can be compared.
    """

    score: Estimate | Missing
    sharpness: Estimate | Missing
    reliance: str
    shortcut_seen: bool
    structured_seen: bool
    runs: tuple[str, ...] = ()
    placebo: Estimate | Missing = NOT_MEASURED
    clock: str = ""
    gain: Estimate | Missing = NOT_MEASURED
    within: GroupScore | None = None


def shortcut_reliance(run: Run) -> tuple[Series, str] | Missing:
    """phi of a run, shape [n], and where it came from.

    - with a shortcut test set: (shortcut - structured) accuracy, halved and shifted to [0, 1];
    - else (train - held-out accuracy) over the train accuracy, clipped to [0, 1]: one while
      nothing that was memorised transfers, zero once all of it does.

    Source: THEORY.md section 8 (normalisations chosen here).

    Example:
        >>> run = Run("r", None, np.arange(2), {"train_accuracy": np.array([1.0, 1.0]),
        ...                                     "heldout_accuracy": np.array([0.25, 1.0])})
        >>> shortcut_reliance(run)
        (array([0.75, 0.  ]), '(train - held-out accuracy) / train accuracy')
    """
    if run.has(columns.SHORTCUT_ACCURACY, columns.HELDOUT_ACCURACY):
        gap = run.column(columns.SHORTCUT_ACCURACY) - run.column(columns.HELDOUT_ACCURACY)
        return (1 + gap) / 2, "(1 + shortcut - held-out accuracy) / 2"
    if run.has(columns.TRAIN_ACCURACY, columns.HELDOUT_ACCURACY):
        train = run.column(columns.TRAIN_ACCURACY)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (train - run.column(columns.HELDOUT_ACCURACY)) / train
        return np.clip(share, 0.0, 1.0), "(train - held-out accuracy) / train accuracy"
    return Missing(Unavailable.NO_COLUMN, "accuracies that tell the shortcut from the structure")


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of some runs since they memorised, all arrays float64 of shape [n].

    Attributes:
        squared_norm: V.
        side: one for a shortcut checkpoint, zero for a structured one.
        clocks: name of a clock -> minus its time, so that early counts as high.
        run: name of the run of each checkpoint.
        unit: what the run of each checkpoint is a replicate of.
        widths: fall width over delay of each run that has both.
        reliance: where phi came from.
    """

    squared_norm: Series
    side: Series
    clocks: Mapping[str, Series]
    run: tuple[str, ...]
    unit: tuple[str, ...]
    widths: tuple[float, ...]
    reliance: str


def separation(
    pairs: Sequence[tuple[Run, RunEstimate]],
    *,
    clocks: Sequence[str] = CLOCKS,
    unit_of: Callable[[Run], str] = lambda run: run.name,
) -> Separation:
    """S and W over the pooled checkpoints of some runs, from memorisation on.

    Args:
        pairs: runs of one configuration (pooling others would compare V across settings), each
            with its estimates.
        clocks: the placebos; the one that orders the sides best is taken, so that the gain of V
            over it is, if anything, too small.
        unit_of: a run -> the independent unit that the intervals count: the run itself, or its
            configuration where several are pooled.

    Returns:
        S is Missing(ONE_SIDED) where only one side of phi is ever seen.

    Source: THEORY.md section 8; Somers 1962.
    """
    seen = checkpoints(pairs, unit_of)
    known = Separation(
        score=_one_sided(seen.side),
        sharpness=_sharpness(seen.widths),
        reliance=seen.reliance,
        shortcut_seen=bool((seen.side == 1).any()),
        structured_seen=bool((seen.side == 0).any()),
        runs=tuple(dict.fromkeys(seen.run)),
    )
    if not (known.shortcut_seen and known.structured_seen):
        return replace(known, placebo=known.score, gain=known.score)
    best = max(clocks, key=lambda name: somers_d(seen.clocks[name], seen.side))
    time = seen.clocks[best]
    within = group_score(seen.squared_norm, seen.side, seen.unit)
    return replace(
        known,
        score=clustered_somers_d(seen.squared_norm, seen.side, seen.unit),
        placebo=clustered_somers_d(time, seen.side, seen.unit),
        clock=best,
        gain=Missing(Unavailable.ONE_SIDED, "no two runs to compare")
        if within is None
        else clustered_difference(seen.squared_norm, time, seen.side, seen.unit),
        within=within,
    )


def checkpoints(
    pairs: Sequence[tuple[Run, RunEstimate]], unit_of: Callable[[Run], str]
) -> Checkpoints:
    """The checkpoints that S is computed from, of the runs that memorise and log V and phi."""
    columns_of: dict[str, list[Series]] = {name: [] for name in ("V", "phi", *ALL_CLOCKS)}
    names: list[str] = []
    units: list[str] = []
    widths, origin = [], ""
    for run, own in pairs:
        reliance = shortcut_reliance(run)
        if isinstance(reliance, Missing) or not run.has(columns.SQUARED_NORM):
            continue
        phi, origin = reliance
        if own.memorization_step is None:
            continue
        keep = (
            norms.usable(run.squared_norm) & np.isfinite(phi) & (run.steps >= own.memorization_step)
        )
        steps, phi = run.steps[keep].astype(np.float64), phi[keep]
        since = steps - own.memorization_step
        speed = _learning_rate(run) * (run.hyperparameters.weight_decay or 0.0)
        own_columns = (run.squared_norm[keep], phi, -since, -steps, -speed * since)
        for kept, column in zip(columns_of.values(), own_columns, strict=True):
            kept.append(column)
        names.extend([run.name] * int(keep.sum()))
        units.extend([unit_of(run)] * int(keep.sum()))
        width = fall_width(steps, phi)
        if width is not None and own.delay:
            widths.append(width / own.delay)
    joined = {name: np.concatenate([np.zeros(0), *kept]) for name, kept in columns_of.items()}
    return Checkpoints(
        squared_norm=joined["V"],
        side=(joined["phi"] > SPLIT).astype(np.float64),
        clocks={name: joined[name] for name in ALL_CLOCKS},
        run=tuple(names),
        unit=tuple(units),
        widths=tuple(widths),
        reliance=origin,
    )


def _learning_rate(run: Run) -> float:
    """eta; one where it is unknown, which orders the runs of equal settings as well."""
    known = run.hyperparameters.learning_rate
    return 1.0 if known is None else known


def _one_sided(side: Series) -> Missing:
    if not side.size:
        return Missing(Unavailable.NO_COLUMN, "checkpoints since memorisation with V and phi")
    seen = "shortcut" if side[0] else "structured"
    return Missing(Unavailable.ONE_SIDED, f"only {seen} checkpoints since memorisation")


def _sharpness(widths: Sequence[float]) -> Estimate | Missing:
    if not widths:
        return Missing(Unavailable.NEVER_REACHED, "a fall of phi from 0.9 to 0.1 after memorising")
    return median_estimate(list(widths), unit="1")


def fall_width(steps: Series, phi: Series) -> float | None:
    """Steps in which phi falls from 90 % to 10 % of the way between its highest and lowest level.

    The passages are interpolated linearly: the last time above the upper level, the first time
    below the lower one after it.

    Returns:
        None where phi does not fall through both.

    Example:
        >>> fall_width(np.array([0.0, 100, 200, 300]), np.array([1.0, 1.0, 0.0, 0.0]))
        80.0
    """
    if phi.size < 2:
        return None
    lowest, highest = float(phi.min()), float(phi.max())
    upper = lowest + 0.9 * (highest - lowest)
    lower = lowest + 0.1 * (highest - lowest)
    above = np.flatnonzero(phi >= upper)
    if highest == lowest or not above.size or above[-1] == phi.size - 1:
        return None
    last = int(above[-1])
    below = np.flatnonzero(phi[last:] <= lower)
    if not below.size:
        return None
    first = last + int(below[0])
    start = _passage(steps, phi, last, upper)
    end = _passage(steps, phi, first - 1, lower)
    return end - start


def _passage(steps: Series, phi: Series, before: int, level: float) -> float:
    """Where phi, linear from ``before`` to the next point, falls through ``level``."""
    share = (phi[before] - level) / (phi[before] - phi[before + 1])
    return float(steps[before] + share * (steps[before + 1] - steps[before]))
