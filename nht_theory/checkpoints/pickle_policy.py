"""What the pickle reader knows: inert values, the names it allows, and what torch calls become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from nht_theory.checkpoints import mapped_file
from nht_theory.checkpoints.elements import ELEMENTS, STORAGE_CLASSES, Element
from nht_theory.errors import UnsafeFileError

_SIMPLE_KEYS = (str, float, bool, bytes, type(None))
_LARGEST_KEY = 1 << 60
"""Integers below it have distinct hashes; others can be chosen to share one, and a dictionary of
them takes time that grows with the square of its size. So can tuples of numbers."""


@dataclass(frozen=True)
class Symbol:
    """A class or function that the file names, never imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class OpaqueObject:
    """What a call would have made: the callee, its arguments, and what was filled in later.

    Attributes:
        symbol: what was to be called; None where that is itself an opaque object.
        arguments: positional arguments.
        entries: items set on it, as of a subclass of dict.
        members: items appended to it, as of a subclass of list.
        state: what was to be given to ``__setstate__`` (often the attributes), or None.
    """

    __slots__ = ("arguments", "entries", "members", "state", "symbol")

    def __init__(self, symbol: Symbol | None, arguments: tuple[Any, ...]) -> None:
        self.symbol = symbol
        self.arguments = arguments
        self.entries: dict[Any, Any] = {}
        self.members: list[Any] = []
        self.state: Any = None

    def attributes(self) -> dict[Any, Any]:
        """The attributes that its state sets, with the items set on it; empty if unknown."""
        state = self.state
        if isinstance(state, tuple) and len(state) == 2:
            merged = [part for part in state if isinstance(part, dict)]
            state = {k: v for part in merged for k, v in part.items()}
        return {**self.entries, **(state if isinstance(state, dict) else {})}


class OpaqueKey:
    """A dictionary key that is not a plain value; equal only to itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True)
class Skipped:
    """A long string or block of bytes that was passed over."""

    kind: str
    length: int


def plain_key(key: Any) -> Any:
    """A key that is safe to hash: nested tuples take forever, and hashes of numbers can collide."""
    if isinstance(key, _SIMPLE_KEYS) or (type(key) is int and abs(key) < _LARGEST_KEY):
        return key
    if isinstance(key, tuple) and all(isinstance(part, str) for part in key):
        return key
    return OpaqueKey(key)


_MODULE_NAMES = """
os posix nt sys subprocess importlib runpy pickle _pickle marshal code codeop ctypes _ctypes shutil
socket _socket pty pdb bdb timeit trace profile cProfile doctest webbrowser urllib http ftplib
smtplib telnetlib asyncio threading _thread signal multiprocessing concurrent pip setuptools
distutils venv ensurepip zipimport pkgutil pydoc io _io tempfile glob popen2 dill joblib cffi
operator _operator gc inspect sqlite3 types _winapi _osx_support _aix_support idlelib lib2to3
numpy.testing numpy.f2py numpy.distutils torch.hub torch.jit torch.utils.cpp_extension
torch.utils.bottleneck torch.utils.collect_env torch._inductor torch._dynamo
cloudpickle.cloudpickle cloudpickle.cloudpickle_fast
"""
_BUILTIN_NAMES = """
eval exec execfile compile open __import__ getattr setattr delattr input apply breakpoint globals
locals vars memoryview type super
"""
_MODULES = frozenset(_MODULE_NAMES.split())
_BUILTINS = frozenset(_BUILTIN_NAMES.split())
_FUNCTIONS = frozenset(
    {
        ("torch", "load"),
        ("torch.serialization", "load"),
        ("numpy", "load"),
        ("numpy", "fromfile"),
        ("numpy", "save"),
        ("numpy.lib.npyio", "load"),
        ("pandas.io.pickle", "read_pickle"),
        ("functools", "reduce"),
    }
)
_BUILTIN_MODULES = ("builtins", "__builtin__", "__builtins__")
_HARMLESS = frozenset(
    {
        # Written by ordinary training scripts as settings, and inert here.
        ("operator", "itemgetter"),
        ("types", "SimpleNamespace"),
        ("io", "BytesIO"),
        ("_io", "BytesIO"),
        ("copyreg", "__newobj__"),
    }
)


def refuse_dangerous(symbol: Symbol, source: object) -> None:
    """Refuse a file that names something made to execute code.

    Raises:
        UnsafeFileError: naming the symbol.
    """
    module, name = symbol.module, symbol.name
    path = name.split(".")
    if module in _BUILTIN_MODULES:
        dangerous = path[0] in _BUILTINS
    else:
        parts = module.split(".")
        prefixes = {".".join(parts[: i + 1]) for i in range(len(parts))}
        dangerous = bool(prefixes & _MODULES) or (module, name) in _FUNCTIONS
    # A module reached through another one ("torch.serialization", "os.system"), or the innards
    # of a class.
    dangerous = dangerous or any(
        part in _MODULES or (part.startswith("__") and part.endswith("__")) for part in path
    )
    if dangerous and (module, name) not in _HARMLESS:
        raise UnsafeFileError(
            f"the pickle names {symbol}, which runs code when it is loaded; nothing was run",
            source=source,
            remedy="do not load this file with torch.load or pickle; ask for the weights as "
            "safetensors",
        )


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
    if not isinstance(values, (list, tuple)) or len(values) > mapped_file.DIMENSIONS:
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
