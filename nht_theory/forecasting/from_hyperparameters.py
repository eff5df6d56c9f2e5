"""Transition time and regime from hyper-parameters and given norms, before any training."""

from __future__ import annotations

import math

import numpy as np

from nht_theory.conventions import DecayForm, OptimizerKind, Regime
from nht_theory.dynamics import Constant, OptimizerDynamics
from nht_theory.dynamics.clock import Clock
from nht_theory.errors import DomainError, InputError
from nht_theory.forecasting.transition import (
    Boundaries,
    Inequality,
    TransitionPrediction,
    TransitionSteps,
)
from nht_theory.formulas import floors, regimes, theorems, times


def predict_transition(
    dynamics: OptimizerDynamics,
    *,
    squared_norm_shortcut: float,
    squared_norm_structured: float,
    total_steps: int | None = None,
    parameter_count: int | None = None,
    gradient_noise: float | None = None,
) -> TransitionPrediction:
    """Transition time, regime and its boundaries from the law alone.

    Args:
        dynamics: optimiser, decay and schedule.
        squared_norm_shortcut: V_sc, squared norm on the shortcut.
        squared_norm_structured: V_st, squared norm at which the run generalises.
        total_steps: training budget.
        parameter_count: number of decayed parameters d.
        gradient_noise: trace of the noise covariance of the update; for AdamW it is d unless
            given.

    Raises:
        InputError: V_sc is not above V_st.
        DomainError: a number outside the domain of a formula.

    Example:
        >>> from nht_theory.conventions import OptimizerKind
        >>> made = predict_transition(
        ...     OptimizerDynamics(OptimizerKind.ADAMW, 1e-3, 1.0),
        ...     squared_norm_shortcut=3900.0, squared_norm_structured=1150.0, total_steps=2000,
        ... )
        >>> made.steps.exact, made.regime.value, round(made.boundaries.weak, 4)
        (611, 'intermediate', 0.3053)
    """
    if squared_norm_structured >= squared_norm_shortcut:
        raise InputError(
            f"V_sc = {squared_norm_shortcut:g} is not above V_st = {squared_norm_structured:g}",
            source="v-sc",
            remedy="the law needs a norm hierarchy (A4): check that both are squared norms, "
            "and that they are not exchanged",
        )
    question = _Question(
        dynamics,
        squared_norm_shortcut,
        squared_norm_structured,
        total_steps,
        parameter_count,
        gradient_noise,
    )
    return question.answer()


