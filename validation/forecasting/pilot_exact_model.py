"""Pilots of the exact model of arXiv 2603.13331 against the long runs that they forecast.

    python validation/forecasting/pilot_exact_model.py -o DIR [--seeds 10] [--decays 0.3 0.1]
        [--long-runs studies/weight_decay]

For each weight decay and seed: `nht predict --pilot` within 15 % of 15,000 steps, then the long
run itself until it generalises. What is finished is kept in DIR and not trained again; the summary
is printed as JSON. About 20,000 steps a seed at weight decay 0.1. Long runs that the weight-decay
study trained already (the same configuration and seed, bit for bit) are taken from it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from nht_theory.cli.output import to_jsonable
from nht_theory.cli.pilot import predict_from_pilots, train_until_switch
from nht_theory.forecasting.calibration import observe
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

CONFIG = """\
seed = {seed}
steps = 15000
evaluate_every = 100
[task]
name = "modular_addition"
p = 97
train_fraction = 0.5
[model]
name = "transformer"
normalization = "post"
[optimizer]
name = "adamw"
learning_rate = 1e-3
weight_decay = {decay}
[checkpoints]
schedule = "none"
"""


def one(place: Path, decay: float, seed: int, trained: Study | None) -> dict[str, object]:
    """Pilots, forecast, long run and comparison of one weight decay and seed."""
    kept = place / "outcome.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    place.mkdir(parents=True, exist_ok=True)
    config = place / "long.toml"
    config.write_text(CONFIG.format(seed=seed, decay=decay))
    made = predict_from_pilots(config, place / "pilots")
    (place / "forecast.json").write_text(json.dumps(to_jsonable(made.plan), indent=1))
    long = find(trained, decay, seed)
    if long is None:
        train_until_switch(config, [], place / "long")
        long = load_study(place / "long").runs[0]
    happened = observe(long).generalization_step
    forecast = made.plan.forecast
    outcome = {
        "weight_decay": decay,
        "seed": seed,
        "pilot_steps": made.steps,
        "pilot_budget": made.budget,
        "pilots": len(forecast.calibration),
        "basis": forecast.basis.value,
        "median": forecast.median,
        "interval": None
        if forecast.interval is None
        else [forecast.interval.low, forecast.interval.high],
        "generalization_step": happened,
        "inside": forecast.interval is not None
        and happened is not None
        and happened in forecast.interval,
    }
    kept.write_text(json.dumps(to_jsonable(outcome), indent=1))
    return outcome


def find(trained: Study | None, decay: float, seed: int) -> Run | None:
    """The run of a study with this weight decay and seed."""
    for run in trained.runs if trained is not None else ():
        chosen = run.hyperparameters
        if (chosen.weight_decay, chosen.seed) == (decay, seed):
            return run
    return None


def main() -> None:
    """Run every weight decay and seed, and print the summary."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-o", "--output", type=Path, required=True)
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--decays", type=float, nargs="+", default=[0.3, 0.1])
    options.add_argument("--long-runs", type=Path)
    chosen = options.parse_args()
    trained = load_study(chosen.long_runs) if chosen.long_runs else None
    outcomes = [
        one(chosen.output / f"wd{decay:g}-seed{seed}", decay, seed, trained)
        for decay in chosen.decays
        for seed in range(chosen.seeds)
    ]
    inside = {}
    for decay in chosen.decays:
        hits = [bool(o["inside"]) for o in outcomes if o["weight_decay"] == decay]
        inside[f"{decay:g}"] = f"{sum(hits)} of {len(hits)}"
    print(json.dumps({"inside_90_percent_interval": inside, "runs": outcomes}, indent=1))


if __name__ == "__main__":
    main()
