"""The optimisers that a configuration can name, as torch has them.

Each function takes the model, the names of the tensors that weight decay acts on, and its own
options; what it returns says how the decay enters, which is what the theory needs to know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import nn
from torch.optim import Optimizer

from nht_theory.conventions import DecayForm, OptimizerKind

Rate = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0)]
Beta = Annotated[float, Field(ge=0, lt=1)]

OPTIMIZERS = {
    "sgd": "nht_train.optimizers:sgd",
    "adamw": "nht_train.optimizers:adamw",
}
"""name -> module:function, where the function returns :class:`ChosenOptimizer`."""


@dataclass(frozen=True)
class ChosenOptimizer:
    """One or more torch optimisers that together update every parameter of a model.

    Attributes:
        parts: stepped in this order.
        kind: which optimiser it is.
        decay_form: how the weight decay coefficient enters the update.
        constants: ``beta_1``, ``beta_2``, ``momentum`` where the optimiser has them.
    """

    parts: tuple[Optimizer, ...]
    kind: OptimizerKind
    decay_form: DecayForm
    constants: Mapping[str, float]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def step(self) -> None:
        """Update the parameters from their gradients."""
        for part in self.parts:
            part.step()

    def param_groups(self) -> list[dict[str, Any]]:
        """The parameter groups of all parts."""
        return [group for part in self.parts for group in part.param_groups]


def adamw(
    model: nn.Module,
    decayed: Collection[str],
    *,
    learning_rate: Rate = 1e-3,
    weight_decay: Decay = 1.0,
    beta_1: Beta = 0.9,
    beta_2: Beta = 0.999,
    epsilon: Rate = 1e-8,
) -> ChosenOptimizer:
    """AdamW (Loshchilov and Hutter, arXiv 1711.05101), decoupled decay, fused update.

    Example:
        >>> chosen = adamw(nn.Linear(2, 2), {"weight"}, weight_decay=0.5)
        >>> [group["weight_decay"] for group in chosen.param_groups()]
        [0.5, 0.0]
    """
    part = torch.optim.AdamW(
        _decay_groups(model, decayed, weight_decay),
        lr=learning_rate,
        betas=(beta_1, beta_2),
        eps=epsilon,
        fused=True,
    )
    constants = {"beta_1": beta_1, "beta_2": beta_2}
    return ChosenOptimizer((part,), OptimizerKind.ADAMW, DecayForm.DECOUPLED, constants)


def sgd(
    model: nn.Module,
    decayed: Collection[str],
    *,
    learning_rate: Rate = 1e-3,
    weight_decay: Decay = 0.0,
    momentum: Beta = 0.0,
    nesterov: bool = False,
    decay: Literal["pytorch", "l2_penalty"] = "pytorch",
) -> ChosenOptimizer:
    """Stochastic gradient descent.

    ``decay = "pytorch"`` adds weight_decay * theta to the gradient; ``"l2_penalty"`` is the paper's
    lambda ||theta||^2 in the loss (arXiv 2603.07323, eq. 2), which adds twice as much. Without
    momentum the former is the same as decoupled decay.
    """
    penalty = decay == "l2_penalty"
    part = torch.optim.SGD(
        _decay_groups(model, decayed, 2 * weight_decay if penalty else weight_decay),
        lr=learning_rate,
        momentum=momentum,
        nesterov=nesterov,
    )
    if penalty:
        form = DecayForm.L2_PENALTY
    else:
        form = DecayForm.COUPLED if momentum else DecayForm.DECOUPLED
    return ChosenOptimizer((part,), OptimizerKind.SGD, form, {"momentum": momentum})


def _decay_groups(
    model: nn.Module, decayed: Collection[str], weight_decay: float
) -> list[dict[str, Any]]:
    """Parameter groups of torch: the decayed tensors, and the others without decay."""
    named = list(model.named_parameters())
    inside = [parameter for name, parameter in named if name in decayed]
    outside = [parameter for name, parameter in named if name not in decayed]
    groups = [
        {"params": inside, "weight_decay": weight_decay},
        {"params": outside, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]
