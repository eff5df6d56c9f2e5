"""Runs that share their beginning and are no repeats: forked, frozen, clamped, or named apart."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from nht_theory.runs.load import load_study
from nht_theory.runs.replicates import EARLY, LATER, merge_repeats
from nht_theory.runs.run import Hyperparameters, Run

STEPS = np.arange(0, 401, 10)


def known(seed: int = 0, **extra: object) -> Hyperparameters:
    return Hyperparameters(seed=seed, learning_rate=1e-3, weight_decay=1.0, extra=extra)


def run(name: str, chosen: Hyperparameters | None = None, *, later: float = 0.0) -> Run:
    """V falls as exp(-t/500); from step 30 on it departs by a share that grows to ``later``."""
    away = later * 1e-6 ** (1 - np.clip((STEPS - 20) / 300, 0, 1)) * (STEPS > 20)
    # A log that was never printed to fewer digits: round-off from the first evaluation on.
    norm = 1000 * np.exp(-STEPS / 500) * (1 - away)
    return Run(
        name, Path(name), STEPS, {"squared_norm": norm}, known() if chosen is None else chosen
    )


def kept(*records: Run) -> list[str]:
    return [one.name for one in merge_repeats(records)[0]]


def test_runs_of_two_norm_caps_are_six(shared_data: Path) -> None:
    study = load_study(shared_data.parent / "cases" / "logs" / "_merge_by_intervention")
    assert len(study.runs) == len(study.records) == 6
    assert study.merges == ()


@pytest.mark.parametrize(
    ("source", "records", "runs"), [("companion", 284, 172), ("muon", 38, 38), ("porth", 19, 19)]
)
def test_published_logs_count_as_before(
    shared_data: Path, source: str, records: int, runs: int
) -> None:
    study = load_study(shared_data / source)
    assert (len(study.records), len(study.runs)) == (records, runs)


@pytest.mark.parametrize(("later", "one"), [(0.9 * LATER, True), (1.1 * LATER, False)])
def test_the_whole_common_range_counts(later: float, one: bool) -> None:
    assert (len(kept(run("alpha"), run("omega", later=later))) == 1) is one


def test_a_jump_is_an_intervention_however_small() -> None:
    """Bit for bit the same up to step 200, then apart at once: nothing that round-off does."""
    forked = run("omega")
    values = forked.squared_norm.copy()
    values[STEPS > 200] *= 1 - 3 * EARLY
    fork = Run("omega", Path("omega"), STEPS, {"squared_norm": values}, known())
    assert kept(run("alpha"), fork) == ["alpha", "omega"]


def test_a_part_of_the_name_that_varies_systematically_forbids_a_merge() -> None:
    """Every pair would pass as a re-run by its trajectory: by at most 0.2, and by degrees."""
    design = [
        run(f"{cap}_s{seed}", known(seed), later=0.2 if cap == "kinf" else 0.0)
        for seed in range(3)
        for cap in ("k3", "kinf")
    ]
    assert len(kept(*design)) == 6
    assert len(kept(*design[:2])) == 1  # one pair alone shows no system


def test_a_condition_that_never_acts_is_still_one_while_it_acts_elsewhere() -> None:
    """At seed 2 the cap is never reached: identical by accident, distinct by design."""
    design = [
        run(f"{cap}/s{seed}", known(seed), later=0.2 if cap == "free" and seed < 2 else 0.0)
        for seed in range(3)
        for cap in ("capped", "free")
    ]
    assert len(kept(*design)) == 6


def test_a_folder_that_was_stored_twice_counts_once() -> None:
    copies = [
        run(f"{folder}/s{seed}", known(seed)) for folder in ("results", "backup") for seed in (0, 1)
    ]
    assert kept(*copies) == ["results/s0", "results/s1"]


def test_a_known_setting_of_two_numbers_in_a_name_forbids_a_merge() -> None:
    assert kept(run("wd0.3_seed0"), run("wd1.0_seed0")) == ["wd0.3_seed0", "wd1.0_seed0"]
    assert kept(run("wd1_seed0"), run("wd1.0_seed0")) == ["wd1_seed0"]


def test_a_setting_that_only_one_side_states_tells_conditions_apart() -> None:
    """The name says nothing; the capped runs state their cap, and the others no cap."""
    design = [
        run(f"seed{seed}", known(seed, **extra), later=later)
        for seed in range(3)
        for extra, later in (({}, 0.0), ({"cap": 3}, 0.2))
    ]
    assert len(kept(*design)) == 6


def test_a_coarse_record_does_not_unite_two_runs_that_differ() -> None:
    fine, other = run("alpha"), run("omega", later=0.9)
    places = STEPS <= 30
    short = Run(
        "short", Path("s"), STEPS[places], {"squared_norm": fine.squared_norm[places]}, known()
    )
    assert kept(short, fine, other) == ["alpha", "omega"]
    assert kept(short, other, fine) == ["omega", "alpha"]


def test_two_thousand_runs_with_one_start_are_told_apart_at_once() -> None:
    steps = np.arange(0, 20_000, 100)
    runs = [
        Run(f"run{i}", Path("r"), steps[: 100 + i % 100], {"squared_norm": norm}, Hyperparameters())
        for i in range(2000)
        for norm in [4000 * np.exp(-(1e-5 + 1e-7 * i) * steps[: 100 + i % 100])]
    ]
    begun = time.process_time()
    assert len(merge_repeats(runs)[0]) == 2000
    assert time.process_time() - begun < 10  # 0.1 s here; 70 s when all pairs are compared
