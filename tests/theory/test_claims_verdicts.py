"""Each prediction on studies built to support it, to refute it, and to leave it unjudged."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims import judging
from nht_theory.claims.failure_prediction import cross_fitted_gains
from nht_theory.claims.registry import CLAIMS, claim_named
from nht_theory.claims.stability import verdicts_at_other_thresholds
from nht_theory.claims.validate import validate
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import DecayForm, Thresholds, VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.runs.run import Hyperparameters, ParameterGroup, Run
from nht_theory.runs.study import Study

SUPPORTED, REFUTED = VerdictKind.SUPPORTED, VerdictKind.REFUTED
INCONCLUSIVE, NOT_APPLICABLE = VerdictKind.INCONCLUSIVE, VerdictKind.NOT_APPLICABLE
STEPS = np.arange(0, 2001, 100)


def run(  # the knobs of a constructed run
    *,
    seed: int = 0,
    decay: float | None = 1.0,
    memorized: int | None = 200,
    switched: int | None = 1000,
    squared_norm: np.ndarray | None = None,
    optimizer: str = "adamw",
    columns: dict[str, np.ndarray] | None = None,
    groups: tuple[ParameterGroup, ...] = (),
    **extra: object,
) -> Run:
    never = STEPS[-1] + 1
    values = {
        "train_accuracy": ((never if memorized is None else memorized) <= STEPS).astype(float),
        "heldout_accuracy": ((never if switched is None else switched) <= STEPS).astype(float),
        "squared_norm": 4000 * np.exp(-1e-3 * STEPS) if squared_norm is None else squared_norm,
    }
    return Run(
        name=f"{optimizer} {decay} {extra} seed {seed}",
        source=Path("constructed"),
        steps=STEPS,
        values={**values, **(columns or {})},
        hyperparameters=Hyperparameters(
            optimizer=optimizer,
            learning_rate=1e-3,
            weight_decay=decay,
            decay_form=DecayForm.DECOUPLED,
            seed=seed,
            extra=extra,
        ),
        groups=groups,
    )


def study(runs: Iterable[Run]) -> StudyEstimates:
    chosen = tuple(runs)
    return estimate_study(Study(Path("constructed"), chosen, chosen))


COUNTS_NO_RUNS = ("emergence_decay", "emergence_sharpness", "failure_prediction")
"""Claims whose n counts sizes, configurations or seeds."""


def verdict(name: str, runs: Iterable[Run]) -> Verdict:
    """The verdict, which names the runs that it rests on, each once, and counts them."""
    chosen = tuple(runs)
    own = claim_named(name).test(study(chosen))
    assert set(own.runs) <= {run.name for run in chosen}
    assert bool(own.runs) is (own.verdict is not NOT_APPLICABLE)
    if name not in COUNTS_NO_RUNS:
        assert len(set(own.runs)) == len(own.runs) == own.n
    return own


@pytest.mark.parametrize("name", [p.name for p in CLAIMS])
def test_nothing_to_judge_is_not_applicable_and_says_what_is_missing(name: str) -> None:
    alone = verdict(name, [run(decay=None, memorized=None, switched=None)])
    assert alone.verdict is NOT_APPLICABLE
    assert alone.statistic is None
    assert alone.rule


@pytest.mark.parametrize("name", [p.name for p in CLAIMS])
def test_every_prediction_states_itself(name: str) -> None:
    own = claim_named(name)
    assert own.statement
    assert own.needs
    assert own.rule
    assert own.references


def test_necessity() -> None:
    falling = [run(seed=seed, p=p) for p in range(60) for seed in range(2)]
    growing = [run(seed=seed, p=p, squared_norm=10.0 + STEPS) for p in (97, 98) for seed in (0, 1)]
    shown = verdict("necessity", falling)
    assert shown.verdict is SUPPORTED
    assert (shown.units, shown.unit) == (60, "configurations")
    assert shown.p_value == pytest.approx(0.95**60)
    few = verdict("necessity", falling[:40])
    assert few.verdict is INCONCLUSIVE
    assert "59 delayed configurations" in few.power
    assert verdict("necessity", [run(seed=seed) for seed in range(70)]).verdict is INCONCLUSIVE
    against = verdict("necessity", falling[:40] + growing)
    assert against.verdict is REFUTED
    assert against.statistic == pytest.approx(2 / 22)
    named = [line for line in against.details if line.startswith("counter-example:")]
    assert len(named) == 4


def pure(c: float) -> np.ndarray:
    return 4000 * np.exp(-c * 2e-3 * STEPS)


def test_prefactor() -> None:
    def sweep(center: float) -> list[Run]:
        generator = np.random.default_rng(0)
        return [
            run(seed=seed, squared_norm=pure(center + 0.02 * generator.normal()), p=p)
            for p in (53, 97, 113)
            for seed in range(4)
        ]

    assert verdict("prefactor", sweep(0.7)).verdict is SUPPORTED
    assert verdict("prefactor", sweep(0.3)).verdict is REFUTED
    assert verdict("prefactor_pure_decay", sweep(1.0)).verdict is SUPPORTED
    assert verdict("prefactor_pure_decay", sweep(0.7)).verdict is REFUTED
    assert verdict("prefactor", sweep(0.7)).statistic == pytest.approx(0.7, abs=0.03)
    growing = [run(seed=9 + seed, squared_norm=pure(-0.1), p=127) for seed in range(3)]
    growing = [  # a growing norm counts against the claim instead of dropping out
        Run(
            r.name,
            r.source,
            r.steps,
            {**r.values, "squared_norm": r.squared_norm * f},
            r.hyperparameters,
        )
        for r, f in zip(
            growing, (1.0, 1 + 1e-4 * STEPS / 2000, 1 + 2e-4 * STEPS / 2000), strict=True
        )
    ]
    assert verdict("prefactor", sweep(0.7) + growing).verdict is REFUTED


def accuracy_run(seed: int, decay: float, accuracy: float, **extra: object) -> Run:
    noise = 0.002 * np.random.default_rng([seed, int(1000 * decay)]).normal()
    return run(
        seed=seed,
        decay=decay,
        columns={"heldout_accuracy": np.full(21, accuracy + noise)},
        **extra,
    )


LAYERS = tuple(
    ParameterGroup(name, "layer", (name,), 10, depth)
    for depth, name in enumerate(("first", "second", "third", "head"))
)


@pytest.mark.parametrize(("order", "expected"), [(-1, SUPPORTED), (1, REFUTED)])
def test_p4(order: int, expected: VerdictKind) -> None:
    runs = []
    for seed, p in [(seed, p) for p in (53, 97, 113) for seed in range(2)]:
        starts = [500 + 300 * place for place in range(4)][::order]
        columns = {
            f"squared_norm/{layer.name}": np.exp(-2e-3 * (STEPS - start).clip(0))
            for layer, start in zip(LAYERS, starts, strict=True)
        }
        runs.append(run(seed=seed, p=p, columns=columns, groups=LAYERS))
    own = verdict("P4", runs)
    assert own.verdict is expected
    assert own.n == 6
    assert own.units == 3
    assert verdict("P4", runs[:2]).verdict is NOT_APPLICABLE


def test_runs_without_a_transition_do_not_speak_of_its_order() -> None:
    """A layer order or a head's lead without a transition says nothing; claim (iii) has no
    condition on the delay, so that there a switch without one counts."""
    columns = {
        f"squared_norm/{layer.name}": np.exp(-1e-3 * np.abs(STEPS - 400 - 300 * place))
        for place, layer in enumerate(LAYERS)
    }

    def made(**chosen: int | None) -> list[Run]:
        norm = 1000.0 - np.abs(STEPS - 500) / 10
        return [
            run(seed=s, p=p, squared_norm=norm, columns=columns, groups=LAYERS, **chosen)
            for s in range(3)
            for p in (97, 113)
        ]

    for name in ("P4", "head_monitor", "emergence_events"):
        assert verdict(name, made(memorized=200, switched=1500)).n == 6
    at_once: dict[str, int | None] = {"memorized": 600, "switched": 600}
    for name in ("P4", "head_monitor"):
        assert verdict(name, made(memorized=None)).verdict is NOT_APPLICABLE
        assert verdict(name, made(**at_once)).verdict is NOT_APPLICABLE
    assert verdict("emergence_events", made(**at_once)).n == 6


def inverted_run(seed: int, decay: float, gain: float) -> Run:
    """V is larger on the structured side (S < 0); final held-out accuracy is 0.7 plus the gain."""
    noise = 0.001 * np.random.default_rng([seed, int(1000 * decay)]).normal()
    heldout = np.where(STEPS >= 1000, 0.7 + gain + noise, 0.1)
    return run(
        seed=seed,
        decay=decay,
        squared_norm=100.0 + STEPS,
        columns={"heldout_accuracy": heldout},
    )


@pytest.mark.parametrize(("gain", "expected"), [(0.0, SUPPORTED), (0.2, REFUTED)])
def test_failure_prediction(gain: float, expected: VerdictKind) -> None:
    runs = [
        inverted_run(seed, decay, gain if decay > 0.01 else 0.0)
        for decay in (0.01, 0.1, 1.0)
        for seed in range(4)
    ]
    assert verdict("failure_prediction", runs).verdict is expected


def test_gain_is_not_made_out_of_noise() -> None:
    """Six levels of pure noise: the best level on the seed itself would look 0.1 better."""
    generator = np.random.default_rng(0)
    gains = [
        gain
        for _ in range(200)
        for gain in cross_fitted_gains(
            [dict(zip(range(6), generator.normal(0, 0.1, 6), strict=True)) for _ in range(4)]
        )
    ]
    assert np.mean(gains) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(("carrying", "expected"), [("total", SUPPORTED), ("head", REFUTED)])
def test_carrier(carrying: str, expected: VerdictKind) -> None:
    """The delay follows the gap of the total, or that of the head while the rest is noise."""
    generator = np.random.default_rng(3)
    runs = []
    for p in range(12):
        gaps = {name: generator.uniform(0.3, 3.0) for name in ("total", "embedding", "head")}
        for decay, seed in itertools.product((1.0, 1.25), range(2)):
            scatter = np.exp(0.2 * generator.normal())
            switched = int(round(200 + 500 / decay * gaps[carrying] * scatter, -2))
            series = {
                name: 4000 * np.exp(-gap * (STEPS - 200.0) / (switched - 200))
                for name, gap in gaps.items()
            }
            runs.append(
                run(
                    seed=seed,
                    decay=decay,
                    switched=switched,
                    squared_norm=series["total"],
                    columns={
                        f"squared_norm/{name}": series[name] for name in ("embedding", "head")
                    },
                    p=p,
                )
            )
    own = verdict("carrier", runs)
    assert own.verdict is expected
    assert own.units >= 12


def test_stability_repeats_at_the_other_thresholds() -> None:
    runs = tuple(run(seed=0, p=p) for p in range(150))
    study = Study(Path("x"), runs, runs)
    claims = [claim_named("necessity"), claim_named("P1")]
    own = judging.test_each(claims, estimate_study(study))
    elsewhere = verdicts_at_other_thresholds(study, claims, own, Thresholds())
    assert set(elsewhere) == {"necessity"}
    assert elsewhere["necessity"][0].setting == "0.8, k = 1"
    assert elsewhere["necessity"][0].verdict is VerdictKind.SUPPORTED
    assert len(elsewhere["necessity"]) == 7


def test_an_error_in_one_claim_leaves_the_others_judged() -> None:
    def ends_in_an_error(study: StudyEstimates) -> Verdict:
        raise ZeroDivisionError("all delays are equal")

    broken = replace(claim_named("P1"), test=ends_in_an_error)
    runs = tuple(run(seed=0, p=p) for p in range(150))
    first, second = judging.test_each(
        [broken, claim_named("necessity")], estimate_study(Study(Path("x"), runs, runs))
    )
    assert first.verdict is VerdictKind.NOT_APPLICABLE
    assert first.failure == "ZeroDivisionError: all delays are equal"
    assert second.verdict is VerdictKind.SUPPORTED


def test_an_empty_study_is_judged_without_a_traceback() -> None:
    report = validate(Study(Path("x"), (), ())).to_dict()
    assert {own["verdict"] for own in report["verdicts"]} == {"not applicable"}
    assert report["runs"]["distinct"] == 0
