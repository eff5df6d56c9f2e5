"""The answers of the small tasks, computed another way; models of wrong shape are refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from nht_theory.errors import InputError
from nht_train.config import TrainConfig
from nht_train.setup import build
from nht_train.tasks.modular import (
    modular_addition,
    modular_division,
    modular_multiplication,
    modular_subtraction,
)
from nht_train.tasks.parity import sparse_parity
from nht_train.tasks.permutations import permutation_operation
from nht_train.tasks.task import Task


def drawn(task: Task, batches: int = 20) -> tuple[np.ndarray, np.ndarray]:
    pairs = [task.batches.next() for _ in range(batches)]
    inputs = torch.cat([batch[0] for batch in pairs]).numpy()
    return inputs, torch.cat([batch[1] for batch in pairs]).numpy()


@pytest.mark.parametrize(
    ("make", "operation"),
    [
        (modular_addition, lambda a, b, p: (a + b) % p),
        (modular_subtraction, lambda a, b, p: (a - b) % p),
        (modular_multiplication, lambda a, b, p: (a * b) % p),
        (modular_division, lambda a, b, p: a * pow(int(b), p - 2, p) % p),  # Fermat
    ],
)
def test_modular_answers(make: Callable[..., Task], operation: Callable[..., int]) -> None:
    task = make(p=7, train_fraction=0.8, batch_size=16, seed=1)
    inputs, results = drawn(task)
    assert all(operation(a, b, 7) == result for (a, b), result in zip(inputs, results, strict=True))
    count = 42 if make is modular_division else 49
    assert len(task.batches.inputs) == int(0.8 * count)
    if make is modular_division:
        assert (inputs[:, 1] != 0).all()


def test_three_tokens_end_with_an_equals_sign() -> None:
    task = modular_addition(p=7, tokens=3, batch_size=8, seed=0)
    inputs, _ = drawn(task, 1)
    assert (inputs[:, 2] == 7).all()
    assert task.model_arguments == {"vocabulary": 8, "length": 3, "classes": 7}


@pytest.mark.parametrize("operation", ["a b", "a b a'", "a b a", "b' a"])
def test_words_of_permutations_are_products_of_permutation_matrices(operation: str) -> None:
    from itertools import permutations

    elements = list(permutations(range(4)))
    matrices = {
        i: np.eye(4, dtype=int)[:, list(element)] for i, element in enumerate(elements)
    }  # column j is the unit vector of element[j]: the matrix that sends j there
    task = permutation_operation(n=4, operation=operation, batch_size=16, seed=0)
    for (a, b), result in zip(*drawn(task, 5), strict=True):
        letters = {
            "a": matrices[a],
            "b": matrices[b],
            "a'": matrices[a].T,
            "b'": matrices[b].T,
        }
        product = np.eye(4, dtype=int)
        for letter in operation.split():
            product = product @ letters[letter]
        assert (product == matrices[result]).all()


def test_s5_has_14400_pairs_of_120_elements() -> None:
    task = permutation_operation(train_fraction=0.5, batch_size=16, seed=0)
    assert len(task.batches.inputs) == 7200
    assert task.model_arguments["classes"] == 120


@pytest.mark.parametrize("operation", ["", "a c", "ab"])
def test_a_wrong_word_is_refused(operation: str) -> None:
    with pytest.raises(InputError, match="not a word"):
        permutation_operation(n=3, operation=operation, batch_size=4, seed=0)


def test_parity_depends_on_k_hidden_places_only() -> None:
    task = sparse_parity(n=12, k=3, train_size=4000, heldout_size=100, batch_size=512, seed=3)
    signs, parity = drawn(task)
    answer = 1 - 2 * parity
    # Fourier coefficients: of all products of three signs exactly one equals the answer.
    from itertools import combinations

    matches = [
        places
        for places in combinations(range(12), 3)
        if (signs[:, places].prod(axis=1) == answer).all()
    ]
    assert len(matches) == 1
    assert abs(answer.mean()) < 0.1
    with pytest.raises(InputError, match="k is 4"):
        sparse_parity(n=3, k=4, batch_size=4, seed=0)


@pytest.mark.parametrize(
    ("task", "model"),
    [
        ({"name": "sparse_parity", "n": 8, "train_size": 50}, {"name": "mlp", "width": 8}),
        ({"name": "modular_addition", "p": 5}, {"name": "mlp", "width": 8, "embedding": 4}),
    ],
)
def test_an_mlp_serves_signs_and_tokens(task: dict, model: dict) -> None:
    setup = build(TrainConfig.from_mapping({"task": task, "model": model, "batch_size": 4}))
    inputs, targets = setup.task.batches.next()
    assert setup.model(inputs).shape == (4, setup.task.model_arguments["classes"])
    assert set(setup.task.evaluate(setup.model)) >= {"train_accuracy", "heldout_accuracy"}
    assert targets.shape == (4,)


def test_a_model_for_other_inputs_is_refused() -> None:
    config = TrainConfig.from_mapping(
        {"task": {"name": "sparse_parity"}, "model": {"name": "transformer"}}
    )
    with pytest.raises(InputError, match="choose a model that fits the task"):
        build(config)


def test_the_same_seed_gives_the_same_data_and_another_does_not() -> None:
    hashes = [modular_addition(p=11, batch_size=4, seed=s).data_hash for s in (0, 0, 1)]
    assert hashes[0] == hashes[1] != hashes[2]
