"""Waterbirds and CelebA: a target, a spurious attribute, and accuracy per group of the two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge
from torch import nn

from nht_theory.runs import columns
from nht_train.images.arrays import LabelledImages, data_hash
from nht_train.images.files import read_images
from nht_train.images.spurious import Split, SpuriousTable, read_spurious_set
from nht_train.seeds import derived_seed
from nht_train.tasks.image_batches import EpochBatches, ImageTensors, Standardization, answers
from nht_train.tasks.logit_scale import LogitScale
from nht_train.tasks.task import Task

Size = Annotated[int, Ge(4)]


def waterbirds(*, path: str, image_size: Size = 224, batch_size: int, seed: int) -> Task:
    """Waterbird or landbird, on water or on land.

    Args:
        path: the folder with ``metadata.csv``, or the one above it.
        image_size: the images are resized to a square of this size.
        batch_size: images in a batch.
        seed: of the order of the batches.

    Raises:
        InputError: the layout is not complete; file, line and key are named.
    """
    table = read_spurious_set(Path(path))
    return _task("waterbirds", table, Path(path).name, image_size, batch_size, seed)


def celeba(
    *,
    path: str,
    target: str = "Smiling",
    attribute: str = "Blond_Hair",
    image_size: Size = 64,
    batch_size: int,
    seed: int,
) -> Task:
    """A facial attribute that correlates with another one.

    Args:
        path: the folder in any of CelebA's four layouts.
        target, attribute: which attributes; used where the layout holds all forty.
        image_size: the images are resized to a square of this size.
        batch_size: images in a batch.
        seed: of the order of the batches.

    Raises:
        InputError: the layout is not complete; file, line and key are named.
    """
    table = read_spurious_set(Path(path), target=target, attribute=attribute)
    return _task("celeba", table, Path(path).name, image_size, batch_size, seed)


def _task(
    name: str, table: SpuriousTable, folder: str, image_size: int, batch_size: int, seed: int
) -> Task:
    def labelled(split: Split) -> LabelledImages:
        images = read_images(table.paths(split), image_size)
        return LabelledImages(images, table.target[table.split == split])

    train, test = labelled(Split.TRAIN), labelled(Split.TEST)
    standardize = Standardization.of(train.images)
    train_data, test_data = ImageTensors.of(train), ImageTensors.of(test)
    groups = table.group[table.split == Split.TEST]

    def evaluate(model: nn.Module) -> dict[str, float]:
        scale = LogitScale()
        train_loss, train_answers = answers(model, train_data, standardize, scale)
        loss, given = answers(model, test_data, standardize)
        right = given == test_data.labels.numpy()
        values = {
            columns.TRAIN_LOSS: train_loss,
            columns.TRAIN_ACCURACY: float(np.mean(train_answers == train_data.labels.numpy())),
            columns.HELDOUT_LOSS: loss,
            columns.HELDOUT_ACCURACY: float(right.mean()),
            columns.LOGIT_SCALE: scale.value,
        }
        accuracies = []
        for number, group in enumerate(table.group_names()):
            members = groups == number
            values[columns.of_group(columns.GROUP_COUNT, group)] = float(members.sum())
            if members.any():
                accuracies.append(float(right[members].mean()))
                values[columns.of_group(columns.GROUP_ACCURACY, group)] = accuracies[-1]
        values[columns.WORST_GROUP_ACCURACY] = min(accuracies)
        return values

    return Task(
        name=name,
        batches=EpochBatches(
            train_data, standardize, batch_size, seed=derived_seed(seed, "batches")
        ),
        evaluate=evaluate,
        model_arguments={"classes": 2},
        data_hash=data_hash(train.images, train.labels, test.images, test.labels, groups),
        facts={
            "data_set": folder,  # variants of a set are not replicates of one another
            "layout": str(table.layout),
            "image_size": image_size,
            "target": table.target_name,
            "attribute": table.attribute_name,
            "train_images": len(train),
        },
    )
