"""Truths against which the verdicts are tried: what happens in a study, and what is true of it.

For each claim a truth says whether it holds, fails, or is silent (there is nothing of the kind in
the study, so that either decision would be an error). Claims that it does not name are not
counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nht_theory.estimators.results import StudyEstimates
from nht_theory.runs.run import Run
from validation.statistics.simulated_studies import (
    CONFIGURATION_SCATTER,
    ETA,
    RUN_SCATTER,
    SEEDS,
    Cell,
    LogNorm,
    Steps,
    Story,
    cells,
    estimated,
    recorded,
    settings,
)

EFFICIENCY = 0.65
GRID = 100.0
BUDGET = 60_000.0
START = 4000.0
"""V at memorisation at weight decay one."""

LAWS = ("law", "law_everywhere", "P6")


@dataclass(frozen=True)
class Truth:
    """A mechanism, and what it makes of the claims.

    Attributes:
        name: of the truth.
        simulate: (generator, number of configurations) -> a study.
        holds: claims that are true: "refuted" is an error.
        fails: claims that are false: "supported" is an error.
        silent: claims about something that the study does not have: any decision is an error.
    """

    name: str
    simulate: Callable[[np.random.Generator, int], StudyEstimates]
    holds: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()

    def is_wrong(self, claim: str, verdict: str) -> bool:
        """Whether a verdict on a claim is an error.

        Example:
            >>> Truth("x", lambda generator, n: None, holds=("law",)).is_wrong("law", "refuted")
            True
        """
        return (
            (claim in self.holds and verdict == "refuted")
            or (claim in self.fails and verdict == "supported")
            or (claim in self.silent and verdict in ("supported", "refuted"))
        )

    @property
    def judged(self) -> tuple[str, ...]:
        """Every claim on which a verdict can be wrong."""
        return (*self.holds, *self.fails, *self.silent)


Mechanism = Callable[[Cell, int, np.random.Generator], Story]


def study_of(
    mechanism: Mechanism,
    generator: np.random.Generator,
    configurations: int,
    *,
    budget: float = BUDGET,
    grid: float = GRID,
) -> StudyEstimates:
    """Each configuration with its seeds, every run told by the mechanism."""
    return estimated(
        recorded(
            settings(cell, seed),
            mechanism(cell, seed, generator),
            generator,
            budget=budget,
            grid=grid,
        )
        for cell in cells(generator, configurations)
        for seed in range(SEEDS)
    )


def memorization(generator: np.random.Generator) -> float:
    """A memorisation step of a few evaluations."""
    return float(generator.uniform(250, 650))


def log_start(cell: Cell, generator: np.random.Generator) -> float:
    """ln V at memorisation: larger under weak decay, with a scatter of a tenth between runs."""
    return float(math.log(START) - 0.3 * math.log(cell.decay) + 0.1 * generator.normal())


def falling(memorized: float, start: float, rate: float) -> LogNorm:
    """ln V rising a little to ``start`` while the run memorises, then falling at ``rate``."""

    def log_norm(steps: Steps) -> Steps:
        early = start - 0.4 * np.clip(1 - steps / memorized, 0, 1)
        return np.where(steps < memorized, early, start - rate * (steps - memorized))

    return log_norm


def scattered(cell: Cell, generator: np.random.Generator, *, effect: float) -> float:
    """Deviation of ln T of one run: what its configuration shares, and its own."""
    return effect * cell.effect + RUN_SCATTER * float(generator.normal())


def lawful(
    cell: Cell,
    seed: int,
    generator: np.random.Generator,
    *,
    effect: float = CONFIGURATION_SCATTER,
    deviation: float = 0.0,
) -> Story:
    """The law: the run switches when V, falling at c times pure decay, reaches the V_star of its
    task; both norms are the same at every weight decay, so that delays go as 1/lambda."""
    start = math.log(START) + 0.1 * float(generator.normal())
    star = math.log(START / cell.ratio) + 0.05 * float(generator.normal())
    spread = scattered(cell, generator, effect=effect) + deviation
    rate = 2 * ETA * cell.decay * EFFICIENCY * math.exp(-spread)
    memorized = memorization(generator)
    return Story(memorized, (start - star) / rate, falling(memorized, start, rate))


def with_delay(delay: Callable[[Cell], float]) -> Mechanism:
    """V falls as under the law, and the run switches after a delay that V does not know of."""

    def mechanism(cell: Cell, seed: int, generator: np.random.Generator) -> Story:
        spread = scattered(cell, generator, effect=CONFIGURATION_SCATTER)
        memorized = memorization(generator)
        rate = 2 * ETA * cell.decay * EFFICIENCY
        norm = falling(memorized, log_start(cell, generator), rate)
        return Story(memorized, delay(cell) * math.exp(spread), norm)

    return mechanism


def clock_norm(cell: Cell, seed: int, generator: np.random.Generator) -> Story:
    """V is one function of time in every run, whatever the decay; delays go as 1/lambda."""
    spread = scattered(cell, generator, effect=CONFIGURATION_SCATTER)
    memorized = memorization(generator)
    norm = falling(400.0, math.log(START), 2 * ETA * 0.3 * EFFICIENCY)
    return Story(memorized, 1500 / cell.decay * math.exp(spread), norm)


def at_floor(cell: Cell, seed: int, generator: np.random.Generator) -> Story:
    """V falls from its start at c = 0.95 towards a floor, and stands there at memorisation."""
    floor = 0.1 * START * cell.decay**-0.3
    rate = 2 * ETA * cell.decay * 0.95
    memorized = 6 / rate * math.exp(0.1 * float(generator.normal()))
    delay = 1500 / cell.decay * math.exp(scattered(cell, generator, effect=CONFIGURATION_SCATTER))

    def log_norm(steps: Steps) -> Steps:
        return np.asarray(np.log(floor + (START - floor) * np.exp(-rate * steps)))

    return Story(memorized, delay, log_norm)


def late_peak(cell: Cell, seed: int, generator: np.random.Generator) -> Story:
    """V triples over the first half of the delay, and then halves before the switch."""
    spread = scattered(cell, generator, effect=CONFIGURATION_SCATTER)
    memorized, delay = memorization(generator), 1500 / cell.decay * math.exp(spread)
    start = log_start(cell, generator)

    def log_norm(steps: Steps) -> Steps:
        places = [0.0, memorized, memorized + 0.5 * delay, memorized + delay]
        rise, fall = math.log(3), math.log(2)
        heights = [start - 0.4, start, start + rise, start + rise - fall]
        beyond = 2 * fall / delay * np.clip(steps - places[-1], 0, None)
        return np.asarray(np.interp(steps, places, heights) - beyond)

    return Story(memorized, delay, log_norm)


def never_switches(cell: Cell, seed: int, generator: np.random.Generator) -> Story:
    """The run memorises, V falls under its decay, and nothing generalises."""
    return replace(lawful(cell, seed, generator), delay=math.inf)


def without_order(cell: Cell, seed: int, generator: np.random.Generator) -> Story:
    """Level and rate of V, the order of the layers and the delay are drawn by configuration,
    whatever the weight decay."""
    own = np.random.default_rng(cell.identity)
    level, rate = own.normal(math.log(START), 0.5), own.uniform(1e-4, 4e-4)
    delay = float(np.exp(own.normal(8.0, 0.5))) * math.exp(RUN_SCATTER * generator.normal())
    memorized = memorization(generator)
    start = float(level + 0.05 * generator.normal())
    layers = ("embedding", "hidden", "readout", "head")
    turns = memorized + delay * own.uniform(0.1, 1.5, size=len(layers))

    def layer(turn: float) -> LogNorm:
        return lambda steps: start - 1.5 + rate * (np.minimum(steps, turn) - (steps - turn).clip(0))

    return Story(
        memorized,
        delay,
        falling(memorized, start, rate),
        groups={name: layer(turn) for name, turn in zip(layers, turns, strict=True)},
    )


def seeds_correlated(generator: np.random.Generator, configurations: int) -> StudyEstimates:
    """The law, with a deviation of ln T that a seed carries through every configuration."""
    shared = 0.3 * generator.normal(size=SEEDS)

    def mechanism(cell: Cell, seed: int, own: np.random.Generator) -> Story:
        return lawful(cell, seed, own, deviation=float(shared[seed]))

    return study_of(mechanism, generator, configurations)


def half_censored(generator: np.random.Generator, configurations: int) -> StudyEstimates:
    """The law, watched no longer than half of the runs need."""
    tried = [
        lawful(cell, 0, generator)
        for cell in cells(generator, configurations)
        for _ in range(SEEDS)
    ]
    budget = float(np.median([story.memorized + story.delay for story in tried]))
    return study_of(lawful, generator, configurations, budget=budget)


def coarse_grid(generator: np.random.Generator, configurations: int) -> StudyEstimates:
    """The law, evaluated no more often than the median delay."""
    tried = [lawful(cell, 0, generator).delay for cell in cells(generator, configurations)]
    return study_of(lawful, generator, configurations, grid=float(np.median(tried)))


def partial_sgd(generator: np.random.Generator, configurations: int) -> StudyEstimates:
    """AdamW follows the law; SGD at the same settings memorises in six runs of ten."""
    runs: list[Run] = []
    for cell in cells(generator, max(2, configurations // 2)):
        for seed, kind in [(s, k) for k in ("adamw", "sgd") for s in range(SEEDS)]:
            story = lawful(cell, seed, generator)
            if kind == "sgd" and generator.uniform() > 0.6:
                story = replace(story, memorized=math.inf)
            own = settings(cell, seed, optimizer=kind)
            runs.append(recorded(own, story, generator, budget=BUDGET, grid=GRID))
    return estimated(runs)


def _simulated(mechanism: Mechanism) -> Callable[[np.random.Generator, int], StudyEstimates]:
    return lambda generator, configurations: study_of(mechanism, generator, configurations)


THE_LAW = "the law"
TRUTHS: tuple[Truth, ...] = (
    Truth(
        THE_LAW,
        _simulated(lawful),
        holds=(*LAWS, "rival_laws", "prefactor", "necessity", "one_kappa"),
        fails=("prefactor_pure_decay", "crossing_not_sufficient"),
    ),
    Truth(
        "delay independent of lambda",
        _simulated(with_delay(lambda cell: 2000.0)),
        holds=("prefactor", "emergence_events"),
        fails=(*LAWS, "rival_laws", "one_kappa", "P5", "prefactor_pure_decay", "P2"),
        silent=("part_whole",),
    ),
    Truth(
        "exponent 0.7",
        _simulated(with_delay(lambda cell: 1000 * cell.decay**-0.7)),
        holds=("emergence_events",),
        fails=(*LAWS, "rival_laws", "one_kappa", "P5", "P2"),
        silent=("part_whole",),
    ),
    Truth(
        "exponent 1.4",
        _simulated(with_delay(lambda cell: 500 * cell.decay**-1.4)),
        holds=("emergence_events",),
        fails=(*LAWS, "rival_laws", "one_kappa", "P5", "P2"),
        silent=("part_whole",),
    ),
    Truth(
        "V a function of time alone",
        _simulated(clock_norm),
        holds=("P6",),
        fails=("law", "law_everywhere", "rival_laws", "P5", "prefactor", "P1"),
        silent=("part_whole",),
    ),
    Truth(
        "V at its floor when it memorises",
        _simulated(at_floor),
        holds=("prefactor", "prefactor_pure_decay", "P6"),
        fails=("P5", "P2", "emergence_events"),
        silent=("part_whole",),
    ),
    Truth(
        "V peaks after memorising",
        _simulated(late_peak),
        holds=("emergence_events", "P6"),
        silent=("necessity",),
    ),
    Truth(
        "seeds correlated over configurations",
        seeds_correlated,
        holds=(*LAWS, "rival_laws", "one_kappa", "prefactor", "necessity"),
    ),
    Truth(
        "configuration effect of 0.3",
        _simulated(lambda cell, seed, generator: lawful(cell, seed, generator, effect=0.3)),
        holds=(*LAWS, "rival_laws", "necessity"),
    ),
    Truth(
        "half of the runs censored",
        half_censored,
        holds=(*LAWS, "rival_laws", "one_kappa", "prefactor", "necessity"),
        fails=("P2",),
    ),
    Truth(
        "grid as coarse as the delay",
        coarse_grid,
        holds=(*LAWS, "rival_laws", "one_kappa", "prefactor", "necessity"),
    ),
    Truth(
        "SGD memorises in 60 %",
        partial_sgd,
        fails=("optimizer_dependence",),
    ),
    Truth(
        "no order in V",
        _simulated(without_order),
        fails=(*LAWS, "rival_laws", "one_kappa", "P5", "P2"),
        silent=("P1", "P4", "part_whole"),
    ),
    Truth(
        "nothing ever switches",
        _simulated(never_switches),
        fails=("P2",),
        silent=(*LAWS, "rival_laws", "P5", "necessity", "emergence_events", "prefactor"),
    ),
)
"""Twelve adversarial truths and more, the law among them for the power of its own claims."""
