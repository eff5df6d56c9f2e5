"""Two weights on the manifold w1 + w2 = const: a case where total V is the wrong coordinate.

Musat (2025) studies an L2 penalty on a network that only sees the sum of two weights. The decay
of the sum is undone by the loss, so along the manifold only the difference shrinks,
w1 - w2 -> (1 - 2 eta lambda)(w1 - w2), and the excess d^2 = (w1 - w2)^2/2 over the smallest norm
on the manifold, (w1 + w2)^2/2, decays as the law says. V itself tends to that smallest norm, not to
zero: the law on V stops far too early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nht_theory.formulas.rates import l2_penalty_rate
from nht_theory.formulas.times import law_steps


@dataclass(frozen=True)
class TwoWeights:
    """Two weights whose sum the loss holds fixed.

    Attributes:
        first, second: the weights at step 0.
        learning_rate, weight_decay: of gradient descent with penalty lambda ||w||^2.

    Example:
        >>> model = TwoWeights(2.0, 0.0, learning_rate=1e-2, weight_decay=0.1)
        >>> round(model.hitting_time(excess=0.01), 1), model.simulate(excess=0.01)
        (1323.3, 1324)
        >>> round(model.hitting_time_by_total_norm())
        173
        >>> model.total_norm_is_the_coordinate
        False
    """

    first: float
    second: float
    learning_rate: float
    weight_decay: float

    total_norm_is_the_coordinate: ClassVar[bool] = False
    why_not: ClassVar[str] = (
        "V tends to (w1 + w2)^2/2 > 0 on the manifold: only the excess V - V_min decays at the "
        "law's rate, and the law on V answers far too early"
    )

    @property
    def smallest_squared_norm(self) -> float:
        """V_min on the manifold: both weights equal."""
        return (self.first + self.second) ** 2 / 2.0

    @property
    def excess(self) -> float:
        """d^2 = V - V_min at step 0."""
        return (self.first - self.second) ** 2 / 2.0

    @property
    def _rate(self) -> float:
        return l2_penalty_rate.value(
            learning_rate=self.learning_rate, weight_decay=self.weight_decay
        )

    def hitting_time(self, excess: float) -> float:
        """T = ln(d_0^2/delta) / (-2 ln(1 - 2 eta lambda)), before rounding up to a step."""
        return law_steps.value(
            contraction_rate=self._rate,
            squared_norm_shortcut=self.excess,
            squared_norm_structured=excess,
        )

    def hitting_time_by_total_norm(self) -> float:
        """What the law on total V answers, with V_st = V_min: wrong, and kept to show it."""
        return law_steps.value(
            contraction_rate=self._rate,
            squared_norm_shortcut=self.smallest_squared_norm + self.excess,
            squared_norm_structured=self.smallest_squared_norm,
        )

    def simulate(self, excess: float) -> int:
        """First step with d^2 <= delta, by the recursion: decay, then back onto the manifold."""
        first, second = self.first, self.second
        total = first + second
        step = 0
        while (first - second) ** 2 / 2.0 > excess:
            shrink = 1.0 - 2.0 * self.learning_rate * self.weight_decay
            first, second = shrink * first, shrink * second
            lost = total - (first + second)
            first, second = first + lost / 2.0, second + lost / 2.0
            step += 1
        return step
