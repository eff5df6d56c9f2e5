"""Parameter groups: which tensors' norms are followed together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ParameterGroup:
    """A set of parameters whose norm is followed on its own.

    Attributes:
        name: as it appears after ``squared_norm/``.
        partition: ``layer`` (embedding, layers, head: a partition of all parameters),
            ``decay`` (decayed and not_decayed: another) or ``normalization`` (scale_invariant).
        parameter_names: names of the tensors.
        parameter_count: number of scalars.
        depth: place from the input (0) to the output; None outside the ``layer`` partition.
    """

    name: str
    partition: str
    parameter_names: tuple[str, ...]
    parameter_count: int
    depth: int | None = None
