"""Extreme input: a right value or a clear error, never a silent NaN."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.errors import DomainError
from nht_theory.formulas import catalogue, rates, times
from nht_theory.formulas.formula import Formula

ALL = tuple(catalogue.find(name) for name in catalogue.names())
LAW = {
    "learning_rate": 1e-3,
    "weight_decay": 1.0,
    "squared_norm_shortcut": 3900.0,
    "squared_norm_structured": 1150.0,
}
EXTREMES = (0.0, -1.0, math.nan, math.inf, -math.inf, 1e-320, 1e300, -0.0, 0.5, 1.0, 7.0)


@pytest.mark.parametrize("formula", ALL, ids=lambda formula: formula.name)
def test_no_argument_at_any_extreme_gives_nan(formula: Formula) -> None:
    for name in formula.example:
        for extreme in EXTREMES:
            with suppress(DomainError):
                value = formula.value(**{**formula.example, name: extreme})
                assert not math.isnan(value)
                assert not math.isnan(extreme)


@pytest.mark.parametrize("formula", ALL, ids=lambda formula: formula.name)
def test_the_example_of_each_formula_is_inside_its_domain_and_vectorises(formula: Formula) -> None:
    once = formula.value(**formula.example)
    many = formula(**{name: np.full((2, 3), value) for name, value in formula.example.items()})
    assert many.shape == (2, 3)
    assert (many == once).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"learning_rate": 1.0}, "one step of decay removes the whole weight"),
        ({"learning_rate": 3.0}, "one step of decay removes the whole weight"),
        ({"learning_rate": 0.0}, "learning_rate is 0; learning rate lies in (0, inf)"),
        ({"learning_rate": -1e-3}, "learning_rate is -0.001"),
        ({"weight_decay": 0.0}, "weight_decay is 0"),
        ({"weight_decay": math.nan}, "weight_decay is nan"),
        ({"squared_norm_shortcut": math.inf}, "squared_norm_shortcut is inf"),
        ({"squared_norm_structured": 4000.0}, "no norm hierarchy (A4)"),
        ({"learning_rate": 1e-200, "weight_decay": 1e-200}, "the norm never contracts"),
    ],
)
def test_the_law_says_what_is_wrong(changed: dict[str, float], message: str) -> None:
    with pytest.raises(DomainError) as raised:
        times.exact_hitting_time(**{**LAW, **changed})
    assert message in str(raised.value)


def test_an_array_names_the_place_of_the_fault() -> None:
    rate = np.full(10, 1e-3)
    rate[7] = math.nan
    with pytest.raises(DomainError, match="learning_rate is nan at index 7"):
        times.exact_hitting_time(**{**LAW, "learning_rate": rate})
    norms = np.full((2, 2), 1150.0)
    norms[1, 0] = 5000.0
    with pytest.raises(DomainError, match=r"index \(1, 0\)"):
        times.exact_hitting_time(**{**LAW, "squared_norm_structured": norms})


def test_equal_norms_take_no_step() -> None:
    assert times.exact_hitting_time.value(**{**LAW, "squared_norm_structured": 3900.0}) == 0.0


def test_unknown_and_missing_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="missing weight_decay; it takes learning_rate"):
        rates.decoupled_rate(learning_rate=1e-3)
    with pytest.raises(TypeError, match="has no lr"):
        rates.decoupled_rate(learning_rate=1e-3, weight_decay=1.0, lr=2.0)


@settings(max_examples=200)
@given(st.floats(-300, -0.01), st.floats(-8, 8))
def test_the_rate_is_right_to_the_last_digits(log_x: float, log_eta: float) -> None:
    """Against the series 2x(1 + x/2 + x^2/3 + ...), which loses no digit for small x."""
    x = 10.0**log_x
    eta = 10.0**log_eta
    made = rates.decoupled_rate.value(learning_rate=eta, weight_decay=x / eta)
    series = 2 * x * sum(x**k / (k + 1) for k in range(2000 if x > 0.1 else 60))
    assert made == pytest.approx(series, rel=1e-12)


@pytest.mark.parametrize("ratio", [1 + 1e-15, 1 + 1e-9, 2.0, 1e300, 1e305])
def test_log_ratio_keeps_its_digits(ratio: float) -> None:
    from decimal import Decimal, localcontext

    made = times.law_steps.value(
        contraction_rate=1.0, squared_norm_shortcut=ratio, squared_norm_structured=1.0
    )
    with localcontext(prec=50):
        assert made == pytest.approx(float(Decimal(ratio).ln()), rel=4e-16)


def test_a_ratio_beyond_the_range_of_doubles() -> None:
    made = times.law_steps.value(
        contraction_rate=1.0, squared_norm_shortcut=1e300, squared_norm_structured=1e-300
    )
    assert made == pytest.approx(600 * math.log(10), rel=1e-14)


def test_a_million_predictions_in_one_call() -> None:
    generator = np.random.default_rng(0)
    v_sc = generator.uniform(2000.0, 5000.0, 1_000_000)
    made = times.exact_hitting_time(**{**LAW, "squared_norm_shortcut": v_sc})
    reference = np.ceil(np.log(v_sc / 1150.0) / (-2 * np.log1p(-1e-3)))
    assert np.array_equal(made, reference)
