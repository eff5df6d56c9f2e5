"""Loss and accuracy of a classifier on a fixed set."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from nht_train.tasks.logit_scale import LogitScale

EVALUATION_BATCH = 8192


def loss_and_accuracy(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    batch_size: int = EVALUATION_BATCH,
    scale: LogitScale | None = None,
) -> tuple[float, float]:
    """Mean cross entropy (nats) and share of correct answers.

    Args:
        model: inputs -> logits, shape [n, classes].
        inputs: first dimension [n].
        targets: class numbers, shape [n].
        batch_size: rows evaluated at once.
        scale: takes in the logits as they pass.

    Example:
        >>> loss_and_accuracy(nn.Identity(), torch.eye(2) * 50.0, torch.tensor([0, 1]))
        (0.0, 1.0)
    """
    device = next((parameter.device for parameter in model.parameters()), inputs.device)
    total_loss = 0.0
    correct = 0
    with torch.no_grad():
        for start in range(0, len(inputs), batch_size):
            logits = model(inputs[start : start + batch_size].to(device))
            wanted = targets[start : start + batch_size].to(device)
            if scale is not None:
                scale.add(logits)
            total_loss += float(functional.cross_entropy(logits, wanted, reduction="sum"))
            correct += int((logits.argmax(-1) == wanted).sum())
    return total_loss / len(inputs), correct / len(inputs)
