"""The optimisers that a configuration can name, as torch (Lion: timm) has them.

Each function takes the model, the names of the tensors that weight decay acts on, and its own
options; what it returns says how the decay enters, which is what the theory needs to know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import nn
from torch.optim import Optimizer

from nht_theory.checkpoints.groups import parameter_groups
from nht_theory.conventions import DecayForm, OptimizerKind
from nht_theory.errors import InputError

Rate = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0)]
Beta = Annotated[float, Field(ge=0, lt=1)]

OPTIMIZERS = {
    "sgd": "nht_train.optimizers:sgd",
    "adam": "nht_train.optimizers:adam",
    "adamw": "nht_train.optimizers:adamw",
    "muon": "nht_train.optimizers:muon",
    "lion": "nht_train.optimizers:lion",
}
"""name -> module:function, where the function returns :class:`ChosenOptimizer`."""

DECAY_SCALE = "decay_scale"
"""Key of a torch parameter group: its weight_decay is this times the configured coefficient."""
BASE_RATE = "base_rate"
"""Key of a torch parameter group: its learning rate before the schedule."""


@dataclass(frozen=True)
class ChosenOptimizer:
    """One or more torch optimisers that together update every parameter of a model.

    Attributes:
        parts: stepped in this order.
        kind: which optimiser it is; its name where the theory does not know it.
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

    def set_step(self, learning_rate_factor: float, weight_decay: float) -> None:
        """Set what the next step uses: a factor on every learning rate, and lambda."""
        for group in self.param_groups():
            group["lr"] = group[BASE_RATE] * learning_rate_factor
            group["weight_decay"] = group[DECAY_SCALE] * weight_decay


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
        _groups(model.named_parameters(), decayed, learning_rate, weight_decay),
        betas=(beta_1, beta_2),
        eps=epsilon,
        fused=True,
    )
    constants = {"beta_1": beta_1, "beta_2": beta_2}
    return ChosenOptimizer((part,), OptimizerKind.ADAMW, DecayForm.DECOUPLED, constants)


def adam(
    model: nn.Module,
    decayed: Collection[str],
    *,
    learning_rate: Rate = 1e-3,
    weight_decay: Decay = 0.0,
    beta_1: Beta = 0.9,
    beta_2: Beta = 0.999,
    epsilon: Rate = 1e-8,
) -> ChosenOptimizer:
    """Adam (Kingma and Ba, arXiv 1412.6980) with coupled decay: w*theta joins the gradient."""
    part = torch.optim.Adam(
        _groups(model.named_parameters(), decayed, learning_rate, weight_decay),
        betas=(beta_1, beta_2),
        eps=epsilon,
        fused=True,
    )
    constants = {"beta_1": beta_1, "beta_2": beta_2}
    return ChosenOptimizer((part,), OptimizerKind.ADAM, DecayForm.COUPLED, constants)


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

    Example:
        >>> chosen = sgd(nn.Linear(2, 2), {"weight"}, weight_decay=0.1, decay="l2_penalty")
        >>> chosen.decay_form.value, chosen.param_groups()[0]["weight_decay"]
        ('l2_penalty', 0.2)
    """
    penalty = decay == "l2_penalty"
    scale = 2.0 if penalty else 1.0
    part = torch.optim.SGD(
        _groups(model.named_parameters(), decayed, learning_rate, weight_decay, scale),
        momentum=momentum,
        nesterov=nesterov,
    )
    if penalty:
        form = DecayForm.L2_PENALTY
    else:
        form = DecayForm.COUPLED if momentum else DecayForm.DECOUPLED
    return ChosenOptimizer((part,), OptimizerKind.SGD, form, {"momentum": momentum})


def muon(
    model: nn.Module,
    decayed: Collection[str],
    *,
    learning_rate: Rate = 1e-3,
    weight_decay: Decay = 0.1,
    momentum: Beta = 0.95,
    nesterov: bool = True,
    adjust_learning_rate: Literal["original", "match_rms_adamw"] = "match_rms_adamw",
    adamw_learning_rate: Rate | None = None,
) -> ChosenOptimizer:
    """Muon (torch's own) on the matrices between embedding and head, AdamW on everything else.

    Args:
        model: what to train.
        decayed: names of the tensors with decay.
        learning_rate: of Muon.
        weight_decay: decoupled, of both.
        momentum, nesterov: of Muon.
        adjust_learning_rate: torch's scaling by a matrix's shape; ``match_rms_adamw`` makes one
            learning rate serve both parts.
        adamw_learning_rate: of the rest; None takes ``learning_rate``.
    """
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = parameter_groups({name: tuple(p.shape) for name, p in named})
    ends = {n for g in groups if g.name in ("embedding", "head") for n in g.parameter_names}
    inner = [(name, p) for name, p in named if p.ndim == 2 and name not in ends]
    matrices = {name for name, _ in inner}
    rest = [(name, p) for name, p in named if name not in matrices]
    parts: list[Optimizer] = []
    if inner:
        parts.append(
            torch.optim.Muon(
                _groups(inner, decayed, learning_rate, weight_decay),
                momentum=momentum,
                nesterov=nesterov,
                adjust_lr_fn=adjust_learning_rate,
            )
        )
    if rest:
        rate = adamw_learning_rate or learning_rate
        parts.append(torch.optim.AdamW(_groups(rest, decayed, rate, weight_decay), fused=True))
    return ChosenOptimizer(
        tuple(parts), OptimizerKind.MUON, DecayForm.DECOUPLED, {"momentum": momentum}
    )


def lion(
    model: nn.Module,
    decayed: Collection[str],
    *,
    learning_rate: Rate = 1e-4,
    weight_decay: Decay = 1.0,
    beta_1: Beta = 0.9,
    beta_2: Beta = 0.99,
) -> ChosenOptimizer:
    """Lion (Chen et al., arXiv 2302.06675) as timm has it, decoupled decay.

    Raises:
        InputError: timm is not installed.
    """
    try:
        from timm.optim.lion import Lion
    except ImportError as error:
        raise InputError(
            "Lion is timm's, which is not installed",
            source="optimizer.name",
            remedy="pip install 'nht[lion]'",
        ) from error
    part = Lion(
        _groups(model.named_parameters(), decayed, learning_rate, weight_decay),
        betas=(beta_1, beta_2),
    )
    constants = {"beta_1": beta_1, "beta_2": beta_2}
    return ChosenOptimizer((part,), OptimizerKind.LION, DecayForm.DECOUPLED, constants)


def _groups(
    named: Iterable[tuple[str, nn.Parameter]],
    decayed: Collection[str],
    learning_rate: float,
    weight_decay: float,
    decay_scale: float = 1.0,
) -> list[dict[str, Any]]:
    """Parameter groups of torch: the decayed tensors, and the others without decay."""
    trainable = [(name, p) for name, p in named if p.requires_grad]
    members = {
        decay_scale: [p for name, p in trainable if name in decayed],
        0.0: [p for name, p in trainable if name not in decayed],
    }
    return [
        {
            "params": parameters,
            "lr": learning_rate,
            BASE_RATE: learning_rate,
            "weight_decay": scale * weight_decay,
            DECAY_SCALE: scale,
        }
        for scale, parameters in members.items()
        if parameters
    ]
