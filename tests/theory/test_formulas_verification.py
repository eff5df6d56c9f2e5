"""Every statement is derived, and a wrong one is found out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import typer

from nht_theory.cli.derive import derive
from nht_theory.formulas import catalogue
from nht_theory.formulas.derivation import Derivative, Equal, Induction, Limit, Monotone, Positive
from nht_theory.formulas.formula import Formula
from nht_theory.formulas.times import law_steps
from nht_theory.formulas.verification import check_formula

ALL = tuple(catalogue.find(name) for name in catalogue.names())


@pytest.mark.parametrize("formula", ALL, ids=lambda formula: formula.name)
def test_every_step_of_every_derivation_holds(formula: Formula) -> None:
    checked = check_formula(formula)
    failures = [(s.because, s.problem) for s in checked.steps if not s.holds]
    assert not failures
    assert not checked.problems


@pytest.mark.parametrize("formula", ALL, ids=lambda formula: formula.name)
def test_an_altered_expression_is_found_out(formula: Formula) -> None:
    inner = formula.expression
    rounded = inner.startswith("ceil(")
    altered = f"ceil({inner[5:-1]}*3/2)" if rounded else f"({inner})*3/2"
    assert not check_formula(replace(formula, expression=altered)).holds


def test_there_are_at_least_thirty_named_statements_and_names_are_unique() -> None:
    assert len(ALL) >= 30
    assert len({formula.name for formula in ALL}) == len(ALL)
    assert {formula.topic for formula in ALL} == set(catalogue.TOPICS)


def test_a_statement_without_derivation_counts_as_asserted() -> None:
    asserted = replace(law_steps, derivation=())
    assert check_formula(asserted).problems[0].startswith("no step uses the expression")


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (Equal("result*gamma_V", "log_ratio(V_st, V_sc)", ""), "differs"),
        (Limit("result*gamma_V", "gamma_V", "0", "0", ""), "differs"),
        (Derivative("result", "gamma_V", "result/gamma_V", ""), "differs"),
        (Positive("1 - gamma_V + 0*result", ""), "not a sum of positive terms"),
        (Positive("V_sc + 0*result", "", squares=(("-1", "sqrt(V_sc)"),)), "not known to be"),
        (Monotone("gamma_V - gamma_V**2 + 0*result", "gamma_V", ""), "not a sum of positive"),
        (Monotone("1 + gamma_V + 0*result", "gamma_V", ""), "not 0"),
        (Equal("result", "unknown_function(V_sc)", ""), "differs"),
    ],
)
def test_a_wrong_step_fails_with_its_reason(step: Equal, problem: str) -> None:
    checked = check_formula(replace(law_steps, derivation=(step,)))
    assert not checked.holds
    assert problem in checked.steps[0].problem


@pytest.mark.parametrize("broken", ["1 +", "foo(V_sc)", "ceil(V_sc) + 1", "V_sc*unknown", "None"])
def test_a_malformed_expression_fails_without_a_traceback(broken: str) -> None:
    checked = check_formula(replace(law_steps, expression=broken))
    assert not checked.holds
    assert checked.problems


def test_a_wrong_induction_fails_at_the_start_or_at_the_step() -> None:
    wrong_start = Induction("V_sc*exp(-gamma_V*T)", "result", "state*exp(-gamma_V)", "", "T")
    wrong_step = Induction("V_sc*exp(-gamma_V*T)", "V_sc+0*result", "state/2", "", "T")
    for step in (wrong_start, wrong_step):
        assert not check_formula(replace(law_steps, derivation=(step,))).holds


@pytest.mark.parametrize("topic", catalogue.TOPICS)
def test_the_command_exits_with_one_when_a_topic_is_altered(
    topic: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib import import_module

    module = import_module(f"nht_theory.formulas.{topic}")
    first = module.FORMULAS[0]
    wrong = replace(first, expression=f"-({first.expression})")
    monkeypatch.setattr(module, "FORMULAS", (wrong,))
    with pytest.raises(typer.Exit) as stopped:
        derive(topic, check=True)
    assert stopped.value.exit_code == 1
    assert f"FAILED    {topic}" in capsys.readouterr().out
