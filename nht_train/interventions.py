"""What an experiment may do to a run besides training it: act on the decay, or on the norm itself.

Every intervention is a function of the step alone, so that a resumed run continues exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from nht_theory.checkpoints.groups import DECAY, parameter_groups
from nht_theory.errors import InputError
from nht_train.options import nearest


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NormClamp(_Closed):
    """Rescale all parameters after a step so that V = ||theta||^2 meets a value."""

    squared_norm: float = Field(gt=0)
    mode: Literal["ceiling", "hold"] = "ceiling"  # only from above, or from both sides
    from_step: int = Field(default=0, ge=0)  # the first step it acts after


class DecaySwitch(_Closed):
    """Another weight decay from a step on."""

    step: int = Field(ge=0)  # steps done before the first one with the new value
    weight_decay: float = Field(ge=0)


class Interventions(_Closed):
    """The ``[intervention]`` section."""

    # All tensors (the paper's runs), those of two dimensions or more, or parameter groups by name.
    decay_on: Literal["all", "matrices"] | list[str] = "all"
    norm_clamp: NormClamp | None = None
    decay_switch: DecaySwitch | None = None

    def weight_decay(self, chosen: float, step: int) -> float:
        """The coefficient of the step after ``step`` steps.

        Example:
            >>> switch = DecaySwitch(step=100, weight_decay=0.0)
            >>> [Interventions(decay_switch=switch).weight_decay(1.0, t) for t in (99, 100)]
            [1.0, 0.0]
        """
        switch = self.decay_switch
        return switch.weight_decay if switch is not None and step >= switch.step else chosen


def decayed_names(model: nn.Module, decay_on: str | list[str]) -> frozenset[str]:
    """Names of the tensors that weight decay acts on.

    Raises:
        InputError: a group that the model does not have.

    Example:
        >>> sorted(decayed_names(nn.Linear(2, 2), "matrices"))
        ['weight']
    """
    shapes = {n: tuple(p.shape) for n, p in model.named_parameters() if p.requires_grad}
    if decay_on == "all":
        return frozenset(shapes)
    groups = {group.name: group for group in parameter_groups(shapes)}
    if decay_on == "matrices":
        return frozenset(name for name, shape in shapes.items() if len(shape) >= 2)
    chosen: set[str] = set()
    known = [name for name, group in groups.items() if group.partition != DECAY]
    for name in decay_on:
        if name not in known:
            raise InputError(
                f"the model has no parameter group {name!r}",
                source="intervention.decay_on",
                remedy=nearest(name, known),
            )
        chosen.update(groups[name].parameter_names)
    return frozenset(chosen)


def norm_clamp_hook(
    model: nn.Module, clamp: NormClamp, steps_done: Callable[[], int]
) -> Callable[..., None]:
    """A hook for after the optimiser's step that applies a clamp.

    Args:
        model: all of its trainable parameters are scaled by one factor.
        clamp: what to apply.
        steps_done: number of steps done before this one.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]

    @torch.no_grad()
    def apply(*_: object) -> None:
        if steps_done() + 1 < clamp.from_step:
            return
        squared_norm = math.fsum(float(p.double().square().sum()) for p in parameters)
        if squared_norm > clamp.squared_norm or (clamp.mode == "hold" and squared_norm > 0):
            torch._foreach_mul_(parameters, math.sqrt(clamp.squared_norm / squared_norm))

    return apply
