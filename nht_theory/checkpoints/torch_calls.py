"""The calls in a torch pickle that rebuild tensors, given their meaning without torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from nht_theory.checkpoints import limits
from nht_theory.checkpoints.elements import ELEMENTS, STORAGE_CLASSES, Element
from nht_theory.checkpoints.pickle_values import OpaqueObject, Symbol, plain_key


@dataclass(slots=True)
class StorageReference:
    """A block of memory that the pickle names by its key."""

    key: str
    element: Element
    size: int


@dataclass(slots=True, eq=False)
class TensorReference:
    """A tensor as a view of a storage.

    Attributes:
        storage: where its elements are.
        offset: of its first element, in elements.
        shape, strides: in elements.
        element: its type.
        quantizer: arguments of a quantised tensor (scheme symbol, scale, zero point ...).
        unreadable: why its values are not in the storage as they are, or empty.
    """

    storage: StorageReference
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: Element
    quantizer: tuple[Any, ...] = ()
    unreadable: str = ""


def storage_reference(identifier: Any) -> StorageReference:
    """The storage that a persistent identifier names.

    Raises:
        ValueError: it names no storage.
    """
    if not isinstance(identifier, tuple) or len(identifier) < 5 or identifier[0] != "storage":
        raise ValueError("a persistent identifier that is no storage")
    kind, key, size = identifier[1], identifier[2], identifier[4]
    if not isinstance(kind, Symbol) or not isinstance(key, str) or not _count(size):
        raise ValueError("a storage without type, key and size")
    name = STORAGE_CLASSES.get(kind.name)
    if name is None:
        raise ValueError(f"a storage of unknown class {kind}")
    return StorageReference(key, ELEMENTS[name], size)


def reduce_call(symbol: Symbol, arguments: tuple[Any, ...]) -> Any:
    """The value of a known call, NotImplemented for any other.

    Raises:
        ValueError, TypeError, IndexError: a known call with arguments it cannot have.
    """
    known = _CALLS.get((symbol.module, symbol.name))
    return NotImplemented if known is None else known(*arguments)


def is_tensor_symbol(symbol: Symbol) -> bool:
    """Whether a symbol belongs to tensors and plain containers, whose meaning is known here."""
    if (symbol.module, symbol.name) in _CALLS:
        return True
    torch_type = symbol.name in STORAGE_CLASSES or symbol.name in ELEMENTS
    return torch_type and symbol.module.partition(".")[0] == "torch"


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _counts(values: Any) -> tuple[int, ...]:
    if not isinstance(values, (list, tuple)) or len(values) > limits.DIMENSIONS:
        raise ValueError("a shape that is none")
    for value in values:
        if not _count(value):
            raise ValueError("a shape that is none")
    return tuple(values)


def _rebuild_tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> Any:
    if isinstance(storage, OpaqueObject):
        # A typed storage wrapped around an untyped one.
        storage = next((a for a in storage.arguments if type(a) is StorageReference), storage)
    if type(storage) is not StorageReference or not _count(offset):
        raise ValueError("a tensor without storage")
    shape, strides = _counts(shape), _counts(strides)
    if len(shape) != len(strides):
        raise ValueError("as many strides as dimensions are needed")
    return TensorReference(storage, offset, shape, strides, storage.element)


def _rebuild_tensor_v3(
    storage: Any,
    offset: Any,
    shape: Any,
    strides: Any,
    _grad: Any,
    _hooks: Any,
    dtype: Any,
    *_: Any,
) -> Any:
    tensor = _rebuild_tensor(storage, offset, shape, strides)
    element = ELEMENTS.get(dtype.name) if isinstance(dtype, Symbol) else None
    if element is None:
        return replace(tensor, unreadable=f"elements of type {dtype}")
    return replace(tensor, element=element)


def _rebuild_parameter(data: Any, *_: Any) -> Any:
    return data


def _rebuild_quantized(
    storage: Any, offset: Any, shape: Any, strides: Any, quantizer: Any, *_: Any
) -> Any:
    tensor = _rebuild_tensor(storage, offset, shape, strides)
    return replace(tensor, quantizer=quantizer if isinstance(quantizer, tuple) else (quantizer,))


def _rebuild_from_type(function: Any, kind: Any, arguments: Any, _state: Any, *_: Any) -> Any:
    if not isinstance(function, Symbol) or not isinstance(arguments, tuple):
        raise ValueError("a tensor subclass without a constructor")
    return reduce_call(function, arguments)


def _rebuild_without_storage(*_: Any) -> Any:
    return Unreadable("a tensor on the meta device: the file holds no values for it")


def _ordered_dict(*arguments: Any) -> Any:
    if not arguments:
        return {}
    pairs = arguments[0]
    if isinstance(pairs, dict):
        return dict(pairs)
    return {plain_key(key): value for key, value in pairs}


def _encode(text: Any, encoding: Any = "latin1", *_: Any) -> Any:
    """Bytes as protocol 2 writes them."""
    if isinstance(text, str) and encoding in ("latin1", "latin-1", "utf-8"):
        return text.encode(encoding)
    return NotImplemented


def _size(shape: Any = (), *_: Any) -> Any:
    return tuple(shape) if isinstance(shape, (list, tuple)) else NotImplemented


@dataclass(frozen=True)
class Unreadable:
    """A tensor whose values the file does not hold as numbers; ``reason`` says why."""

    reason: str


def elements_within(tensor: TensorReference, *, contiguous: bool) -> bool:
    """Whether the view stays inside its storage."""
    count = prod(tensor.shape)
    if count == 0:
        return True
    if not contiguous:
        pairs = zip(tensor.shape, tensor.strides, strict=True)
        count = 1 + sum((length - 1) * stride for length, stride in pairs)
    end = (tensor.offset + count) * tensor.element.itemsize
    return end <= tensor.storage.size * tensor.storage.element.itemsize


_CALLS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _rebuild_tensor_v3,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
    ("torch._utils", "_rebuild_qtensor"): _rebuild_quantized,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): _rebuild_without_storage,
    ("torch._tensor", "_rebuild_from_type"): _rebuild_from_type,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type,
    ("torch", "Size"): _size,
    ("collections", "OrderedDict"): _ordered_dict,
    ("_codecs", "encode"): _encode,
}
