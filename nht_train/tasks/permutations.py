"""A binary operation on the permutations of n things, such as composition in S5.

The non-commutative tasks of Power et al. (arXiv 2201.02177). The operation is a word in a, b and
their inverses a' and b': ``a b`` (composition), ``a b a'`` (conjugation), ``a b a``.
"""

from __future__ import annotations

from itertools import permutations
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from nht_theory.errors import InputError
from nht_train.tasks.binary_operation import Pairs, binary_operation_task
from nht_train.tasks.task import Task


def permutation_operation(
    *,
    n: Annotated[int, Field(ge=2, le=6)] = 5,
    operation: str = "a b",
    train_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.5,
    tokens: Literal[2, 3] = 2,
    batch_size: int,
    seed: int,
) -> Task:
    """A word in two permutations, over all (n!)^2 pairs.

    Args:
        n: permutations of n things; 5 gives the 14,400 pairs of S5.
        operation: letters ``a``, ``b``, ``a'``, ``b'`` with spaces between; the rightmost acts
            first.
        train_fraction: ``floor(train_fraction * (n!)^2)`` pairs are for training.
        tokens: 2 for [a, b]; 3 for [a, b, =].
        batch_size: pairs in a batch, drawn with replacement.
        seed: of the split and of the batches.

    Raises:
        InputError: ``operation`` holds something else, or nothing.

    Example:
        >>> task = permutation_operation(n=3, operation="a b b'", batch_size=8, seed=0)
        >>> inputs, targets = task.batches.next()
        >>> bool((targets == inputs[:, 0]).all())
        True
    """
    table = torch.tensor(list(permutations(range(n))))  # in lexicographic order, [n!, n]
    count = len(table)
    left, right = torch.cartesian_prod(torch.arange(count), torch.arange(count)).unbind(1)
    inverse = table.argsort(dim=1)
    letters = {
        "a": table[left],
        "b": table[right],
        "a'": inverse[left],
        "b'": inverse[right],
    }
    word = operation.split()
    if not word or any(letter not in letters for letter in word):
        raise InputError(
            f"{operation!r} is not a word in a, b, a' and b'",
            source="task.operation",
            remedy='write letters with spaces between, such as "a b a\'"',
        )
    result = letters[word[-1]]
    for letter in reversed(word[:-1]):
        result = letters[letter].gather(1, result)
    return binary_operation_task(
        "permutation_operation",
        Pairs(left, right, _place(result), elements=count),
        facts={
            "n": n,
            "operation": " ".join(word),
            "train_fraction": train_fraction,
            "tokens": tokens,
        },
        train_fraction=train_fraction,
        tokens=tokens,
        batch_size=batch_size,
        seed=seed,
    )


def _place(rows: Tensor) -> Tensor:
    """Place of each permutation, shape [k, n], in lexicographic order (its Lehmer code)."""
    n = rows.shape[1]
    place = torch.zeros(len(rows), dtype=torch.int64)
    for column in range(n):
        smaller_later = (rows[:, column + 1 :] < rows[:, column, None]).sum(1)
        place = place * (n - column) + smaller_later
    return place
