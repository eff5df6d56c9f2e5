"""What comes before judging: the data, the forecasts and the runs of a study."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from nht_theory.errors import InputError
from nht_theory.runs.run_format import RunState, read_status
from nht_train.config import set_by_path
from nht_train.sweep.run import outcome, sweep
from nht_train.sweep.state import Standing
from nht_train.sweep.study_file import flatten, read_study
from nht_train.trainer import train
from validation.studies.catalogue import StudyPlan
from validation.studies.forecasts import write_forecasts
from validation.studies.results import FORECASTS_FILE, HERE
from validation.studies.synthetic_sets import make_sets


def train_study(
    plan: StudyPlan,
    runs: Path,
    results: Path,
    *,
    overrides: Sequence[str] = (),
    workers: int = 2,
    earlier: Path | None = None,
    toy: bool = False,
) -> None:
    """Make whatever is missing of a study's data, forecasts and runs.

    Args:
        plan: of the study.
        runs: directory of its runs.
        results: where forecasts are written, or lie already.
        overrides: ``key=value`` for every run.
        workers: processes at the same time; 0 trains in this one.
        earlier: runs to forecast from, where the study asks for forecasts.
        toy: a few steps of a few of the runs.

    Raises:
        InputError: there is nothing to forecast from, or a run failed.
    """
    file = HERE / f"{plan.name}.toml"
    if toy:
        file = toy_file(file, plan, runs.parent)
    if plan.sets:
        make_sets(plan.sets, runs.parent / "data", toy=toy)
    planned = read_study(file, overrides)[1]
    registered: tuple[Path, ...] = ()
    if plan.forecasts:
        path = results / FORECASTS_FILE
        if not path.exists():
            if earlier is None or not earlier.exists():
                raise InputError(
                    "no earlier runs to forecast from",
                    source=earlier or plan.name,
                    remedy="nht fetch companion -o DIR, then --earlier DIR",
                )
            write_forecasts((one.config for one in planned), earlier, path)
        registered = (path,)
    if workers == 0:
        for one in planned:
            status = read_status(runs / one.name)
            if status is None or status.state is not RunState.FINISHED:
                train(one.config, runs / one.name, resume=status is not None)
        return
    complete, views, _ = sweep(
        file, runs, overrides=tuple(overrides), workers=workers, registered=registered
    )
    print(outcome(views, runs))
    failed = [view for view in views if view.standing is Standing.FAILED]
    if failed or not complete:
        raise InputError(
            f"{len(failed)} runs failed" if failed else "interrupted",
            source=runs,
            remedy="the same command continues where it stopped",
        )


def toy_file(file: Path, plan: StudyPlan, place: Path) -> Path:
    """The study cut down to a smoke test: few and small runs, the same keys.

    Of each list of the grid the first and the last value are kept (of the seeds the first), of
    the listed runs the first and the last.
    """
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    base = deepcopy(content["base"])
    for override in plan.toy:
        set_by_path(base, override)
    small = flatten(base)
    changed = {override.partition("=")[0] for override in plan.toy}
    listed = [
        {key: value for key, value in flatten(run).items() if key not in changed}
        for run in content.get("runs", [])
    ]
    grid = {
        key: values[:1] if key == "seed" else _ends(values)
        for key, values in content.get("grid", {}).items()
        if key not in changed
    }
    lines = [f"name = {json.dumps(content['name'])}", "[base]", *_lines(small)]
    lines += ["[grid]", *_lines(grid)]
    for run in _distinct(_ends(listed)):
        lines += ["[[runs]]", *_lines(run)]
    target = place / f"{plan.name}-toy.toml"
    target.parent.mkdir(parents=True, exist_ok=True)
    # Data that the study makes itself is made beside the toy runs.
    text = "\n".join(lines).replace("studies/data", str(place / "data"))
    target.write_text(text + "\n", encoding="utf-8")
    return target


def _ends(values: Sequence[Any]) -> list[Any]:
    return list(values) if len(values) < 2 else [values[0], values[-1]]


def _distinct(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [run for place, run in enumerate(runs) if run not in runs[:place]]


def _lines(table: Mapping[str, Any]) -> list[str]:
    """Dotted keys stay dotted: in [base] they nest, in the other tables they are quoted names."""
    return [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items()]
