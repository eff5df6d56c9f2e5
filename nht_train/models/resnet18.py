"""torchvision's ResNet18 with the stem for 32x32 images, and a choice of normalisation."""

from __future__ import annotations

from typing import Literal

from torch import nn

Normalization = Literal["batch", "group", "none"]
GROUPS = 32


def resnet18(*, classes: int, normalization: Normalization = "batch") -> nn.Module:
    """ResNet18 (He et al. 2016) for small images.

    The stem is the usual one for CIFAR: a 3x3 convolution of stride one and no max-pool.

    Args:
        classes: number of outputs.
        normalization: ``batch``, ``group`` (32 groups) or ``none``.

    Example:
        >>> sum(parameter.numel() for parameter in resnet18(classes=10).parameters())
        11173962
    """
    from torchvision.models import resnet18 as torchvision_resnet18

    def group_norm(channels: int) -> nn.Module:
        return nn.GroupNorm(GROUPS, channels)

    def no_norm(_channels: int) -> nn.Module:
        return nn.Identity()

    layer = {"batch": nn.BatchNorm2d, "group": group_norm, "none": no_norm}[normalization]
    model = torchvision_resnet18(num_classes=classes, norm_layer=layer)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    return model
