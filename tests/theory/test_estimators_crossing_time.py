"""One time of a crossing and one V at it, for estimators and forecasts alike."""

from __future__ import annotations

import numpy as np
import pytest

from nht_theory.conventions import Thresholds
from nht_theory.estimators.norms import squared_norm_at, squared_norm_at_time
from nht_theory.estimators.results import Crossing, Estimate, Missing, Unavailable
from nht_theory.estimators.summary import estimate_run
from nht_theory.estimators.transitions import memorization
from nht_theory.forecasting.calibration import observe
from nht_theory.runs.run import Run

FALL = 1e-3


def thinned(interval: int, first: int, width: float) -> Run:
    """Training accuracy rises like a logistic curve about step 5000; V falls by FALL a step."""
    steps = np.arange(first, 20_000, interval)
    accuracy = np.round(1 / (1 + np.exp(-(steps - 5000) / width)), 3)
    return Run(
        "thinned",
        None,
        steps,
        {"train_accuracy": accuracy, "squared_norm": 1e4 * np.exp(-FALL * steps)},
    )


@pytest.mark.parametrize(("width", "linear_bias"), [(50.0, 0.39), (250.0, 0.15)])
def test_the_norm_at_a_crossing_is_nearly_unbiased_on_any_grid(
    width: float, linear_bias: float
) -> None:
    """Grids of 500 steps, at every place of the crossing between two evaluations; errors of
    ln V in units of its fall over one interval. Linear interpolation of the accuracy, as it was
    before, sits where ``linear_bias`` says."""
    truth = 5000 + width * np.log(99)
    errors, linear = [], []
    for first in range(0, 500, 5):
        run = thinned(500, first, width)
        event = memorization(run, Thresholds())
        value = squared_norm_at(run, event)
        assert event is not None
        assert event.step is not None
        assert isinstance(value, Estimate)
        errors.append((np.log(value.value / 1e4) / -FALL - truth) / 500)
        low, high = run.column("train_accuracy")[
            np.searchsorted(run.steps, [event.earlier_step, event.step])
        ]
        linear.append((event.earlier_step + 500 * (0.99 - low) / (high - low) - truth) / 500)
    assert np.mean(linear) == pytest.approx(linear_bias, abs=0.02)
    assert abs(np.mean(errors)) < 0.4 * linear_bias
    assert np.sqrt(np.mean(np.square(errors))) < 0.5 * np.sqrt(np.mean(np.square(linear)))


def test_estimators_and_forecasts_say_the_same() -> None:
    run = thinned(300, 40, 200.0)
    seen, own = observe(run), estimate_run(run)
    assert isinstance(own.squared_norm_memorization, Estimate)
    assert own.squared_norm_memorization.value == seen.squared_norm_memorization
    assert seen.memorization_time is not None
    assert seen.memorization_time == pytest.approx(5000 + 200 * np.log(99), abs=15)


def test_a_norm_logged_less_often_is_read_between_its_own_evaluations() -> None:
    steps = np.array([0, 100, 200, 300, 400])
    norm = np.array([np.exp(4), np.nan, np.nan, np.nan, 1.0])
    run = Run(
        "r",
        None,
        steps,
        {"train_accuracy": np.array([0.5, 0.5, 0.5, 1.0, 1.0]), "squared_norm": norm},
    )
    event = Crossing("train_accuracy", 0.99, 1, 300, 200)
    value = squared_norm_at(run, event)
    assert isinstance(value, Estimate)
    assert value.interval is not None
    assert (value.interval.low, value.interval.high) == pytest.approx((1.0, np.exp(4)))
    assert value.value == squared_norm_at_time(run, 200 + 100 * share(0.5, 0.99, 1.0))


def share(low: float, level: float, high: float) -> float:
    """Where the log-odds pass the level, softened by one in a thousand on either side."""
    a, b, c = (np.log((x + 1e-3) / (1 - x + 1e-3)) for x in (low, level, high))
    return float((b - a) / (c - a))


def test_no_norm_after_the_event_is_no_norm_at_it() -> None:
    run = Run(
        "r",
        None,
        np.array([0, 100]),
        {"train_accuracy": np.array([0.0, 1.0]), "squared_norm": np.array([5.0, np.nan])},
    )
    value = squared_norm_at(run, Crossing("train_accuracy", 0.99, 1, 100, 0))
    assert isinstance(value, Missing)
    assert value.reason is Unavailable.NOT_FINITE
