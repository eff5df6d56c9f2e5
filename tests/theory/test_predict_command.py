"""``nht predict``: the contract of its JSON, the regimes and their inequalities."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from nht_theory.cli.predict import describe
from nht_theory.conventions import DecayForm, OptimizerKind, Regime
from nht_theory.dynamics import Cosine, OptimizerDynamics, StepDecay
from nht_theory.errors import DomainError, InputError
from nht_theory.forecasting.from_hyperparameters import predict_transition
from nht_theory.forecasting.transition import TransitionPrediction
from nht_theory.formulas import catalogue

NORMS = {"squared_norm_shortcut": 3900.0, "squared_norm_structured": 1150.0}
LOG_RATIO = math.log(3900 / 1150)


def adamw(weight_decay: float = 1.0, **options: object) -> OptimizerDynamics:
    return OptimizerDynamics(OptimizerKind.ADAMW, 1e-3, weight_decay, **options)  # type: ignore[arg-type]


def nht(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from nht_theory.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


ASKED = ("--lr", "1e-3", "--weight-decay", "1", "--v-sc", "3900", "--v-st", "1150")


def test_the_json_that_others_rely_on() -> None:
    done = nht("predict", *ASKED, "--steps", "50000", "--parameters", "226816", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    steps = made["steps"]
    assert steps["exact"] == math.ceil(LOG_RATIO / (-2 * math.log(1 - 0.001)))
    assert steps["paper_upper"] == pytest.approx(LOG_RATIO / 0.001, rel=1e-14)
    assert steps["lower"] <= steps["exact"] <= steps["with_floor"] <= steps["paper_upper"]
    assert steps["lower_bounded_updates"] <= steps["lower"]
    assert made["regime"] == "intermediate"
    assert made["boundaries"]["weak"] == pytest.approx(LOG_RATIO / 100, rel=1e-3)
    assert made["noise_floor"] == pytest.approx(226816 * 1e-3 / 2, rel=1e-3)
    assert "V = ||theta||^2" in made["convention"]
    for name in made["formulas"].values():
        assert catalogue.find(name).name == name


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--lr": "nan"}, "learning_rate is nan"),
        ({"--lr": "-1"}, "learning_rate is -1"),
        ({"--lr": "inf"}, "learning_rate is inf"),
        ({"--lr": "2"}, "one step of decay removes the whole weight"),
        ({"--weight-decay": "-1"}, "weight_decay is -1"),
        ({"--v-sc": "1150"}, "V_sc = 1150 is not above V_st = 1150"),
        ({"--v-st": "nan"}, "squared_norm_structured is nan"),
        ({"--v-st": "0"}, "squared_norm_structured is 0"),
        ({"--schedule": "cosine"}, "cosine has no length"),
        ({"--optimizer": "adam"}, "has no rate of its own"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(changed: dict[str, str], message: str) -> None:
    options = dict(zip(ASKED[::2], ASKED[1::2], strict=True)) | changed
    done = nht("predict", *(part for pair in options.items() for part in pair))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_predict_imports_no_sympy() -> None:
    code = (
        "import sys; from nht_theory.cli.predict import predict; "
        "predict(1e-3, 1.0, 3900.0, 1150.0, steps=50_000, parameters=1000); "
        "assert not {'sympy', 'pandas', 'scipy', 'matplotlib', 'torch'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("weight_decay", "options", "regime", "boundary"),
    [
        (0.01, {"total_steps": 10_000}, Regime.WEAK, "weak"),
        (0.07, {"total_steps": 20_000, "parameter_count": 226_816}, Regime.BLOCKED, "blocked"),
        (60.0, {"total_steps": 20_000, "parameter_count": 226_816}, Regime.STRONG, "strong"),
        (1.0, {"total_steps": 20_000, "parameter_count": 226_816}, Regime.INTERMEDIATE, ""),
    ],
)
def test_each_regime_is_decided_by_its_inequality(
    weight_decay: float, options: dict[str, int], regime: Regime, boundary: str
) -> None:
    made = predict_transition(adamw(weight_decay), **NORMS, **options)  # type: ignore[arg-type]
    assert made.regime is regime
    if made.decided_by is None:
        assert all(not one.holds for one in made.inequalities)
        return
    assert made.decided_by.regime is regime
    edge = getattr(made.boundaries, boundary)
    # On the other side of the edge the same inequality decides otherwise.
    beyond = edge * (1.01 if weight_decay < edge else 0.99)
    other = predict_transition(adamw(beyond), **NORMS, **options)  # type: ignore[arg-type]
    [same] = [one for one in other.inequalities if one.regime is regime]
    assert same.holds is False
    assert abs(made.decided_by.margin or 0.0) > 0.0


def test_no_decay_is_weak_and_gives_no_time() -> None:
    made = predict_transition(adamw(0.0), **NORMS)
    assert made.regime is Regime.WEAK
    assert made.steps.exact is None
    assert made.steps.paper_upper is None
    assert any("no decay" in note for note in made.notes)


def test_a_cosine_halves_the_clock_and_doubles_the_weak_boundary() -> None:
    constant = predict_transition(adamw(), **NORMS, total_steps=50_000)
    cosine = predict_transition(adamw(schedule=Cosine(50_000)), **NORMS, total_steps=50_000)
    assert constant.boundaries.weak is not None
    assert cosine.boundaries.weak == pytest.approx(2 * constant.boundaries.weak, rel=1e-3)
    assert cosine.clock_budget == pytest.approx((constant.clock_budget or 0) / 2, rel=1e-3)


def test_a_schedule_that_ends_too_early_never_arrives() -> None:
    made = predict_transition(
        adamw(schedule=StepDecay((100,), factor=0.0)), **NORMS, total_steps=5000
    )
    assert made.steps.exact is None
    assert made.regime is Regime.WEAK
    assert any("never" in note for note in made.notes)


def test_the_floor_under_a_schedule_is_the_recursions() -> None:
    dynamics = adamw(schedule=Cosine(4000))
    made = predict_transition(dynamics, **NORMS, total_steps=4000, parameter_count=226_816)
    shrink = 1 - 1e-3 * Cosine(4000).multiples(0, 4000)
    v, step = 3900.0, 0
    while v > 1150.0:
        v = shrink[step] ** 2 * v + (1 - shrink[step]) ** 2 * 226_816
        step += 1
    assert made.steps.with_floor == step


def test_optimisers_differ_as_the_table_says() -> None:
    def exact(dynamics: OptimizerDynamics) -> int:
        steps = predict_transition(dynamics, **NORMS).steps.exact
        assert steps is not None
        return steps

    penalty = OptimizerDynamics(OptimizerKind.SGD, 1e-3, 1.0, decay_form=DecayForm.L2_PENALTY)
    momentum = OptimizerDynamics(OptimizerKind.SGD, 1e-3, 1.0, momentum=0.5)
    noisy = OptimizerDynamics(OptimizerKind.ADAM, 1e-3, 1.0, second_moment=4.0)
    assert exact(penalty) == math.ceil(LOG_RATIO / (-2 * math.log(1 - 0.002)))
    assert exact(momentum) == pytest.approx(LOG_RATIO / (2 * 1e-3 / 0.5), rel=0.01)
    assert exact(noisy) == math.ceil(LOG_RATIO / (-2 * math.log(1 - 0.0005)))


def test_the_words_name_the_formula_behind_each_number() -> None:
    made = predict_transition(adamw(), **NORMS, total_steps=50_000, parameter_count=226_816)
    shown = describe(made)
    assert "exact_hitting_time" in shown
    assert "convention: V = ||theta||^2" in shown
    weak = predict_transition(adamw(0.001), **NORMS, total_steps=100)
    assert "tau(T_max) < ln(V_sc/V_st): 0.0002 against 1.221" in describe(weak)


def test_nan_and_hierarchy_are_errors_of_the_function_too() -> None:
    with pytest.raises(InputError, match="not above"):
        predict_transition(adamw(), squared_norm_shortcut=1.0, squared_norm_structured=2.0)
    with pytest.raises(DomainError, match="nan"):
        predict_transition(adamw(), squared_norm_shortcut=np.nan, squared_norm_structured=2.0)
    assert isinstance(predict_transition(adamw(), **NORMS), TransitionPrediction)
