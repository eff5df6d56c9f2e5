"""P2, necessity, claim (iii), P4, BatchNorm and the head monitor: configurations are the units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims.configuration_regimes import Learning, Norm, labelled
from nht_theory.claims.configuration_signs import signed_configurations
from nht_theory.claims.registry import claim_named
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import DecayForm, VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters, ParameterGroup, Run
from nht_theory.runs.study import Study

SUPPORTED, REFUTED = VerdictKind.SUPPORTED, VerdictKind.REFUTED
INCONCLUSIVE, NOT_APPLICABLE = VerdictKind.INCONCLUSIVE, VerdictKind.NOT_APPLICABLE
STEPS = np.arange(0, 2001, 100)
NEVER = int(STEPS[-1]) + 1
SETTINGS = (53, 59, 67, 73, 89, 97, 113, 127)


def run(
    *,
    seed: int = 0,
    p: int = 97,
    decay: float = 1.0,
    memorized: int | None = 200,
    switched: int | None = 1000,
    squared_norm: np.ndarray | None = None,
    columns: dict[str, np.ndarray] | None = None,
    groups: tuple[ParameterGroup, ...] = (),
    last: int = NEVER,
    **extra: object,
) -> Run:
    """A run that memorises and switches when said (None: never), watched up to ``last``."""
    seen = last >= STEPS
    values = {
        "train_accuracy": ((memorized or NEVER) <= STEPS).astype(float),
        "heldout_accuracy": ((switched or NEVER) <= STEPS).astype(float),
        "squared_norm": 4000 * np.exp(-1e-3 * STEPS) if squared_norm is None else squared_norm,
        **(columns or {}),
    }
    return Run(
        name=f"p {p} decay {decay} {extra} seed {seed}",
        source=Path("constructed"),
        steps=STEPS[seen],
        values={name: series[seen] for name, series in values.items()},
        hyperparameters=Hyperparameters(
            optimizer="adamw",
            learning_rate=1e-3,
            weight_decay=decay,
            decay_form=DecayForm.DECOUPLED,
            seed=seed,
            extra={"p": p, **extra},
        ),
        groups=groups,
    )


def estimated(runs: Sequence[Run]) -> StudyEstimates:
    return estimate_study(Study(Path("constructed"), tuple(runs), tuple(runs)))


def verdict(name: str, runs: Sequence[Run]) -> Verdict:
    return claim_named(name).test(estimated(runs))


def peak_at(step: int) -> np.ndarray:
    return 1000.0 - np.abs(STEPS - step) / 10


# P2


NORMS = {
    Norm.GROWS: 1.5 * STEPS / 2000,
    Norm.PEAKS: 1.2 - np.abs(STEPS - 600) / 500,
    Norm.SUPPRESSED: -2 * STEPS / 2000,
}
COURSES: dict[Learning, dict[str, int | None]] = {
    Learning.PERSISTS: {"switched": None},
    Learning.DELAYED: {},
    Learning.NEVER: {"memorized": None, "switched": None},
}
Chosen = Callable[[int, np.random.Generator], int]


def sweep(norm: Chosen, learning: Chosen, *, seed: int = 0, levels: int = 9) -> StudyEstimates:
    """One run at each of ``levels`` weight decays; the choices give places in the two lists."""
    generator = np.random.default_rng(seed)
    runs = []
    for level, decay in enumerate(np.geomspace(0.01, 10, levels)):
        log_norm = list(NORMS.values())[norm(level, generator)]
        course = list(COURSES.values())[learning(level, generator)]
        noise = 0.01 * generator.normal(size=STEPS.size)
        runs.append(run(decay=float(decay), squared_norm=100 * np.exp(log_norm + noise), **course))
    return estimated(runs)


def in_order(level: int, _: np.random.Generator) -> int:
    return level // 3


def reversed_order(level: int, _: np.random.Generator) -> int:
    return 2 - level // 3


def at_random(_: int, generator: np.random.Generator) -> int:
    return int(generator.integers(3))


def only(place: int) -> Chosen:
    return lambda level, generator: place


def judged(study: StudyEstimates) -> Verdict:
    return claim_named("P2").test(study)


def test_p2_is_supported_by_three_regimes_in_order() -> None:
    own = judged(sweep(in_order, in_order))
    assert own.verdict is SUPPORTED
    assert (own.units, own.unit) == (9, "configurations")
    assert own.p_value == pytest.approx(2 / 84)  # three of nine at one end, both sides
    assert sum(line.startswith("clause: ") for line in own.details) == 9


def test_p2_labels_come_from_separate_columns() -> None:
    found = labelled(sweep(in_order, reversed_order)).configurations
    assert [row.norm for row in found] == [kind for kind in NORMS for _ in range(3)]
    assert [row.learning for row in found] == [kind for kind in COURSES for _ in range(3)][::-1]


def test_p2_names_the_clause_that_fails() -> None:
    own = judged(sweep(in_order, reversed_order))
    assert own.verdict is REFUTED
    assert "the switch is delayed, between the two others" in own.rule
    # 9!/(3!)^3 orders, both sides, after Holm over nine clauses
    assert own.p_value == pytest.approx(2 * 9 / 1680)


@pytest.mark.parametrize(
    ("norm", "learning"),
    [(at_random, only(1)), (only(0), at_random), (only(2), at_random), (at_random, at_random)],
    ids=["constant accuracies", "norm only grows", "norm only falls", "no order"],
)
def test_p2_without_order_is_hardly_ever_decided(norm: Chosen, learning: Chosen) -> None:
    """150 studies each: at most 5 % "supported" or "refuted"."""
    verdicts = Counter(judged(sweep(norm, learning, seed=seed)).verdict for seed in range(150))
    assert verdicts[SUPPORTED] == 0
    assert verdicts[REFUTED] <= 0.05 * 150


def test_p2_where_nothing_ever_switches_is_not_supported() -> None:
    """79 % of such runs "behaved as their regime says" before."""
    persists_or_never = [lambda level, _: 2 * (level // 5), only(0), only(2)]
    for learning in persists_or_never:
        for norm in (in_order, at_random, only(2)):
            own = judged(sweep(norm, learning))
            assert own.verdict in (INCONCLUSIVE, NOT_APPLICABLE)


def test_p2_with_one_course_of_learning_is_not_applicable() -> None:
    for place in range(3):
        assert judged(sweep(in_order, only(place))).verdict is NOT_APPLICABLE


def test_p2_does_not_take_a_short_run_for_a_persisting_shortcut() -> None:
    runs = [run(decay=0.1), run(decay=1.0, switched=None, last=900), run(decay=10.0, switched=None)]
    found = labelled(estimated(runs))
    assert [(row.weight_decay, row.learning) for row in found.configurations] == [
        (0.1, Learning.DELAYED),
        (10.0, Learning.PERSISTS),
    ]
    assert any("stopped before the slowest" in line for line in found.left_out)


def test_p2_labels_a_configuration_by_most_of_its_seeds() -> None:
    runs = [run(seed=seed, switched=None if seed else 1000) for seed in range(3)]
    (row,) = labelled(estimated(runs)).configurations
    assert row.learning is Learning.PERSISTS
    (tied,) = labelled(estimated(runs[:2])).configurations
    assert tied.learning is Learning.OTHER


# Necessity


def test_necessity_with_a_peak_after_memorising_is_not_decided() -> None:
    """V triples after memorising and halves before the switch: V_mem < V_star, peak > V_star."""
    norm = np.interp(STEPS, [0, 200, 600, 1000, 2000], [900, 1000, 3000, 1500, 1000])
    own = verdict(
        "necessity", [run(seed=s, p=p, squared_norm=norm) for s in (0, 1) for p in SETTINGS]
    )
    assert own.verdict is INCONCLUSIVE
    assert "the two readings of V_sc disagree" in own.rule
    assert "8 of 8 counter-examples, 8 definite: refuted" in own.rule
    assert any("under the first rule" in line and "refuted" in line for line in own.details)


def test_necessity_with_a_norm_that_only_grows_is_refuted() -> None:
    own = verdict("necessity", [run(p=p, squared_norm=10.0 + STEPS) for p in SETTINGS])
    assert own.verdict is REFUTED
    assert own.p_value == pytest.approx(0.01**8)
    assert (own.units, own.unit) == (8, "configurations")


def test_necessity_counts_the_seeds_of_a_configuration_once() -> None:
    """Two of three seeds make a configuration a counter-example, one of three does not."""
    growing = 10.0 + STEPS
    mixed = [
        run(seed=seed, p=p, squared_norm=growing if seed < against else None)
        for p, against in ((53, 1), (97, 2))
        for seed in range(3)
    ]
    own = verdict("necessity", mixed)
    assert "by configuration, 1 of 2 counter-examples, 1 definite" in own.rule
    assert "counter-examples by configuration: 3 runs in 2 of 2 configurations" in own.details


def test_the_necessity_case_with_a_late_peak(shared_data: Path) -> None:
    path = shared_data.parent / "cases" / "verdicts" / "T7_peak_after_memorisation.csv"
    own = claim_named("necessity").test(estimate_study(load_study(path)))
    assert own.verdict is INCONCLUSIVE


# Claim (iii)


@pytest.mark.parametrize(
    ("norm", "expected", "share"),
    [
        (peak_at(500), SUPPORTED, 1.0),
        (peak_at(1500), REFUTED, 0.0),
        (4000 * np.exp(-1e-3 * STEPS), REFUTED, 0.0),
        (10.0 + STEPS, REFUTED, 0.0),
    ],
    ids=["peak before", "peak after", "falls from the start", "grows"],
)
def test_emergence_events(norm: np.ndarray, expected: VerdictKind, share: float) -> None:
    runs = [run(seed=s, p=p, squared_norm=norm) for s in (0, 1) for p in SETTINGS]
    own = verdict("emergence_events", runs)
    assert own.verdict is expected
    assert own.statistic == share
    assert own.p_value == pytest.approx(2 * 0.5**8)
    assert (own.n, own.units) == (16, 8)


def test_emergence_events_count_switches_without_a_delay() -> None:
    """Claim (iii) has no condition on the delay: runs that generalise as they memorise count."""
    at_once = [run(p=p, memorized=1000, squared_norm=10.0 + STEPS) for p in SETTINGS]
    assert verdict("emergence_events", at_once).verdict is REFUTED
    earlier = [run(p=p, memorized=1200, squared_norm=10.0 + STEPS) for p in SETTINGS]
    assert verdict("emergence_events", earlier).verdict is REFUTED


def test_emergence_events_do_not_guess_at_what_came_before_the_log() -> None:
    """V may have risen before the first evaluation, where that is not at the start."""
    runs = [run(p=p) for p in SETTINGS]
    late = [
        Run(
            r.name,
            r.source,
            r.steps[1:],
            {k: v[1:] for k, v in r.values.items()},
            r.hyperparameters,
        )
        for r in runs
    ]
    assert verdict("emergence_events", runs).verdict is REFUTED
    assert verdict("emergence_events", late).verdict is NOT_APPLICABLE


def test_one_configuration_decides_nothing_beyond_it() -> None:
    own = verdict("emergence_events", [run(seed=s, squared_norm=peak_at(500)) for s in range(20)])
    assert own.verdict is INCONCLUSIVE
    assert "one configuration" in own.rule


def test_signs_of_configurations_are_those_of_their_medians() -> None:
    found = signed_configurations({"a": [1, 1, -9], "b": [-1, -2, 8], "c": [1, -1]}, unit="1")
    assert dict(found.medians) == {"a": 1, "b": -1, "c": 0}
    assert (found.positive, found.negative, found.p_value) == (1, 1, 1.0)


# BatchNorm, head monitor, P4


def test_batch_norm() -> None:
    def pairs(with_batch: np.ndarray, without: np.ndarray, settings: Sequence[int]) -> list[Run]:
        return [
            run(seed=seed, p=p, squared_norm=norm, normalization=kind)
            for kind, norm in (("batch", with_batch), ("none", without))
            for p in settings
            for seed in range(3)
        ]

    earlier = pairs(peak_at(500), peak_at(900), SETTINGS)
    own = verdict("batch_norm", earlier)
    assert own.verdict is SUPPORTED
    assert own.statistic == pytest.approx(np.log(900 / 500))
    assert (own.units, own.p_value) == (8, pytest.approx(2 * 0.5**8))
    assert verdict("batch_norm", pairs(peak_at(900), peak_at(500), SETTINGS)).verdict is REFUTED
    alone = verdict("batch_norm", pairs(peak_at(500), peak_at(900), SETTINGS[:1]))
    assert alone.verdict is INCONCLUSIVE
    assert "one configuration" in alone.rule
    falls = 4000 * np.exp(-1e-3 * STEPS)
    peakless = verdict("batch_norm", pairs(falls, peak_at(900), SETTINGS))
    assert peakless.verdict is NOT_APPLICABLE
    assert "24 runs have no peak" in peakless.rule


@pytest.mark.parametrize(("head", "expected"), [(400, SUPPORTED), (900, REFUTED)])
def test_head_monitor(head: int, expected: VerdictKind) -> None:
    columns = {"squared_norm/head": peak_at(head)}
    runs = [
        run(seed=s, p=p, squared_norm=peak_at(700), columns=columns)
        for s in (0, 1)
        for p in SETTINGS
    ]
    own = verdict("head_monitor", runs)
    assert own.verdict is expected
    assert own.statistic == 700 - head
    assert own.units == 8
    alone = verdict("head_monitor", [r for r in runs if r.hyperparameters.extra["p"] == 97])
    assert alone.verdict is INCONCLUSIVE
    assert "one configuration" in alone.rule


def test_head_monitor_lists_heads_without_a_peak() -> None:
    columns = {"squared_norm/head": 4000 * np.exp(-1e-3 * STEPS)}
    runs = [run(p=p, squared_norm=peak_at(700), columns=columns) for p in SETTINGS]
    own = verdict("head_monitor", runs)
    assert own.verdict is NOT_APPLICABLE
    assert "left out: 8 runs: the norm does not rise and then fall (squared_norm/head)" in own.rule


LAYERS = tuple(
    ParameterGroup(name, "layer", (name,), 10, depth)
    for depth, name in enumerate(("first", "second", "third", "head"))
)
ESCAPES = {
    f"squared_norm/{layer.name}": np.exp(-1e-3 * np.abs(STEPS - 1300 + 300 * place))
    for place, layer in enumerate(LAYERS)
}


def test_p4_by_configuration() -> None:
    runs = [
        run(seed=s, p=p, columns=ESCAPES, groups=LAYERS) for s in range(5) for p in SETTINGS[:2]
    ]
    own = verdict("P4", runs)
    assert own.verdict is SUPPORTED
    assert own.p_value == pytest.approx(2 / 24**2)  # two configurations, not ten runs
    assert (own.n, own.units) == (10, 2)
    alone = verdict("P4", runs[::2])
    assert alone.verdict is NOT_APPLICABLE
    assert "5 runs of one configuration" in alone.rule


@pytest.mark.parametrize("name", ["P4", "head_monitor"])
def test_weights_without_accuracies_decide_nothing(name: str) -> None:
    """Whether such runs memorised is unknown, not censored (P4 was refuted, p = 0.00013)."""
    runs = []
    for p in SETTINGS:
        logged = run(p=p, squared_norm=peak_at(900), columns=ESCAPES, groups=LAYERS)
        values = {key: own for key, own in logged.values.items() if "accuracy" not in key}
        runs.append(
            Run(
                logged.name,
                logged.source,
                logged.steps,
                values,
                logged.hyperparameters,
                groups=LAYERS,
            )
        )
    own = verdict(name, runs)
    assert own.verdict is NOT_APPLICABLE
    assert "accuracies" in own.rule
