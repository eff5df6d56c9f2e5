"""Training batches and evaluation of images kept in memory as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nht_train.images.arrays import LabelledImages
from nht_train.tasks.logit_scale import LogitScale
from nht_train.tasks.task import Batch

EVALUATION_BATCH = 1024


@dataclass(frozen=True, eq=False)
class Standardization:
    """Scales bytes to zero mean and unit variance per channel of the training images.

    Attributes:
        mean, standard_deviation: of each channel, in byte units, shape [3, 1, 1].
    """

    mean: Tensor
    standard_deviation: Tensor

    @classmethod
    def of(cls, images: np.ndarray) -> Standardization:
        """Statistics of uint8 images, shape [n, height, width, 3]."""
        channels = images.reshape(-1, 3)
        # Exact sums of integers, so that no thread count or order can change them.
        total = channels.sum(axis=0, dtype=np.int64)
        squares = sum(
            np.square(part, dtype=np.int64).sum(axis=0)
            for part in np.array_split(channels, 1 + len(channels) // 2**22)
        )
        mean = total / len(channels)
        deviation = np.sqrt(np.maximum(squares / len(channels) - mean**2, 1.0))
        return cls(
            *(torch.tensor(v, dtype=torch.float32)[:, None, None] for v in (mean, deviation))
        )

    def __call__(self, images: Tensor) -> Tensor:
        """uint8 [n, 3, height, width] -> float32 of the same shape."""
        mean = self.mean.to(images.device)
        return (images.float() - mean) / self.standard_deviation.to(images.device)


def _per_channel(values: np.ndarray) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)[:, None, None]


@dataclass(frozen=True, eq=False)
class ImageTensors:
    """Images channel-first with their labels: uint8 [n, 3, height, width], int64 [n]."""

    images: Tensor
    labels: Tensor

    @classmethod
    def of(cls, labelled: LabelledImages) -> ImageTensors:
        """Copy from channel-last arrays."""
        images = np.ascontiguousarray(labelled.images.transpose(0, 3, 1, 2))
        return cls(torch.from_numpy(images), torch.from_numpy(labelled.labels.copy()))


class EpochBatches:
    """Endless batches in which every image comes once an epoch; a batch may span two epochs.

    Args:
        data: the training images.
        standardize: bytes -> floats.
        batch_size: images in a batch.
        seed: of the order.

    Example:
        >>> images = ImageTensors(torch.zeros(5, 3, 2, 2, dtype=torch.uint8), torch.arange(5))
        >>> scale = Standardization(torch.zeros(3, 1, 1), torch.ones(3, 1, 1))
        >>> source = EpochBatches(images, scale, 2, seed=0)
        >>> sorted(int(n) for _ in range(5) for n in source.next()[1])
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    """

    def __init__(
        self, data: ImageTensors, standardize: Standardization, batch_size: int, *, seed: int
    ) -> None:
        self.data = data
        self.standardize = standardize
        self.batch_size = batch_size
        self.generator = torch.Generator().manual_seed(seed)
        self.order = torch.empty(0, dtype=torch.int64)

    def next(self) -> Batch:
        """The next (images, labels)."""
        while len(self.order) < self.batch_size:
            epoch = torch.randperm(len(self.data.labels), generator=self.generator)
            self.order = torch.cat((self.order, epoch))
        index, self.order = self.order[: self.batch_size], self.order[self.batch_size :]
        return self.standardize(self.data.images[index]), self.data.labels[index]

    def state(self) -> dict[str, Tensor]:
        """The generator's state and what is left of the epoch."""
        return {"generator": self.generator.get_state(), "order": self.order.clone()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a saved state."""
        self.generator.set_state(state["generator"])
        self.order = state["order"]


def answers(
    model: nn.Module,
    data: ImageTensors,
    standardize: Standardization,
    scale: LogitScale | None = None,
) -> tuple[float, np.ndarray]:
    """Mean cross entropy (nats) and the model's answer to each image, shape [n].

    The model is where its parameters are; it is used as it stands (evaluation mode is the
    caller's business). ``scale`` takes in the logits as they pass.
    """
    device = next(model.parameters()).device
    loss = 0.0
    given = []
    with torch.no_grad():
        for start in range(0, len(data.labels), EVALUATION_BATCH):
            part = slice(start, start + EVALUATION_BATCH)
            logits = model(standardize(data.images[part].to(device)))
            if scale is not None:
                scale.add(logits)
            labels = data.labels[part].to(device)
            loss += float(functional.cross_entropy(logits, labels, reduction="sum"))
            given.append(logits.argmax(-1).cpu())
    return loss / len(data.labels), torch.cat(given).numpy()
