"""Forecasts of a study's configurations, written before its first run and scored after the last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nht_theory.cli.output import to_jsonable
from nht_theory.conventions import FORECAST_COVERAGE, Regime
from nht_theory.dynamics import OptimizerDynamics
from nht_theory.estimators.results import StudyEstimates
from nht_theory.forecasting.calibration import observe_all
from nht_theory.forecasting.from_hyperparameters import predict_transition
from nht_theory.forecasting.plan import plan_from_observations
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.run_format import REGISTRATION_FILE
from nht_theory.runs.study import Study
from nht_train.config import TrainConfig
from nht_train.setup import build, describe_run
from validation.studies.markdown import number
from validation.studies.regime_seen import log_ratio_needed, placed
from validation.studies.results import Table

REGISTRATION_COPY = "registered.jsonl"
"""The sweep's record of the file, kept beside it."""

METHOD = (
    "nht predict --from the earlier runs, a configuration at a time. Only the settings that the "
    "earlier runs state are stated; in all others the study repeats them. No run of the study was "
    "seen."
)


def write_forecasts(configs: Iterable[TrainConfig], earlier: Path, path: Path) -> None:
    """Forecast each distinct configuration from earlier runs, and write what was said as JSON."""
    calibration = load_study(earlier)
    observed = observe_all(calibration.runs)
    distinct = {
        chosen.configuration(): chosen
        for chosen in (planned_settings(config, calibration) for config in configs)
    }
    forecasts = []
    for chosen in distinct.values():
        plan = plan_from_observations(chosen, observed)
        said = to_jsonable(plan)
        # The names of every earlier run would be most of the file.
        said["forecast"]["calibration"] = len(plan.forecast.calibration)
        forecasts.append(
            {
                "settings": to_jsonable({k: v for k, v in vars(chosen).items() if v is not None}),
                "plan": said,
                "without_earlier_runs": _from_norms(chosen, calibration),
            }
        )
    content = {"method": METHOD, "earlier_runs": len(calibration.runs), "forecasts": forecasts}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def planned_settings(config: TrainConfig, calibration: Study) -> Hyperparameters:
    """What a configuration states, as far as the earlier runs state it too."""
    own = describe_run(build(config)).hyperparameters
    theirs = {name for run in calibration.runs for name in vars(run.hyperparameters)
              if getattr(run.hyperparameters, name) is not None}  # fmt: skip
    extra = {name for run in calibration.runs for name in run.hyperparameters.extra}
    stated = {
        name: value if name in theirs or name == "total_steps" else None
        for name, value in vars(own).items()
        if name not in ("seed", "extra")
    }
    return Hyperparameters(
        **stated, extra={name: value for name, value in own.extra.items() if name in extra}
    )


def _from_norms(chosen: Hyperparameters, calibration: Study) -> dict[str, Any] | None:
    """Steps and regime boundaries from the earlier runs' typical V_sc and V_star alone.

    The typical norms are medians over the delayed runs at the chosen learning rate and size.
    """
    same = [
        one
        for one in observe_all(calibration.runs)
        if one.run.hyperparameters.learning_rate == chosen.learning_rate
        and one.run.hyperparameters.extra == chosen.extra
        and one.ratio is not None
        and one.delay is not None
    ]
    if not same or chosen.optimizer != "adamw" or not chosen.weight_decay:
        return None
    made = predict_transition(
        OptimizerDynamics("adamw", chosen.learning_rate, chosen.weight_decay),
        squared_norm_shortcut=float(np.median([one.squared_norm_memorization for one in same])),
        squared_norm_structured=float(np.median([one.squared_norm_generalization for one in same])),
        total_steps=chosen.total_steps,
        parameter_count=chosen.parameter_count,
    )
    kept = ("steps", "regime", "boundaries", "inequalities", "convention")
    return {name: to_jsonable(getattr(made, name)) for name in kept}


