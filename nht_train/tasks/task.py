"""What a task is: batches to train on, and a function that evaluates a model.

A task is one function in one file that returns a :class:`Task`; its keyword parameters are the
options of the ``[task]`` section (``batch_size`` and ``seed`` are passed by the trainer). The
user's own is named ``package.module:function``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

Batch = tuple[Tensor, Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]
"""(outputs of the model, targets) -> mean loss, a scalar."""


class BatchSource(Protocol):
    """Endless training batches whose place can be saved, so that a resumed run sees the same."""

    def next(self) -> Batch:
        """The next (inputs, targets)."""
        ...

    def state(self) -> dict[str, Tensor]:
        """What :meth:`restore` needs to continue with the same batches."""
        ...

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a saved state."""
        ...


@dataclass(frozen=True)
class Task:
    """A task, ready to train on.

    Attributes:
        name: as in the table of tasks.
        batches: where training batches come from.
        evaluate: model -> canonical columns (``heldout_accuracy`` ...); called in evaluation mode
            without gradients; must draw no random number.
        model_arguments: what the task decides about the model (``classes``, ``vocabulary`` ...).
        data_hash: ``algorithm:hex`` of everything trained and evaluated on.
        facts: what a run of this task is grouped by (``p``, ``train_fraction``).
        loss: of outputs and targets.
    """

    name: str
    batches: BatchSource
    evaluate: Callable[[nn.Module], Mapping[str, float]]
    model_arguments: Mapping[str, int]
    data_hash: str
    facts: Mapping[str, object] = field(default_factory=dict)
    loss: Loss = functional.cross_entropy


class ReplacementBatches:
    """Batches drawn with replacement from tensors in memory.

    Args:
        inputs, targets: first dimension [n].
        batch_size: rows in a batch.
        seed: of the draw; no other generator is touched.

    Example:
        >>> source = ReplacementBatches(torch.arange(10), torch.arange(10), 4, seed=0)
        >>> before = source.state()
        >>> first = source.next()[0]
        >>> source.restore(before)
        >>> bool((source.next()[0] == first).all())
        True
    """

    def __init__(self, inputs: Tensor, targets: Tensor, batch_size: int, *, seed: int) -> None:
        self.inputs = inputs
        self.targets = targets
        self.batch_size = batch_size
        # Drawn on the CPU whatever the device, so that every machine sees the same batches.
        self.generator = torch.Generator().manual_seed(seed)

    def next(self) -> Batch:
        """The next (inputs, targets)."""
        index = torch.randint(len(self.inputs), (self.batch_size,), generator=self.generator)
        index = index.to(self.inputs.device)
        return self.inputs[index], self.targets[index]

    def state(self) -> dict[str, Tensor]:
        """The generator's state."""
        return {"generator": self.generator.get_state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a saved state."""
        self.generator.set_state(state["generator"])
