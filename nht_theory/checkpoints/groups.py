"""Parameter groups: which tensors' norms are followed together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from nht_theory.checkpoints.layers import layers_of
from nht_theory.checkpoints.scale_invariance import scale_invariant_names
from nht_theory.errors import InputError

Shape = tuple[int, ...]

LAYER = "layer"
DECAY = "decay"
NORMALIZATION = "normalization"


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


def parameter_groups(
    shapes: Mapping[str, Shape], decayed: Collection[str] | None = None
) -> tuple[ParameterGroup, ...]:
    """The groups of a model, from the names and shapes of its parameters.

    Three partitions, in this order:

    - ``layer``: ``embedding``, ``layers.0`` ... , ``head``, with their depth from the input. A
      numbered block is one layer; a module of one-dimensional parameters only (a normalisation)
      belongs to the layer before it.
    - ``decay``: ``decayed`` and ``not_decayed``.
    - ``normalization``: ``scale_invariant``, the weights whose output a normalisation layer
      receives directly (so that scaling them leaves the function as it is), where names and
      shapes show it.

    Empty groups are left out.

    Args:
        shapes: name of each trained parameter -> its shape, in the order of the model where that
            is known (a mapping sorted by name is recognised as having lost it).
        decayed: names that weight decay acts on; None takes those of two dimensions or more.

    Raises:
        InputError: ``shapes`` is empty, or ``decayed`` names a parameter that is not there.

    Example:
        >>> groups = parameter_groups({"embed.weight": (5, 2), "mlp.weight": (3, 2),
        ...                            "mlp.bias": (3,), "head.weight": (5, 3)})
        >>> [(g.name, g.parameter_count, g.depth) for g in groups if g.partition == "layer"]
        [('embedding', 10, 0), ('layers.0', 9, 1), ('head', 15, 2)]
        >>> [(g.name, g.parameter_count) for g in groups if g.partition == "decay"]
        [('decayed', 31), ('not_decayed', 3)]
    """
    if not shapes:
        raise InputError("no parameter to group", remedy="give a model that has parameters")
    if decayed is None:
        decayed = {name for name, shape in shapes.items() if len(shape) >= 2}
    unknown = sorted(set(decayed) - set(shapes))
    if unknown:
        raise InputError(
            f"decayed parameter {unknown[0]!r} is not among the {len(shapes)} parameters",
            remedy="name parameters as the model does",
        )

    def group(
        name: str, partition: str, members: Iterable[str], depth: int | None = None
    ) -> ParameterGroup:
        names = tuple(members)
        count = sum(prod(shapes[member]) for member in names)
        return ParameterGroup(name, partition, names, count, depth)

    found = [
        group(name, LAYER, members, depth)
        for depth, (name, members) in enumerate(layers_of(shapes).items())
    ]
    found.append(group("decayed", DECAY, (n for n in shapes if n in decayed)))
    found.append(group("not_decayed", DECAY, (n for n in shapes if n not in decayed)))
    found.append(group("scale_invariant", NORMALIZATION, scale_invariant_names(shapes)))
    return tuple(entry for entry in found if entry.parameter_names)
