"""``nht predict --pilot``: trains a few short runs, then forecasts the long one from them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from nht_theory.cli.demo_runs import ONE_THREAD, TRAINER
from nht_theory.errors import InputError
from nht_theory.forecasting.calibration import ObservedRun, observe, observe_all
from nht_theory.forecasting.pilot import PilotRun, next_pilot
from nht_theory.forecasting.plan import TrainingPlan, plan_from_observations
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Hyperparameters
from nht_theory.runs.run_format import RUN_FILE, read_run, read_status

PILOT_SHARE = 0.15
"""Share of the target's steps that its pilots may take."""
_LOOK_SECONDS = 0.5
_EVALUATIONS = 200
"""Evaluations over the pilot budget: V at a transition moves with the grid."""


@dataclass(frozen=True)
class PilotForecast:
    """A plan from pilots.

    Attributes:
        plan: as from any earlier runs.
        directory: where the pilots lie.
        steps: that the pilots took together.
        budget: that they were allowed.
    """

    plan: TrainingPlan
    directory: Path
    steps: int
    budget: int


def predict_from_pilots(
    config: Path, directory: Path, *, share: float = PILOT_SHARE
) -> PilotForecast:
    """Train pilots of a configuration within a share of its steps, and forecast it.

    Args:
        config: the TOML file of the long run.
        directory: for the pilots' run directories.
        share: of the long run's steps.

    Raises:
        InputError: training is not installed, the configuration is refused, or it names no
            learning rate, weight decay or number of steps.
    """
    chosen = hyperparameters_of(config)
    rate, decay, total = chosen.learning_rate, chosen.weight_decay, chosen.total_steps
    if not rate or not decay or not total:
        raise InputError(
            "a pilot needs a learning rate, a weight decay and a number of steps above zero",
            source=config,
            remedy="set them in the configuration",
        )
    budget = int(share * total)
    done: list[ObservedRun] = []
    taken = 0
    while (pilot := next_pilot(rate, decay, done, budget - taken)) is not None:
        place = directory / f"pilot-{len(done)}"
        _train(config, pilot, chosen.seed or 0, place, budget - taken, budget)
        finished = observe(load_study(place).runs[0])
        taken += int(finished.run.steps[-1])
        done.append(finished)
    return PilotForecast(
        plan_from_observations(chosen, observe_all(one.run for one in done)),
        directory,
        taken,
        budget,
    )


def hyperparameters_of(config: Path) -> Hyperparameters:
    """What the trainer makes of a configuration: it is started, and stopped once it has written
    down what it understood.

    Raises:
        InputError: training is not installed, or the configuration is refused.
    """
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        process = _start(config, [], run)
        try:
            while process.poll() is None and not (run / RUN_FILE).exists():
                time.sleep(_LOOK_SECONDS)
        finally:
            said = _stop(process)
        if not (run / RUN_FILE).exists():
            raise InputError(_last_line(said), source=config, remedy="mend the configuration")
        return read_run(run).hyperparameters


def _train(config: Path, pilot: PilotRun, seed: int, place: Path, steps: int, budget: int) -> None:
    """Train a pilot until it generalises or its steps are used up."""
    overrides = [
        f"optimizer.learning_rate={pilot.learning_rate!r}",
        f"optimizer.weight_decay={pilot.weight_decay!r}",
        f"seed={seed + pilot.seed_offset}",
        f"steps={steps}",
        f"evaluate_every={max(budget // _EVALUATIONS, 1)}",
    ]
    train_until_switch(config, overrides, place)


def train_until_switch(config: Path, overrides: Sequence[str], place: Path) -> None:
    """Train a run in a process of its own, from where it stands if it was begun before, until it
    has generalised.

    Raises:
        InputError: training is not installed, or wrote nothing.
    """
    process = _start(config, [*overrides, "steps_after_generalization=0"], place)
    try:
        said = process.communicate()[1]
    except BaseException:
        _stop(process)
        raise
    if read_status(place) is None:
        raise InputError(_last_line(said), source=place, remedy="train the configuration by hand")


def _start(config: Path, overrides: Sequence[str], place: Path) -> subprocess.Popen[str]:
    if find_spec(TRAINER) is None:
        raise InputError("training is not installed", remedy="pip install 'nht[train]'")
    resume = ["--resume"] if (place / RUN_FILE).exists() else []
    command = [sys.executable, "-m", TRAINER, "train", str(config), *overrides, *resume]
    return subprocess.Popen(
        [*command, "-o", str(place)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},
    )


def _stop(process: subprocess.Popen[str]) -> str:
    """End a training process, which saves its state first; what it complained of."""
    if process.poll() is None:
        process.terminate()
    _, said = process.communicate()
    return said


def _last_line(said: str) -> str:
    return said.strip().splitlines()[-1] if said.strip() else "training ended without a word"
