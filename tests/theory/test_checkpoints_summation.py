"""Sums of squares against exact rational arithmetic and numpy's extended precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.checkpoints.elements import ELEMENTS, as_numbers
from nht_theory.checkpoints.summation import ROW, WINDOW, sum_of_squares


def reference(values):
    wide = values.astype(np.longdouble)
    return float((wide * wide).sum())


rng = np.random.default_rng(0)
N = WINDOW + 3 * ROW + 17
HARD = {
    "normal": rng.standard_normal(N),
    "uniform": rng.uniform(-1, 1, N),
    "one constant": np.full(N, 0.1),
    "two constants": rng.choice([0.1, 0.3], N),
    "one giant": np.where(np.arange(N) == 12345, 1e4, rng.standard_normal(N)),
    "heavy tails": rng.standard_t(2, N),
    "squares overflow": 1e30 * rng.standard_normal(N),
    "squares underflow": 1e-30 * rng.standard_normal(N),
    "half zeros": np.where(np.arange(N) < N // 2, 0.0, rng.standard_normal(N)),
    "half constant": np.where(np.arange(N) < N // 2, 0.1, rng.standard_normal(N)),
    "growing": np.linspace(0, 1, N),
}


@pytest.mark.parametrize("kind", HARD)
def test_float32_within_1e_7_and_exact_within_1e_12(kind):
    values = HARD[kind].astype(np.float32)
    expected = reference(values)
    assert sum_of_squares(values)[0] == pytest.approx(expected, rel=1e-7)
    assert sum_of_squares(values, exact=True)[0] == pytest.approx(expected, rel=1e-12)


def test_constants_whose_rounding_never_averages_out():
    """Within a row of one constant every rounding goes the same way: float64 must take over."""
    for constant in np.random.default_rng(1).uniform(0.5, 1, 60):
        values = np.full(100 * ROW, constant, dtype=np.float32)
        assert sum_of_squares(values)[0] == pytest.approx(reference(values), rel=1e-7)


def test_not_finite_elements_are_counted_and_show():
    values = np.ones(3 * WINDOW // 2, dtype=np.float32)
    values[[5, WINDOW + 1]] = np.nan, np.inf
    total, bad = sum_of_squares(values)
    assert math.isnan(total)
    assert bad == 2
    assert sum_of_squares(np.array([np.inf], dtype=np.float32)) == (math.inf, 1)


@given(
    st.integers(0, 3 * ROW),
    st.integers(0, 2**32 - 1),
    st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None)
def test_any_length(size, seed, kind):
    values = np.random.default_rng(seed).standard_normal(size).astype(kind)
    assert sum_of_squares(values)[0] == pytest.approx(reference(values), rel=1e-7)


@pytest.mark.parametrize("name", [n for n in ELEMENTS if ELEMENTS[n].kind == "float"])
def test_every_code_of_the_narrow_types_is_what_torch_reads(name):
    torch = pytest.importorskip("torch")
    element = ELEMENTS[name]
    if element.itemsize > 2:
        raw = np.random.default_rng(1).standard_normal(100).astype(f"<f{element.itemsize}")
    else:
        raw = np.arange(256**element.itemsize, dtype=f"<u{element.itemsize}")
    expected = torch.from_numpy(raw.view(np.uint8).copy()).view(getattr(torch, name)).double()
    with np.errstate(invalid="ignore"):  # signalling NaN among the codes
        found = as_numbers(raw.view(np.uint8), element).astype(np.float64)
    np.testing.assert_array_equal(found, expected.numpy())
