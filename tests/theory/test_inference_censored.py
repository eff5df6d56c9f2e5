"""Censored regression against lifelines, least squares, and finite differences."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import lifelines
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from nht_theory.errors import ConvergenceError, DomainError
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.likelihood_model import Link, LocationScaleModel
from nht_theory.inference.location_scale import Distribution

ORACLES = {
    Distribution.LOG_NORMAL: lifelines.LogNormalAFTFitter,
    Distribution.WEIBULL: lifelines.WeibullAFTFitter,
}
NAMES = ["constant", "x"]


def simulated(seed: int, *, n: int = 80) -> tuple[CensoredTimes, np.ndarray, np.ndarray]:
    """Interval-censored (grid 200) and right-censored (30 %) times of a known law."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    time = np.exp(9.0 + x + 0.4 * generator.normal(size=n))
    budget = float(np.quantile(time, 0.7))
    low = np.floor(time / 200) * 200
    late = time > budget
    low[late] = budget
    upper = np.where(late, np.inf, low + 200)
    return CensoredTimes.of(low, upper), np.column_stack([np.ones(n), x]), time


def lifelines_fit(
    times: CensoredTimes, x: np.ndarray, distribution: Distribution, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Parameters in our order and form (coefficients, ln sigma) and their standard errors.

    Times go in thousands of steps: at full size lifelines' own interval likelihood overflows.
    """
    frame = pd.DataFrame(x[:, 1:], columns=[f"x{place}" for place in range(1, x.shape[1])])
    frame["low"], frame["high"] = times.lower / 1000, times.upper / 1000
    first = start.copy()
    first[0] -= np.log(1000)
    if distribution is Distribution.WEIBULL:
        first[-1] = -first[-1]
    # lifelines sorts its parameters: covariates by name, then the intercept, then the shape.
    initial = np.concatenate([first[1:-1], first[:1], first[-1:]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ORACLES[distribution]().fit_interval_censoring(
            frame, "low", "high", initial_point=initial + 0.05
        )
    values, errors = fitted.params_.to_numpy(), fitted.standard_errors_.to_numpy()
    values = np.concatenate([values[-2:-1] + np.log(1000), values[:-2], values[-1:]])
    errors = np.concatenate([errors[-2:-1], errors[:-2], errors[-1:]])
    if distribution is Distribution.WEIBULL:
        values[-1] = -values[-1]  # lifelines fits ln rho = -ln sigma
    return values, errors


@pytest.mark.parametrize("distribution", list(Distribution))
@pytest.mark.parametrize("seed", [0, 1])
def test_interval_and_right_censoring_agree_with_lifelines(
    distribution: Distribution, seed: int
) -> None:
    times, x, _ = simulated(seed)
    ours = fit_censored_regression(times, x, NAMES, distribution=distribution)
    parameters = np.append(ours.coefficients, np.log(ours.scale))
    values, errors = lifelines_fit(times, x, distribution, parameters)
    np.testing.assert_allclose(parameters, values, atol=1e-4)
    np.testing.assert_allclose(np.sqrt(np.diag(ours.covariance)), errors, atol=1e-4)


@pytest.mark.parametrize("distribution", list(Distribution))
def test_exact_and_right_censored_times_agree_with_lifelines(distribution: Distribution) -> None:
    _, x, time = simulated(2)
    seen = time < np.quantile(time, 0.6)
    end = np.minimum(time, np.quantile(time, 0.6))
    ours = fit_censored_regression(
        CensoredTimes.right_censored(end, seen), x, NAMES, distribution=distribution
    )
    frame = pd.DataFrame({"x": x[:, 1], "t": end / 1000, "e": seen})
    oracle = ORACLES[distribution]().fit(frame, "t", "e")
    values = oracle.params_.to_numpy()
    scale = values[2] if distribution is Distribution.LOG_NORMAL else -values[2]
    np.testing.assert_allclose(
        np.append(ours.coefficients, np.log(ours.scale)),
        [values[1] + np.log(1000), values[0], scale],
        atol=1e-4,
    )
    events = int(seen.sum())
    assert ours.log_likelihood == pytest.approx(
        oracle.log_likelihood_ - events * np.log(1000), abs=1e-6
    )
    assert ours.quantile(x[:3], 0.5) == pytest.approx(
        1000 * oracle.predict_median(frame[["x"]]).to_numpy()[:3], rel=1e-4
    )


def companion_delays(shared_data: Path) -> tuple[CensoredTimes, np.ndarray]:
    """Generalisation times of the companion's lambda sweep, on their 500-step grid."""
    runs = json.loads((shared_data / "companion" / "full_results2.json").read_text())["runs"]
    kept = [run for run in runs if 0.1 <= run["lam"] <= 2.0]
    low, high = [], []
    for run in kept:
        steps = np.array(run["logs"]["steps"])
        reached = run["T_grok"]
        low.append(steps[steps < reached].max() if reached else steps.max())
        high.append(reached or np.inf)
    x = np.column_stack([np.ones(len(kept)), [np.log(1 / run["lam"]) for run in kept]])
    return CensoredTimes.of(low, high), x


@pytest.mark.parametrize("distribution", list(Distribution))
def test_real_data_agree_with_lifelines(shared_data: Path, distribution: Distribution) -> None:
    times, x = companion_delays(shared_data)
    assert times.n_right_censored > 0
    assert times.n_interval_censored > 30
    ours = fit_censored_regression(times, x, NAMES, distribution=distribution)
    parameters = np.append(ours.coefficients, np.log(ours.scale))
    values, errors = lifelines_fit(times, x, distribution, parameters)
    np.testing.assert_allclose(parameters, values, atol=1e-4)
    np.testing.assert_allclose(np.sqrt(np.diag(ours.covariance)), errors, atol=1e-4)


def test_without_censoring_it_is_least_squares() -> None:
    _, x, time = simulated(3)
    ours = fit_censored_regression(CensoredTimes.of(time, time), x, NAMES)
    ols = sm.OLS(np.log(time), x).fit()
    np.testing.assert_allclose(ours.coefficients, ols.params, rtol=1e-8)
    slope = ours.coefficient("x")
    assert slope.standard_error == pytest.approx(ols.bse[1])
    np.testing.assert_allclose(
        (slope.interval.low, slope.interval.high), ols.conf_int()[1], rtol=1e-7
    )
    new = np.array([[1.0, 0.3], [1.0, 4.0]])
    limits = ols.get_prediction(new).summary_frame(alpha=0.10)
    np.testing.assert_allclose(
        np.log(ours.predictive_quantile(new, 0.95)), limits["obs_ci_upper"], rtol=1e-7
    )
    np.testing.assert_allclose(
        np.log(ours.predictive_quantile(new, 0.05)), limits["obs_ci_lower"], rtol=1e-7
    )
    np.testing.assert_allclose(ours.predictive_quantile(new, 0.5), ours.quantile(new, 0.5))


@pytest.mark.parametrize("distribution", list(Distribution))
@pytest.mark.parametrize("link", list(Link))
def test_score_and_hessian_equal_finite_differences(distribution: Distribution, link: Link) -> None:
    times, x, time = simulated(5)
    mixed = CensoredTimes.of(
        np.where(np.arange(80) % 4 == 0, time, times.lower),
        np.where(np.arange(80) % 4 == 0, time, times.upper),
    )
    design = x if link is Link.LOG else np.column_stack([np.full(80, 50.0), np.exp(9.0 + x[:, 1])])
    at = np.array([8.8, 1.1, -0.8]) if link is Link.LOG else np.array([0.7, 0.9, -0.8])
    model = LocationScaleModel(mixed, design, np.zeros(80), distribution, link)
    slope = approx_fprime(at, model.loglike, 1e-7)
    np.testing.assert_allclose(model.score(at), slope, rtol=1e-4, atol=1e-3)
    step = 1e-6 * np.eye(3)
    curvature = [(model.score(at + e) - model.score(at - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(model.hessian(at), curvature, rtol=1e-5, atol=1e-4)


def test_identity_link_recovers_a_sum_of_terms() -> None:
    generator = np.random.default_rng(6)
    decay = np.repeat([0.1, 0.2, 0.5, 1.0, 2.0], 40)
    x = np.column_stack([np.ones(200), 1 / decay])
    time = (x @ [900.0, 1200.0]) * np.exp(0.1 * generator.normal(size=200))
    budget = 9000.0
    times = CensoredTimes.right_censored(np.minimum(time, budget), time <= budget)
    fit = fit_censored_regression(times, x, ["T_0", "A"], link=Link.IDENTITY)
    for name, truth in (("T_0", 900.0), ("A", 1200.0)):
        estimate = fit.coefficient(name)
        assert abs(estimate.value - truth) < 3.5 * estimate.standard_error
    wrong = fit_censored_regression(times, x[:, 1:], ["A"], link=Link.IDENTITY)
    assert wrong.aicc > fit.aicc + 50


@given(st.floats(0.01, 100.0), st.integers(0, 50))
@settings(max_examples=15, deadline=None)
def test_the_unit_of_time_moves_only_the_constant(unit: float, seed: int) -> None:
    times, x, _ = simulated(seed, n=40)
    scaled = CensoredTimes.of(unit * times.lower, unit * times.upper)
    one, other = (fit_censored_regression(t, x, NAMES) for t in (times, scaled))
    shift = other.coefficients - one.coefficients
    np.testing.assert_allclose(shift, [np.log(unit), 0.0], atol=1e-6)
    assert other.scale == pytest.approx(one.scale, rel=1e-6)


def test_an_offset_fixes_a_slope() -> None:
    times, x, _ = simulated(7)
    free = fit_censored_regression(times, x, NAMES)
    fixed = fit_censored_regression(
        times, x[:, :1], ["constant"], offset=free.coefficients[1] * x[:, 1]
    )
    assert fixed.log_likelihood == pytest.approx(free.log_likelihood, abs=1e-8)
    assert fixed.parameters == free.parameters - 1
    assert fixed.log_score(times, x[:, :1], free.coefficients[1] * x[:, 1]).sum() == (
        pytest.approx(free.log_likelihood, abs=1e-8)
    )


def test_a_wholly_censored_setting_is_a_convergence_error_with_remedies() -> None:
    x = np.column_stack([np.ones(8), [0, 0, 0, 0, 1, 1, 1, 1]])
    times = CensoredTimes.right_censored([5, 6, 7, 8, 9, 9, 9, 9], [1, 1, 1, 1, 0, 0, 0, 0])
    with pytest.raises(ConvergenceError, match=r"\(1\) see that no setting is wholly censored"):
        fit_censored_regression(times, x, NAMES)


def test_scatter_hidden_by_the_grid_is_a_convergence_error() -> None:
    x = np.column_stack([np.ones(6), np.arange(6.0)])
    low = np.array([1.0, 2, 4, 8, 16, 32]) * 100
    with pytest.raises(ConvergenceError, match=r"\(2\) evaluate more often"):
        fit_censored_regression(CensoredTimes.of(low, 1.9 * low), x, NAMES)


@pytest.mark.parametrize(
    ("x", "names", "message"),
    [
        (np.ones((80, 2)), NAMES, "rank 1"),
        (np.ones((79, 1)), ["constant"], "shape"),
        (np.full((80, 1), np.nan), ["constant"], "not finite"),
    ],
)
def test_designs_that_cannot_be_fitted_are_named(
    x: np.ndarray, names: list[str], message: str
) -> None:
    times, _, _ = simulated(8)
    with pytest.raises(DomainError, match=message):
        fit_censored_regression(times, x, names)


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 2.0), (3.0, 2.0), (0.0, np.inf), (np.nan, 2.0), (0.0, 0.0)]
)
def test_intervals_that_say_nothing_are_refused(low: float, high: float) -> None:
    with pytest.raises(DomainError, match="not a censored time"):
        CensoredTimes.of([low], [high])


def test_one_event_is_too_few() -> None:
    times = CensoredTimes.right_censored([1, 2, 3], [True, False, False])
    with pytest.raises(DomainError, match="1 of 3"):
        fit_censored_regression(times, np.ones((3, 1)), ["constant"])


@pytest.mark.parametrize("distribution", list(Distribution))
def test_a_climb_into_non_finite_curvature_is_a_failed_start(distribution: Distribution) -> None:
    times = CensoredTimes.right_censored([10.0, 20.0, 40.0], [True, True, True])
    design = np.ones((3, 1))
    model = LocationScaleModel(times, design, np.zeros(3), distribution, Link.LOG)
    assert model.climb(np.array([0.0, -1000.0])) is None  # sigma is zero in floating point
    reached = model.climb(np.array([3.0, 0.0]))
    assert reached is not None
    if distribution is Distribution.LOG_NORMAL:  # least squares on the logarithm
        logs = np.log([10.0, 20.0, 40.0])
        assert reached == pytest.approx([logs.mean(), np.log(logs.std())], abs=1e-6)
