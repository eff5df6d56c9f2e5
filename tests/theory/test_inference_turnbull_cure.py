"""Turnbull's curve and the cure fraction: other implementations and known mixtures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines.fitters.npmle import npmle

from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.cure_fraction import fit_cure_fraction
from nht_theory.inference.survival import kaplan_meier
from nht_theory.inference.turnbull import turnbull


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_turnbull_of_exact_and_right_censored_times_is_kaplan_meier(seed: int) -> None:
    generator = np.random.default_rng(seed)
    time = np.ceil(generator.exponential(8, size=25))
    seen = generator.random(25) < 0.7
    curve = turnbull(CensoredTimes.right_censored(time, seen))
    expected = kaplan_meier(time, seen)
    for moment in np.arange(0.5, time.max() + 1):
        assert curve.at(moment) == pytest.approx(expected.at(moment), abs=1e-5)


def log_likelihood(times: CensoredTimes, masses: dict[tuple[float, float], float]) -> float:
    inside = [
        sum(mass for (left, right), mass in masses.items() if low <= left and right <= high)
        for low, high in zip(times.lower, times.upper, strict=True)
    ]
    return float(np.log(inside).sum())


@pytest.mark.parametrize("seed", range(4))
def test_turnbull_is_as_likely_as_lifelines(seed: int) -> None:
    generator = np.random.default_rng(seed)
    low = 10 * generator.integers(1, 8, size=40)
    high = np.where(generator.random(40) < 0.2, np.inf, low + 10 * generator.integers(1, 4, 40))
    times = CensoredTimes.of(low, high)
    curve = turnbull(times)
    # lifelines closes its intervals on the left; ours are open there.
    mass, intervals = npmle(times.lower + 1, times.upper, tol=1e-9, verbose=False)
    theirs = {(i.left, i.right): float(m) for i, m in zip(intervals, mass, strict=True)}
    ours = {}
    for left, right in theirs:
        before = 1.0 if left <= 0 else curve.at(left)
        ours[left, right] = before - (curve.at(right) if np.isfinite(right) else 0.0)
    np.testing.assert_allclose(list(ours.values()), list(theirs.values()), atol=2e-3)
    closed = CensoredTimes.of(times.lower + 1, times.upper)
    assert log_likelihood(closed, ours) >= log_likelihood(closed, theirs) - 1e-6


def on_a_grid(generator: np.random.Generator, n: int = 60) -> CensoredTimes:
    """Times of mean 10, looked at every five steps until 25, a third of the looks missed."""
    time = generator.exponential(10, size=n)
    looks = np.arange(0.0, 26.0, 5.0)
    low, high = [], []
    for t in time:
        seen = looks[(generator.random(looks.size) > 1 / 3) | (looks == 0) | (looks == 25)]
        low.append(seen[seen < t].max())
        high.append(seen[seen >= t].min() if t <= 25 else np.inf)
    return CensoredTimes.of(low, high)


def test_the_interval_of_turnbull_covers_on_a_common_grid() -> None:
    inside, seen = 0, 0
    for simulation in range(120):
        curve = turnbull(on_a_grid(np.random.default_rng(simulation)), resamples=200)
        truth = np.exp(-curve.time / 10)
        known = np.isfinite(curve.low)
        inside += int(((curve.low <= truth) & (truth <= curve.high))[known].sum())
        seen += int(known.sum())
    assert seen > 500
    # Five times a curve that err together: three standard errors of 120 curves.
    assert 0.89 < inside / seen < 0.99


def test_the_interval_is_seeded_and_can_be_left_out() -> None:
    times = on_a_grid(np.random.default_rng(1))
    one, other = turnbull(times, seed=3), turnbull(times, seed=3)
    np.testing.assert_array_equal(one.low, other.low)
    assert not np.array_equal(one.low, turnbull(times, seed=4).low)
    assert np.isnan(turnbull(times, resamples=0).low).all()


def test_resampling_kinds_is_resampling_times() -> None:
    """The limits are those of curves fitted one by one to resampled times."""
    times = on_a_grid(np.random.default_rng(2), n=30)
    curve = turnbull(times, resamples=400, seed=5)
    generator = np.random.default_rng(9)
    draws = []
    for _ in range(400):
        again = turnbull(times.take(generator.integers(0, 30, size=30)), resamples=0)
        draws.append([again.at(moment) for moment in curve.time])
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    known = np.isfinite(curve.low)
    np.testing.assert_allclose(curve.low[known], low[known], atol=0.06)
    np.testing.assert_allclose(curve.high[known], high[known], atol=0.06)


def mixture(seed: int, share: float, *, n: int = 150, budget: float = 20_000.0) -> CensoredTimes:
    generator = np.random.default_rng(seed)
    time = np.exp(8.0 + 0.4 * generator.normal(size=n))
    time[generator.random(n) < share] = np.inf
    return CensoredTimes.right_censored(np.minimum(time, budget), time <= budget)


def test_a_share_that_never_switches_is_found() -> None:
    cure = fit_cure_fraction(mixture(0, 0.3), np.ones((150, 1)), ["constant"])
    assert 0.3 in cure.fraction.interval
    assert cure.fraction.interval.high - cure.fraction.interval.low < 0.25
    assert cure.test.p_value < 1e-6
    assert cure.coefficients[0] == pytest.approx(8.0, abs=0.15)
    assert cure.scale == pytest.approx(0.4, abs=0.1)
    censored = mixture(0, 0.3).is_right_censored
    assert cure.never[censored].min() > 0.95
    assert (cure.never[~censored] == 0).all()


def test_all_that_switch_leave_no_share() -> None:
    cure = fit_cure_fraction(mixture(1, 0.0), np.ones((150, 1)), ["constant"])
    assert cure.fraction.value == pytest.approx(0.0, abs=1e-3)
    assert cure.fraction.interval.low == 0.0
    assert cure.fraction.interval.high < 0.06
    assert cure.test.p_value > 0.2


def test_too_short_a_budget_cannot_tell_never_from_not_yet() -> None:
    short = mixture(2, 0.0, budget=3_000.0)
    assert short.n_right_censored > 50
    cure = fit_cure_fraction(short, np.ones((150, 1)), ["constant"])
    assert cure.fraction.interval.low == 0.0
    assert cure.fraction.interval.high > 0.2
    assert cure.test.p_value > 0.05
