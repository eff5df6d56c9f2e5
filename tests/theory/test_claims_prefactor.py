"""The prefactor's two verdicts on studies whose c is known, floors included."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims import prefactor
from nht_theory.claims.prefactor import efficiencies
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import DecayForm, VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

SUPPORTED, REFUTED = VerdictKind.SUPPORTED, VerdictKind.REFUTED
INCONCLUSIVE, NOT_APPLICABLE = VerdictKind.INCONCLUSIVE, VerdictKind.NOT_APPLICABLE
STEPS = np.arange(0, 8001, 50)


def simulated(
    c: float,
    generator: np.random.Generator,
    *,
    decay: float = 1.0,
    seed: int = 0,
    height: float | None = None,
    correlation: float = 0.0,
    size: float = 0.01,
    steps: np.ndarray = STEPS,
) -> Run:
    """V falls at c times pure decay, to a floor under V at memorisation (step 1000) by ``height``,
    or to none; noise of ln V is a first-order autoregression."""
    shocks, noise = generator.normal(size=steps.size), [0.0]
    for shock in shocks[1:]:
        noise.append(correlation * noise[-1] + np.sqrt(1 - correlation**2) * size * shock)
    left = np.exp(-c * 2e-3 * decay * (steps - 1000.0))
    clean = 4000 * left if height is None else 400 * (1 + (height - 1) * left)
    return Run(
        name=f"decay {decay} seed {seed}",
        source=Path("simulated"),
        steps=steps,
        values={
            "squared_norm": clean * np.exp(np.array(noise)),
            "train_accuracy": (steps >= 1000).astype(float),
            "heldout_accuracy": (steps >= 3000).astype(float),
        },
        hyperparameters=Hyperparameters(
            optimizer="adamw",
            learning_rate=1e-3,
            weight_decay=decay,
            decay_form=DecayForm.DECOUPLED,
            seed=seed,
        ),
    )


def estimated(runs: list[Run]) -> StudyEstimates:
    return estimate_study(Study(Path("simulated"), tuple(runs), tuple(runs)))


def study(c: float, generator: np.random.Generator, decays: int = 4, **more: float) -> list[Run]:
    """Configurations of four seeds, c of the seeds scattered by 0.02."""
    return [
        simulated(c + 0.02 * generator.normal(), generator, decay=decay, seed=seed, **more)
        for decay in (0.5, 0.7, 1.0, 1.4)[:decays]
        for seed in range(4)
    ]


def agrees(own: Verdict, limit: float) -> bool:
    """Whether interval, p-value and statistic are those of one estimate against a limit."""
    assert own.interval is not None
    assert own.p_value is not None
    assert own.statistic is not None
    clear = not own.interval.low <= limit <= own.interval.high
    middle = (own.interval.low + own.interval.high) / 2
    return clear == (own.p_value <= 0.05) and own.statistic == pytest.approx(middle)


@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize("height", [1.0, 1.1, 1.5, 3.0, 20.0])
def test_a_floor_does_not_refute_the_bound(height: float, correlation: float) -> None:
    """c = 0.95 throughout: 20 of 20 such studies were "refuted" by the mean slope of ln V."""
    for place in range(4):
        generator = np.random.default_rng([place, int(10 * height), int(10 * correlation)])
        runs = estimated(study(0.95, generator, height=height, correlation=correlation))
        for judge in (prefactor.test_bound, prefactor.test_pure_decay):
            own = judge(runs)
            assert own.verdict is not REFUTED
            if own.verdict is NOT_APPLICABLE:
                assert "V stands at its floor" in own.rule or "only bounded" in own.rule
            else:
                # Near the floor the runs that tell c are rather those that read it low.
                assert own.statistic == pytest.approx(0.95, abs=0.1 if height < 3 else 0.05)
        if height == 1.0:
            assert prefactor.test_bound(runs).verdict is NOT_APPLICABLE
        if height == 20.0:
            assert prefactor.test_bound(runs).verdict is SUPPORTED
            assert prefactor.test_pure_decay(runs).verdict is SUPPORTED


def test_a_floor_that_moves_at_the_switch_leaves_c_alone() -> None:
    """c = 0.95 towards 600 before the switch and 150 after it: one floor for both would say 0.64,
    and pure decay would be "refuted"."""
    generator, runs = np.random.default_rng(8), []
    for decay in (0.5, 0.7, 1.0):
        for seed in range(4):
            run = simulated(0.95, generator, decay=decay, seed=seed)
            fall = np.exp(-0.95 * 2e-3 * decay * np.maximum(STEPS - 1000.0, -1000))
            at_switch = 600 + 3400 * np.exp(-0.95 * 2e-3 * decay * 2000)
            later = np.exp(-0.95 * 2e-3 * decay * (STEPS - 3000.0))
            clean = np.where(STEPS <= 3000, 600 + 3400 * fall, 150 + (at_switch - 150) * later)
            noisy = clean * np.exp(0.01 * generator.normal(size=STEPS.size))
            runs.append(replace(run, values={**run.values, "squared_norm": noisy}))
    own = prefactor.test_pure_decay(estimated(runs))
    assert own.verdict is SUPPORTED
    assert own.statistic == pytest.approx(0.95, abs=0.03)
    assert own.units == 3


def test_the_case_at_the_floor_is_not_refuted(shared_data: Path) -> None:
    """True c = 0.95; at the strongest decay three of four runs memorise at their floor."""
    case = shared_data.parent / "cases" / "verdicts" / "T11_at_floor.csv"
    if not case.exists():
        pytest.skip("cases/verdicts is not here")
    runs = estimate_study(load_study(case))
    for judge in (prefactor.test_bound, prefactor.test_pure_decay):
        own = judge(runs)
        assert own.verdict is INCONCLUSIVE
        assert own.statistic == pytest.approx(0.95, abs=0.05)
        assert "left out: 3 runs, V stands at its floor (no more than its scatter)" in own.details


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_slow_contraction_without_a_floor_is_refuted(correlation: float) -> None:
    runs = estimated(study(0.3, np.random.default_rng(1), correlation=correlation))
    own = prefactor.test_bound(runs)
    assert own.verdict is REFUTED
    assert own.statistic == pytest.approx(0.3, abs=0.05)
    assert agrees(own, 0.5)
    assert prefactor.test_pure_decay(runs).verdict is REFUTED


def test_one_slow_configuration_refutes_and_is_what_is_printed() -> None:
    """Three at c = 0.9 and one at 0.35: the mean over configurations contains 1/2."""
    generator = np.random.default_rng(2)
    slow = [simulated(0.35 + 0.02 * s, generator, decay=2.0, seed=s) for s in range(4)]
    own = prefactor.test_bound(estimated(study(0.9, generator, decays=3) + slow))
    assert own.verdict is REFUTED
    assert own.statistic == pytest.approx(0.38, abs=0.03)
    assert "weight_decay=2.0" in own.statistic_name
    assert (own.units, own.unit) == (4, "runs of one configuration")
    assert agrees(own, 0.5)
    assert own.interval is not None
    # Five tests were asked: four configurations and their mean.
    assert own.interval.coverage == pytest.approx(0.99)
    assert "Bonferroni over 5 tests" in own.interval.method
    named = [line for line in own.details if line.startswith("counter-example")]
    assert len(named) == 1


def test_one_configuration_can_refute_and_never_support() -> None:
    generator = np.random.default_rng(3)
    slow, fast = (
        prefactor.test_bound(estimated(study(c, generator, decays=1))) for c in (0.3, 0.9)
    )
    assert slow.verdict is REFUTED
    assert fast.verdict is INCONCLUSIVE
    assert "cannot support" in fast.rule
    assert (slow.units, fast.units) == (4, 4)


def test_a_configuration_below_one_half_forbids_support() -> None:
    """One run of one configuration at c = 0.45: no test of it, yet no support either."""
    generator = np.random.default_rng(4)
    runs = [
        simulated(c, generator, decay=decay)
        for decay, c in ((0.5, 0.9), (0.6, 0.92), (0.7, 0.88), (0.8, 0.9), (0.9, 0.91), (1.0, 0.45))
    ]
    own = prefactor.test_bound(estimated(runs))
    assert own.interval is not None
    assert own.interval.low > 0.5
    assert own.verdict is INCONCLUSIVE
    assert "weight_decay=1.0" in own.rule


def test_runs_that_agree_to_the_last_digit_decide_nothing() -> None:
    generator = np.random.default_rng(5)
    runs = [
        simulated(c, generator, decay=decay, seed=seed, size=0.0)
        for c in (0.3,)
        for decay in (0.5, 0.7, 1.0)
        for seed in range(4)
    ]
    own = prefactor.test_bound(estimated(runs))
    assert own.verdict is NOT_APPLICABLE
    assert own.p_value is None


def test_a_growing_norm_counts_unless_it_rises_to_its_floor() -> None:
    generator = np.random.default_rng(6)
    growing = [simulated(-0.1, generator, decay=2.0, seed=s) for s in range(3)]
    own = efficiencies(estimated(growing))
    assert [c for _, c in own.of_run] == pytest.approx([-0.1] * 3, abs=0.02)
    rising = [simulated(0.95, generator, decay=1.0, seed=s, height=0.3) for s in range(3)]
    own = efficiencies(estimated(rising))
    assert own.of_run == ()
    assert any("below its floor" in line for line in own.left_out)


def test_too_few_evaluations_bound_c_and_say_so() -> None:
    generator = np.random.default_rng(7)
    coarse = np.arange(0, 6001, 500)
    runs = [simulated(0.4, generator, seed=s, height=5.0, steps=coarse) for s in range(4)]
    own = prefactor.test_bound(estimated(runs))
    assert own.verdict is NOT_APPLICABLE
    assert "a floor cannot be told from none" in own.rule
