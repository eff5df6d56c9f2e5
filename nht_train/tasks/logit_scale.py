"""The scale of a classifier's logits, gathered over the batches of an evaluation."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class LogitScale:
    """Root mean square of logits less each example's mean over the classes, in float64.

    What :data:`nht_theory.runs.columns.LOGIT_SCALE` is defined as. The logits are read, not
    changed, so that whatever else is computed from them stays the same bit for bit.

    Example:
        >>> scale = LogitScale()
        >>> scale.add(torch.tensor([[3.0, 1.0], [5.0, 5.0]]))  # centred: 1, -1 and 0, 0
        >>> scale.value == math.sqrt(2 / 4)
        True
    """

    def __init__(self) -> None:
        self._squares = 0.0
        self._logits = 0

    def add(self, logits: Tensor) -> None:
        """Take in logits of shape [n, classes]."""
        own = logits.detach().to(torch.float64)
        centred = own - own.mean(dim=-1, keepdim=True)
        self._squares += float(centred.square().sum())
        self._logits += own.numel()

    @property
    def value(self) -> float:
        """Over everything taken in; NaN before the first logits."""
        return math.sqrt(self._squares / self._logits) if self._logits else math.nan
