"""Slopes over configurations: coverage where it is hard, and what the interval says of itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nht_theory.claims.law import RATE, against_one, power_of_slope
from nht_theory.conventions import VerdictKind
from nht_theory.errors import DomainError, NhtError
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.configuration_means import fit_configuration_means
from nht_theory.inference.information import vuong_test

NAMES = ("constant", "rate", "ratio")


def study(
    generator: np.random.Generator, configurations: int, *, unequal: bool, censored: float = 0.0
) -> tuple[CensoredTimes, np.ndarray, list[int]]:
    """Two slopes of 1; scatter 0.2 between configurations and 0.1 between the runs of one."""
    rate = np.repeat(np.linspace(0, np.log(10), -(-configurations // 2)), 2)[:configurations]
    means = np.column_stack([np.ones(configurations), rate, np.resize([-0.5, 0.9], configurations)])
    seeds = generator.integers(1, 6, configurations) if unequal else np.full(configurations, 5)
    code = np.repeat(np.arange(configurations), seeds)
    location = means[:, 1] + means[:, 2] + 0.2 * generator.normal(size=configurations)
    time = np.exp(7 + location[code] + 0.1 * generator.normal(size=code.size))
    budget = np.quantile(time, 1 - censored)
    late = time > budget
    times = CensoredTimes.of(np.minimum(time, budget), np.where(late, np.inf, time))
    return times, means[code], code.tolist()


@pytest.mark.parametrize(
    ("configurations", "unequal", "censored"),
    [(5, False, 0.0), (6, False, 0.0), (6, True, 0.0), (12, True, 0.0), (12, True, 0.5)],
)
def test_the_intervals_of_two_slopes_cover(
    configurations: int, unequal: bool, censored: float
) -> None:
    """The sandwich over runs covered 68 % with five configurations and 75 % with six."""
    generator = np.random.default_rng([configurations, int(unequal), int(10 * censored)])
    covered, fits = np.zeros(2), 0
    for _ in range(200):
        own = study(generator, configurations, unequal=unequal, censored=censored)
        try:
            fit = fit_configuration_means(*_with_names(own))
        except NhtError:
            continue
        fits += 1
        covered += [1 in fit.coefficient(name).interval for name in NAMES[1:]]
    assert fits > 190
    assert (covered >= stats.binom.ppf(0.001, fits, 0.95)).all()


def _with_names(
    own: tuple[CensoredTimes, np.ndarray, list[int]],
) -> tuple[CensoredTimes, np.ndarray, tuple[str, ...], list[int]]:
    times, design, code = own
    return times, design, NAMES, code


def on_a_grid(
    generator: np.random.Generator, configurations: int, grid: float
) -> tuple[CensoredTimes, np.ndarray, list[int]]:
    """Delays from 1000 steps to 10 000, of which memorisation and switch are seen on a grid."""
    level = np.linspace(0, np.log(10), configurations)
    code = np.repeat(np.arange(configurations), 4)
    effect = 0.1 * generator.normal(size=configurations)
    delay = 1000 * np.exp((level + effect)[code] + 0.1 * generator.normal(size=code.size))
    place = (grid * generator.random(code.size) + delay) / grid
    low, high = np.maximum(0, np.floor(place) - 1) * grid, np.ceil(place) * grid
    design = np.column_stack([np.ones(code.size), level[code]])
    return CensoredTimes.of(low, high), design, code.tolist()


def test_a_configuration_known_within_a_factor_of_two_only_tells_nothing_of_the_scatter() -> None:
    """As full observations these gave intervals that covered 72 %."""
    generator = np.random.default_rng(3)
    covered = fits = 0
    for _ in range(200):
        times, design, code = on_a_grid(generator, 6, 1000.0)
        try:
            fit = fit_configuration_means(times, design, NAMES[:2], code)
        except DomainError:
            continue
        fits += 1
        covered += 1 in fit.coefficient("rate").interval
        assert fit.degrees_of_freedom == 6 - fit.n_wide - 2
        assert fit.n_wide > 0
    assert fits > 100
    assert covered >= stats.binom.ppf(0.001, fits, 0.95)


def test_as_many_switched_configurations_as_coefficients_are_no_fit() -> None:
    """With none to spare the residuals tell no scatter, whatever the censored ones add."""
    time = np.repeat([100.0, 200, 400, 400, 400, 400], 2) * np.tile([0.95, 1.05], 6)
    code = np.repeat(np.arange(6), 2)
    upper = np.where(code < 2, time, np.inf)
    with pytest.raises(DomainError, match="2 of 6 configurations tell their time"):
        fit_configuration_means(
            CensoredTimes.of(time, upper),
            np.column_stack([np.ones(12), code]),
            NAMES[:2],
            code.tolist(),
        )


def test_the_interval_names_its_distribution_and_its_units() -> None:
    fit = fit_configuration_means(*_with_names(study(np.random.default_rng(0), 6, unequal=False)))
    said = "Student, 3 degrees of freedom, over 6 configurations"
    assert fit.coefficient("rate").interval.method == said
    assert "6 configurations" in fit.to_latex()
    own = against_one(fit, "rate")
    assert own.interval == fit.coefficient("rate").interval


def test_a_plan_is_made_in_configurations_and_never_below_what_is_judged() -> None:
    times, design, code = study(np.random.default_rng(1), 6, unequal=False)
    fit = fit_configuration_means(times, design, NAMES, code)
    own = against_one(fit, "rate")
    assert own.verdict is VerdictKind.INCONCLUSIVE
    note = power_of_slope(own, fit, design[:, 1], RATE)
    assert "configurations per value" in note
    assert "seeds" not in note
    exact = fit_configuration_means(
        CensoredTimes.of(*[np.exp(7 + design[:, 1] + design[:, 2] + 1e-3 * np.sin(code))] * 2),
        design,
        NAMES,
        code,
    )
    note = power_of_slope(against_one(exact, "rate"), exact, design[:, 1], RATE)
    assert "2 over a factor of 30" in note  # three values: one each is fewer than is judged


def test_vuong_of_four_configurations() -> None:
    """Differences whose normal p-value is 0.0011 have 0.047 under Student's t of three degrees."""
    z = stats.norm.isf(0.0011 / 2)
    difference = np.array([1.0, -1.0, 1.0, -1.0]) / np.sqrt(4 / 3) + z / 2
    own = vuong_test(difference, np.zeros(4), first_parameters=2, second_parameters=2)
    assert own.statistic == pytest.approx(z)
    assert own.p_value == pytest.approx(2 * stats.t.sf(z, 3))
    assert 0.04 < own.p_value < 0.05
