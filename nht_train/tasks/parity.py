"""Sparse parity: the product of k of n signs (arXiv 2207.08799); k and their places are hidden."""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from nht_theory.errors import InputError
from nht_theory.runs import columns
from nht_train.seeds import derived_seed
from nht_train.tasks.binary_operation import tensor_hash
from nht_train.tasks.evaluation import loss_and_accuracy
from nht_train.tasks.logit_scale import LogitScale
from nht_train.tasks.task import ReplacementBatches, Task

Positive = Annotated[int, Field(ge=1)]


def sparse_parity(
    *,
    n: Positive = 40,
    k: Positive = 3,
    train_size: Positive = 25_000,
    heldout_size: Positive = 5_000,
    batch_size: int,
    seed: int,
) -> Task:
    """Parity of k out of n uniform signs, from a fixed training sample.

    Args:
        n: signs in an input.
        k: how many of them the answer depends on; their places are drawn from the seed.
        train_size: examples to train on (the companion's size).
        heldout_size: examples to evaluate on.
        batch_size: examples in a batch, drawn with replacement.
        seed: of the places, the examples and the batches.

    Raises:
        InputError: k is larger than n.

    Example:
        >>> task = sparse_parity(n=2, k=2, train_size=50, heldout_size=10, batch_size=4, seed=0)
        >>> signs, parity = task.batches.next()
        >>> bool(((signs.prod(1) < 0).long() == parity).all())
        True
    """
    if k > n:
        raise InputError(f"k is {k}, but an input has {n} signs", source="task.k")
    generator = torch.Generator().manual_seed(derived_seed(seed, "parity"))
    places = torch.randperm(n, generator=generator)[:k].sort().values
    signs = 1.0 - 2.0 * torch.randint(2, (train_size + heldout_size, n), generator=generator)
    parity = (signs[:, places].prod(1) < 0).long()
    train, heldout = slice(0, train_size), slice(train_size, None)

    def evaluate(model: nn.Module) -> dict[str, float]:
        scale = LogitScale()
        train_loss, train_accuracy = loss_and_accuracy(
            model, signs[train], parity[train], scale=scale
        )
        loss, accuracy = loss_and_accuracy(model, signs[heldout], parity[heldout])
        return {
            columns.TRAIN_LOSS: train_loss,
            columns.TRAIN_ACCURACY: train_accuracy,
            columns.HELDOUT_LOSS: loss,
            columns.HELDOUT_ACCURACY: accuracy,
            columns.LOGIT_SCALE: scale.value,
        }

    return Task(
        name="sparse_parity",
        batches=ReplacementBatches(
            signs[train], parity[train], batch_size, seed=derived_seed(seed, "batches")
        ),
        evaluate=evaluate,
        model_arguments={"features": n, "classes": 2},
        data_hash=tensor_hash(signs, parity),
        facts={"n": n, "k": k, "train_size": train_size},
    )
