"""Studies made up from a known mechanism: when each run switches, and what its norm does.

A design gives the settings, a mechanism the memorisation step, the delay and ln V of each run;
the run is then seen through an evaluation grid and a budget, as a real one would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nht_theory.conventions import DecayForm
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.runs.run import Hyperparameters, ParameterGroup, Run
from nht_theory.runs.study import Study

ETA = 1e-3
SEEDS = 4
RUN_SCATTER, CONFIGURATION_SCATTER = 0.10, 0.05
"""Standard deviations of ln T between the seeds of a configuration and between configurations."""
RATIOS = (12.0, 1.8)
"""V_mem/V_star of the two moduli, so that the log-ratio varies apart from the weight decay."""
MODULI = (53, 97)
NOISE = 0.01
"""Standard deviation of ln V from one evaluation to the next."""

Steps = NDArray[np.float64]
LogNorm = Callable[[Steps], NDArray[np.float64]]


@dataclass(frozen=True)
class Cell:
    """One configuration of a simulated study.

    Attributes:
        decay: weight decay.
        modulus: of the task.
        ratio: V_mem/V_star that its task has.
        effect: deviation of ln T that its seeds share, in standard deviations.
        identity: seed of whatever else its runs share.
    """

    decay: float
    modulus: int
    ratio: float
    effect: float
    identity: int


@dataclass(frozen=True)
class Story:
    """What happens in one run.

    Attributes:
        memorized: step at which training accuracy passes 0.99; infinite for never.
        delay: steps from there to the switch; infinite for never.
        log_norm: ln V at given steps.
        groups: name of a layer -> ln V of it; the layers stand from input to output.
        columns: further columns, at given steps.
    """

    memorized: float
    delay: float
    log_norm: LogNorm
    groups: Mapping[str, LogNorm] = field(default_factory=dict)
    columns: Mapping[str, LogNorm] = field(default_factory=dict)


def cells(generator: np.random.Generator, configurations: int) -> list[Cell]:
    """Weight decays over a factor of thirty, at one modulus below six configurations, else two."""
    moduli = MODULI if configurations >= 6 else MODULI[:1]
    levels = np.geomspace(0.05, 1.5, math.ceil(configurations / len(moduli)))
    grid = [(decay, place) for place in range(len(moduli)) for decay in levels]
    return [
        Cell(
            float(decay),
            MODULI[place],
            RATIOS[place],
            float(generator.normal()),
            int(generator.integers(2**32)),
        )
        for decay, place in grid[:configurations]
    ]


def settings(cell: Cell, seed: int, **extra: object) -> Hyperparameters:
    """The settings of a run of one configuration."""
    return Hyperparameters(
        optimizer=str(extra.pop("optimizer", "adamw")),
        learning_rate=ETA,
        weight_decay=cell.decay,
        decay_form=DecayForm.DECOUPLED,
        seed=seed,
        task="modular_addition",
        extra={"p": cell.modulus, **extra},
    )


def recorded(
    hyperparameters: Hyperparameters,
    story: Story,
    generator: np.random.Generator,
    *,
    budget: float,
    grid: float,
) -> Run:
    """The run as a log shows it: evaluated every ``grid`` steps, up to ``budget``."""
    switch = story.memorized + story.delay
    end = min(budget, 1.5 * switch + 4 * grid) if math.isfinite(switch) else budget
    steps = np.unique(np.round(np.arange(0.0, end + grid, grid))).astype(np.int64)
    at = steps.astype(np.float64)
    values = {
        "train_accuracy": _reached(at, story.memorized, width=0.15 * min(story.memorized, budget)),
        "heldout_accuracy": _reached(at, switch, width=0.05 * min(switch, budget)),
        "squared_norm": _noisy(story.log_norm(at), generator),
    }
    for name, log_norm in story.groups.items():
        values[f"squared_norm/{name}"] = _noisy(log_norm(at), generator)
    values |= {name: column(at) for name, column in story.columns.items()}
    shown = ", ".join(f"{name}={value}" for name, value in hyperparameters.configuration())
    return Run(
        name=f"{shown} seed={hyperparameters.seed}",
        source=Path("simulated"),
        steps=steps,
        values=values,
        hyperparameters=hyperparameters,
        groups=tuple(
            ParameterGroup(name, "layer", (name,), 1, depth=depth)
            for depth, name in enumerate(story.groups)
        ),
    )


def estimated(runs: Iterable[Run]) -> StudyEstimates:
    """The runs as a study, with its estimates."""
    own = tuple(runs)
    return estimate_study(Study(Path("simulated"), own, own))


def _reached(steps: Steps, when: float, *, width: float) -> NDArray[np.float64]:
    """An accuracy whose log-odds rise by five over ``width`` steps, and that passes 0.99 at
    ``when``; a tenth throughout where that is never."""
    if not math.isfinite(when):
        return np.full(steps.shape, 0.1)
    place = np.clip(5 * (steps - when) / max(width, 1.0) + math.log(99), -500, 500)
    return np.asarray(1 / (1 + np.exp(-place)))


def _noisy(log_norm: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(np.exp(log_norm + NOISE * generator.normal(size=log_norm.size)))
