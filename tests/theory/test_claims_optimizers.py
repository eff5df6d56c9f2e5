"""That SGD does not memorise where AdamW does: exact binomial limits, by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims import optimizer_dependence
from nht_theory.claims.optimizer_dependence import ALMOST_NEVER
from nht_theory.claims.registry import claim_named
from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import VerdictKind
from nht_theory.estimators.summary import estimate_study
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

STEPS = np.arange(0, 2001, 100)


def runs_at(
    optimizer: str, memorized: Sequence[bool], *, last: int = 2000, **settings: float | None
) -> list[Run]:
    """One run a seed, each memorising at step 500 or not at all."""
    chosen = {"learning_rate": 1e-3, "weight_decay": 1.0, **settings}
    steps = STEPS[last >= STEPS]
    return [
        Run(
            f"{optimizer} {settings} {seed}",
            Path("made"),
            steps,
            {"train_accuracy": ((steps >= 500) & flag).astype(float)},
            Hyperparameters(optimizer, seed=seed, **chosen),  # type: ignore[arg-type]
        )
        for seed, flag in enumerate(memorized)
    ]


def judged(runs: Iterable[Run]) -> Verdict:
    chosen = tuple(runs)
    return optimizer_dependence.test(estimate_study(Study(Path("made"), chosen, chosen)))


def test_twelve_of_twenty_sgd_runs_that_memorise_refute_it(shared_data: Path) -> None:
    study = load_study(shared_data.parent / "cases" / "verdicts" / "T9_sgd_memorises_12of20.csv")
    own = claim_named("optimizer_dependence").test(estimate_study(study))
    assert own.verdict is VerdictKind.REFUTED
    assert own.statistic == 0.6
    assert own.interval is not None
    assert own.interval.low == pytest.approx(0.3605, abs=1e-4)  # Clopper-Pearson, from tables
    assert own.rests_on == "20 runs"
    assert "one setting" in own.rule


@pytest.mark.parametrize(("seeds", "shown"), [(35, False), (36, True)])
def test_never_is_shown_once_a_tenth_is_excluded(seeds: int, shown: bool) -> None:
    """None of n: the upper limit is 1 - 0.025^(1/n), which falls below 0.1 at n = 36."""
    own = judged(runs_at("adamw", [True] * 10) + runs_at("sgd", [False] * seeds))
    assert (own.verdict is VerdictKind.SUPPORTED) is shown
    assert own.interval is not None
    assert own.interval.high == pytest.approx(1 - 0.025 ** (1 / seeds))
    assert own.p_value == pytest.approx(2 * (1 - ALMOST_NEVER) ** seeds)
    assert (own.power == "") is shown


def test_adamw_that_does_not_memorise_either_shows_nothing() -> None:
    own = judged(runs_at("adamw", [False] * 40) + runs_at("sgd", [False] * 40))
    assert own.verdict is VerdictKind.INCONCLUSIVE
    assert own.statistic_name == "share of AdamW runs that memorise"


def test_settings_are_the_units_where_there_are_several() -> None:
    """Twenty seeds at each of two settings are two, not forty: (1/10)^2, doubled, by hand."""
    own = judged(
        run
        for decay in (0.5, 1.0)
        for run in (
            *runs_at("adamw", [True] * 20, weight_decay=decay),
            *runs_at("sgd", [False] * 20, weight_decay=decay),
        )
    )
    assert own.verdict is VerdictKind.INCONCLUSIVE
    assert own.rests_on == "2 settings"
    assert own.p_value == 1.0  # 2 x 0.9^2 > 1
    often = judged(
        run
        for decay in (0.5, 1.0)
        for run in (
            *runs_at("adamw", [True] * 5, weight_decay=decay),
            *runs_at("sgd", [True, True, True, False, False], weight_decay=decay),
        )
    )
    assert often.verdict is VerdictKind.REFUTED
    assert often.p_value == pytest.approx(2 * ALMOST_NEVER**2)
    assert often.rests_on == "2 settings"


def test_an_sgd_run_that_was_stopped_early_does_not_tell() -> None:
    short = runs_at("sgd", [False] * 40, last=400)
    assert judged(runs_at("adamw", [True] * 10) + short).verdict is VerdictKind.NOT_APPLICABLE


def test_settings_that_are_not_stated_are_not_equal_settings() -> None:
    silent = {"learning_rate": None}
    own = judged(runs_at("adamw", [True] * 10, **silent) + runs_at("sgd", [False] * 40, **silent))
    assert own.verdict is VerdictKind.NOT_APPLICABLE
