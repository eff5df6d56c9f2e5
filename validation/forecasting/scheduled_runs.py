"""Forecasts of real runs under a schedule, from runs at constant learning rates.

    nht sweep validation/forecasting/scheduled_runs.toml -o RUNS
    python validation/forecasting/scheduled_runs.py RUNS DATA/companion > scheduled_runs.json

Each run is forecast before training, at memorisation and at three later steps; what happened stands
beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from score_public_runs import rounded

from nht_theory.cli.output import to_jsonable
from nht_theory.forecasting.calibration import ObservedRun, observe, observe_all
from nht_theory.forecasting.forecast_run import forecast_observation
from nht_theory.runs.load import load_study

MOMENTS = (1500, 2000, 3000)


def forecasts(own: ObservedRun, earlier: tuple[ObservedRun, ...]) -> list[dict[str, object]]:
    """What is said of a run at each moment before it switches."""
    end = own.generalization_step
    moments = (-1, own.memorization_step or 0, *MOMENTS)
    rows: list[dict[str, object]] = []
    for moment in moments:
        if end is not None and moment >= end:
            continue
        made = forecast_observation(observe(own.run.until(moment)), earlier)
        interval = made.interval
        rows.append(
            {
                "at": made.made_at,
                "basis": made.basis,
                "median": made.median,
                "low": None if interval is None else interval.low,
                "high": None if interval is None else interval.high,
                "probability_within_budget": made.probability_within_budget,
            }
        )
    return rows


def main(runs: Path, companion: Path) -> None:
    """Print the forecasts of every finished run as JSON."""
    earlier = observe_all(load_study(companion).runs)
    told = [
        {
            "run": own.run.name,
            "total_steps": own.run.hyperparameters.total_steps,
            "memorization_step": own.memorization_step,
            "generalization_step": own.generalization_step,
            "last_step": int(own.run.steps[-1]),
            "forecasts": forecasts(own, earlier),
        }
        for own in observe_all(load_study(runs).runs)
        if own.run.settled
    ]
    print(json.dumps(rounded(to_jsonable(told)), indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
