"""Parameter groups: by layer, decayed and not, and scale-invariant ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from nht_theory.errors import InputError

Shape = tuple[int, ...]
LayerKey = tuple[str | int, ...]

EMBEDDING = "embedding"
HEAD = "head"

_EMBEDDING_NAME = re.compile(
    r"embed|^(wte|wpe|W_E|W_pos|cls_token|class_token|mask_token|pos_emb|tok_emb)$", re.IGNORECASE
)
_HEAD_NAME = re.compile(
    r"^(lm_head|heads?|classifier|fc|fc_out|out|output|output_layer|output_projection|unembed|W_U"
    r"|score|logits|readout|cls|projection_head|predictor)$"
)
_STEM_NAME = re.compile(
    r"^(stem|conv1|bn1|conv_in|conv_stem|conv_proj|input|input_layer|input_proj)$"
)
_NOT_A_HEAD = re.compile(r"pool|norm|attention|attn|query|key|value", re.IGNORECASE)


def layers_of(shapes: Mapping[str, Shape]) -> dict[str, tuple[str, ...]]:
    """Layer name -> names of its parameters, from the input to the output.

    The layers are ``embedding``, ``layers.0`` ..., ``head`` (the first and the last only where
    there is one), and together they hold every parameter once. Modules that every name begins
    with (what a framework wraps around a model) say nothing of the layers and are left aside.

    Example:
        >>> layers_of({"0.weight": (4, 2), "0.bias": (4,), "2.weight": (1, 4), "2.bias": (1,)})
        {'layers.0': ('0.weight', '0.bias'), 'head': ('2.weight', '2.bias')}
    """
    prefix = shared_prefix(shapes)
    if prefix:
        inside = {name.removeprefix(prefix): shape for name, shape in shapes.items()}
        return {
            layer: tuple(prefix + name for name in names)
            for layer, names in layers_of(inside).items()
        }
    members: dict[LayerKey, list[str]] = {}
    wrappers = _wrappers(shapes)
    for name in shapes:
        members.setdefault(_key(name, wrappers), []).append(name)
    order = _in_depth(list(members), members, shapes)
    _join_vectors(order, members, shapes)
    order = [key for key in order if key in members]
    head = _head(order, members, shapes)
    layers: dict[str, tuple[str, ...]] = {}
    if (EMBEDDING,) in members:
        layers[EMBEDDING] = tuple(members[EMBEDDING,])
    number = 0
    for key in order:
        if key in ((EMBEDDING,), head):
            continue
        layers[f"layers.{number}"] = tuple(members[key])
        number += 1
    if head is not None:
        layers[HEAD] = tuple(members[head])
    return layers


def shared_prefix(names: Iterable[str]) -> str:
    """The modules that hold every parameter, with the dot; a number is a layer and no wrapper.

    Example:
        >>> shared_prefix(["net.fc1.weight", "net.fc2.weight"]), shared_prefix(["0.w", "0.b"])
        ('net.', '')
    """
    shared: list[str] = []
    for parts in zip(*(name.split(".")[:-1] for name in names), strict=False):
        if len(set(parts)) > 1 or parts[0].isdigit():
            break
        shared.append(parts[0])
    return "".join(f"{part}." for part in shared)


def order_is_lost(names: list[str]) -> bool:
    """Whether the names are sorted as text, so that their order says nothing of the model.

    Example:
        >>> order_is_lost(["bn1.weight", "conv1.weight", "fc.bias", "fc.weight"])
        True
    """
    return len(names) > 2 and names == sorted(names)


def _split(name: str) -> list[str | int]:
    return [int(part) if _is_number(part) else part for part in name.split(".")]


def _is_number(part: str) -> bool:
    return part.isdecimal() and len(part) < 10


def _wrappers(shapes: Mapping[str, Shape]) -> set[str]:
    """Top-level modules that hold numbered blocks, and so wrap most of the model."""
    split = (name.split(".") for name in shapes)
    return {parts[0] for parts in split if any(_is_number(part) for part in parts[1:])}


def _key(name: str, wrappers: set[str]) -> LayerKey:
    parts = _split(name)
    first_number = next((i for i, part in enumerate(parts) if isinstance(part, int)), None)
    before = parts if first_number is None else parts[:first_number]
    if any(_EMBEDDING_NAME.search(str(part)) for part in before):
        return (EMBEDDING,)
    if first_number is not None:
        return tuple(parts[: first_number + 1])
    modules = parts[:-1] or parts
    return tuple(modules[:2]) if parts[0] in wrappers else (modules[0],)


def _is_vectors(
    key: LayerKey, members: dict[LayerKey, list[str]], shapes: Mapping[str, Shape]
) -> bool:
    return all(len(shapes[name]) < 2 for name in members[key])


def _natural(key: LayerKey) -> tuple[tuple[int, int, str], ...]:
    """A sort key under which 10 follows 9, and fc10 follows fc9; encoders precede decoders."""
    parts: list[tuple[int, int, str]] = []
    for part in key:
        for piece in re.findall(r"\d+|\D+", str(part)):
            number = int(piece[:9]) if piece.isdecimal() else -1
            parts.append((1 if "decoder" in piece else 0, number, piece))
    return tuple(parts)


def _in_depth(
    keys: list[LayerKey], members: dict[LayerKey, list[str]], shapes: Mapping[str, Shape]
) -> list[LayerKey]:
    lost = order_is_lost(list(shapes))

    def rank(key: LayerKey) -> int:
        if key == (EMBEDDING,):
            return 0
        if lost and _STEM_NAME.search(str(key[-1])):
            return 1
        if len(key) <= 2 and _HEAD_NAME.search(str(key[-1])):
            return 4
        numbered = any(isinstance(part, int) for part in key)
        return 3 if lost and not numbered and _is_vectors(key, members, shapes) else 2

    if lost:
        return sorted(keys, key=lambda key: (rank(key), _natural(key)))
    return sorted(keys, key=rank)


def _join_vectors(
    order: list[LayerKey], members: dict[LayerKey, list[str]], shapes: Mapping[str, Shape]
) -> None:
    """Give normalisations and scalars to the layer of their number, else to the one before."""
    previous: LayerKey | None = None
    waiting: list[str] = []
    matrices = {key for key in order if not _is_vectors(key, members, shapes)}
    if not matrices:
        return
    for key in order:
        if key in matrices:
            members[key] = waiting + members[key]
            waiting = []
            previous = key
            continue
        names = members.pop(key)
        partner = _partner(key, matrices) or previous
        if partner is None:
            waiting = waiting + names
        else:
            members[partner].extend(names)


def _partner(key: LayerKey, matrices: set[LayerKey]) -> LayerKey | None:
    """conv1 for bn1: the same parent and the same trailing number."""
    found = re.fullmatch(r"\D+(\d+)", str(key[-1]))
    partner = None if found is None else (*key[:-1], f"conv{found[1]}")
    return partner if partner in matrices else None


def _head(
    order: list[LayerKey], members: dict[LayerKey, list[str]], shapes: Mapping[str, Shape]
) -> LayerKey | None:
    """The last layer, if it is named as a head or is one matrix (and its bias)."""
    if len(order) < 2:
        return None
    last = order[-1]
    matrices = [name for name in members[last] if len(shapes[name]) >= 2]
    if len(last) <= 2 and _HEAD_NAME.search(str(last[-1])) and matrices:
        return last
    plain = not any(_NOT_A_HEAD.search(str(part)) for part in last)
    single = len(matrices) == 1 and len(shapes[matrices[0]]) == 2
    leaf = all(len(name.split(".")) == len(last) + 1 for name in members[last][:1])
    return last if plain and single and leaf and last != (EMBEDDING,) else None


_NUMBERED_CONVOLUTION = re.compile(r"(?P<parent>.*?)conv(?P<number>\d*)$")
_NUMBERED_NORM = ("bn", "norm", "gn")


def scale_invariant_names(shapes: Mapping[str, Shape]) -> tuple[str, ...]:
    """Names of the weights (with their biases) whose output a normalisation receives directly.

    Two conventions show it: ``convN`` beside ``bnN`` or ``normN``, and consecutive numbers in an
    ``nn.Sequential`` of which the second holds nothing but a weight and a bias vector of the
    first one's output size. Residual networks that normalise before the convolution are told
    apart by the order of their parameters or by sizes that do not match, and then only what is
    certain is named. (A bias is included because layer and group normalisation are invariant to
    weight and bias scaled together; batch normalisation is, too.)

    Example:
        >>> scale_invariant_names({"conv1.weight": (8, 3, 3, 3), "bn1.weight": (8,),
        ...                        "bn1.bias": (8,), "fc.weight": (10, 8)})
        ('conv1.weight',)
    """
    modules: dict[str, dict[str, Shape]] = {}
    for name, shape in shapes.items():
        module, _, leaf = name.rpartition(".")
        modules.setdefault(module, {})[leaf] = shape
    found = {m for m in modules if _follows_in_sequence(m, modules)} | _beside_their_norm(
        modules, order_is_lost(list(shapes))
    )
    return tuple(name for name in shapes if name.rpartition(".")[0] in found)


def _is_norm(module: dict[str, Shape] | None, size: int) -> bool:
    return (
        module is not None
        and set(module) <= {"weight", "bias"}
        and module.get("weight") == (size,)
        and module.get("bias", (size,)) == (size,)
    )


def _is_linear_map(module: dict[str, Shape]) -> bool:
    return len(module.get("weight", ())) >= 2 and set(module) <= {"weight", "bias"}


def _follows_in_sequence(module: str, modules: Mapping[str, dict[str, Shape]]) -> bool:
    parent, dot, number = module.rpartition(".")
    if not number.isdecimal() or not _is_linear_map(modules[module]):
        return False
    following = modules.get(f"{parent}{dot}{int(number) + 1}")
    return _is_norm(following, modules[module]["weight"][0])


def _beside_their_norm(modules: Mapping[str, dict[str, Shape]], order_lost: bool) -> set[str]:
    place = {name: index for index, name in enumerate(modules)}
    found = set()
    for name, module in modules.items():
        match = _NUMBERED_CONVOLUTION.fullmatch(name)
        if match is None or not _is_linear_map(module):
            continue
        for kind in _NUMBERED_NORM:
            partner = f"{match['parent']}{kind}{match['number']}"
            if partner not in modules:
                continue
            if not _is_norm(modules[partner], module["weight"][0]):
                return set()  # the norm sits before the convolution: nothing is certain
            if order_lost or place[partner] > place[name]:
                found.add(name)
    return found


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
