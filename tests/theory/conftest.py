"""Studies made up from closed forms, for tests of everything that shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nht_theory.conventions import DecayForm
from nht_theory.runs import columns
from nht_theory.runs.run import Hyperparameters, ParameterGroup, Run
from nht_theory.runs.study import LeftOut, Merge, Study

LAYERS = ("embedding", "hidden", "head")
SHARES = (0.75, 0.2, 0.05)


def decaying_run(name: str, *, weight_decay: float, seed: int, strength: float = 0.9) -> Run:
    """V falls as exp(-1.4 eta lambda t) from 4000; held-out accuracy rises as it passes 1200."""
    learning_rate = 1e-3
    steps = np.arange(0, 6001, 100)
    rate = 1.4 * learning_rate * weight_decay
    offset = 1 + 0.02 * seed
    squared_norm = 4000 * offset * np.exp(-rate * steps) + 100
    heldout = 1 / (1 + np.exp(8 * np.log(squared_norm / 1200)))
    train = 1 / (1 + np.exp(-(steps - 400) / 60))
    decay = np.full(steps.shape, 1 - (1 - learning_rate * weight_decay) ** 2)
    values = {
        columns.SQUARED_NORM: squared_norm,
        columns.TRAIN_ACCURACY: np.round(train, 3),
        columns.HELDOUT_ACCURACY: np.round(heldout, 3),
        columns.SHORTCUT_ACCURACY: np.round(1 - heldout, 3),
        columns.DECAY: decay,
        columns.ALIGNMENT: rate - decay,
        columns.DIFFUSION: np.full(steps.shape, -1e-6),
    }
    for layer, share in zip(LAYERS, SHARES, strict=True):
        values[columns.of_group(columns.SQUARED_NORM, layer)] = share * squared_norm
    return Run(
        name=name,
        source=Path(name),
        steps=steps,
        values=values,
        hyperparameters=Hyperparameters(
            optimizer="adamw",
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            decay_form=DecayForm.DECOUPLED,
            parameter_count=200_000,
            total_steps=6000,
            seed=seed,
            extra={"shortcut_strength": strength},
        ),
        groups=tuple(
            ParameterGroup(layer, "layer", (layer,), 1, depth=depth)
            for depth, layer in enumerate(LAYERS)
        ),
        notes=("norms were squared",),
    )


StudyMaker = Callable[..., Study]


@pytest.fixture(scope="session")
def make_study() -> StudyMaker:
    """A function (seeds, weight_decays, strengths) -> Study with every column and one left out."""

    def made(
        seeds: int = 3,
        weight_decays: tuple[float, ...] = (0.05, 0.5, 1.0),
        strengths: tuple[float, ...] = (0.5, 0.95),
    ) -> Study:
        runs = tuple(
            decaying_run(
                f"decay {decay:g} ρ {strength:g} seed {seed}",
                weight_decay=decay,
                seed=seed,
                strength=strength,
            )
            for decay in weight_decays
            for strength in strengths
            for seed in range(seeds)
        )
        return Study(
            source=Path("made-up"),
            records=runs,
            runs=runs,
            merges=(Merge("a", ("b", "c"), "the same trajectory"),) if runs else (),
            left_out=(LeftOut("broken <b>.json", "not JSON (line 3)"),),
            notes=("squared_norm is V_t",),
        )

    return made
