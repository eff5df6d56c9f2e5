"""A finite binary operation as a classification task: the table, split once at random."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nht_theory.errors import InputError
from nht_theory.runs import columns
from nht_train.seeds import derived_seed
from nht_train.tasks.evaluation import loss_and_accuracy
from nht_train.tasks.logit_scale import LogitScale
from nht_train.tasks.task import ReplacementBatches, Task


@dataclass(frozen=True)
class Pairs:
    """The table of an operation.

    Attributes:
        left, right, result: elements as int64 in [0, elements), shape [n].
        elements: size of the set.
    """

    left: Tensor
    right: Tensor
    result: Tensor
    elements: int


def binary_operation_task(
    name: str,
    pairs: Pairs,
    *,
    facts: Mapping[str, object],
    train_fraction: float,
    tokens: int,
    batch_size: int,
    seed: int,
) -> Task:
    """Split a table at random and train on one part.

    Args:
        name: of the task.
        pairs: the table.
        facts: what a run is grouped by.
        train_fraction: ``floor(train_fraction * n)`` pairs are for training.
        tokens: 2 for [left, right]; 3 to append an "equals" token.
        batch_size: pairs in a batch, drawn with replacement.
        seed: of the split and of the batches (two generators).

    Raises:
        InputError: one side of the split is empty.
    """
    inputs = torch.stack((pairs.left, pairs.right), dim=1)
    if tokens == 3:
        inputs = torch.cat((inputs, torch.full((len(inputs), 1), pairs.elements)), dim=1)
    generator = torch.Generator().manual_seed(derived_seed(seed, "split"))
    order = torch.randperm(len(inputs), generator=generator)
    count = int(train_fraction * len(inputs))
    if count == 0 or count == len(inputs):
        raise InputError(
            f"{train_fraction} of {len(inputs)} pairs leaves one side empty",
            source="task.train_fraction",
        )
    train, heldout = order[:count], order[count:]

    def evaluate(model: nn.Module) -> dict[str, float]:
        scale = LogitScale()
        train_loss, train_accuracy = loss_and_accuracy(
            model, inputs[train], pairs.result[train], scale=scale
        )
        loss, accuracy = loss_and_accuracy(model, inputs[heldout], pairs.result[heldout])
        return {
            columns.TRAIN_LOSS: train_loss,
            columns.TRAIN_ACCURACY: train_accuracy,
            columns.HELDOUT_LOSS: loss,
            columns.HELDOUT_ACCURACY: accuracy,
            columns.LOGIT_SCALE: scale.value,
        }

    return Task(
        name=name,
        batches=ReplacementBatches(
            inputs[train], pairs.result[train], batch_size, seed=derived_seed(seed, "batches")
        ),
        evaluate=evaluate,
        model_arguments={
            "vocabulary": pairs.elements + (tokens == 3),
            "length": tokens,
            "classes": pairs.elements,
        },
        data_hash=tensor_hash(inputs, pairs.result, order),
        facts=facts,
    )


def tensor_hash(*tensors: Tensor) -> str:
    """``sha256:hex`` of the bytes and shapes of tensors."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(str((tuple(tensor.shape), str(tensor.dtype))).encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return f"sha256:{digest.hexdigest()}"
