"""Studies made up for the claims of the later papers: one kappa, runs that stay below V_star, held
norms, and logit scales that are moved apart from the norm.

Each maker takes the mechanism, so that a claim can be tried where it holds, where it fails, and
where there is nothing to find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nht_theory.conventions import DEFAULT_THRESHOLDS, DecayForm, Regime
from nht_theory.estimators.norms import squared_norm_at
from nht_theory.estimators.results import Missing, RunEstimate, StudyEstimates, Unavailable
from nht_theory.estimators.transitions import generalization, memorization
from nht_theory.runs.run import Hyperparameters, Run
from nht_theory.runs.study import Study

Steps = NDArray[np.float64]
Curve = Callable[[Steps], Steps]
ETA = 1e-3
MEMORIZED = 400.0
GRID = 50.0
FREE_NORM = 1000.0
"""V at which runs whose norm nobody holds generalise."""
RATIOS = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
FALLS = (0.6, 2.2, 1.2, 1.7)
"""ln(V_mem/V_star) of the configurations in turn."""
LOG_STAR = 7.0
"""ln V at which calibrated runs generalise, whatever their configuration."""
SCATTER = 0.1
"""Standard deviation of ln T between seeds."""


def recorded(
    name: str,
    *,
    delay: float,
    log_norm: Curve,
    memorized: float = MEMORIZED,
    budget: float = 200_000.0,
    after: float = 200.0,
    grid: float = GRID,
    logit_scale: Curve | None = None,
    decay: float = 1.0,
    seed: int = 0,
    **extra: object,
) -> Run:
    """A run as a log shows it, to the budget or ``after`` steps past its switch, without noise."""
    switch = memorized + delay
    end = min(budget, switch + after) if math.isfinite(switch) else budget
    steps = np.arange(0.0, end + grid, grid)
    values = {
        "train_accuracy": _reached(steps, memorized),
        "heldout_accuracy": _reached(steps, switch),
        "squared_norm": np.exp(log_norm(steps)),
    }
    if logit_scale is not None:
        values["logit_scale"] = logit_scale(steps)
    return Run(
        name=name,
        source=Path("simulated"),
        steps=steps.astype(np.int64),
        values=values,
        hyperparameters=Hyperparameters(
            optimizer="adamw",
            learning_rate=ETA,
            weight_decay=decay,
            decay_form=DecayForm.DECOUPLED,
            seed=seed,
            extra=extra,
        ),
    )


def estimated(runs: Sequence[Run]) -> StudyEstimates:
    """The runs as a study with its estimates, but for the rates, which none of the claims asks
    for."""
    own = tuple(runs)
    return StudyEstimates(Study(Path("simulated"), own, own), tuple(map(_estimate, own)))


def _estimate(run: Run) -> RunEstimate:
    first, last = memorization(run, DEFAULT_THRESHOLDS), generalization(run, DEFAULT_THRESHOLDS)
    unknown = Missing(Unavailable.TOO_FEW_POINTS, "not asked for")
    return RunEstimate(
        run=run.name,
        thresholds=DEFAULT_THRESHOLDS,
        memorization=first,
        generalization=last,
        collapse_step=None,
        contraction_rate=unknown,
        efficiency=unknown,
        squared_norm_memorization=squared_norm_at(run, first),
        squared_norm_generalization=squared_norm_at(run, last),
        squared_norm_peak=unknown,
        squared_norm_final=unknown,
        regime=Regime.UNKNOWN,
    )


def constant(value: float) -> Curve:
    """The same at every step."""
    return lambda steps: np.full(steps.shape, value)


def falling(start: float, rate: float, since: float = MEMORIZED) -> Curve:
    """``start`` up to ``since``, then falling at ``rate``."""
    return lambda steps: start - rate * np.clip(steps - since, 0, None)


def held_norms(
    generator: np.random.Generator,
    delay: Callable[[float], float],
    *,
    ratios: Sequence[float] = RATIOS,
    moduli: Sequence[int] = (53, 97),
    seeds: int = 3,
    scatter: float = SCATTER,
    shared: float = 0.0,
    budget: float = 200_000.0,
    free: bool = True,
    wobble: float = 0.0,
) -> StudyEstimates:
    """Free runs that generalise at FREE_NORM, and runs held at multiples of its root.

    Args:
        generator: of the scatter.
        delay: of a ratio, in steps.
        ratios, moduli, seeds: of the design.
        scatter, shared: standard deviation of ln T between seeds, and of what a configuration's
            seeds share.
        budget: of each run.
        free: whether there are free runs.
        wobble: amplitude of ln V about the level at which it is said to be held.
    """
    runs: list[Run] = []
    for modulus in moduli:
        for seed in range(seeds if free else 0):
            norm = falling(math.log(FREE_NORM) + 1.6, 2e-4)
            runs.append(
                recorded(
                    f"free {modulus} {seed}", delay=8000.0, log_norm=norm, seed=seed, p=modulus
                )
            )
        for ratio in ratios:
            own, level = shared * generator.normal(), FREE_NORM * ratio**2
            runs += [
                recorded(
                    f"held {modulus} {ratio} {seed}",
                    delay=delay(ratio) * math.exp(own + scatter * generator.normal()),
                    log_norm=_waving(math.log(level), wobble),
                    budget=budget,
                    seed=seed,
                    p=modulus,
                    norm_clamp={"squared_norm": level, "mode": "hold", "from_step": 0},
                )
                for seed in range(seeds)
            ]
    return estimated(runs)


def moved_logits(
    generator: np.random.Generator,
    log_delay: Callable[[float, float], float],
    *,
    loss: str = "cross_entropy",
    configurations: int = 9,
    seeds: int = 4,
    scatter: float = SCATTER,
    shared: float = 0.0,
    apart: float = 1.0,
    scale_scatter: float = 0.03,
    decays: Sequence[float] = (1.0,),
) -> list[Run]:
    """Runs whose norm and logit scale are set by settings of their own.

    Args:
        generator: of everything drawn.
        log_delay: (ln norm, ln logit scale), each less its middle -> ln T.
        loss: stated as a setting.
        configurations, seeds: of the design.
        scatter, shared: standard deviation of ln T between seeds, and of what they share.
        apart: 0 lets the logit scale follow the norm, 1 makes the two independent.
        scale_scatter: standard deviation of ln(logit scale) between seeds.
        decays: weight decays taken in turn; T goes as 1/lambda.
    """
    runs: list[Run] = []
    for place in range(configurations):
        log_norm = float(generator.normal(0.0, 0.3))
        own = float(generator.normal(0.0, 0.3)) if apart else 0.0
        log_scale = (1 - apart) * log_norm + apart * own
        effect, decay = shared * generator.normal(), decays[place % len(decays)]
        for seed in range(seeds):
            noisy = log_scale + scale_scatter * generator.normal()
            spread = effect + scatter * generator.normal()
            runs.append(
                recorded(
                    f"{loss} {place} {seed}",
                    delay=4000 / decay * math.exp(log_delay(log_norm, log_scale) + spread),
                    memorized=MEMORIZED * math.exp(0.2 * generator.normal()),
                    log_norm=constant(7.0 + 2 * log_norm),
                    logit_scale=constant(5.0 * math.exp(noisy)),
                    decay=decay,
                    seed=seed,
                    loss=loss,
                    design=place,
                )
            )
    return runs


def calibrated(
    generator: np.random.Generator,
    kappa: Callable[[int], float],
    *,
    configurations: int = 8,
    seeds: int = 4,
    exponent: float = 1.0,
    scatter: float = SCATTER,
    shared: float = 0.0,
    star_scatter: float = 0.03,
    small_falls: int = 0,
) -> StudyEstimates:
    """Runs that switch after (ln(V_mem/V_star)/(2 eta lambda))^exponent/kappa of a configuration.

    V falls at the rate that takes it to V_star then; weight decay spans a factor of thirty.

    Args:
        generator: of the scatter.
        kappa: of each configuration, by its number.
        configurations, seeds: of the design.
        exponent: one under the law.
        scatter, shared: standard deviation of ln T between seeds, and of what they share.
        star_scatter: standard deviation of ln V_star between seeds.
        small_falls: in how many configurations V_mem lies only 5 % above V_star.
    """
    runs: list[Run] = []
    decays = np.geomspace(0.05, 1.5, configurations)
    for place, decay in enumerate(decays):
        fall = 0.05 if place < small_falls else FALLS[place % len(FALLS)]
        middle = math.log(1.2 / (2 * ETA * math.sqrt(0.05 * 1.5)))
        effect = shared * generator.normal()
        for seed in range(seeds):
            own_fall = max(0.005, fall + star_scatter * generator.normal())
            log_formula = math.log(own_fall / (2 * ETA * decay))
            log_delay = middle + exponent * (log_formula - middle) - math.log(kappa(place))
            delay = math.exp(log_delay + effect + scatter * generator.normal())
            runs.append(
                recorded(
                    f"decay {decay:.3g} {seed}",
                    delay=delay,
                    log_norm=falling(LOG_STAR + fall, own_fall / delay),
                    decay=float(decay),
                    seed=seed,
                )
            )
    return estimated(runs)


def with_delays_of_their_own(
    generator: np.random.Generator, exponent: float, *, configurations: int = 8, seeds: int = 4
) -> StudyEstimates:
    """T goes as lambda^-exponent whatever V does, and V falls at 0.65 of the pure-decay rate.

    V_star, V at the switch, is then what makes the formula give T back in every configuration.
    """
    runs: list[Run] = []
    for decay in np.geomspace(0.05, 1.5, configurations):
        for seed in range(seeds):
            delay = 1500 * decay**-exponent * math.exp(SCATTER * generator.normal())
            norm = falling(8.3 + 0.05 * generator.normal(), 2 * ETA * decay * 0.65)
            name = f"decay {decay:.3g} {seed}"
            runs.append(recorded(name, delay=delay, log_norm=norm, decay=float(decay), seed=seed))
    return estimated(runs)


def below_star(
    generator: np.random.Generator,
    lows: Sequence[float],
    *,
    seeds: int = 6,
    configurations: int = 3,
    scatter: float = 0.05,
    longer: float = 4.0,
    switches: bool = False,
) -> StudyEstimates:
    """Configurations of runs that switch at V_star, and in each one more run for each of ``lows``.

    Args:
        generator: of the scatter of ln V_star between seeds.
        lows: V at which the further runs come to rest, over V_star.
        seeds, configurations: of the design.
        scatter: standard deviation of ln V_star.
        longer: how long the further runs are watched, in delays.
        switches: whether they generalise in the end.
    """
    runs: list[Run] = []
    start, delay = 8.0, 4000.0
    for place in range(configurations):
        for seed in range(seeds):
            fall = 1.2 + scatter * generator.normal()
            runs.append(
                recorded(
                    f"{place} {seed}",
                    delay=delay,
                    log_norm=falling(start, fall / delay),
                    seed=seed,
                    design=place,
                )
            )
        for number, low in enumerate(lows):
            rest = start - 1.2 + math.log(low)
            runs.append(
                recorded(
                    f"{place} stays {number}",
                    delay=longer * delay if switches else math.inf,
                    budget=MEMORIZED + longer * delay,
                    log_norm=_resting(start, 1.2 / delay, rest),
                    seed=seeds + number,
                    design=place,
                )
            )
    return estimated(runs)


def _waving(level: float, amplitude: float) -> Curve:
    return lambda steps: np.asarray(level + amplitude * np.sin(steps / 300))


def _resting(start: float, rate: float, rest: float) -> Curve:
    return lambda steps: np.maximum(falling(start, rate)(steps), rest)


def _reached(steps: Steps, when: float) -> Steps:
    """An accuracy that passes 0.99 at ``when``; a tenth throughout where that is never."""
    if not math.isfinite(when):
        return np.full(steps.shape, 0.1)
    place = np.clip(5 * (steps - when) / 100 + math.log(99), -500, 500)
    return np.asarray(1 / (1 + np.exp(-place)))
