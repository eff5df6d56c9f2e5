"""The forward pass that computes distinct rows once, against the ordinary modules."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional

from nht_train.models.transformer import Transformer


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_parameter_count_of_the_exact_model() -> None:
    # By hand, width 128: embeddings (97 + 2) * 128; attention 4 * (128^2 + 128); MLP
    # 2 * 128 * 512 + 512 + 128; three LayerNorms of 256; head 128 * 97 + 97.
    by_hand = 99 * 128 + 4 * (128**2 + 128) + 2 * 128 * 512 + 640 + 3 * 256 + 128 * 97 + 97
    assert count(Transformer(vocabulary=97, length=2, classes=97)) == by_hand == 223_713


@pytest.mark.parametrize("normalization", ["post", "pre", "none"])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("batch", [3, 64])  # fewer and more rows than distinct tokens
@pytest.mark.parametrize("length", [2, 3])
def test_logits_and_gradients_equal_the_ordinary_modules(
    normalization: str, depth: int, batch: int, length: int
) -> None:
    torch.manual_seed(0)
    model = Transformer(
        vocabulary=11,
        length=length,
        classes=7,
        width=16,
        heads=2,
        feed_forward=24,
        depth=depth,
        normalization=normalization,
    ).double()
    reference = copy.deepcopy(model)
    tokens = torch.randint(11, (batch, length))
    targets = torch.randint(7, (batch,))
    ours, theirs = model(tokens), reference.reference_forward(tokens)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    functional.cross_entropy(ours, targets).backward()
    functional.cross_entropy(theirs, targets).backward()
    for (name, mine), other in zip(model.named_parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-10, atol=1e-12, msg=name)


@pytest.mark.slow
def test_losses_equal_those_of_the_plain_module_over_fifty_steps() -> None:
    torch.manual_seed(1)
    model = Transformer(vocabulary=97, length=2, classes=97)
    plain = copy.deepcopy(model)
    fast = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1.0, fused=True)
    slow = torch.optim.AdamW(plain.parameters(), lr=1e-3, weight_decay=1.0)
    for _ in range(50):
        tokens = torch.randint(97, (512, 2))
        targets = tokens.sum(1) % 97
        losses = []
        for forward, optimizer in ((model, fast), (plain.reference_forward, slow)):
            loss = functional.cross_entropy(forward(tokens), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], abs=1e-5)
