"""When two records are one run: on runs that were really trained again, and on look-alikes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nht_theory.runs.replicates import EARLY, ROUND_OFF, merge_repeats
from nht_theory.runs.run import Hyperparameters, Run

STATED = Hyperparameters(seed=3, learning_rate=1e-3, weight_decay=1.0)


def run(
    name: str,
    known: Hyperparameters = STATED,
    *,
    spacing: int = 10,
    last: int = 200,
    noise: float = 0.0,
    start: float = 1000.0,
    rate: float = 2e-3,
) -> Run:
    """A decaying norm; ``noise`` grows as in training, tenfold every two evaluations."""
    steps = np.arange(0, last + 1, spacing)
    growth = noise * 10 ** (steps / 20)
    return Run(
        name,
        Path(name),
        steps,
        {"squared_norm": start * np.exp(-rate * steps) * (1 + growth)},
        known,
    )


def names(*records: Run) -> list[str]:
    return [found.name for found in merge_repeats(records)[0]]


def test_a_rerun_that_differs_in_the_last_digits_counts_once() -> None:
    again = run("again", noise=1e-11)
    assert np.max(np.abs(again.squared_norm / run("first").squared_norm - 1)) > 0.09
    assert names(run("first"), again) == ["first"]


def test_the_finest_grid_is_kept_then_the_longest() -> None:
    coarse = run("coarse", spacing=20, last=400)
    fine, finer_longer = run("fine"), run("longer", last=260)
    runs, merges = merge_repeats([coarse, fine, finer_longer])
    assert [kept.name for kept in runs] == ["longer"]
    assert merges[0].repeats == ("coarse", "fine")


def test_another_seed_is_another_run_even_with_equal_numbers() -> None:
    other = Hyperparameters(seed=4, learning_rate=1e-3, weight_decay=1.0)
    assert names(run("a"), run("b", other)) == ["a", "b"]


def test_another_weight_decay_is_another_run_though_it_begins_alike() -> None:
    """Same seed, hence same initial weights; so weak a decay that early evaluations agree."""
    weaker = Hyperparameters(seed=3, learning_rate=1e-3, weight_decay=0.999)
    assert names(run("a"), run("b", weaker, rate=1.998e-3)) == ["a", "b"]


def test_a_common_beginning_proves_nothing_when_the_decay_is_not_stated() -> None:
    silent = Hyperparameters(seed=3)
    assert names(run("a", silent), run("b", silent, rate=1.99999e-3)) == ["a", "b"]
    assert names(run("a", silent), run("b", silent, spacing=20)) == ["a"]


def test_silence_does_not_contradict() -> None:
    assert names(run("a"), run("b", Hyperparameters())) == ["a"]


def test_a_bridge_of_silence_does_not_unite_what_differs() -> None:
    """A silent copy fits two configurations; it joins one and the two stay apart."""
    other = Hyperparameters(seed=3, learning_rate=1e-3, weight_decay=0.5)
    found = names(run("silent", Hyperparameters()), run("one", STATED), run("other", other))
    assert found == ["silent", "other"]


def test_words_yield_to_identical_trajectories_and_only_to_these() -> None:
    labelled = Hyperparameters(seed=3, learning_rate=1e-3, weight_decay=1.0, task="addition")
    renamed = Hyperparameters(seed=3, learning_rate=1e-3, weight_decay=1.0, task="mod 97")
    assert names(run("a", labelled), run("b", renamed)) == ["a"]
    assert names(run("a", labelled), run("b", renamed, noise=1e-9)) == ["a", "b"]
    adamw, sgd = (
        Hyperparameters(optimizer=kind, seed=3, learning_rate=1e-3, weight_decay=1.0)
        for kind in ("adamw", "sgd")
    )
    assert names(run("a", adamw), run("b", sgd)) == ["a", "b"]


def test_the_budget_is_no_part_of_a_run() -> None:
    short = Hyperparameters(seed=3, learning_rate=1e-3, weight_decay=1.0, total_steps=200)
    long = Hyperparameters(seed=3, learning_rate=1e-3, weight_decay=1.0, total_steps=900)
    assert names(run("a", short), run("b", long, last=900)) == ["b"]


def test_constant_or_empty_logs_are_never_repeats() -> None:
    dead = [run(name, Hyperparameters(), rate=0.0) for name in "ab"]
    assert names(*dead) == ["a", "b"]
    lost = [
        Run(n, Path(n), np.arange(4), {"squared_norm": np.full(4, np.nan)}, STATED) for n in "ab"
    ]
    assert names(*lost) == ["a", "b"]


@given(
    noise=st.floats(0, ROUND_OFF / 4),
    spacing=st.sampled_from([10, 20, 50]),
    last=st.integers(15, 40),
    order=st.booleans(),
)
def test_merging_depends_on_neither_order_nor_grid(
    noise: float, spacing: int, last: int, order: bool
) -> None:
    again = run("again", spacing=spacing, last=10 * last, noise=noise * EARLY)
    records = [run("first"), again] if order else [again, run("first")]
    runs, merges = merge_repeats(records)
    assert len(runs) == 1
    assert {merges[0].kept, *merges[0].repeats} == {"first", "again"}
