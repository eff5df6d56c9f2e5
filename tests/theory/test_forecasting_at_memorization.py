"""Forecasts at memorisation, on runs that obey a law we know and on runs that break it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.forecasting.at_memorization import forecast_at_memorization
from nht_theory.forecasting.bayesian_ridge import BayesianRidge
from nht_theory.forecasting.forecast import Basis
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

EFFICIENCY, STAR, START = 0.7, 1000.0, 8000.0


def law_run(
    weight_decay: float,
    seed: int = 0,
    *,
    start: float = START,
    star: float = STAR,
    efficiency: float = EFFICIENCY,
    optimizer: str = "adamw",
    every: int = 20,
) -> Run:
    """A run that begins at V = START, memorises at step 400 with V = ``start`` and generalises
    when V, in exact exponential decay from there, passes ``star``."""
    rate = 2e-3 * weight_decay * efficiency
    delay = np.log(start / star) / rate
    steps = np.arange(0, int(400 + 1.5 * abs(delay)) + every, every)
    return Run(
        name=f"wd{weight_decay}-seed{seed}-{optimizer}",
        source=Path("made-up"),
        steps=steps,
        values={
            "squared_norm": START
            * (start / START) ** (np.minimum(steps, 400) / 400)
            * np.exp(-rate * np.maximum(steps - 400, 0)),
            "train_accuracy": (steps >= 400).astype(float),
            "heldout_accuracy": (steps >= 400 + delay).astype(float),
        },
        hyperparameters=Hyperparameters(
            optimizer=optimizer, learning_rate=1e-3, weight_decay=weight_decay, seed=seed
        ),
    )


def study(*runs: Run) -> Study:
    return Study(Path("made-up"), runs, runs)


def test_two_runs_at_other_weight_decays_give_the_closed_form_within_a_wide_interval() -> None:
    made = forecast_at_memorization(law_run(0.3), study(law_run(1.0), law_run(0.5)))
    exact = 400 + np.log(START / STAR) / (2e-3 * 0.3 * EFFICIENCY)
    assert made.basis is Basis.LAW
    assert made.made_at == 400
    assert made.median == pytest.approx(exact, rel=0.03)
    assert exact in made.interval
    assert (made.interval.high - 400) / (made.interval.low - 400) > 2


def test_replicates_narrow_the_interval() -> None:
    few = forecast_at_memorization(law_run(0.3, 9), study(law_run(0.3, 0), law_run(0.3, 1)))
    many = forecast_at_memorization(
        law_run(0.3, 99), study(*(law_run(0.3, seed) for seed in range(30)))
    )
    width = [made.interval.high - made.interval.low for made in (few, many)]
    assert width[1] < 0.5 * width[0]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_nothing_after_memorisation_matters(seed: int) -> None:
    honest = law_run(0.3)
    rng = np.random.default_rng(seed)
    later = honest.steps > 400
    garbage = {
        name: np.where(later, rng.normal(size=later.size) * 10.0 ** rng.integers(-5, 6), series)
        for name, series in honest.values.items()
    }
    spoiled = Run(
        honest.name, honest.source, honest.steps, garbage, hyperparameters=honest.hyperparameters
    )
    earlier = study(law_run(1.0), law_run(0.5), honest)
    assert forecast_at_memorization(spoiled, earlier) == forecast_at_memorization(honest, earlier)


def test_a_live_run_is_forecast_like_the_finished_one() -> None:
    earlier = study(law_run(1.0), law_run(0.5))
    live = law_run(0.3).until(400)
    assert forecast_at_memorization(live, earlier) == forecast_at_memorization(
        law_run(0.3), earlier
    )


def test_the_run_itself_and_its_repeats_are_never_among_its_calibration() -> None:
    own = law_run(0.3)
    repeat = Run("stored again", Path("other"), own.steps, own.values, own.hyperparameters)
    made = forecast_at_memorization(own, study(own, repeat, law_run(1.0), law_run(0.5)))
    assert made.calibration == ("wd1.0-seed0-adamw", "wd0.5-seed0-adamw")


def test_the_interval_opens_upwards_when_v_star_may_not_lie_below() -> None:
    made = forecast_at_memorization(
        law_run(0.3, start=1.1 * STAR), study(law_run(1.0), law_run(0.5))
    )
    assert made.basis is Basis.LAW
    assert made.interval.high == np.inf


def without_norm(run: Run) -> Run:
    values = {name: series for name, series in run.values.items() if name != "squared_norm"}
    return Run(run.name, run.source, run.steps, values, run.hyperparameters)


@pytest.mark.parametrize(
    ("run", "earlier", "said"),
    [
        (law_run(0.3).until(380), [law_run(1.0), law_run(0.5)], "has not reached 0.99 by step 380"),
        (law_run(0.3), [], "0 earlier runs"),
        (law_run(0.3), [law_run(1.0)], "1 earlier runs"),
        (law_run(0.3), [law_run(1.0, optimizer="sgd"), law_run(0.5, optimizer="sgd")], "0 earlier"),
        (law_run(0.3, start=500.0, star=100.0), [law_run(1.0), law_run(0.5)], "is not above"),
        (law_run(0.01), [law_run(1.0), law_run(0.5)], "weight_decay 0.01 lies outside"),
        (without_norm(law_run(0.3)), [law_run(1.0), law_run(0.5)], "logs no squared norm"),
    ],
)
def test_refusals_say_why_and_what_would_help(run: Run, earlier: list[Run], said: str) -> None:
    made = forecast_at_memorization(run, study(*earlier))
    assert made.basis is Basis.REFUSED
    assert made.median is None
    assert made.interval is None
    assert said in made.reason
    assert made.remedy


def test_where_the_norm_grows_until_the_switch_the_basis_is_empirical() -> None:
    growing = [law_run(0.5, seed, start=500.0, efficiency=-0.7) for seed in range(6)]
    made = forecast_at_memorization(growing[0], study(*growing[1:]))
    exact = 400 + np.log(2.0) / (2e-3 * 0.5 * 0.7)
    assert made.basis is Basis.EMPIRICAL
    assert made.median == pytest.approx(exact, rel=0.05)
    assert "0 earlier runs obeyed the law" in made.reason


def test_regression_matches_the_posterior_by_quadrature() -> None:
    """The conjugate update against a brute-force integral over slope and residual."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=6)
    y = 0.4 * x + rng.normal(size=6) * 0.3
    made = BayesianRidge.fit(x[:, None], y).predict(np.array([1.5]))
    sd = np.exp(np.linspace(np.log(0.03), np.log(3), 300))
    slope = np.linspace(-4, 4, 801)
    # The intercept integrates out analytically: only centred data remain.
    xc, yc = x - x.mean(), y - y.mean()
    scatter = ((yc[None] - slope[:, None] * xc[None]) ** 2).sum(axis=1)
    log_weight = (
        -(6 - 1) * np.log(sd)[:, None]
        - 0.5 * scatter[None] / sd[:, None] ** 2
        - 0.5 * (slope[None] / (0.5 / 0.2 * sd[:, None])) ** 2
        - np.log(sd)[:, None]
        - (3 + 1) * np.log(sd)[:, None]
        - 0.5 * 3 * 0.2**2 / sd[:, None] ** 2
        + np.log(sd)[:, None]
    )
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    centre = y.mean() + slope * (1.5 - x.mean())
    assert made.location == pytest.approx((weight * centre[None]).sum(), abs=2e-3)
    variance = (weight * (centre[None] ** 2 + sd[:, None] ** 2 * (1 + 1 / 6))).sum()
    variance -= (weight * centre[None]).sum() ** 2
    assert made.scale**2 * made.degrees / (made.degrees - 2) == pytest.approx(variance, rel=0.02)
