"""The rate of the excess of V over its floor, against curves whose rate is known."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nht_theory.conventions import DecayForm
from nht_theory.estimators.contraction import (
    Window,
    contraction_rate,
    descent_window,
    levels_off,
    signed_rate,
)
from nht_theory.estimators.floored_decay import FlooredDecay, decay_to_floor
from nht_theory.estimators.results import Crossing, Estimate, Missing, Unavailable
from nht_theory.estimators.summary import estimate_run
from nht_theory.runs.run import Hyperparameters, Run

ROOT = Path(__file__).resolve().parents[2]
STEPS = np.arange(0, 6001, 100)
WHOLE = Window(0, 10**9, "whole run")


def run_of(squared_norm: np.ndarray, **more: np.ndarray) -> Run:
    settings = Hyperparameters(
        optimizer="adamw", learning_rate=1e-3, weight_decay=1.0, decay_form=DecayForm.DECOUPLED
    )
    return Run("r", Path("r"), STEPS, {"squared_norm": squared_norm, **more}, settings)


@pytest.mark.parametrize("height", [1.2, 3.0, 50.0])
def test_without_noise_the_rate_and_the_floor_are_exact(height: float) -> None:
    clean = 400 * (1 + (height - 1) * np.exp(-1.9e-3 * STEPS))
    fit = decay_to_floor(STEPS.astype(float), np.log(clean))
    assert isinstance(fit, FlooredDecay)
    assert (fit.rate, fit.floor) == pytest.approx((1.9e-3, 400.0), rel=1e-7)


def test_a_straight_line_is_a_floor_of_zero_and_keeps_its_rate() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        log_norm = 9 - 6e-4 * STEPS + 0.01 * generator.normal(size=STEPS.size)
        fit = decay_to_floor(STEPS.astype(float), log_norm)
        assert isinstance(fit, FlooredDecay)
        assert fit.told
        assert fit.rate == pytest.approx(6e-4, rel=0.05)
        assert fit.floor < 0.02 * np.exp(9)


def test_a_fall_that_speeds_up_has_no_floor_and_the_mean_rate() -> None:
    log_norm = 9 - 3e-4 * STEPS - 5e-8 * STEPS**2.0
    fit = decay_to_floor(STEPS.astype(float), log_norm)
    assert isinstance(fit, FlooredDecay)
    assert fit.floor == 0
    assert fit.rate == pytest.approx(-np.polyfit(STEPS, log_norm, 1)[0], rel=1e-9)


def test_a_short_straight_fall_leaves_room_for_a_floor() -> None:
    """A fall of a tenth looks straight whatever it falls to: the slope is well known, the rate of
    the excess over an unseen floor is not, and only upwards."""
    elapsed = np.linspace(0, 1, STEPS.size)
    noise = 0.003 * np.random.default_rng(1).normal(size=STEPS.size)
    fit = decay_to_floor(STEPS.astype(float), 9 - 0.1 * elapsed - 0.01 * elapsed**2 + noise)
    assert isinstance(fit, FlooredDecay)
    line = signed_rate(run_of(np.exp(9 - 0.1 * elapsed - 0.01 * elapsed**2 + noise)), WHOLE)
    assert isinstance(line, Estimate)
    assert line.interval is not None
    assert fit.floor == 0
    assert fit.rate == pytest.approx(line.value, rel=1e-6)
    assert fit.interval.high - fit.rate > 3 * (line.interval.high - line.value)
    assert not fit.told


def test_the_rate_is_one_and_the_floors_are_two() -> None:
    """600 before step 2000 and 150 after it, at 0.95 of pure decay: without noise all exact."""
    rate = 1.9e-3
    at_switch = 600 + 3400 * np.exp(-rate * 2000)
    clean = np.where(
        STEPS <= 2000,
        600 + 3400 * np.exp(-rate * STEPS),
        150 + (at_switch - 150) * np.exp(-rate * (STEPS - 2000.0)),
    )
    fit = decay_to_floor(STEPS.astype(float), np.log(clean), switch=2000)
    assert isinstance(fit, FlooredDecay)
    assert (fit.rate, fit.floor, fit.later_floor) == pytest.approx((rate, 600, 150), rel=1e-6)
    one = decay_to_floor(STEPS.astype(float), np.log(clean))
    assert isinstance(one, FlooredDecay)
    assert one.rate < 0.8 * rate
    assert one.floor == one.later_floor
    # A switch outside the window changes nothing.
    beyond = decay_to_floor(STEPS.astype(float), np.log(clean), switch=9000)
    assert beyond == one


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_a_norm_at_its_floor_tells_no_rate(correlation: float) -> None:
    generator = np.random.default_rng(int(10 * correlation))
    told = 0
    for _ in range(100):
        shocks, series = generator.normal(size=STEPS.size), [0.0]
        for shock in shocks[1:]:
            series.append(correlation * series[-1] + 0.02 * shock)
        rate = contraction_rate(run_of(400 * np.exp(np.array(series))), WHOLE)
        told += isinstance(rate, Estimate) and rate.interval is not None
    assert told <= 3


def test_a_norm_that_rises_to_its_floor_does_not_contract() -> None:
    rising = run_of(900 - 600 * np.exp(-2e-3 * STEPS))
    assert levels_off(rising, WHOLE)
    rate = contraction_rate(rising, WHOLE)
    assert isinstance(rate, Missing)
    assert rate.reason is Unavailable.GROWING
    assert not levels_off(run_of(300 * np.exp(2e-4 * STEPS)), WHOLE)


def hostile(kind: int, elapsed: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One of eight kinds of norms that no model was made for."""
    n = elapsed.size
    return [
        np.exp(generator.uniform(-690, 690, n)),
        np.exp(690 - generator.uniform(0, 1390) * elapsed),
        generator.integers(1, 3, n).astype(float),
        np.where(elapsed > generator.random(), 1e-300, 1e300),
        1 + 1e-12 * generator.normal(size=n),
        np.exp(np.clip(10 * generator.normal(size=n).cumsum(), -700, 700)),
        5 + 1e-6 * np.exp(-1e3 * elapsed),
        np.where(generator.random(n) < 0.3, np.nan, np.exp(-elapsed)),
    ][kind]


