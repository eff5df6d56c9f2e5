"""The image sets that studies make themselves: made once, always the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nht_train.images.spurious import Layout
from nht_train.images.synthetic import write_spurious_set

SEED = 2603
COMPLETE = ".complete"
TOY_COUNTS = (40, 20, 40)


@dataclass(frozen=True)
class SyntheticSet:
    """One set.

    Attributes:
        folder: below the data directory.
        layout: whose files it has.
        separation: as in :func:`nht_train.images.synthetic.stripes_on_tint`.
        correlation: of target and attribute in training.
    """

    folder: str
    layout: Layout
    separation: float
    correlation: float = 0.95
    counts: tuple[int, int, int] = (2000, 400, 1000)
    size: int = 32
    contrast: float = 15.0
    tint: float = 60.0


def make_sets(sets: Sequence[SyntheticSet], data: Path, *, toy: bool) -> None:
    """Write the sets that are not there yet; a toy one has fewer images."""
    for one in sets:
        folder = data / one.folder
        if (folder / COMPLETE).exists():
            continue
        write_spurious_set(
            folder,
            one.layout,
            counts=TOY_COUNTS if toy else one.counts,
            correlation=one.correlation,
            size=one.size,
            contrast=one.contrast,
            tint=one.tint,
            separation=one.separation,
            seed=SEED,
        )
        (folder / COMPLETE).touch()
