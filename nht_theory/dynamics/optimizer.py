"""How an optimiser with its schedule contracts V when the loss is silent: rate, clock, floor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.conventions import DecayForm, OptimizerKind
from nht_theory.dynamics.clock import CLOCK_TOLERANCE, Clock
from nht_theory.dynamics.momentum import momentum_rate_at, nesterov_rate_at
from nht_theory.dynamics.schedules import Constant, Schedule
from nht_theory.errors import DomainError, InputError
from nht_theory.formulas import floors, momentum, rates, times

Array = NDArray[np.float64]

_DEFAULT_FORM = {
    OptimizerKind.SGD: DecayForm.COUPLED,
    OptimizerKind.ADAM: DecayForm.COUPLED,
    OptimizerKind.ADAMW: DecayForm.DECOUPLED,
    OptimizerKind.LION: DecayForm.DECOUPLED,
    OptimizerKind.MUON: DecayForm.DECOUPLED,
}
_ITERATIONS = 200


@dataclass(frozen=True)
class OptimizerDynamics:
    """An optimiser with decay, as the theory sees it.

    Attributes:
        optimizer: which optimiser.
        learning_rate: peak eta.
        weight_decay: lambda, in the form that ``decay_form`` names.
        decay_form: None takes the optimiser's own in PyTorch: decoupled for AdamW, Lion and
            Muon, coupled for SGD and Adam (for SGD without momentum the two coincide).
        momentum: mu of SGD, whose buffer the coupled decay passes through.
        dampening: of SGD's buffer, as in PyTorch: the share of each gradient that is kept out.
        nesterov: whether SGD's momentum is Nesterov's (PyTorch then allows no dampening).
        beta_1, beta_2: of Adam and AdamW.
        second_moment: typical v_i of Adam, which sets the rate of coupled decay.
        schedule: of the learning rate.

    Raises:
        DomainError: a value outside its domain.

    Example:
        >>> adamw = OptimizerDynamics(OptimizerKind.ADAMW, learning_rate=1e-3, weight_decay=1.0)
        >>> float(adamw.hitting_time(3900.0, 1150.0))
        611.0
    """

    optimizer: OptimizerKind
    learning_rate: float
    weight_decay: float
    decay_form: DecayForm | None = None
    momentum: float = 0.0
    beta_1: float = 0.9
    beta_2: float = 0.999
    second_moment: float | None = None
    schedule: Schedule = field(default_factory=Constant)
    dampening: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        if self.nesterov and (self.dampening != 0.0 or not self.momentum > 0.0):
            raise DomainError(
                "Nesterov's momentum with dampening or without momentum",
                source="nesterov",
                remedy="PyTorch allows it with momentum > 0 and dampening = 0 only",
            )
        self.contraction_rate(self.learning_rate)

    @property
    def form(self) -> DecayForm:
        """The decay form, resolved."""
        return self.decay_form or _DEFAULT_FORM[self.optimizer]

    @property
    def rate_formula(self) -> str:
        """Name of the formula that gives the contraction rate."""
        if self.form is DecayForm.DECOUPLED:
            return rates.decoupled_rate.name
        if self.optimizer in (OptimizerKind.ADAM, OptimizerKind.ADAMW):
            return rates.adam_coupled_noise_rate.name
        if self.momentum:
            formula = momentum.nesterov_rate if self.nesterov else momentum.momentum_rate
            return formula.name
        if self.form is DecayForm.L2_PENALTY:
            return rates.l2_penalty_rate.name
        return rates.decoupled_rate.name

    @property
    def exact(self) -> bool:
        """Whether each step multiplies theta by the same known factor, whatever came before."""
        return self.rate_formula in (rates.decoupled_rate.name, rates.l2_penalty_rate.name)

    @property
    def through_momentum(self) -> bool:
        """Whether the decay passes through a momentum buffer, whose filling delays it."""
        return self.rate_formula in (momentum.momentum_rate.name, momentum.nesterov_rate.name)

    def contraction_rate(self, learning_rate: ArrayLike) -> Array:
        """gamma_V at the given learning rates, per step, with zero loss gradient.

        With momentum it is the rate that the slower root reaches once the buffer has settled;
        beyond the critical decay, that of the oscillation's envelope.

        Raises:
            DomainError: outside the formula's domain; Adam with coupled decay and no
                ``second_moment``.
        """
        eta = np.asarray(learning_rate, dtype=np.float64)
        moving = eta != 0.0
        safe = np.where(moving, eta, self.learning_rate)
        return np.where(moving, self._rate(safe), 0.0)

    def _rate(self, eta: Array) -> Array:
        if self.weight_decay == 0.0:
            return rates.decoupled_rate(learning_rate=eta, weight_decay=0.0)
        coupled = 2.0 * self.weight_decay if self._penalty else self.weight_decay
        name = self.rate_formula
        if name == rates.decoupled_rate.name:
            return rates.decoupled_rate(learning_rate=eta, weight_decay=self.weight_decay)
        if name == rates.l2_penalty_rate.name:
            return rates.l2_penalty_rate(learning_rate=eta, weight_decay=self.weight_decay)
        if name == momentum.momentum_rate.name:
            return momentum_rate_at(eta * coupled, self.momentum, self.dampening)
        if name == momentum.nesterov_rate.name:
            return nesterov_rate_at(eta * coupled, self.momentum)
        if self.second_moment is None:
            raise DomainError(
                "Adam with coupled decay has no rate of its own: on the manifold every coordinate "
                "falls at constant speed eta, under noise at 2 eta w/sqrt(v)",
                source="decay_form",
                remedy="give second_moment, the typical v of a coordinate, or use decoupled decay",
            )
        return rates.adam_coupled_noise_rate(
            learning_rate=eta, weight_decay=coupled, second_moment=self.second_moment
        )

    @property
    def _penalty(self) -> bool:
        return self.form is DecayForm.L2_PENALTY

    def contraction_rates(self, start: int, stop: int) -> Array:
        """gamma_V of steps start, ..., stop - 1 under the schedule: float64 [stop - start]."""
        return self.contraction_rate(self.learning_rate * self.schedule.multiples(start, stop))

    def shrink_factors(self, start: int, stop: int) -> Array:
        """The factor on theta of each step, exp(-gamma_V/2): 1 - eta_s lambda if decoupled."""
        return np.asarray(np.exp(-self.contraction_rates(start, stop) / 2.0))

    @cached_property
    def _clock(self) -> Clock:
        return Clock(
            self.schedule, lambda multiple: self.contraction_rate(self.learning_rate * multiple)
        )

    def clock(self, steps: ArrayLike) -> Array:
        """The regularisation clock tau(t): the sum of gamma_V over the first t steps.

        Args:
            steps: whole numbers >= 0, any shape.

        Raises:
            DomainError: a step is negative or not finite.

        Example:
            >>> from nht_theory.dynamics.schedules import Cosine
            >>> half = OptimizerDynamics(
            ...     OptimizerKind.ADAMW, 1e-3, 1.0, schedule=Cosine(total_steps=1000)
            ... )
            >>> round(float(half.clock(1000)), 4)
            1.0014
        """
        return self._clock.at(steps)

    def steps_to(self, clock: ArrayLike) -> Array:
        """The least whole t with tau(t) >= ``clock``; infinity when the clock stops before.

        Example:
            >>> adamw = OptimizerDynamics(OptimizerKind.ADAMW, 1e-3, 1.0)
            >>> float(adamw.steps_to(1.0))
            500.0
        """
        return self._clock.steps_to(clock)

    def hitting_time(
        self, squared_norm_shortcut: ArrayLike, squared_norm_structured: ArrayLike
    ) -> Array:
        """First step at which V <= V_st from V_sc with zero loss gradient; infinity if never.

        Exact for decoupled decay and for the L2 penalty at a constant learning rate; otherwise
        the inverse of the clock.

        Raises:
            DomainError: V_st > V_sc, or a norm is not positive and finite.
        """
        upper = np.asarray(squared_norm_shortcut, dtype=np.float64)
        lower = np.asarray(squared_norm_structured, dtype=np.float64)
        effective = 2.0 * self.weight_decay if self._penalty else self.weight_decay
        if self.exact and effective > 0.0 and isinstance(self.schedule, Constant):
            return times.exact_hitting_time(
                learning_rate=self.learning_rate,
                weight_decay=effective,
                squared_norm_shortcut=upper,
                squared_norm_structured=lower,
            )
        # The formula checks the norms; at rate 1 it is their log ratio.
        return self.steps_to(
            times.law_steps(
                contraction_rate=1.0,
                squared_norm_shortcut=upper,
                squared_norm_structured=lower,
            )
        )

    def noise_floor(self, noise_trace: float) -> float:
        """V_inf at the peak learning rate, for updates whose long-run covariance has this trace.

        Args:
            noise_trace: S: sigma^2 for SGD, the number of decayed parameters for AdamW under pure
                gradient noise.

        Raises:
            InputError: no floor is known for this optimiser and decay form.
            DomainError: no decay.
        """
        if not self.exact:
            raise InputError(
                f"no noise floor is known for {self.optimizer} with {self.form} decay and momentum "
                f"{self.momentum:g}",
                remedy="leave out the noise, or measure the final norm",
            )
        effective = 2.0 * self.weight_decay if self._penalty else self.weight_decay
        return floors.noise_floor.value(
            learning_rate=self.learning_rate, weight_decay=effective, noise_trace=noise_trace
        )

    def expected_squared_norm(
        self, squared_norm_initial: float, noise_trace: float, steps: int
    ) -> Array:
        """E V_t for t = 0, ..., steps under the schedule and uncorrelated updates of trace S.

        The recursion E V' = a_s^2 E V + eta_s^2 S itself: float64 [steps + 1].
        """
        eta = self.learning_rate * self.schedule.multiples(0, steps)
        shrink = np.exp(-self.contraction_rate(eta))
        added = eta**2 * noise_trace
        expected = np.empty(steps + 1)
        expected[0] = squared_norm_initial
        for t in range(steps):
            expected[t + 1] = shrink[t] * expected[t] + added[t]
        return expected

    def weak_boundary(self, log_ratio: float, total_steps: int) -> float:
        """The weight decay below which the clock cannot cover ``log_ratio`` in ``total_steps``.

        Solves tau(total_steps) = log_ratio for lambda to a relative 1e-12; infinity when no weight
        decay in the domain is enough.

        Example:
            >>> adamw = OptimizerDynamics(OptimizerKind.ADAMW, 1e-3, 1.0)
            >>> round(adamw.weak_boundary(1.2212, total_steps=10_000), 6)
            0.061058
        """
        if not log_ratio > 0.0 or not math.isfinite(log_ratio):
            raise DomainError(f"log ratio is {log_ratio}", remedy="it is positive and finite")
        low, high = 0.0, self._largest_weight_decay()
        if math.isinf(high):
            return math.inf  # full dampening: no decay ever enters the buffer
        short, beyond = -log_ratio, self._clock_at(high, total_steps) - log_ratio
        if beyond < 0.0:
            return math.inf
        for _ in range(_ITERATIONS):
            # The clock is nearly linear in lambda: the false position, halving a stuck end.
            middle = high - beyond * (high - low) / (beyond - short)
            excess = self._clock_at(middle, total_steps) - log_ratio
            if excess < 0.0:
                low, short, beyond = middle, excess, beyond / 2.0
            else:
                high, beyond, short = middle, excess, short / 2.0
            if abs(excess) <= CLOCK_TOLERANCE * log_ratio or high - low <= 1e-15 * high:
                break
        return high if abs(excess) > CLOCK_TOLERANCE * log_ratio else middle

    def _clock_at(self, weight_decay: float, total_steps: int) -> float:
        return float(replace(self, weight_decay=weight_decay).clock(total_steps))

    def _largest_weight_decay(self) -> float:
        """The supremum of the domain of lambda, at the largest learning rate of the schedule."""
        horizon = self.schedule.horizon
        peak = self.learning_rate * float(self.schedule.multiples(0, horizon + 1).max())
        per_step = 1.0
        if self.rate_formula == momentum.momentum_rate.name:
            kept = 1.0 - self.dampening
            per_step = (1.0 - math.sqrt(self.momentum)) ** 2 / kept if kept else math.inf
        elif self.rate_formula == momentum.nesterov_rate.name:
            per_step = ((1.0 - self.momentum) / (1.0 + self.momentum)) ** 2
        elif self.rate_formula == rates.adam_coupled_noise_rate.name:
            per_step = math.sqrt(self.second_moment or 0.0)
        largest = per_step / peak * (1.0 - 1e-12)
        return largest / 2.0 if self._penalty else largest
