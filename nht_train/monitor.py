"""The one-step identity of the squared norm, measured on the optimiser's own steps.

For a step theta -> theta' with decay a = 1 - eta*lambda and delta = a*theta - theta' = eta*u,

    1 - V'/V = (1 - a^2) + 2 a <theta, delta> / V - ||delta||^2 / V
             =   decay   +      alignment         +   diffusion

(THEORY.md section 1; derived here for several decays at once by summing over tensors, each with
its own a). u is not asked of the optimiser but recovered from the parameters before and after
the step, so the identity describes what happened, whatever the optimiser is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from nht_theory.checkpoints.groups import ParameterGroup, parameter_groups
from nht_theory.errors import InputError
from nht_theory.runs import columns

DEFAULT_EVERY = 100
"""Steps between two readings: a reading costs a few steps' worth of memory traffic."""

DEFAULT_HEAD_DROP = 0.05
HEAD_COLUMN = columns.of_group(columns.SQUARED_NORM, "head")


@dataclass(frozen=True)
class NormReading:
    """What one optimiser step did to the squared norm.

    Attributes:
        step: optimiser steps done, the measured one included.
        values: canonical column -> value: ``squared_norm`` after the step; ``decay``,
            ``alignment``, ``diffusion`` and ``contraction`` (= 1 - V'/V) of the step, and
            ``update_squared_norm`` (||u||^2); each for all parameters and ``column/GROUP``.
    """

    step: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class HeadWarning:
    """The head's norm has turned: it peaked and fell, which the paper sees before the total turns.

    Attributes:
        step: at which it had fallen far enough.
        peak_step: at which it was largest.
        peak_squared_norm, squared_norm: of the head, then and now.
    """

    step: int
    peak_step: int
    peak_squared_norm: float
    squared_norm: float


@dataclass(frozen=True)
class _TensorSums:
    """Sums over one tensor, in float64: everything the terms are made of."""

    before: float  # sum theta^2
    after: float  # sum theta'^2
    decay: float  # (1 - a^2) sum theta^2
    alignment: float  # 2 a sum theta*delta
    delta: float  # sum delta^2
    update: float  # sum u^2, NaN when the learning rate is 0

    def __add__(self, other: _TensorSums) -> _TensorSums:
        return _TensorSums(
            self.before + other.before,
            self.after + other.after,
            self.decay + other.decay,
            self.alignment + other.alignment,
            self.delta + other.delta,
            self.update + other.update,
        )


