"""The six-layer CNN of arXiv 2603.07323: no normalisation, 286,560 + 129 C parameters."""

from __future__ import annotations

import itertools

from torch import Tensor, nn

CHANNELS = (3, 32, 32, 64, 64, 128, 128)
POOL_AFTER = (2, 4)


class SixLayerCNN(nn.Module):
    """3x3 convolutions without bias, ReLU, max-pool after the second and fourth, global average
    pool, linear head with bias; PyTorch's default initialisation.

    Args:
        classes: number of outputs.

    Example:
        >>> sum(parameter.numel() for parameter in SixLayerCNN(classes=10).parameters())
        287850
        >>> sum(parameter.numel() for parameter in SixLayerCNN(classes=2).parameters())
        286818
    """

    def __init__(self, *, classes: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
            for inputs, outputs in itertools.pairwise(CHANNELS)
        )
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(CHANNELS[-1], classes)

    def forward(self, images: Tensor) -> Tensor:
        """Images, float, shape [n, 3, height, width] -> logits, shape [n, classes]."""
        hidden = images
        for number, convolution in enumerate(self.convolutions, start=1):
            hidden = convolution(hidden).relu()
            if number in POOL_AFTER:
                hidden = self.pool(hidden)
        return self.head(hidden.mean(dim=(2, 3)))
