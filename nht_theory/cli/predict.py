"""``nht predict``: transition time and regime before training."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from nht_theory.cli.output import print_json
from nht_theory.cli.study_options import ColumnMap, Pattern, read_options
from nht_theory.conventions import DecayForm, OptimizerKind, ScheduleKind
from nht_theory.dynamics import OptimizerDynamics, schedule_from_name
from nht_theory.errors import InputError
from nht_theory.forecasting.from_hyperparameters import predict_transition
from nht_theory.forecasting.transition import TransitionPrediction
from nht_theory.runs.run import Hyperparameters


def predict(
    lr: Annotated[float | None, typer.Option("--lr", help="Peak learning rate eta.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Weight decay lambda.")] = None,
    v_sc: Annotated[float | None, typer.Option(help="Squared norm on the shortcut.")] = None,
    v_st: Annotated[
        float | None, typer.Option(help="Squared norm at which it generalises.")
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option("--from", help="Earlier runs that give V_sc, V_st and c: file or directory."),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(
            help="TOML configuration of a long run: train a few short ones within 15 % of its "
            "steps, and forecast it from them."
        ),
    ] = None,
    pilot_directory: Annotated[
        Path, typer.Option(help="With --pilot: where the short runs are kept.")
    ] = Path("pilot-runs"),
    column_map: ColumnMap = None,
    pattern: Pattern = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="With --from: another setting, NAME=VALUE (repeatable)."),
    ] = None,
    optimizer: Annotated[OptimizerKind, typer.Option(help="Optimiser.")] = OptimizerKind.ADAMW,
    decay_form: Annotated[
        DecayForm | None, typer.Option(help="How decay enters (default: as in PyTorch).")
    ] = None,
    momentum: Annotated[float, typer.Option(help="Momentum of SGD.")] = 0.0,
    dampening: Annotated[float, typer.Option(help="Dampening of SGD's momentum.")] = 0.0,
    nesterov: Annotated[bool, typer.Option("--nesterov", help="Nesterov's momentum.")] = False,
    beta1: Annotated[float, typer.Option(help="beta_1 of Adam.")] = 0.9,
    beta2: Annotated[float, typer.Option(help="beta_2 of Adam.")] = 0.999,
    second_moment: Annotated[
        float | None, typer.Option(help="Typical v of Adam with coupled decay.")
    ] = None,
    schedule: Annotated[ScheduleKind, typer.Option(help="Schedule.")] = ScheduleKind.CONSTANT,
    warmup: Annotated[int, typer.Option(help="Steps of linear warm-up.", min=0)] = 0,
    steps: Annotated[int | None, typer.Option(help="Training budget in steps.", min=1)] = None,
    parameters: Annotated[int | None, typer.Option(help="Decayed parameters.", min=1)] = None,
    gradient_noise: Annotated[
        float | None, typer.Option(help="Trace of the update's noise covariance.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Transition time and regime before training, from given norms or from earlier runs."""
    if pilot is not None:
        from nht_theory.cli.predict_from import predict_from_short_runs

        predict_from_short_runs(pilot, pilot_directory, json=json)
        return
    if lr is None or weight_decay is None:
        raise InputError(
            "learning rate and weight decay are missing",
            remedy="give --lr and --weight-decay, or a configuration with --pilot",
        )
    if earlier is not None:
        from nht_theory.cli.predict_from import predict_from_runs

        chosen = Hyperparameters(
            optimizer=optimizer,
            learning_rate=lr,
            weight_decay=weight_decay,
            decay_form=decay_form,
            schedule=schedule,
            total_steps=steps,
            parameter_count=parameters,
            extra={"warmup_steps": warmup} if warmup else {},
        )
        options = read_options(column_map, pattern, None, exact=False, weights=None)
        predict_from_runs(chosen, setting or [], earlier, options, json=json)
        return
    if v_sc is None or v_st is None:
        raise InputError(
            "V_sc and V_st are missing",
            remedy="give --v-sc and --v-st, or earlier runs with --from STUDY",
        )
    dynamics = OptimizerDynamics(
        optimizer,
        lr,
        weight_decay,
        decay_form=decay_form,
        momentum=momentum,
        dampening=dampening,
        nesterov=nesterov,
        beta_1=beta1,
        beta_2=beta2,
        second_moment=second_moment,
        schedule=schedule_from_name(schedule, total_steps=steps, warmup_steps=warmup),
    )
    made = predict_transition(
        dynamics,
        squared_norm_shortcut=v_sc,
        squared_norm_structured=v_st,
        total_steps=steps,
        parameter_count=parameters,
        gradient_noise=gradient_noise,
    )
    if json:
        print_json(made)
    else:
        print(describe(made))


_STEP_ROWS = (
    ("lower", "lower bound (paper's premise)"),
    ("lower_bounded_updates", "lower bound (any loss)"),
    ("exact", "exact, loss silent"),
    ("with_floor", "mean, above the noise floor"),
    ("paper_upper", "paper's upper bound"),
)
_BOUNDARY_ROWS = (
    ("weak", "weak below"),
    ("blocked", "blocked below"),
    ("strong", "strong for sure above"),
)


def describe(made: TransitionPrediction) -> str:
    """The prediction as lines of text: each number beside the formula that gave it."""
    lines = ["steps from V_sc to V_st"]
    lines += _rows(asdict(made.steps), _STEP_ROWS, "steps", made)
    lines.append(f"regime: {made.regime.value} ({_reason(made)})")
    lines.append("weight decay at the edges of the regimes")
    lines += _rows(asdict(made.boundaries), _BOUNDARY_ROWS, "boundaries", made)
    lines += _rows(
        {"noise_floor": made.noise_floor, "contraction_rate": made.contraction_rate},
        (("noise_floor", "noise floor V_inf"), ("contraction_rate", "gamma_V per step")),
        "",
        made,
    )
    lines.append(f"convention: {made.convention}")
    lines += [f"note: {note}" for note in made.notes]
    return "\n".join(lines)


def _rows(
    values: dict[str, float | None],
    rows: tuple[tuple[str, str], ...],
    group: str,
    made: TransitionPrediction,
) -> list[str]:
    lines = []
    for key, words in rows:
        value = values[key]
        if value is None:
            continue
        shown = f"{value:,.1f}" if isinstance(value, float) and value >= 1000 else f"{value:,.6g}"
        formula = made.formulas.get(f"{group}.{key}" if group else key, "")
        lines.append(f"  {words:32s}{shown:>14s}   {formula}")
    return lines


def _reason(made: TransitionPrediction) -> str:
    decided = made.decided_by
    if decided is not None:
        return f"{decided.text}: {decided.left:.4g} against {decided.right:.4g}"
    known = [one for one in made.inequalities if one.holds is False]
    if not known:
        return "no inequality decides against it, none could be checked"
    return "not " + ", not ".join(f"{one.text} by {-(one.margin or 0.0):.4g}" for one in known)
