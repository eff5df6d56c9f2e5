"""Claims about settings: the configuration is the unit, and seeds do not stand for more of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from nht_theory.claims import ordering
from nht_theory.claims.intermediate_decay import compare
from nht_theory.claims.ordering import OrderedOutcome, by_configuration
from nht_theory.claims.registry import claim_named
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import DecayForm, VerdictKind
from nht_theory.errors import DomainError
from nht_theory.estimators.summary import estimate_study
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.configuration_means import configuration_times, fit_configuration_means
from nht_theory.inference.information import vuong_test
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

SUPPORTED, REFUTED = VerdictKind.SUPPORTED, VerdictKind.REFUTED
INCONCLUSIVE, NOT_APPLICABLE = VerdictKind.INCONCLUSIVE, VerdictKind.NOT_APPLICABLE
STEPS = np.arange(0, 2001, 100)
DECAYS = (0.1, 0.2, 0.4, 0.8, 1.6)


def run(
    *,
    seed: int = 0,
    decay: float = 1.0,
    memorized: int = 200,
    switched: int = 1000,
    squared_norm: np.ndarray | None = None,
    accuracy: float = 1.0,
    **extra: object,
) -> Run:
    return Run(
        name=f"{decay} {extra} seed {seed}",
        source=Path("made"),
        steps=STEPS,
        values={
            "train_accuracy": (memorized <= STEPS).astype(float),
            "heldout_accuracy": accuracy * (switched <= STEPS),
            "squared_norm": 4000 * np.exp(-1e-3 * STEPS) if squared_norm is None else squared_norm,
        },
        hyperparameters=Hyperparameters(
            optimizer="adamw",
            learning_rate=1e-3,
            weight_decay=decay,
            decay_form=DecayForm.DECOUPLED,
            seed=seed,
            extra=extra,
        ),
    )


def verdict(name: str, runs: list[Run]) -> Verdict:
    own = tuple(runs)
    return claim_named(name).test(estimate_study(Study(Path("x"), own, own)))


def final_norms(generator: np.random.Generator, sign: float, configuration: float) -> list[Run]:
    """Five weight decays by four seeds; ``configuration`` is the scatter that seeds share."""
    runs = []
    for decay in DECAYS:
        shared = configuration * generator.normal()
        for seed in range(4):
            own = 1000 * decay**sign * math.exp(shared + 0.05 * generator.normal())
            runs.append(run(seed=seed, decay=decay, squared_norm=np.full(21, own)))
    return runs


@pytest.mark.parametrize(("sign", "expected"), [(-1.0, SUPPORTED), (1.0, REFUTED)])
def test_p1_of_a_clear_order(sign: float, expected: VerdictKind) -> None:
    own = verdict("P1", final_norms(np.random.default_rng(0), sign, 0.1))
    assert own.verdict is expected
    assert own.statistic == (1.0 if sign < 0 else 0.0)
    assert own.p_value == pytest.approx(2 / math.factorial(5))
    assert own.rests_on == "5 configurations"


def test_p1_without_an_order_is_decided_as_rarely_as_its_level_says() -> None:
    """Seeds of a weight decay share a deviation: as units they gave 33 % decisions."""
    generator = np.random.default_rng(1)
    decided = [
        verdict("P1", final_norms(generator, 0.0, 0.3)).verdict in (SUPPORTED, REFUTED)
        for _ in range(300)
    ]
    assert sum(decided) <= stats.binom.ppf(0.999, 300, 0.05)


def test_four_levels_cannot_decide_an_order() -> None:
    rows = [OrderedOutcome("a", float(level), float(level)) for level in range(4)]
    own = ordering.test_order("x", rows, falls=False, statistic_name="share")
    assert own.verdict is INCONCLUSIVE
    assert own.p_value == pytest.approx(2 / 24)
    assert "five levels" in own.power


def test_seeds_are_averaged_before_an_order_is_judged() -> None:
    rows = [OrderedOutcome("a", 1.0, value, (str(value),)) for value in (1.0, 2.0, 6.0)]
    assert by_configuration(rows) == [OrderedOutcome("a", 1.0, 3.0, ("1.0", "2.0", "6.0"))]


@pytest.mark.parametrize(("slope", "expected"), [(-0.5, SUPPORTED), (0.3, REFUTED)])
def test_shortcut_strength(slope: float, expected: VerdictKind) -> None:
    runs = [
        run(seed=seed, switched=200, accuracy=0.6 + slope * rho + 0.002 * seed, rho=rho)
        for rho in (0.5, 0.6, 0.7, 0.8, 0.95)
        for seed in range(3)
    ]
    assert verdict("shortcut_strength", runs).verdict is expected


@pytest.mark.parametrize(("slope", "expected"), [(-0.3, SUPPORTED), (0.3, REFUTED)])
def test_emergence_ratio(slope: float, expected: VerdictKind) -> None:
    runs = []
    for seed in range(3):
        for width in (32, 64, 128, 256, 512):
            log_ratio = 1.5 + slope * math.log2(width / 128)
            norm = 4000 * np.exp(-log_ratio * (STEPS - 200.0) / 800)
            runs.append(run(seed=seed, width=width, squared_norm=norm))
    assert verdict("emergence_ratio", runs).verdict is expected


@pytest.mark.parametrize("falls", [True, False])
def test_emergence_decay(*, falls: bool) -> None:
    """N* is the width from which a run switches within its budget."""
    widths = (16, 32, 64, 128, 256, 512)
    critical = dict(zip(DECAYS, sorted(widths[:5], reverse=falls), strict=True))
    runs = [
        run(
            seed=seed,
            decay=decay,
            width=width,
            switched=1000 if width >= critical[decay] else 5000,
        )
        for decay in DECAYS
        for width in widths
        for seed in range(2)
    ]
    assert verdict("emergence_decay", runs).verdict is (SUPPORTED if falls else REFUTED)


def p3_rows(accuracies: np.ndarray) -> list[OrderedOutcome]:
    """Groups in rows, weight decays in columns."""
    return [
        OrderedOutcome(str(group), float(place), float(value))
        for group, row in enumerate(accuracies)
        for place, value in enumerate(row)
    ]


def test_p3_is_decided_by_the_ends_of_every_group() -> None:
    inside = np.array([[0.5, 0.8, 0.8, 0.5]] * 2)
    own = compare(p3_rows(inside))
    assert own.verdict is INCONCLUSIVE
    assert own.least == pytest.approx(2 / 6**2)  # two groups of four cannot support it
    own = compare(p3_rows(np.array([[0.5, 0.8, 0.9, 0.8, 0.6]] * 2)))
    assert own.verdict is SUPPORTED
    assert own.p_value == pytest.approx(2 / 10**2)


def test_p3_is_refuted_where_the_weakest_decay_is_best() -> None:
    own = compare(p3_rows(np.array([[0.9, 0.8, 0.7, 0.6, 0.5]])))
    assert own.verdict is REFUTED
    assert own.p_value == pytest.approx(2 * 2 / math.factorial(5))
    assert own.share_falling == 1.0


def test_p3_without_an_order_is_decided_as_rarely_as_its_level_says() -> None:
    generator = np.random.default_rng(2)
    kinds = [compare(p3_rows(generator.normal(size=(2, 5)))).verdict for _ in range(600)]
    assert 600 - kinds.count(INCONCLUSIVE) <= stats.binom.ppf(0.999, 600, 0.05)


def test_p3_needs_three_weight_decays() -> None:
    runs = [run(seed=seed, decay=decay) for decay in (0.1, 1.0) for seed in range(4)]
    assert verdict("P3", runs).verdict is NOT_APPLICABLE


def simulated(
    generator: np.random.Generator, configurations: int, seeds: int, censored: float = 0.0
) -> tuple[CensoredTimes, np.ndarray, np.ndarray]:
    """Slope 1 of ln T on a setting; scatter 0.2 between configurations, 0.1 between runs."""
    x = np.repeat(np.linspace(-1.5, 1.5, configurations), seeds)
    label = np.repeat(np.arange(configurations), seeds)
    effect = 0.2 * generator.normal(size=configurations)
    time = np.exp(7 + x + effect[label] + 0.1 * generator.normal(size=x.size))
    budget = np.quantile(time, 1 - censored)
    times = CensoredTimes.right_censored(np.minimum(time, budget), time <= budget)
    return times, np.column_stack([np.ones(x.size), x]), label


def test_without_censoring_it_is_least_squares_on_the_means() -> None:
    times, design, label = simulated(np.random.default_rng(3), 6, 5)
    fit = fit_configuration_means(times, design, ("constant", "slope"), label)
    means = np.log(times.lower).reshape(6, 5).mean(axis=1)
    ols = sm.OLS(means, design.reshape(6, 5, 2).mean(axis=1)).fit()
    own = fit.coefficient("slope")
    assert own.value == pytest.approx(ols.params[1], rel=1e-6)
    assert own.standard_error == pytest.approx(ols.bse[1], rel=1e-5)
    assert (own.interval.low, own.interval.high) == pytest.approx(ols.conf_int()[1], rel=1e-5)
    assert fit.degrees_of_freedom == 4


@pytest.mark.parametrize("configurations", [4, 6, 12])
def test_the_interval_of_a_slope_covers(configurations: int) -> None:
    """The sandwich over runs covered 54 % with four configurations and 89 % with six."""
    generator = np.random.default_rng(configurations)
    covered = []
    for _ in range(200):
        times, design, label = simulated(generator, configurations, 5)
        fit = fit_configuration_means(times, design, ("constant", "slope"), label)
        interval = fit.coefficient("slope").interval
        covered.append(interval.low <= 1 <= interval.high)
    assert sum(covered) >= stats.binom.ppf(0.001, 200, 0.95)


def test_the_interval_covers_where_half_of_the_runs_are_censored() -> None:
    generator = np.random.default_rng(5)
    covered = []
    for _ in range(100):
        times, design, label = simulated(generator, 12, 4, censored=0.5)
        fit = fit_configuration_means(times, design, ("constant", "slope"), label)
        interval = fit.coefficient("slope").interval
        covered.append(interval.low <= 1 <= interval.high)
        assert fit.events < 12  # whole configurations never switched
    assert sum(covered) >= stats.binom.ppf(0.001, 100, 0.95)


def test_seeds_do_not_stand_for_configurations() -> None:
    times, design, label = simulated(np.random.default_rng(6), 3, 40)
    with pytest.raises(DomainError, match="3 configurations for 2 coefficients"):
        fit_configuration_means(times, design, ("constant", "slope"), label)


def test_a_configuration_whose_intervals_are_wide_keeps_its_bounds() -> None:
    times = CensoredTimes.of([0, 500, 100, 100], [1000, 1000, 120, 150])
    found = configuration_times(times, np.array([0, 0, 1, 1]))
    assert (found.lower[0], found.upper[0]) == (0.0, pytest.approx(1000.0))
    middle = math.sqrt(math.sqrt(100 * 120) * math.sqrt(100 * 150))
    assert found.lower[1] == found.upper[1] == pytest.approx(middle)


def test_four_configurations_are_no_normal_sample() -> None:
    """Vuong's statistic is the one-sample t: its normal limit called p = 0.001 what is 0.05."""
    first = np.array([-1.0, -2.0, -1.5, -0.5])
    second = first - np.array([0.5, 0.9, 0.7, 1.1])
    own = vuong_test(first, second, first_parameters=2, second_parameters=2)
    expected = stats.ttest_1samp(first - second, 0.0)
    assert own.statistic == pytest.approx(expected.statistic)
    assert own.p_value == pytest.approx(expected.pvalue)


