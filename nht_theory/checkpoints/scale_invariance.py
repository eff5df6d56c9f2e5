"""Which weights feed a normalisation layer, so that scaling them leaves the function as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nht_theory.checkpoints.layers import order_is_lost

Shape = tuple[int, ...]

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
