"""Intervals of rates under autocorrelated residuals: do they hold what they say?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from nht_theory.estimators.autocorrelation import CORRELATIONS, FEWEST, spread_of
from nht_theory.estimators.contraction import Window, log_linear_slope, signed_rate
from nht_theory.estimators.results import Estimate
from nht_theory.runs.run import Run


def noise(n: int, correlation: float, generator: np.random.Generator) -> np.ndarray:
    """First-order autoregression; a random walk at correlation 1."""
    shocks = generator.normal(size=n)
    if correlation == 1:
        return np.cumsum(shocks)
    series = [shocks[0]]
    for shock in shocks[1:]:
        series.append(correlation * series[-1] + np.sqrt(1 - correlation**2) * shock)
    return np.array(series)


def test_the_spread_is_that_of_dense_covariance_matrices() -> None:
    """The same mixture of Student's distributions, from n by n matrices and scipy's t."""
    generator = np.random.default_rng(0)
    steps = np.cumsum(generator.integers(50, 200, 15)).astype(float)
    design = np.column_stack([np.ones(15), steps - steps.mean(), (steps / 1000) ** 2])
    response = 3 + 0.01 * steps + noise(15, 0.7, generator)
    residuals = response - design @ np.linalg.lstsq(design, response, rcond=None)[0]
    distance = np.abs(steps[:, None] - steps) / np.median(np.diff(steps))
    pull = np.linalg.inv(design.T @ design) @ design.T
    density, errors = [], []
    for place in (np.arange(CORRELATIONS) + 0.5) / CORRELATIONS:
        correlation = 1 - place**2
        covariance = correlation**distance
        inverse = np.linalg.inv(covariance)
        information = design.T @ inverse @ design
        generalised = np.linalg.solve(information, design.T @ inverse @ response)
        left = response - design @ generalised
        squares = left @ inverse @ left
        # Uniform steps of `place` have density proportional to 1/place in the correlation.
        prior = (1 - correlation) ** -0.75 * place
        density.append(
            prior
            / np.sqrt(np.linalg.det(covariance) * np.linalg.det(information))
            * squares ** (-(15 - 3) / 2)
        )
        errors.append(np.sqrt(squares / 12 * (pull @ covariance @ pull.T)[1, 1]))
    weights = np.array(density) / np.sum(density)
    half = optimize.brentq(
        lambda h: 2 * weights @ stats.t.sf(h / np.array(errors), 12) - 0.05, 0, 100 * max(errors)
    )
    found = spread_of(design, residuals, steps, 1)
    assert found is not None
    assert found.half_width == pytest.approx(half, rel=1e-6)
    assert found.standard_error == pytest.approx(np.sqrt(weights @ np.square(errors)), rel=1e-6)


@pytest.mark.parametrize("n", [12, 50])
@pytest.mark.parametrize(
    ("correlation", "least"), [(0.0, 0.93), (0.6, 0.93), (0.9, 0.93), (1, 0.85)]
)
def test_the_slope_of_a_trend_is_covered(n: int, correlation: float, least: float) -> None:
    """With Newey-West errors 47 to 83 % of these intervals held the slope at 12 points."""
    generator = np.random.default_rng([n, int(10 * correlation)])
    steps, rate, simulations = 100.0 * np.arange(n), 1e-4, 400
    inside = 0
    for _ in range(simulations):
        slope, _, spread = log_linear_slope(
            steps, 9 - rate * steps + 0.03 * noise(n, correlation, generator)
        )
        assert spread is not None
        inside += abs(-slope - rate) <= spread.half_width
    assert inside / simulations >= least


def test_independent_residuals_cost_little_where_there_are_many() -> None:
    """At 200 evaluations the interval of white noise is Student's ordinary one, within a fifth."""
    steps = np.arange(200.0)
    log_norm = -0.01 * steps + np.random.default_rng(3).normal(size=200)
    _, _, spread = log_linear_slope(steps, log_norm)
    ordinary = stats.linregress(steps, log_norm).stderr * stats.t.ppf(0.975, 198)
    assert spread is not None
    assert ordinary < spread.half_width * 1.2 < 1.2**2 * ordinary


def test_below_twelve_evaluations_there_is_no_interval() -> None:
    steps = np.arange(FEWEST) * 100
    fall = np.exp(-1e-3 * steps + 0.01 * np.random.default_rng(4).normal(size=FEWEST))
    whole = signed_rate(Run("r", None, steps, {"squared_norm": fall}), Window(0, 10**6, "all"))
    fewer = signed_rate(
        Run("r", None, steps[1:], {"squared_norm": fall[1:]}), Window(0, 10**6, "all")
    )
    assert isinstance(whole, Estimate)
    assert whole.interval is not None
    assert whole.value in whole.interval
    assert "autoregression" in whole.interval.method
    assert isinstance(fewer, Estimate)
    assert (fewer.interval, fewer.standard_error) == (None, None)
    assert "no interval from 11 evaluations" in fewer.method
