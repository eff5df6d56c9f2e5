"""Scores of forecasts on the public runs: leave one configuration out, leave one study out.

    python validation/forecasting/score_public_runs.py DATA > validation/forecasting/scores.json

DATA holds the folders companion, porth and muon (``nht fetch companion`` downloads the first).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from nht_theory.cli.output import to_jsonable
from nht_theory.forecasting.decay_advice import score_decay_advice
from nht_theory.forecasting.early_stop import score_stop_advice
from nht_theory.forecasting.score_study import score_study
from nht_theory.runs.load import load_study

STUDIES = ("companion", "porth", "muon")
ACROSS = (
    ("porth", "companion"),
    ("muon", "companion"),
    ("companion", "porth"),
    ("companion", "muon"),
)


def main(data: Path) -> None:
    """Print every score as JSON."""
    studies = {name: load_study(data / name) for name in STUDIES}
    scores = {}
    for name, study in studies.items():
        scored = score_study(study)
        advice, stop = score_decay_advice(study), score_stop_advice(study)
        scores[name] = {
            "floor": scored.floor,
            "rows": scored.rows,
            "decay_advice": {
                "hits": advice.hits,
                "n": advice.n,
                "always_yes": advice.always_yes,
            },
            "early_stop": stop,
        }
    for name, calibration in ACROSS:
        scored = score_study(studies[name], studies[calibration])
        ours = [row for row in scored.rows if row.default]
        scores[f"{name} from {calibration}"] = {"floor": scored.floor, "rows": ours}
    print(json.dumps(rounded(to_jsonable(scores)), indent=1))


def rounded(value: object) -> object:
    """Numbers to four digits: what is left is noise of the linear algebra library."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
