"""Whether the runs of a study say which of them share a configuration, and what is refused else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims.validate import validate
from nht_theory.conventions import VerdictKind
from nht_theory.errors import InputError
from nht_theory.estimators.summary import estimate_study
from nht_theory.forecasting.backtest import backtest
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.forecasting.plan import plan_training
from nht_theory.forecasting.score_study import score_study
from nht_theory.reporting.assemble import report_content
from nht_theory.reporting.citation import cite
from nht_theory.reporting.summary import answers
from nht_theory.runs.configurations import Configurations, configurations_of
from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

KNOWN = Configurations.KNOWN
NOTHING, GROUPS = Configurations.NOTHING_STATED, Configurations.GROUPS_UNEXPLAINED
STEPS = np.arange(0, 4001, 100)
STATED = {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 1.0}


def run(name: str, start: float = 4000.0, **known: object) -> Run:
    """V falls by 1e-3 a step; the run generalises as V passes 1000."""
    norm = start * np.exp(-1e-3 * STEPS)
    return Run(
        name,
        Path("made"),
        STEPS,
        {
            "squared_norm": norm,
            "train_accuracy": (STEPS >= 300).astype(float),
            "heldout_accuracy": (norm <= 1000).astype(float),
        },
        Hyperparameters(**known),  # type: ignore[arg-type]
    )


def seven_groups(**known: object) -> list[Run]:
    """116 runs of seven groups, as in the trial: nothing can be read but names."""
    return [run(f"group{n % 7}/run{n}", 4000 + 30 * n, **known) for n in range(116)]


def study(runs: Iterable[Run]) -> Study:
    chosen = tuple(runs)
    return Study(Path("made"), chosen, chosen)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (seven_groups(), NOTHING),
        (seven_groups(parameter_count=227_000), NOTHING),  # counted in the weights, not chosen
        (seven_groups(**STATED), GROUPS),
        ([run(f"run{n}") for n in range(4)], NOTHING),
        ([run("alone")], KNOWN),
        # One configuration: several seeds, settings stated and equal, or a seed stated.
        ([run(f"run{n}", **STATED) for n in range(4)], KNOWN),
        ([run(f"run{n}", seed=n) for n in range(4)], KNOWN),
        ([run(f"mod97_seed{n}") for n in range(4)], KNOWN),
        ([run(f"group{n % 2}/run{n}", **STATED, seed=n) for n in range(4)], KNOWN),
        # The same seeds in each group: something that is not stated differs.
        ([run(f"{g}/s{n}", **STATED, seed=n) for g in ("k3", "kinf") for n in range(3)], GROUPS),
        ([run(f"{g}/run{n}", seed=n) for g in "ab" for n in range(3)], NOTHING),
        # Settings that differ tell configurations apart, whatever the names.
        ([run(f"x/run{n}", weight_decay=0.1 * (1 + n % 2)) for n in range(4)], KNOWN),
    ],
)
def test_what_tells_configurations_apart(runs: list[Run], expected: Configurations) -> None:
    assert configurations_of(runs) is expected


def test_published_studies_state_theirs(shared_data: Path) -> None:
    for source in ("companion", "muon", "porth"):
        assert load_study(shared_data / source).configurations is KNOWN
    caps = load_study(shared_data.parent / "cases" / "logs" / "_merge_by_intervention")
    assert caps.configurations is GROUPS


def test_a_pattern_is_the_remedy(tmp_path: Path) -> None:
    for decay in (0.1, 1.0):
        for seed in range(2):
            place = tmp_path / f"wd{decay}_seed{seed}.csv"
            place.write_text("step,val_acc,weight_norm\n0,0.1,3\n10,1.0,2\n")
    assert load_study(tmp_path).configurations is NOTHING
    pattern = ReadOptions(pattern="wd{weight_decay}_seed{seed}")
    assert load_study(tmp_path, pattern).configurations is KNOWN


def test_no_claim_rests_on_configurations_that_are_unknown() -> None:
    silent = validate(study(seven_groups()[:21]))
    assert {own.verdict for own in silent.verdicts} == {VerdictKind.NOT_APPLICABLE}
    for own in silent.verdicts:
        assert "configurations cannot be told apart" in own.rule
        assert "--pattern" in own.rule
    assert silent.to_dict()["runs"]["configurations_known"] is False
    assert "configurations cannot be told apart" in cite(silent).to_apa()
    assert cite(silent).facts.configurations is None
    holds = answers(report_content(silent))[1]
    assert holds.headline == "No claim can be judged: the settings are unknown"
    seeds = validate(study(run(f"r{n}", 4000 + 30 * n, **STATED, seed=n) for n in range(8)))
    assert any(own.verdict is not VerdictKind.NOT_APPLICABLE for own in seeds.verdicts)


def test_groups_are_not_forecast_as_seeds_of_one_another() -> None:
    silent, target = study(seven_groups()[:14]), run("new", 5000)
    estimated = estimate_study(silent)
    made, note = backtest(estimated)
    assert made == ()
    assert "configurations cannot be told apart" in note
    assert "other seeds" not in note
    refused = forecast_run(target, silent, at=600)
    assert refused.basis is Basis.REFUSED
    assert "configurations cannot be told apart" in refused.reason
    for ask in (
        lambda: score_study(silent),
        lambda: plan_training(Hyperparameters(**STATED), silent),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="configurations cannot be told apart"):
            ask()


def test_seeds_of_one_configuration_are_still_forecast() -> None:
    one = study(run(f"run{n}", 4000 + 30 * n, **STATED, seed=n) for n in range(5))
    made, note = backtest(estimate_study(one))
    assert len(made) == 5
    assert "other seeds" in note
