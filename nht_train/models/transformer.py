"""The small transformer of the modular-arithmetic experiments, and a forward pass for few tokens.

The exact model of arXiv 2603.13331: learned N(0, 1) token and position embeddings, one
post-LayerNorm encoder layer with GELU and without dropout, a final LayerNorm, a linear head on
the last token. The parameters are those of :class:`torch.nn.TransformerEncoderLayer`, with its
names and its initialisation; only the forward pass is ours, and it does less work:

- In the first layer a row depends on (token, position) alone. There are far fewer such pairs than
  rows in a batch, so keys, values and queries are computed once for each and gathered.
- The head reads the last position only, so the last layer computes nothing else after its
  attention.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

Normalization = Literal["post", "pre", "none"]


class Transformer(nn.Module):
    """Encoder over a short sequence of tokens; the logits are read from the last one.

    Args:
        vocabulary: number of tokens.
        length: tokens in a sequence.
        classes: number of outputs.
        width: model dimension, a multiple of ``heads``.
        heads: attention heads.
        feed_forward: hidden dimension of each layer's MLP.
        depth: number of encoder layers.
        normalization: ``post`` (LayerNorm after each residual sum, as in the paper), ``pre``
            (before each branch) or ``none``.

    Example:
        >>> model = Transformer(vocabulary=97, length=2, classes=97)
        >>> sum(parameter.numel() for parameter in model.parameters())
        223713
        >>> model(torch.tensor([[1, 2], [96, 0]])).shape
        torch.Size([2, 97])
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        length: int,
        classes: int,
        width: int = 128,
        heads: int = 4,
        feed_forward: int = 512,
        depth: int = 1,
        normalization: Normalization = "post",
    ) -> None:
        super().__init__()
        self.heads = heads
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(length, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width,
                heads,
                feed_forward,
                dropout=0.0,
                activation="gelu",
                batch_first=True,
                norm_first=normalization == "pre",
            )
            for _ in range(depth)
        )
        self.final_norm: nn.Module = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)
        if normalization == "none":
            self.final_norm = nn.Identity()
            for layer in self.layers:
                layer.norm1 = nn.Identity()
                layer.norm2 = nn.Identity()

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits, shape [batch, classes], of tokens of shape [batch, length] (int64)."""
        batch, length = tokens.shape
        vocabulary = self.token_embedding.num_embeddings
        places = torch.arange(length, device=tokens.device)
        if vocabulary < batch:
            rows = (self.position_embedding.weight[:, None] + self.token_embedding.weight).flatten(
                0, 1
            )
            index = tokens + vocabulary * places
        else:
            rows = (self.token_embedding(tokens) + self.position_embedding.weight).flatten(0, 1)
            index = torch.arange(batch * length, device=tokens.device).view(batch, length)
        for layer in self.layers[:-1]:
            rows = _encoder_layer(layer, rows, index, index, self.heads).flatten(0, 1)
            index = torch.arange(batch * length, device=tokens.device).view(batch, length)
        last = _encoder_layer(self.layers[-1], rows, index, index[:, -1:], self.heads)
        return self.head(self.final_norm(last[:, 0]))

    def reference_forward(self, tokens: Tensor) -> Tensor:
        """The same logits by the ordinary modules: what :meth:`forward` is tested against."""
        hidden = self.token_embedding(tokens) + self.position_embedding.weight
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(self.final_norm(hidden[:, -1]))


def _encoder_layer(
    layer: nn.Module, rows: Tensor, index: Tensor, queries: Tensor, heads: int
) -> Tensor:
    """One encoder layer at the query positions.

    Args:
        layer: an ``nn.TransformerEncoderLayer``.
        rows: distinct input rows, shape [rows, width].
        index: the row at each position, shape [batch, length].
        queries: the row at each position to compute, shape [batch, positions].
        heads: attention heads.

    Returns:
        Outputs, shape [batch, positions, width].
    """
    attention = layer.self_attn
    width = rows.shape[-1]
    source = layer.norm1(rows) if layer.norm_first else rows
    projected = functional.linear(source, attention.in_proj_weight, attention.in_proj_bias)
    query = _gather(projected[:, :width], queries)
    key, value = _gather(projected[:, width:], index).split(width, dim=-1)
    mixed = _attend(query, key, value, heads)
    hidden = _gather(rows, queries) + attention.out_proj(mixed)
    if layer.norm_first:
        return hidden + _feed_forward(layer, layer.norm2(hidden))
    hidden = layer.norm1(hidden)
    return layer.norm2(hidden + _feed_forward(layer, hidden))


def _gather(rows: Tensor, index: Tensor) -> Tensor:
    return functional.embedding(index, rows)


def _attend(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    """Softmax attention of [batch, positions, width] queries over [batch, length, width] keys."""
    batch, positions, width = query.shape
    split = (heads, width // heads)
    query = query.view(batch, positions, 1, *split)
    key = key.reshape(batch, 1, -1, *split)
    value = value.reshape(batch, 1, -1, *split)
    scores = (query * key).sum(-1) / math.sqrt(split[1])  # [batch, positions, length, heads]
    weights = scores.softmax(dim=2)
    return (weights[..., None] * value).sum(2).flatten(-2)


def _feed_forward(layer: nn.Module, hidden: Tensor) -> Tensor:
    return layer.linear2(functional.gelu(layer.linear1(hidden)))
