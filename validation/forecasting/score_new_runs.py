"""Scores on runs trained here, after every model had been chosen on the public ones.

    python validation/forecasting/score_new_runs.py STUDY DATA/companion > new_runs.json

STUDY is the output of ``make study NAME=weight_decay``: the companion's transformer and task in our
trainer, fresh seeds. Forecast from its own other configurations, and from the companion's runs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from score_public_runs import rounded

from nht_theory.cli.output import to_jsonable
from nht_theory.forecasting.score_study import score_study
from nht_theory.runs.load import load_study


def main(place: Path, companion: Path) -> None:
    """Print both tables of scores as JSON."""
    study = load_study(place)
    scored = {
        "within": score_study(study),
        "from companion": score_study(study, load_study(companion)),
    }
    kept = {name: {"floor": one.floor, "rows": one.rows} for name, one in scored.items()}
    print(json.dumps(rounded(to_jsonable(kept)), indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
