"""Arithmetic modulo p: every pair, a fixed share of them for training.

The setting of arXiv 2603.13331 (and of Power et al., arXiv 2201.02177): all pairs (a, b) with
their result, split once at random.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from nht_theory.errors import InputError
from nht_train.tasks.binary_operation import Pairs, binary_operation_task
from nht_train.tasks.task import Task

Modulus = Annotated[int, Field(ge=2)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Length = Literal[2, 3]


def modular_addition(
    *,
    p: Modulus = 97,
    train_fraction: Fraction = 0.5,
    tokens: Length = 2,
    batch_size: int,
    seed: int,
) -> Task:
    """(a + b) mod p over all p^2 pairs.

    Args:
        p: modulus.
        train_fraction: share of the pairs to train on; ``floor(train_fraction * p^2)`` of them.
        tokens: 2 for [a, b]; 3 for [a, b, =].
        batch_size: pairs in a batch, drawn with replacement.
        seed: of the split and of the batches.

    Example:
        >>> task = modular_addition(p=5, batch_size=4, seed=0)
        >>> inputs, targets = task.batches.next()
        >>> bool((inputs.sum(1) % 5 == targets).all())
        True
    """
    return _task("modular_addition", torch.add, p, train_fraction, tokens, batch_size, seed)


def modular_subtraction(
    *,
    p: Modulus = 97,
    train_fraction: Fraction = 0.5,
    tokens: Length = 2,
    batch_size: int,
    seed: int,
) -> Task:
    """(a - b) mod p over all p^2 pairs; options as for :func:`modular_addition`."""
    return _task("modular_subtraction", torch.sub, p, train_fraction, tokens, batch_size, seed)


def modular_multiplication(
    *,
    p: Modulus = 97,
    train_fraction: Fraction = 0.5,
    tokens: Length = 2,
    batch_size: int,
    seed: int,
) -> Task:
    """(a * b) mod p over all p^2 pairs; options as for :func:`modular_addition`."""
    return _task("modular_multiplication", torch.mul, p, train_fraction, tokens, batch_size, seed)


def modular_division(
    *,
    p: Modulus = 97,
    train_fraction: Fraction = 0.5,
    tokens: Length = 2,
    batch_size: int,
    seed: int,
) -> Task:
    """The c with c * b = a (mod p), over the p (p - 1) pairs with b != 0; p must be prime.

    Raises:
        InputError: p is not prime, so that some b has no inverse.

    Example:
        >>> task = modular_division(p=5, batch_size=4, seed=0)
        >>> inputs, quotient = task.batches.next()
        >>> bool((quotient * inputs[:, 1] % 5 == inputs[:, 0]).all())
        True
    """
    if any(p % factor == 0 for factor in range(2, int(p**0.5) + 1)):
        raise InputError(
            f"{p} is not prime, so division is not defined",
            source="task.p",
            remedy="choose a prime such as 97",
        )

    def divide(a: Tensor, b: Tensor) -> Tensor:
        inverse = torch.tensor([pow(n, -1, p) if n else 0 for n in range(p)])
        return a * inverse[b]

    return _task("modular_division", divide, p, train_fraction, tokens, batch_size, seed)


def _task(
    name: str,
    operation: Callable[[Tensor, Tensor], Tensor],
    p: int,
    train_fraction: float,
    tokens: int,
    batch_size: int,
    seed: int,
) -> Task:
    left, right = torch.cartesian_prod(torch.arange(p), torch.arange(p)).unbind(1)
    if name == "modular_division":
        left, right = left[right != 0], right[right != 0]
    pairs = Pairs(left, right, operation(left, right) % p, elements=p)
    return binary_operation_task(
        name,
        pairs,
        facts={"p": p, "train_fraction": train_fraction, "tokens": tokens},
        train_fraction=train_fraction,
        tokens=tokens,
        batch_size=batch_size,
        seed=seed,
    )
