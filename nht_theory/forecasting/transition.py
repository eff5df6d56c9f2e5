"""What the theory says of a transition before training: times, regime, boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nht_theory.conventions import FORMULA_CONVENTION, Regime


@dataclass(frozen=True)
class TransitionSteps:
    """Steps from V_sc to V_st, by several formulas; None where one does not apply.

    Attributes:
        lower: under the paper's premise, with the constant of the pure decay.
        lower_bounded_updates: for any loss, from the bound on the optimiser's update.
        exact: with zero loss gradient.
        with_floor: of the expected norm, above the noise floor.
        paper_upper: the paper's bound, unrounded.
    """

    lower: int | None
    lower_bounded_updates: int | None
    exact: int | None
    with_floor: int | None
    paper_upper: float | None


@dataclass(frozen=True)
class Inequality:
    """One of the inequalities that decide the regime.

    Attributes:
        regime: the regime it decides for when it holds.
        text: the inequality in symbols.
        left, right: its two sides.
        holds: whether it does; None where a side is unknown.
        margin: right - left of ``left < right``, in the unit of the two sides.
    """

    regime: Regime
    text: str
    left: float | None
    right: float | None
    holds: bool | None
    margin: float | None


@dataclass(frozen=True)
class Boundaries:
    """Weight decays at the edges of the regimes; None where what they need is not given.

    Attributes:
        weak: below it the clock is too short (needs a budget).
        blocked: below it the noise floor lies above V_st (needs the noise).
        strong: above it memorisation is impossible for sure (needs the number of parameters).
    """

    weak: float | None
    blocked: float | None
    strong: float | None


@dataclass(frozen=True)
class TransitionPrediction:
    """What the theory says before training.

    Attributes:
        steps: transition times.
        regime: weak, blocked, strong or intermediate.
        decided_by: the inequality that decided, and the others with their margins.
        boundaries: weight decays at the edges.
        noise_floor: V_inf, None when the noise is not given.
        contraction_rate: gamma_V per step at the peak learning rate.
        log_ratio: ln(V_sc/V_st).
        clock_budget: tau at the end of the budget, None without one.
        formulas: name of the formula behind each number.
        convention: what the symbols mean.
        notes: what could not be said, and why.
    """

    steps: TransitionSteps
    regime: Regime
    decided_by: Inequality | None
    inequalities: tuple[Inequality, ...]
    boundaries: Boundaries
    noise_floor: float | None
    contraction_rate: float
    log_ratio: float
    clock_budget: float | None
    formulas: Mapping[str, str]
    convention: str = FORMULA_CONVENTION
    notes: tuple[str, ...] = ()
