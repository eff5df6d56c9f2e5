"""Separation score S and sharpness W: does a norm threshold tell shortcut from structure?

phi is the reliance on the shortcut, between 0 and 1. S is Somers' D of V given phi over the
pooled checkpoints: 1 when V orders the two sides perfectly, 0 when it knows nothing, negative
when the order is inverted. W is how long phi takes to fall, relative to the delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.estimators import norms
from nht_theory.estimators.results import Estimate, Missing, RunEstimate, Unavailable
from nht_theory.inference.binomial import median_estimate
from nht_theory.inference.concordance import clustered_somers_d
from nht_theory.runs import columns
from nht_theory.runs.run import Run, Series

SPLIT = 0.5
"""phi above it counts as shortcut, below as structured."""


@dataclass(frozen=True)
class Separation:
    """S and W of a set of runs.

    Attributes:
        score: S with its interval over whole runs.
        sharpness: W, median over the runs, with its interval.
        reliance: where phi came from.
        shortcut_seen, structured_seen: which sides of phi the checkpoints show.
        runs: names of the runs whose checkpoints entered.
    """

    score: Estimate | Missing
    sharpness: Estimate | Missing
    reliance: str
    shortcut_seen: bool
    structured_seen: bool
    runs: tuple[str, ...] = ()


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


def separation(pairs: Sequence[tuple[Run, RunEstimate]]) -> Separation:
    """S and W over the pooled checkpoints of some runs, from memorisation on.

    Args:
        pairs: runs of one configuration (pooling others would compare V across settings), each
            with its estimates.

    Returns:
        S is Missing(ONE_SIDED) where only one side of phi is ever seen.

    Source: THEORY.md section 8; Somers 1962.
    """
    value, side, cluster, widths, origin = [], [], [], [], ""
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
        value.extend(run.squared_norm[keep].tolist())
        side.extend((phi[keep] > SPLIT).astype(float).tolist())
        cluster.extend([run.name] * int(keep.sum()))
        width = fall_width(run.steps[keep].astype(np.float64), phi[keep])
        if width is not None and own.delay:
            widths.append(width / own.delay)
    return Separation(
        score=_score(value, side, cluster),
        sharpness=_sharpness(widths),
        reliance=origin,
        shortcut_seen=1.0 in side,
        structured_seen=0.0 in side,
        runs=tuple(dict.fromkeys(cluster)),
    )


def _score(value: list[float], side: list[float], cluster: list[str]) -> Estimate | Missing:
    if not value:
        return Missing(Unavailable.NO_COLUMN, "checkpoints since memorisation with V and phi")
    if len(set(side)) < 2:
        seen = "shortcut" if side[0] else "structured"
        return Missing(Unavailable.ONE_SIDED, f"only {seen} checkpoints since memorisation")
    return clustered_somers_d(value, side, cluster)


def _sharpness(widths: list[float]) -> Estimate | Missing:
    if not widths:
        return Missing(Unavailable.NEVER_REACHED, "a fall of phi from 0.9 to 0.1 after memorising")
    return median_estimate(widths, unit="1")


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