def score(estimates: StudyEstimates, path: Path, runs: Path) -> list[Table]:
    """Tables of what was said beside what happened; none where nothing was forecast."""
    if not path.exists():
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    said = {_key(one["settings"]): one for one in content["forecasts"]}
    groups: dict[tuple[Any, ...], list[tuple[Regime, Any]]] = {}
    needed = log_ratio_needed(estimates)
    for run, own in estimates.pairs():
        seen = placed(run, own, needed), own
        groups.setdefault(_key_of(run, content["forecasts"]), []).append(seen)
    rows: list[list[object]] = []
    errors: list[float] = []
    inside: list[bool] = []
    brier: list[float] = []
    for key, forecast in sorted(said.items(), key=lambda one: one[1]["settings"]["weight_decay"]):
        row, more = _row(forecast, groups.get(key, []))
        rows.append(row)
        errors += more["errors"]
        inside += more["inside"]
        brier += more["brier"]
    note = (
        f"{METHOD} {content['earlier_runs']} earlier runs. {_registered(path, runs)} "
        f"{len(errors)} runs switched and had a number: mean absolute error of the generalisation "
        f"step {_share(errors)}, {sum(inside)} of {len(inside)} inside the "
        f"{FORECAST_COVERAGE:.0%} interval. Probability of a switch within the budget against what "
        f"happened, {len(brier)} runs: Brier score {_mean(brier)} (0.25: knowing nothing). "
        "Weak below: the weight decay under which the switch was not expected within the budget "
        "of that line. Regime seen: by the trajectory, but weak where the run's clock stayed below "
        "the log-ratio that the switches of this study needed."
    )
    header = (
        "weight decay",
        "budget", "basis", "step forecast", "90 % interval", "P(within budget)",
        "weak below", "regime forecast", "switched", "steps seen, mean", "inside", "regime seen",
    )  # fmt: skip
    return [Table("Forecasts, written before the first run", header, rows, note)]


def _row(
    forecast: dict[str, Any], pairs: Sequence[tuple[Regime, Any]]
) -> tuple[list[object], dict[str, list[Any]]]:
    made, plan = forecast["plan"]["forecast"], forecast["plan"]
    seen = [own.generalization_step for _, own in pairs if own.generalization_step is not None]
    interval, median = made["interval"], made["median"]
    inside = [interval["low"] <= step <= interval["high"] for step in seen] if interval else []
    probability = made["probability_within_budget"]
    happened = [own.generalization_step is not None for _, own in pairs]
    return [
        forecast["settings"]["weight_decay"],
        number(forecast["settings"].get("total_steps")),
        made["basis"],
        number(median),
        f"{number(interval['low'])} to {number(interval['high'])}" if interval else "",
        number(probability, 2),
        number(plan["weak_boundary"], 2),
        plan["regime"],
        f"{len(seen)} of {len(pairs)}",
        number(float(np.mean(seen))) if seen else "",
        f"{sum(inside)} of {len(inside)}" if inside else "",
        _regimes(regime for regime, _ in pairs),
    ], {
        "errors": [abs(median / step - 1) for step in seen] if median else [],
        "inside": inside,
        "brier": [(probability - one) ** 2 for one in happened] if probability is not None else [],
    }


def _regimes(found: Iterable[Regime]) -> str:
    labels = [regime.value for regime in found]
    return ", ".join(f"{labels.count(name)} {name}" for name in dict.fromkeys(labels))


def _key(settings: dict[str, Any]) -> tuple[Any, ...]:
    """What tells one forecast from another, in a form that runs can be compared with."""
    flat = {**settings, **settings.get("extra", {})}
    names = ("optimizer", "learning_rate", "weight_decay", *settings.get("extra", {}))
    return tuple(flat.get(name) for name in names)


def _key_of(run: Run, forecasts: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
    chosen = run.hyperparameters
    extra = forecasts[0]["settings"].get("extra", {})
    named = replace(chosen, extra={name: chosen.extra.get(name) for name in extra})
    return _key({**vars(named), "extra": dict(named.extra)})


def _registered(path: Path, runs: Path) -> str:
    """When the sweep recorded this very file, from its own record; copied beside the results."""
    record, kept = runs / REGISTRATION_FILE, path.with_name(REGISTRATION_COPY)
    if record.exists():
        kept.write_text(record.read_text(encoding="utf-8"), encoding="utf-8")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    for entry in map(json.loads, lines):
        if entry["file"] == path.name and entry["sha256"] == digest:
            return (
                f"Registered by the sweep before the first run: {entry['registered']}, sha256 "
                f"{digest[:16]}."
            )
    return "**The sweep did not register this file before the first run.**"


def _mean(values: Sequence[float]) -> str:
    return number(float(np.mean(values)), 3) if values else "not defined"


def _share(values: Sequence[float]) -> str:
    return f"{float(np.mean(values)):.1%}" if values else "not defined"
