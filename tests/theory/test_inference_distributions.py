"""Student's t and the normal hazard against scipy, which they replace for speed of start-up."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from nht_theory.errors import DomainError
from nht_theory.inference.distributions import normal_hazard, student_t_quantiles


@given(
    st.lists(st.floats(1e-5, 1 - 1e-5), min_size=1, max_size=20),
    st.floats(3.0, 1e3),
)
def test_quantiles_are_those_of_scipy(probability, degrees):
    expected = special.stdtrit(degrees, probability)
    assert student_t_quantiles(probability, degrees) == pytest.approx(expected, rel=1e-8, abs=1e-12)


@given(st.floats(3.0, 1e3))
def test_quantiles_that_forecasts_take_are_closer(degrees):
    probability = np.linspace(1e-3, 1 - 1e-3, 200)
    expected = special.stdtrit(degrees, probability)
    assert student_t_quantiles(probability, degrees) == pytest.approx(expected, rel=1e-10)


def test_many_degrees_approach_the_normal():
    probability = np.array([1e-4, 0.05, 0.5, 0.95])
    found = student_t_quantiles(probability, 1e5)
    assert found == pytest.approx(special.stdtrit(1e5, probability), rel=1e-7)
    assert found == pytest.approx(stats.norm.ppf(probability), rel=1e-3)


def test_what_is_returned_may_be_changed_without_harm():
    first = student_t_quantiles([0.9], 5.0)
    first[0] = 0.0
    assert student_t_quantiles([0.9], 5.0)[0] > 1


@pytest.mark.parametrize(("probability", "degrees"), [(0.0, 5.0), (1.0, 5.0), (0.5, 2.5)])
def test_quantiles_outside_their_range_are_refused(probability, degrees):
    with pytest.raises(DomainError):
        student_t_quantiles([probability], degrees)


def test_hazard_is_that_of_scipy():
    z = np.concatenate([np.linspace(-30, 60, 901), [19.999, 20.0, 20.001]])
    expected = np.exp(stats.norm.logpdf(z) - stats.norm.logsf(z))
    assert normal_hazard(z) == pytest.approx(expected, rel=1e-9)
    # Further out scipy's difference of two large logarithms loses what the expansion keeps.
    assert normal_hazard([1e4])[0] == pytest.approx(1e4 + 1e-4, rel=1e-15)


def test_forecasts_start_without_scipy_special():
    """Its import would take a third of a second of the two that a forecast may take."""
    code = "import sys, nht_theory.cli.forecast; sys.exit('scipy.special' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
