"""The paper's assumptions on runs whose answer is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims.validate import validate
from nht_theory.estimators.assumption_summary import summarize_assumptions
from nht_theory.estimators.assumptions import AssumptionCheck, AssumptionStatus, check_assumptions
from nht_theory.estimators.summary import estimate_run, estimate_study
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

STEPS = np.arange(0, 1001, 100)


def checked(values: dict[str, object], **hyper: float) -> dict[str, AssumptionCheck]:
    arrays = {name: np.asarray(v, dtype=np.float64) for name, v in values.items()}
    run = Run("a", Path("a"), STEPS, arrays, Hyperparameters(**hyper))  # type: ignore[arg-type]
    return {check.name: check for check in check_assumptions(run, estimate_run(run))}


DELAYED = {
    "train_accuracy": np.where(STEPS >= 200, 1.0, 0.1),
    "heldout_accuracy": np.where(STEPS >= 800, 1.0, 0.1),
    "squared_norm": np.exp(-STEPS / 300.0),
}


def test_a_delayed_run_meets_the_hierarchy_and_the_order() -> None:
    made = checked(DELAYED)
    assert made["A4"].status is AssumptionStatus.HOLDS
    assert made["A4"].value == pytest.approx(np.exp(600 / 300), rel=0.4)
    assert made["A5"].status is AssumptionStatus.HOLDS
    assert made["A5"].value == 600
    for name in ("A1", "A2", "A3"):
        assert made[name].status is AssumptionStatus.UNKNOWN
        assert "needs" in made[name].reason


def test_a_growing_norm_fails_the_hierarchy() -> None:
    made = checked({**DELAYED, "squared_norm": np.exp(STEPS / 300.0)})
    assert made["A4"].status is AssumptionStatus.FAILS


def test_the_order_reversed_fails_and_a_tie_cannot_be_told() -> None:
    swapped = {
        **DELAYED,
        "train_accuracy": DELAYED["heldout_accuracy"],
        "heldout_accuracy": DELAYED["train_accuracy"],
    }
    assert checked(swapped)["A5"].status is AssumptionStatus.FAILS
    tied = {**DELAYED, "heldout_accuracy": DELAYED["train_accuracy"]}
    assert checked(tied)["A5"].status is AssumptionStatus.UNKNOWN


def test_a_run_that_never_generalises_still_memorised_first() -> None:
    made = checked({**DELAYED, "heldout_accuracy": np.full(STEPS.size, 0.1)})
    assert made["A5"].status is AssumptionStatus.HOLDS
    assert made["A4"].status is AssumptionStatus.UNKNOWN


def test_smoothness_decides_the_step_size() -> None:
    smooth = np.linspace(1.0, 4.0, STEPS.size)
    made = checked({**DELAYED, "smoothness": smooth}, learning_rate=1e-3, weight_decay=1e-3)
    assert made["A1"].status is AssumptionStatus.HOLDS
    assert made["A1"].value == 4.0
    assert made["A3"].status is AssumptionStatus.FAILS
    assert made["A3"].limit == pytest.approx(1e-3 / 4.0)
    wide = checked({**DELAYED, "smoothness": smooth}, learning_rate=1e-3, weight_decay=1.0)
    assert wide["A3"].status is AssumptionStatus.HOLDS
    unknown = checked(DELAYED, learning_rate=1e-3, weight_decay=1e-3)
    assert "L <= lambda/eta = 1" in unknown["A3"].reason


def test_the_gradient_vanishes_or_does_not() -> None:
    fading = np.where(STEPS >= 200, 1e-4, 1.0)
    assert checked({**DELAYED, "gradient_squared_norm": fading})["A2"].status is (
        AssumptionStatus.HOLDS
    )
    staying = np.where(STEPS >= 200, 0.3, 1.0)
    assert checked({**DELAYED, "gradient_squared_norm": staying})["A2"].status is (
        AssumptionStatus.FAILS
    )


@pytest.mark.parametrize(
    ("alignment", "status"),
    [(-0.7e-3, AssumptionStatus.FAILS), (-1e-5, AssumptionStatus.UNKNOWN)],
)
def test_alignment_can_refute_a_vanishing_gradient_but_not_prove_it(
    alignment: float, status: AssumptionStatus
) -> None:
    made = checked(
        {
            **DELAYED,
            "decay": np.full(STEPS.size, 2e-3),
            "alignment": np.full(STEPS.size, alignment),
        }
    )
    assert made["A2"].status is status


def test_the_summary_counts_each_run_once() -> None:
    growing = {**DELAYED, "squared_norm": np.exp(STEPS / 300.0)}
    blind = {"squared_norm": DELAYED["squared_norm"]}
    runs = tuple(
        Run(
            name, Path(name), STEPS, {k: np.asarray(v, dtype=np.float64) for k, v in values.items()}
        )
        for name, values in (("falls", DELAYED), ("grows", growing), ("blind", blind))
    )
    study = Study(Path("study"), runs, runs)
    found = {own.name: own for own in summarize_assumptions(estimate_study(study))}
    assert (found["A4"].holds, found["A4"].failing, found["A4"].unknown) == (1, ("grows",), 1)
    assert (found["A5"].holds, found["A5"].failing, found["A5"].unknown) == (2, (), 1)
    assert (found["A1"].known, found["A4"].known) == (False, True)
    assert "needs smoothness" in found["A1"].reason
    told = {own["name"]: own for own in validate(study, stability=False).to_dict()["assumptions"]}
    assert (told["A4"]["holds"], told["A4"]["fails"], told["A4"]["failing"]) == (1, 1, ["grows"])
    empty = Study(Path("none"), (), ())
    assert summarize_assumptions(estimate_study(empty)) == ()