class NormMonitor:
    """Follows the squared norm and the terms of its one-step identity in any training loop.

    It hooks into the optimiser's ``step``: nothing else in the loop changes. Between readings it
    costs a comparison of two integers.

    Args:
        model: its trainable parameters are followed.
        optimizer: one torch optimiser, or several stepped in this order (Muon with AdamW).
        every: steps between readings, or a function of the step (counted from 1) that says
            whether to read it.
        groups: sets of parameters followed on their own; None derives them from names and shapes.
        on_reading: called with each :class:`NormReading`, such as a logger.
        head_drop: share of its peak that the head's squared norm must lose for
            :attr:`head_warning`.

    Attributes:
        step: optimiser steps seen.
        latest: the last reading, or None.
        head_warning: set once, when the head's norm has peaked and fallen (arXiv 2603.07323's early
            warning); None while it has not, or where the model has no head group.

    Raises:
        InputError: a parameter of the optimiser is not one of the model.

    Example:
        >>> model = nn.Linear(3, 1, bias=False)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)
        >>> monitor = NormMonitor(model, optimizer, every=1)
        >>> model(torch.ones(1, 3)).sum().backward()
        >>> optimizer.step()
        >>> terms = monitor.latest.values
        >>> total = terms["decay"] + terms["alignment"] + terms["diffusion"]
        >>> abs(total - terms["contraction"]) < 1e-12
        True
        >>> round(terms["decay"], 12) == round(1 - (1 - 0.1 * 0.5) ** 2, 12)
        True
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer | Sequence[Optimizer],
        *,
        every: int | Callable[[int], bool] = DEFAULT_EVERY,
        groups: Sequence[ParameterGroup] | None = None,
        on_reading: Callable[[NormReading], object] | None = None,
        head_drop: float = DEFAULT_HEAD_DROP,
    ) -> None:
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.optimizers = (optimizer,) if isinstance(optimizer, Optimizer) else tuple(optimizer)
        _refuse_foreign_parameters(model, self.optimizers)
        self.every = every
        self.on_reading = on_reading
        self.groups = tuple(groups if groups is not None else model_groups(model, self.optimizers))
        self.step = 0
        self.latest: NormReading | None = None
        self.head_drop = head_drop
        self.head_warning: HeadWarning | None = None
        self._head_peak = (0, self.norms().get(HEAD_COLUMN, math.nan))
        self._before: dict[str, Tensor] | None = None
        self._handles = [
            self.optimizers[0].register_step_pre_hook(self._before_step),
            self.optimizers[-1].register_step_post_hook(self._after_step),
        ]

    def close(self) -> None:
        """Take the hooks off the optimiser."""
        for handle in self._handles:
            handle.remove()

    def norms(self) -> dict[str, float]:
        """``squared_norm`` now, of all parameters and of each group, in float64."""
        squares = {name: _squared_sum(p.detach()) for name, p in self.parameters.items()}
        values = {columns.SQUARED_NORM: math.fsum(squares.values())}
        for group in self.groups:
            total = math.fsum(squares[name] for name in group.parameter_names)
            values[columns.of_group(columns.SQUARED_NORM, group.name)] = total
        return values

    def _is_due(self, step: int) -> bool:
        return self.every(step) if callable(self.every) else step % self.every == 0

    def _before_step(self, *_: object) -> None:
        if self._is_due(self.step + 1):
            self._before = {name: p.detach().clone() for name, p in self.parameters.items()}

    def _after_step(self, *_: object) -> None:
        self.step += 1
        if self._before is None:
            return
        owners = self._owners()
        sums = {
            name: _sums_of(before, self.parameters[name].detach(), *owners[name])
            for name, before in self._before.items()
        }
        self._before = None
        values = _columns_of(sums.values())
        for group in self.groups:
            members = (sums[name] for name in group.parameter_names)
            for column, value in _columns_of(members).items():
                values[columns.of_group(column, group.name)] = value
        self.latest = NormReading(self.step, values)
        self._watch_head(values.get(HEAD_COLUMN, math.nan))
        if self.on_reading is not None:
            self.on_reading(self.latest)

    def _watch_head(self, squared_norm: float) -> None:
        peak_step, peak = self._head_peak
        if squared_norm > peak:
            self._head_peak = (self.step, squared_norm)
            return
        has_fallen = squared_norm <= (1 - self.head_drop) * peak
        # A head that only ever shrank, from step 0 on, has no peak to warn of.
        if self.head_warning is None and peak_step > 0 and has_fallen:
            self.head_warning = HeadWarning(self.step, peak_step, peak, squared_norm)

    def _owners(self) -> dict[str, tuple[Optimizer, dict[str, Any]]]:
        """Optimiser and parameter group of each parameter, as they are now.

        Asked for at each reading, because loading an optimiser's state replaces its groups.
        """
        names = {id(parameter): name for name, parameter in self.parameters.items()}
        # A parameter that no optimiser holds does not move and does not decay.
        idle: dict[str, Any] = {"lr": 0.0, "weight_decay": 0.0}
        owners = dict.fromkeys(self.parameters, (self.optimizers[0], idle))
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if id(parameter) in names:
                        owners[names[id(parameter)]] = (optimizer, group)
        return owners


def _refuse_foreign_parameters(model: nn.Module, optimizers: Iterable[Optimizer]) -> None:
    own = {id(parameter) for parameter in model.parameters()}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in own:
                    raise InputError(
                        f"a parameter of shape {tuple(parameter.shape)} of the optimiser is not "
                        "one of the model",
                        source="NormMonitor",
                        remedy="give the model that the optimiser updates",
                    )


def decoupled_decay(optimizer: Optimizer, group: Mapping[str, Any]) -> float:
    """The lambda by which a step multiplies theta by 1 - eta*lambda, apart from the update u.

    Zero where the decay is part of u: momentum SGD and coupled Adam pass it through their state.

    Example:
        >>> weights = [nn.Parameter(torch.ones(1))]
        >>> adam = torch.optim.Adam(weights, weight_decay=0.1)
        >>> decoupled_decay(adam, adam.param_groups[0])
        0.0
    """
    decay = float(group.get("weight_decay", 0.0))
    if isinstance(optimizer, torch.optim.SGD) and group.get("momentum", 0.0):
        return 0.0
    if isinstance(optimizer, torch.optim.Adam) and not group.get("decoupled_weight_decay", False):
        return 0.0
    return decay


def model_groups(model: nn.Module, optimizers: Iterable[Optimizer]) -> tuple[ParameterGroup, ...]:
    """Parameter groups of a model, decayed or not according to its optimisers."""
    decayed_ids = {
        id(parameter)
        for optimizer in optimizers
        for group in optimizer.param_groups
        if group.get("weight_decay", 0.0)
        for parameter in group["params"]
    }
    trainable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    return parameter_groups(
        {name: tuple(p.shape) for name, p in trainable},
        decayed={name for name, p in trainable if id(p) in decayed_ids},
    )


def _wide(tensor: Tensor) -> Tensor:
    """The tensor in float64, which Apple's GPUs do not have."""
    return (tensor.cpu() if tensor.device.type == "mps" else tensor).double()


def _squared_sum(tensor: Tensor) -> float:
    wide = _wide(tensor)
    return float((wide * wide).sum())


def _sums_of(
    before: Tensor, after: Tensor, optimizer: Optimizer, group: Mapping[str, Any]
) -> _TensorSums:
    """The sums over one tensor, from its values before and after a step."""
    learning_rate = float(group["lr"])
    shrink = 1 - learning_rate * decoupled_decay(optimizer, group)
    theta, moved = _wide(before), _wide(after)
    delta = shrink * theta - moved
    squared = float((theta * theta).sum())
    step_squared = float((delta * delta).sum())
    return _TensorSums(
        before=squared,
        after=float((moved * moved).sum()),
        decay=(1 - shrink * shrink) * squared,
        alignment=2 * shrink * float((theta * delta).sum()),
        delta=step_squared,
        update=step_squared / learning_rate**2 if learning_rate > 0 else math.nan,
    )


def _columns_of(sums: Iterable[_TensorSums]) -> dict[str, float]:
    total = sum(sums, start=_TensorSums(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    squared_norm = total.before or math.nan  # a group of zeros has no relative contraction
    return {
        columns.SQUARED_NORM: total.after,
        columns.DECAY: total.decay / squared_norm,
        columns.ALIGNMENT: total.alignment / squared_norm,
        columns.DIFFUSION: -total.delta / squared_norm,
        columns.UPDATE_SQUARED_NORM: total.update,
        columns.CONTRACTION: 1 - total.after / squared_norm,
    }
