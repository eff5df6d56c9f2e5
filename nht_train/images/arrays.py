"""Labelled images in memory: what every reader returns and every task trains on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nht_theory.errors import InputError

Images = NDArray[np.uint8]
Labels = NDArray[np.int64]

MEMORY_LIMIT_BYTES = 8 * 2**30
"""Decoded images above this are refused before memory is taken."""


def evenly_spaced(length: int, count: int | None) -> NDArray[np.intp]:
    """At most ``count`` indices of ``length``, evenly spaced.

    Example:
        >>> evenly_spaced(10, 4), evenly_spaced(2, None)
        (array([0, 2, 5, 7]), array([0, 1]))
    """
    kept = length if count is None else min(count, length)
    return np.arange(kept) * length // max(kept, 1)


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images with their labels.

    Attributes:
        images: uint8, shape [n, height, width, 3].
        labels: class numbers, int64, shape [n].

    Raises:
        InputError: the shapes do not belong together.
    """

    images: Images
    labels: Labels

    def __post_init__(self) -> None:
        if self.images.ndim != 4 or self.images.shape[-1] != 3 or self.images.dtype != np.uint8:
            raise InputError(
                f"images are {self.images.dtype} of shape {self.images.shape}",
                remedy="they must be uint8 of shape [n, height, width, 3]",
            )
        if len(self.images) != len(self.labels):
            raise InputError(f"{len(self.images)} images but {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.images)

    def thinned(self, count: int | None) -> LabelledImages:
        """At most ``count`` images, evenly spaced: many sets are sorted by class; None keeps all.

        Example:
            >>> images = np.zeros((6, 1, 1, 3), dtype=np.uint8)
            >>> LabelledImages(images, np.array([0, 0, 1, 1, 2, 2])).thinned(3).labels
            array([0, 1, 2])
        """
        kept = evenly_spaced(len(self), count)
        return LabelledImages(self.images[kept], self.labels[kept])


@dataclass(frozen=True, eq=False)
class TrainAndTest:
    """The two halves of a classification set.

    Attributes:
        train, test: the halves.
        classes: number of classes.
        layout: which layout was found, in words.
    """

    train: LabelledImages
    test: LabelledImages
    classes: int
    layout: str

    def thinned(self, train: int | None, test: int | None) -> TrainAndTest:
        """At most so many images of each half, evenly spaced; None keeps all."""
        return replace(self, train=self.train.thinned(train), test=self.test.thinned(test))


def check_memory(count: int, height: int, width: int, source: object) -> None:
    """Refuse a set that would not fit, before it is decoded.

    Raises:
        InputError: more than :data:`MEMORY_LIMIT_BYTES`.

    Example:
        >>> check_memory(10_000, 32, 32, "small")
    """
    needed = count * height * width * 3
    if needed > MEMORY_LIMIT_BYTES:
        raise InputError(
            f"{count} images of {height}x{width} need {needed / 2**30:.1f} GiB in memory",
            source=source,
            remedy="choose a smaller image_size",
        )


def data_hash(*arrays: NDArray[np.generic]) -> str:
    """``sha256:hex`` of the arrays' bytes, types and shapes, in their order.

    Example:
        >>> data_hash(np.zeros(2)) == data_hash(np.zeros(2)), data_hash(np.zeros(3))[:7]
        (True, 'sha256:')
    """
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return f"sha256:{digest.hexdigest()}"
