"""How good is T = ln(V_mem/V_post)/gamma of arXiv 2603.13331, and against what is it measured?

    python validation/forecasting/companion_formula.py DATA/companion > companion_formula.json

The paper prints one error, 34.6 % [30.0, 39.4] with 57 of 60 forecasts too high, for a rate read
over 50 to 100 steps after memorisation; no published log is that fine. Every reading that the logs
allow is tried: three rates, three sources of V_post, and the error as a share of the delay and of
the step of the switch. Only the last source, V_post from other configurations, is a forecast.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from nht_theory.estimators.published import published_decay
from nht_theory.estimators.results import Missing
from nht_theory.forecasting.baselines import COMPANION_RATE
from nht_theory.forecasting.calibration import ObservedRun, observe_all
from nht_theory.forecasting.lawfulness import Lawfulness
from nht_theory.runs.load import load_study

SETTINGS = ("learning_rate", "weight_decay", "p")
Rate = Callable[[ObservedRun], float]


def pure_decay(one: ObservedRun) -> float:
    """2 eta lambda: what the files store as ``T_escape_theory``."""
    return 2 * one.settings["learning_rate"] * one.settings["weight_decay"]


def printed(one: ObservedRun) -> float:
    """1.41 eta lambda: the rate that the paper reports."""
    return COMPANION_RATE * one.settings["learning_rate"] * one.settings["weight_decay"]


def own_fit(one: ObservedRun) -> float:
    """The run's own fit A r^t + C from memorisation to the end of its log."""
    run = one.run
    fit = published_decay(run.steps, run.squared_norm, one.memorization_step or 0)
    return np.nan if isinstance(fit, Missing) else fit.contraction_rate


def own_final(runs: Sequence[ObservedRun]) -> list[float]:
    """V at the end of each run's own log, 2,000 steps or so after its switch."""
    return [float(one.run.squared_norm[-1]) for one in runs]


def of_other_seeds(runs: Sequence[ObservedRun]) -> list[float]:
    """Geometric mean of that of the other runs of the same configuration."""
    final = np.array(own_final(runs))
    return [
        float(np.exp(np.mean([np.log(final[j]) for j in range(len(runs)) if _mates(runs, i, j)])))
        for i in range(len(runs))
    ]


def of_other_configurations(runs: Sequence[ObservedRun]) -> list[float]:
    """A power of the settings, fitted to the runs of other configurations."""
    logs = np.log([[one.settings[name] for name in SETTINGS] for one in runs])
    design, final = np.column_stack([np.ones(len(runs)), logs]), np.log(own_final(runs))
    made = []
    for i, one in enumerate(runs):
        kept = [other.configuration != one.configuration for other in runs]
        fitted, *_ = np.linalg.lstsq(design[kept], final[kept], rcond=None)
        made.append(float(np.exp(design[i] @ fitted)))
    return made


def _mates(runs: Sequence[ObservedRun], i: int, j: int) -> bool:
    return i != j and runs[i].configuration == runs[j].configuration


def table(runs: Sequence[ObservedRun]) -> list[dict[str, object]]:
    """One row for each rate and source of V_post."""
    rows: list[dict[str, object]] = []
    start = np.array([one.memorization_step for one in runs], dtype=float)
    delay = np.array([one.recorded_delay for one in runs], dtype=float)
    above = np.array(
        [np.interp(s, o.run.steps, o.run.squared_norm) for s, o in zip(start, runs, strict=True)]
    )
    for rate in (pure_decay, printed, own_fit):
        gamma = np.array([rate(one) for one in runs])
        for source in (own_final, of_other_seeds, of_other_configurations):
            with np.errstate(invalid="ignore"):
                said = np.log(above / np.array(source(runs))) / gamma
            given = np.isfinite(said) & (said > 0)
            errors = (said - delay)[given]
            rows.append(
                {
                    "rate": rate.__name__,
                    "V_post": source.__name__,
                    "runs": int(given.sum()),
                    "error_share_of_delay": round(float(np.mean(np.abs(errors) / delay[given])), 4),
                    "error_share_of_switch_step": round(
                        float(np.mean(np.abs(errors) / (start + delay)[given])), 4
                    ),
                    "too_high": int((errors > 0).sum()),
                }
            )
    return rows


def main(place: Path) -> None:
    """Print the tables of the runs in regime, all together and sweep by sweep."""
    runs = Lawfulness.of(observe_all(load_study(place).runs)).lawful
    sweeps = {
        "in regime": runs,
        "lambda sweep": [
            o for o in runs if o.settings["learning_rate"] == 1e-3 and o.settings["p"] == 97
        ],
        "p sweep": [
            o
            for o in runs
            if o.settings["learning_rate"] == 1e-3 and o.settings["weight_decay"] == 1
        ],
    }
    print(json.dumps({name: table(kept) for name, kept in sweeps.items()}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