def test_no_series_breaks_the_fit() -> None:
    """Norms over the whole range of floating point, jumps, noise and gaps: a rate or a reason, and
    no warning (pytest makes errors of them)."""
    generator = np.random.default_rng(0)
    for place in range(240):
        n = int(generator.integers(2, 60))
        steps = np.cumsum(generator.integers(1, 10 ** int(generator.integers(1, 6)), n))
        elapsed = np.linspace(0, 1, n)
        norm = hostile(place % 8, elapsed, generator)
        run = Run("r", None, steps, {"squared_norm": np.clip(norm, 0, 1e308)})
        window = Window(int(steps[0]), int(steps[-1]), "whole run")
        rate = contraction_rate(run, window, int(generator.choice(steps)))
        assert isinstance(rate, Missing) or np.isfinite(rate.value)


def test_few_evaluations_bound_the_rate_from_below() -> None:
    own = contraction_rate(
        Run("r", None, STEPS[:11], {"squared_norm": 50 + 950 * np.exp(-2e-3 * STEPS[:11])}), WHOLE
    )
    assert isinstance(own, Estimate)
    assert own.interval is None
    assert own.value < 2e-3
    assert "at least as fast" in own.method


def test_the_window_does_not_depend_on_the_switch() -> None:
    run = run_of(np.exp(-1e-4 * STEPS))
    memorized = Crossing("train_accuracy", 0.99, 1, 300, 200)
    assert descent_window(run, memorized) == Window(300, 6000, "from memorisation on")
    assert descent_window(run, memorized, collapse=4000) == Window(
        300, 3900, "from memorisation on"
    )
    late = np.exp(-1e-7 * (STEPS - 1000.0) ** 2)
    assert descent_window(run_of(late), None) == Window(1000, 6000, "from the peak of V on")


def test_efficiency_is_the_contraction_rate_over_pure_decay_and_nothing_else() -> None:
    """c = 0.95 towards a floor, from a memorisation near it: the mean slope of ln V between the
    transitions is a tenth of that."""
    own = estimate_run(
        run_of(
            400 * (1 + 49 * np.exp(-1.9e-3 * STEPS)),
            train_accuracy=(STEPS >= 2500).astype(float),
            heldout_accuracy=(STEPS >= 5000).astype(float),
        )
    )
    assert isinstance(own.contraction_rate, Estimate)
    assert isinstance(own.efficiency, Estimate)
    assert own.contraction_rate.value == pytest.approx(1.9e-3, rel=1e-6)
    assert own.efficiency.value == pytest.approx(0.95, rel=1e-6)
    assert own.efficiency.interval is not None


@pytest.fixture(scope="module")
def rate_coverage() -> ModuleType:
    place = ROOT / "validation" / "statistics" / "rate_coverage.py"
    spec = importlib.util.spec_from_file_location("rate_coverage", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["rate_coverage"] = module
    spec.loader.exec_module(module)
    return module


def test_the_rate_of_the_excess_is_covered_in_small(rate_coverage: ModuleType) -> None:
    """The committed simulation with 60 studies a cell: a run tells c or is silent."""
    truths = ((0.95, 1.0, 1.0), (0.95, 3.0, 1.0), (0.95, 10.0, 0.3), (0.3, 0.0, 1.0))
    found = rate_coverage.tables(60, evaluations=(12,), truths=truths, grids=((60, 6.0),))
    assert all(row["coverage"] >= 0.85 for row in found["slope"])
    for row in found["excess"]:
        if row["height"] == 1.0:
            assert row["tell"] <= 0.02
        else:
            assert row["tell"] >= 0.4
            assert row["mean_c"] == pytest.approx(row["c"], abs=0.05)
            assert row["coverage"] >= 0.9
        assert row["below_half"] == 0 or row["c"] == 0.3