class _Question:
    """One prediction in the making: collects the numbers, their formulas and the gaps."""

    def __init__(
        self,
        dynamics: OptimizerDynamics,
        shortcut: float,
        structured: float,
        total_steps: int | None,
        parameter_count: int | None,
        gradient_noise: float | None,
    ) -> None:
        self.dynamics = dynamics
        self.norms = {
            "squared_norm_shortcut": shortcut,
            "squared_norm_structured": structured,
        }
        self.shortcut, self.structured = shortcut, structured
        self.total_steps = total_steps
        self.parameter_count = parameter_count
        # The formula checks that both norms are positive and finite.
        self.log_ratio = times.law_steps.value(contraction_rate=1.0, **self.norms)
        self.formulas: dict[str, str] = {"contraction_rate": dynamics.rate_formula}
        self.notes: list[str] = []
        self.noise = self._noise(gradient_noise)

    def answer(self) -> TransitionPrediction:
        floor = self._floor()
        budget = self._clock_budget()
        steps = self._steps(floor)
        inequalities = (
            self._strong_inequality(),
            self._weak_inequality(budget),
            self._blocked_inequality(floor, steps),
        )
        decided = next((one for one in inequalities if one.holds), None)
        return TransitionPrediction(
            steps=steps,
            regime=decided.regime if decided else Regime.INTERMEDIATE,
            decided_by=decided,
            inequalities=inequalities,
            boundaries=self._boundaries(),
            noise_floor=floor,
            contraction_rate=float(self.dynamics.contraction_rate(self.dynamics.learning_rate)),
            log_ratio=self.log_ratio,
            clock_budget=budget,
            formulas=self.formulas,
            notes=tuple(self.notes),
        )

    @property
    def _constant(self) -> bool:
        return isinstance(self.dynamics.schedule, Constant)

    @property
    def _decay(self) -> float:
        """The coefficient as decoupled decay counts it: an L2 penalty decays at twice lambda."""
        penalty = self.dynamics.form is DecayForm.L2_PENALTY
        return self.dynamics.weight_decay * (2.0 if penalty else 1.0)

    def _noise(self, gradient_noise: float | None) -> float | None:
        if gradient_noise is not None:
            return gradient_noise
        if self.dynamics.optimizer is OptimizerKind.ADAMW and self.parameter_count is not None:
            return float(self.parameter_count)
        missing = (
            "the number of parameters"
            if self.dynamics.optimizer is OptimizerKind.ADAMW
            else "the gradient noise"
        )
        self.notes.append(f"noise floor not known: needs {missing}")
        return None

    def _floor(self) -> float | None:
        if self.noise is None or self.dynamics.weight_decay == 0.0:
            return None
        if not self.dynamics.exact:
            self.notes.append("no noise floor is known for decay that passes through momentum")
            return None
        self.formulas["noise_floor"] = floors.noise_floor.name
        return self.dynamics.noise_floor(self.noise)

    def _clock_budget(self) -> float | None:
        if self.total_steps is None:
            return 0.0 if self.dynamics.weight_decay == 0.0 else None
        return float(self.dynamics.clock(self.total_steps))

    def _steps(self, floor: float | None) -> TransitionSteps:
        if self.dynamics.weight_decay == 0.0:
            self.notes.append("no decay: nothing in this theory contracts the norm")
            return TransitionSteps(None, None, None, None, None)
        return TransitionSteps(
            lower=self._lower(),
            lower_bounded_updates=self._lower_bounded_updates(),
            exact=self._exact(),
            with_floor=self._with_floor(floor),
            paper_upper=self._paper_upper(),
        )

    def _exact(self) -> int | None:
        exact = self.dynamics.exact and self._constant
        if self.dynamics.through_momentum:
            self.notes.append(
                "the steps count from a settled momentum buffer: about 1/(1 - mu) more from an "
                "empty one"
            )
        self.formulas["steps.exact"] = (
            times.exact_hitting_time.name if exact else "regularization_clock"
        )
        return self._whole(
            float(self.dynamics.hitting_time(**self.norms)), "the schedule ends before the clock"
        )

    def _whole(self, steps: float, otherwise: str) -> int | None:
        if math.isfinite(steps):
            return int(steps)
        self.notes.append(f"never: {otherwise} reaches ln(V_sc/V_st) = {self.log_ratio:.4g}")
        return None

    def _lower(self) -> int | None:
        per_step = 2.0 * self._decay
        peak = self.dynamics.learning_rate
        if not self.dynamics.exact or per_step * peak >= 1.0:
            self.notes.append("no lower bound: the paper's premise does not describe this decay")
            return None
        self.formulas["steps.lower"] = theorems.pathwise_lower_bound.name
        slowest = Clock(
            self.dynamics.schedule, lambda multiple: -np.log1p(-per_step * peak * multiple)
        )
        steps = float(slowest.steps_to(self.log_ratio))
        return int(steps) if math.isfinite(steps) else None

    def _paper_upper(self) -> float | None:
        peak, decay = self.dynamics.learning_rate, self.dynamics.weight_decay
        if not self.dynamics.exact:
            self.notes.append("no upper bound: the paper's does not describe this decay")
            return None
        try:
            bound = times.paper_upper_bound.value(
                learning_rate=peak, weight_decay=decay, **self.norms
            )
        except DomainError as error:
            self.notes.append(f"no upper bound: {error.problem}")
            return None
        self.formulas["steps.paper_upper"] = times.paper_upper_bound.name
        if self._constant:
            return bound
        slow = Clock(self.dynamics.schedule, lambda multiple: peak * decay * multiple)
        steps = float(slow.steps_to(self.log_ratio))
        return steps if math.isfinite(steps) else None

    def _update_bound(self) -> float | None:
        """The largest |u_i| that the optimiser can make, None where none is known."""
        if self.dynamics.form is not DecayForm.DECOUPLED:
            return None
        if self.dynamics.optimizer is OptimizerKind.LION:
            return 1.0
        beta_1, beta_2 = self.dynamics.beta_1, self.dynamics.beta_2
        if self.dynamics.optimizer is OptimizerKind.ADAMW and beta_1**2 < beta_2:
            return floors.adam_update_bound.value(beta_1=beta_1, beta_2=beta_2)
        return None

    def _lower_bounded_updates(self) -> int | None:
        bound = self._update_bound()
        if bound is None or self.parameter_count is None or not self._constant:
            return None
        self.formulas["steps.lower_bounded_updates"] = times.bounded_update_lower_bound.name
        return math.ceil(
            times.bounded_update_lower_bound.value(
                learning_rate=self.dynamics.learning_rate,
                weight_decay=self.dynamics.weight_decay,
                update_norm_bound=bound * math.sqrt(self.parameter_count),
                **self.norms,
            )
        )

    def _with_floor(self, floor: float | None) -> int | None:
        if floor is None or self.noise is None:
            return None
        if self._constant:
            self.formulas["steps.with_floor"] = times.hitting_time_with_floor.name
            steps = times.hitting_time_with_floor.value(
                learning_rate=self.dynamics.learning_rate,
                weight_decay=self._decay,
                squared_norm_initial=self.shortcut,
                squared_norm_structured=self.structured,
                squared_norm_floor=floor,
            )
            return math.ceil(steps) if math.isfinite(steps) else None
        self.formulas["steps.with_floor"] = floors.expected_squared_norm.name
        horizon = self.total_steps or self.dynamics.schedule.horizon
        expected = self.dynamics.expected_squared_norm(self.shortcut, self.noise, horizon)
        reached = np.flatnonzero(expected <= self.structured)
        return int(reached[0]) if reached.size else None

    def _weak_inequality(self, budget: float | None) -> Inequality:
        self.formulas["regime.weak"] = regimes.clock_margin.name
        if budget is None:
            self.notes.append("no budget given: weak decay is not ruled out, only slow")
        return _less(Regime.WEAK, "tau(T_max) < ln(V_sc/V_st)", budget, self.log_ratio)

    def _blocked_inequality(self, floor: float | None, steps: TransitionSteps) -> Inequality:
        self.formulas["regime.blocked"] = floors.noise_floor.name
        plain = _less(Regime.BLOCKED, "V_st <= V_inf", self.structured, floor, or_equal=True)
        if self._constant or floor is None:
            return plain
        # A falling learning rate lowers the floor: the expected norm itself decides.
        return Inequality(
            Regime.BLOCKED,
            "V_st < E V_t at every step of the schedule",
            plain.left,
            plain.right,
            steps.with_floor is None and steps.exact is not None,
            plain.margin,
        )

    def _strong_inequality(self) -> Inequality:
        bound = self._update_bound()
        box = None
        if bound is not None and self.parameter_count is not None and self.dynamics.weight_decay:
            self.formulas["regime.strong"] = regimes.box_norm.name
            box = regimes.box_norm.value(
                weight_decay=self.dynamics.weight_decay,
                update_bound=bound,
                parameter_count=self.parameter_count,
            )
        return _less(Regime.STRONG, "d (u_max/lambda)^2 < V_sc", box, self.shortcut)

    def _boundaries(self) -> Boundaries:
        weak = blocked = strong = None
        if self.total_steps is not None:
            self.formulas["boundaries.weak"] = regimes.weak_boundary.name
            edge = self.dynamics.weak_boundary(self.log_ratio, self.total_steps)
            weak = edge if math.isfinite(edge) else None
        else:
            self.notes.append("weak boundary not known: needs a budget (--steps)")
        if self.noise is not None and self.dynamics.exact:
            self.formulas["boundaries.blocked"] = regimes.blocked_boundary.name
            edge = regimes.blocked_boundary.value(
                learning_rate=self.dynamics.learning_rate,
                noise_trace=self.noise,
                squared_norm_structured=self.structured,
            )
            penalty = self.dynamics.form is DecayForm.L2_PENALTY
            blocked = edge / 2.0 if penalty else edge
        bound = self._update_bound()
        if bound is not None and self.parameter_count is not None:
            self.formulas["boundaries.strong"] = regimes.strong_boundary.name
            strong = regimes.strong_boundary.value(
                update_bound=bound,
                parameter_count=self.parameter_count,
                squared_norm_shortcut=self.shortcut,
            )
        return Boundaries(weak, blocked, strong)


def _less(
    regime: Regime, text: str, left: float | None, right: float | None, *, or_equal: bool = False
) -> Inequality:
    """Whether left < right, or left <= right, as ``text`` says in words."""
    if left is None or right is None:
        return Inequality(regime, text, left, right, None, None)
    holds = left <= right if or_equal else left < right
    return Inequality(regime, text, left, right, holds, right - left)
