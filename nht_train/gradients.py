"""Loss and gradient of a step: one model at a time, or several stacked into one.

Stacking gives every product a batch dimension: fewer, larger kernels, which is what a GPU wants (a
CPU gains nothing). A lane's arithmetic does not depend on its neighbours, so a run is the same bit
for bit alone and among others, as long as it is stacked in both; plain and stacked differ in the
last bits, which is why it is a setting of the run.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from nht_theory.errors import InputError
from nht_train.config import Runtime
from nht_train.setup import Setup
from nht_train.tasks.task import Batch, Loss

Gradients = Callable[[Sequence[Batch]], Sequence[Tensor]]
"""One batch a lane -> one loss a lane; the gradients are left on the parameters."""


def gradients_of(setups: Sequence[Setup]) -> Gradients:
    """How the runtime section says to compute them; every setup has the same one.

    Raises:
        InputError: lanes that cannot be stacked.
    """
    if setups[0].config.runtime.stacked:
        return StackedGradients(setups)
    lanes = [PlainGradient(setup) for setup in setups]
    return lambda batches: [lane(*batch) for lane, batch in zip(lanes, batches, strict=True)]


class PlainGradient:
    """Forward and backward of one model, compiled and in bfloat16 if the run says so."""

    def __init__(self, setup: Setup) -> None:
        self.optimizer = setup.optimizer
        self._loss = _finished(_loss_of(setup.model, setup.task.loss), setup.config.runtime)

    def __call__(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of a batch; the gradients are on the parameters."""
        loss = self._loss(inputs, targets)
        self.optimizer.zero_grad()
        loss.backward()
        return loss.detach()


class StackedGradients:
    """Forward and backward of several models of one shape as one.

    The parameters of the models become views of stacked tensors, so their optimisers, monitors and
    checkpoints see nothing of it.

    Raises:
        InputError: the models differ in shape, or hold buffers (running statistics), which a
            stacked forward pass cannot update.
    """

    def __init__(self, setups: Sequence[Setup]) -> None:
        models = [setup.model for setup in setups]
        _refuse_unstackable(models)
        self.lanes = [dict(model.named_parameters()) for model in models]
        self.stacked = {
            name: torch.stack([lane[name].detach() for lane in self.lanes]).requires_grad_()
            for name in self.lanes[0]
        }
        for number, lane in enumerate(self.lanes):
            for name, parameter in lane.items():
                parameter.data = self.stacked[name].data[number]
        skeleton = copy.deepcopy(models[0]).to("meta")
        loss = setups[0].task.loss

        def lane_loss(parameters: dict[str, Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
            return loss(functional_call(skeleton, parameters, (inputs,)).float(), targets)

        self._losses = _finished(vmap(lane_loss), setups[0].config.runtime)

    def __call__(self, batches: Sequence[Batch]) -> Tensor:
        """The loss of each lane, shape [lanes]; the gradients are on the lanes' parameters."""
        inputs = torch.stack([batch[0] for batch in batches])
        targets = torch.stack([batch[1] for batch in batches])
        losses = self._losses(self.stacked, inputs, targets)
        for parameter in self.stacked.values():
            parameter.grad = None
        # Accumulated into the leaves, gradients have the layout of the parameters, which torch's
        # fused optimisers take for granted.
        losses.sum().backward()
        for name, parameter in self.stacked.items():
            for lane, own in zip(self.lanes, parameter.grad.unbind(0), strict=True):
                lane[name].grad = own
        return losses.detach()


def _loss_of(model: nn.Module, loss: Loss) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda inputs, targets: loss(model(inputs).float(), targets)


def _finished(function: Callable[..., Tensor], runtime: Runtime) -> Callable[..., Tensor]:
    """The function under autocast and compiled, as the runtime section says."""
    if runtime.precision == "bfloat16":
        device = torch.device(runtime.device).type
        plain = function

        def function(*arguments: object) -> Tensor:
            with torch.autocast(device, dtype=torch.bfloat16):
                return plain(*arguments)

    return torch.compile(function, dynamic=False) if runtime.compile else function


def _refuse_unstackable(models: Sequence[nn.Module]) -> None:
    shapes = [[(name, p.shape) for name, p in model.named_parameters()] for model in models]
    if any(lane != shapes[0] for lane in shapes):
        raise InputError(
            "stacked runs must have models of one shape",
            source="runtime.stacked",
            remedy="train them in different processes",
        )
    buffers = [name for name, _ in models[0].named_buffers()]
    if buffers:
        raise InputError(
            f"a model with buffers ({buffers[0]}) cannot be stacked",
            source="runtime.stacked",
            remedy="set runtime.stacked = false",
        )
