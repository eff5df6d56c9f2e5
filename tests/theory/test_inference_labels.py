"""Exact tests of labels within blocks, against enumeration and against scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from nht_theory.errors import DomainError
from nht_theory.inference.labels import ordered_labels, shared_labels
from nht_theory.inference.results import Alternative

ORDER = {("a", "b"), ("b", "c")}


def pairs(labels: tuple[str, ...]) -> int:
    return sum(pair in ORDER for pair in itertools.combinations(labels, 2))


@pytest.mark.parametrize("labels", ["abcabc", "aabbcc", "ccbbaa", "abxcab", "aaaaaa"])
def test_ordered_labels_against_every_permutation(labels: str) -> None:
    observed = pairs(tuple(labels))
    everything = [pairs(own) for own in itertools.permutations(labels)]
    test = ordered_labels(list(labels), np.arange(len(labels)), ["x"] * len(labels), ORDER)
    assert test.statistic == observed
    assert test.p_value == pytest.approx(np.mean(np.array(everything) >= observed))
    less = ordered_labels(
        list(labels), np.arange(6), ["x"] * 6, ORDER, alternative=Alternative.LESS
    )
    assert less.p_value == pytest.approx(np.mean(np.array(everything) <= observed))


def test_two_labels_are_mann_and_whitneys_u() -> None:
    levels = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    labels = ["b", "a", "b", "b", "a", "a", "a"]
    test = ordered_labels(labels, levels, ["x"] * 7, {("b", "a")})
    of_a = [level for level, label in zip(levels, labels, strict=True) if label == "a"]
    of_b = [level for level, label in zip(levels, labels, strict=True) if label == "b"]
    other = stats.mannwhitneyu(of_a, of_b, alternative="greater", method="exact")
    assert test.statistic == other.statistic
    assert test.p_value == pytest.approx(other.pvalue)


def test_blocks_are_compared_within() -> None:
    """Two blocks of two: each is in order with probability one half."""
    test = ordered_labels(["a", "b", "a", "b"], [1, 2, 10, 20], ["x", "x", "y", "y"], {("a", "b")})
    assert (test.statistic, test.p_value) == (2.0, 0.25)


def test_shared_labels_are_fishers_exact_test() -> None:
    first = [True] * 4 + [False] * 6
    second = [True, True, True, False, True, False, False, False, False, False]
    test = shared_labels(first, second, ["x"] * 10)
    assert test.p_value == pytest.approx(
        stats.fisher_exact([[3, 1], [1, 5]], alternative="greater").pvalue
    )
    twice = shared_labels(first * 2, second * 2, ["x"] * 10 + ["y"] * 10)
    one = stats.hypergeom(10, 4, 4).pmf(np.arange(5))
    assert twice.p_value == pytest.approx(np.convolve(one, one)[6:].sum())


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DomainError):
        ordered_labels(["a", "b"], [1, 1], ["x", "x"], ORDER)
    with pytest.raises(DomainError):
        shared_labels([True], [True, False], ["x"])
