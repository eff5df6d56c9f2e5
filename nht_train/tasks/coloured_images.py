"""Natural images with a coloured border per class: a shortcut of chosen strength.

The setting of arXiv 2603.07323 (coloured CIFAR-10). Four test sets tell what was learned; see
:class:`nht_train.images.borders.ColouredSets`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le
from torch import nn

from nht_theory.runs import columns
from nht_train.images.arrays import LabelledImages, data_hash, evenly_spaced
from nht_train.images.borders import colour_sets
from nht_train.images.classification import read_classification_set
from nht_train.seeds import derived_seed
from nht_train.tasks.image_batches import EpochBatches, ImageTensors, Standardization, answers
from nht_train.tasks.logit_scale import LogitScale
from nht_train.tasks.task import Task


def coloured_images(
    *,
    path: str,
    shortcut_strength: Annotated[float, Ge(0), Le(1)] = 0.95,
    border_width: Annotated[int, Ge(0)] = 2,
    image_size: int | None = None,
    train_images: Annotated[int, Ge(1)] | None = None,
    test_images: Annotated[int, Ge(1)] | None = None,
    train_evaluation: Annotated[int, Ge(1)] = 2000,
    download: bool = False,
    batch_size: int,
    seed: int,
) -> Task:
    """Classify natural images whose border colour gives the class away, most of the time.

    Args:
        path: CIFAR-10 from torchvision, an ``.npz``, or class folders.
        shortcut_strength: rho, the probability of the right colour in training.
        border_width: in pixels.
        image_size: average the images down to this size; None keeps theirs.
        train_images, test_images: use so many, evenly spaced; None uses all.
        train_evaluation: training images on which the training accuracy is measured (evenly
            spaced; all of them when there are fewer).
        download: fetch CIFAR-10 when it is not there.
        batch_size: images in a batch.
        seed: of the borders and of the batches.

    Raises:
        InputError: the images cannot be read, or an option is out of range.
    """
    sets = colour_sets(
        read_classification_set(Path(path), download=download).thinned(train_images, test_images),
        strength=shortcut_strength,
        border_width=border_width,
        image_size=image_size,
        seed=derived_seed(seed, "borders"),
    )
    standardize = Standardization.of(sets.train.images)
    part = evenly_spaced(len(sets.train), train_evaluation)
    conflicting = (sets.train_borders != sets.train.labels)[part]
    train_part = ImageTensors.of(LabelledImages(sets.train.images[part], sets.train.labels[part]))
    tests = {
        columns.COLOURED_ACCURACY: ImageTensors.of(sets.coloured),
        columns.HELDOUT_ACCURACY: ImageTensors.of(sets.clean),
        columns.SHORTCUT_ACCURACY: ImageTensors.of(sets.shortcut),
        columns.CONFLICT_ACCURACY: ImageTensors.of(sets.conflict),
    }

    def evaluate(model: nn.Module) -> dict[str, float]:
        scale = LogitScale()
        loss, answer = answers(model, train_part, standardize, scale)
        right = answer == train_part.labels.numpy()
        values = {
            columns.TRAIN_LOSS: loss,
            columns.TRAIN_ACCURACY: float(right.mean()),
            columns.LOGIT_SCALE: scale.value,
        }
        if conflicting.any():
            values[columns.TRAIN_CONFLICT_ACCURACY] = float(right[conflicting].mean())
        for column, data in tests.items():
            loss, answer = answers(model, data, standardize)
            values[column] = float(np.mean(answer == data.labels.numpy()))
            if column == columns.HELDOUT_ACCURACY:
                values[columns.HELDOUT_LOSS] = loss
            if column == columns.CONFLICT_ACCURACY:
                values[columns.CONFLICT_SHORTCUT_RATE] = float(
                    np.mean(answer == sets.conflict_borders)
                )
        return values

    batches = EpochBatches(
        ImageTensors.of(sets.train), standardize, batch_size, seed=derived_seed(seed, "batches")
    )
    return Task(
        name="coloured_images",
        batches=batches,
        evaluate=evaluate,
        model_arguments={"classes": sets.classes},
        data_hash=data_hash(sets.train.images, sets.train.labels, sets.clean.images),
        facts={
            "shortcut_strength": shortcut_strength,
            "border_width": border_width,
            "image_size": sets.train.images.shape[1],
            "train_images": len(sets.train),
            "test_images": len(sets.clean),
        },
    )
