"""A multilayer perceptron, on features or on a short sequence of tokens."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from nht_theory.errors import InputError

Positive = Annotated[int, Field(ge=1)]


class MLP(nn.Module):
    """Hidden layers of one width with a ReLU or GELU after each, then a linear head.

    Args:
        classes: number of outputs.
        features: size of an input vector; or
        vocabulary, length: of an input of tokens, which are embedded and concatenated.
        width: of every hidden layer.
        depth: number of hidden layers.
        embedding: size of a token's embedding.
        activation: ``relu`` or ``gelu``.

    Raises:
        InputError: neither features nor tokens are described.

    Example:
        >>> sum(parameter.numel() for parameter in MLP(classes=2, features=40).parameters())
        76802
        >>> MLP(classes=5, vocabulary=5, length=2)
        MLP(...)
    """

    def __init__(
        self,
        *,
        classes: int,
        features: int | None = None,
        vocabulary: int | None = None,
        length: int | None = None,
        width: Positive = 256,
        depth: Positive = 2,
        embedding: Positive = 128,
        activation: Literal["relu", "gelu"] = "relu",
    ) -> None:
        super().__init__()
        self.token_embedding = None
        if features is None:
            if vocabulary is None or length is None:
                raise InputError("an MLP needs features, or vocabulary and length", source="model")
            self.token_embedding = nn.Embedding(vocabulary, embedding)
            features = embedding * length
        sizes = [features] + [width] * depth
        self.layers = nn.ModuleList(
            nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes)
        )
        self.activation = nn.ReLU() if activation == "relu" else nn.GELU()
        self.head = nn.Linear(width, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits, shape [batch, classes], of [batch, features] or of tokens [batch, length]."""
        hidden = inputs
        if self.token_embedding is not None:
            hidden = self.token_embedding(inputs).flatten(1)
        for layer in self.layers:
            hidden = self.activation(layer(hidden))
        return self.head(hidden)
