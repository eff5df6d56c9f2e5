"""``nht predict --from``: a forecast and a plan before training, from earlier runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from nht_theory.cli.forecast_text import describe
from nht_theory.cli.output import print_json
from nht_theory.cli.reading import read_study
from nht_theory.errors import InputError
from nht_theory.forecasting.plan import TrainingPlan, plan_training
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.run import Hyperparameters

_FIELDS = {entry.name for entry in fields(Hyperparameters)} - {"extra"}
_NUMERIC_FIELDS = _FIELDS - {"optimizer", "decay_form", "schedule", "task"}


def predict_from_runs(
    chosen: Hyperparameters,
    settings: Sequence[str],
    earlier: Path,
    options: ReadOptions,
    *,
    json: bool,
) -> None:
    """Print the plan for a run that has not begun."""
    study = read_study(earlier, options, quiet=json)
    plan = plan_training(with_settings(chosen, settings), study)
    if json:
        print_json(plan)
    else:
        print(describe_plan(plan))


def predict_from_short_runs(config: Path, directory: Path, *, json: bool) -> None:
    """Train pilots, and print the plan that they support."""
    from nht_theory.cli.pilot import predict_from_pilots

    made = predict_from_pilots(config, directory)
    if json:
        print_json(made)
        return
    runs = len(made.plan.forecast.calibration)
    print(f"{runs} pilots in {made.directory}: {made.steps} of {made.budget} steps allowed")
    print(describe_plan(made.plan))


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_settings(chosen: Hyperparameters, settings: Sequence[str]) -> Hyperparameters:
    """The hyper-parameters with each ``name=value`` added; what is no number is text.

    Raises:
        InputError: one is not of that form.

    Example:
        >>> made = with_settings(Hyperparameters(), ["p=97", "batch_size=512", "operation=add"])
        >>> dict(made.extra), made.batch_size
        ({'p': 97.0, 'operation': 'add'}, 512.0)
    """
    named: dict[str, float | str] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise InputError(
                f"{text!r} is not NAME=VALUE", source="--set", remedy="for example --set p=97"
            )
        number = _number(value)
        named[name.strip()] = value.strip() if number is None else number
    for name in _NUMERIC_FIELDS & named.keys():
        if isinstance(named[name], str):
            raise InputError(
                f"{name} is {named[name]!r}, not a number",
                source="--set",
                remedy=f"give {name}=NUMBER",
            )
    known = {name: value for name, value in named.items() if name in _FIELDS}
    extra = {name: value for name, value in named.items() if name not in _FIELDS}
    return replace(chosen, **known, extra={**chosen.extra, **extra})  # type: ignore[arg-type]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def describe_plan(plan: TrainingPlan) -> str:
    """The plan in words, for the terminal."""
    lines = [describe(plan.forecast), f"regime: {plan.regime.value} ({plan.regime_reason})"]
    if plan.weak_boundary is not None:
        lines.append(
            f"weak below weight decay {plan.weak_boundary:.3g}: the switch is then not expected "
            "within the budget"
        )
    if plan.lawful_range is not None:
        low, high = plan.lawful_range
        beyond = "" if plan.broken_above is None else f", and broke it at {plan.broken_above:g}"
        lines.append(f"earlier runs obeyed the law at weight decay {low:g} to {high:g}{beyond}")
    if plan.reliable_budget is not None:
        lines.append(f"budget for a switch with probability 0.9: {plan.reliable_budget:.0f} steps")
    if plan.soonest is not None:
        within = plan.soonest.probability_within_budget
        risk = "" if within is None else f", risk {1 - within:.2f} of none within the budget"
        lines.append(
            f"soonest switch: weight decay {plan.soonest.weight_decay:.3g}, near step "
            f"{plan.soonest.median:.0f}{risk}"
        )
    if plan.assumed:
        taken = ", ".join(f"{name} {_shown(value)}" for name, value in plan.assumed.items())
        lines.append(
            f"taken from the earlier runs, which share it: {taken} (else --set NAME=VALUE)"
        )
    if plan.unstated:
        lines.append(
            f"stated on one side only, so the law is not claimed: {', '.join(plan.unstated)} "
            "(--set NAME=VALUE)"
        )
    return "\n".join(lines)