def lawful_sweep(slope_on_ratio: float) -> list[Run]:
    """Three weight decays by two tasks; the delay follows the ratio of the norms, or does not."""
    generator = np.random.default_rng(7)
    runs = []
    for decay in (0.1, 0.4, 1.6):
        for p, log_ratio in ((53, 2.5), (97, 0.5)):
            for seed in range(4):
                rate = 2e-3 * decay
                delay = log_ratio**slope_on_ratio / rate * math.exp(0.05 * generator.normal())
                grid = np.arange(0, int(200 + 1.5 * delay), max(1, int(delay / 40)))
                norm = 4000 * np.exp(-log_ratio * np.clip((grid - 200) / delay, -0.1, None))
                settings = run(seed=seed, decay=decay, p=p).hyperparameters
                values = {
                    "train_accuracy": (grid >= 200).astype(float),
                    "heldout_accuracy": (grid >= 200 + delay).astype(float),
                    "squared_norm": norm * np.exp(0.01 * generator.normal(size=grid.size)),
                }
                name = f"{decay} {p} {seed}"
                runs.append(Run(name, Path(name), grid, values, settings))
    return runs


def test_the_law_prints_the_slope_that_decided() -> None:
    own = verdict("law_everywhere", lawful_sweep(0.0))
    assert own.verdict is REFUTED
    assert "ln ln(V_sc/V_st)" in own.statistic_name
    assert own.statistic == pytest.approx(0.0, abs=0.2)
    assert own.interval.high < 0.8  # the interval printed is the one that refutes
    assert own.rests_on == "6 configurations"
    assert "over 6 configurations" in own.interval.method
    right = verdict("law_everywhere", lawful_sweep(1.0))
    assert right.verdict is SUPPORTED
    assert 0.8 < right.interval.low < right.interval.high < 1.25
