"""The element types of stored tensors, and how their bytes become floating-point numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Element:
    """An element type.

    Attributes:
        name: as torch spells it (``bfloat16``).
        itemsize: bytes per element.
        kind: ``float``, ``complex`` or ``integer`` (booleans included).
    """

    name: str
    itemsize: int
    kind: str


ELEMENTS = {
    element.name: element
    for element in (
        Element("float32", 4, "float"),
        Element("float64", 8, "float"),
        Element("float16", 2, "float"),
        Element("bfloat16", 2, "float"),
        Element("float8_e4m3fn", 1, "float"),
        Element("float8_e4m3fnuz", 1, "float"),
        Element("float8_e5m2", 1, "float"),
        Element("float8_e5m2fnuz", 1, "float"),
        Element("float8_e8m0fnu", 1, "float"),
        Element("complex32", 4, "complex"),
        Element("complex64", 8, "complex"),
        Element("complex128", 16, "complex"),
        Element("int8", 1, "integer"),
        Element("uint8", 1, "integer"),
        Element("int16", 2, "integer"),
        Element("uint16", 2, "integer"),
        Element("int32", 4, "integer"),
        Element("uint32", 4, "integer"),
        Element("int64", 8, "integer"),
        Element("uint64", 8, "integer"),
        Element("bool", 1, "integer"),
    )
}

SAFETENSORS_NAMES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "C64": "complex64",
    "I8": "int8",
    "U8": "uint8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "BOOL": "bool",
}
"""Names in a safetensors header -> ours."""

STORAGE_CLASSES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "QInt8Storage": "int8",
    "QUInt8Storage": "uint8",
    "QInt32Storage": "int32",
    "UntypedStorage": "uint8",
}
"""Storage classes named in a torch pickle -> the element they hold."""

_FLOAT32 = np.dtype("<f4")
_PLAIN = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "complex32": "<f2",
    "complex64": "<f4",
    "complex128": "<f8",
    "int8": "i1",
    "uint8": "u1",
    "bool": "u1",
    "int16": "<i2",
    "uint16": "<u2",
    "int32": "<i4",
    "uint32": "<u4",
    "int64": "<i8",
    "uint64": "<u8",
}


def as_numbers(raw: Bytes, element: Element) -> NDArray[np.generic]:
    """The elements of a range of bytes as float32, or as float64 where float32 cannot hold them.

    float32 and float64 (and the complex types, as pairs of them) are views; the rest is
    converted.

    Args:
        raw: uint8 array of a whole number of elements, any alignment.
        element: their type.

    Example:
        >>> as_numbers(np.frombuffer(bytes([0x38, 0xC0]), np.uint8), ELEMENTS["float8_e4m3fn"])
        array([ 1., -2.], dtype=float32)
    """
    if element.name == "float32":
        return raw.view(_FLOAT32)
    if element.name == "bfloat16":
        wide = raw.view("<u2").astype("<u4")
        wide <<= 16
        return wide.view("<f4")
    if element.name in _FLOAT8:
        return _float8_table(element.name)[raw]
    plain = raw.view(_PLAIN[element.name])
    if plain.dtype in (np.float32, np.float64):
        return plain
    return plain.astype(np.float32 if plain.dtype.itemsize <= 2 else np.float64)


@cache
def _float8_table(name: str) -> NDArray[np.float32]:
    return np.array([_FLOAT8[name](code) for code in range(256)], dtype=np.float32)


def _minifloat(code: int, *, mantissa_bits: int, bias: int, ending: str) -> float:
    """The value of an eight-bit float with a sign bit (arXiv 2209.05433, table 1).

    Args:
        ending: what the top of the range means: ``ieee`` (infinity and NaN in the last
            exponent), ``fn`` (finite; all ones is NaN) or ``fnuz`` (finite; minus zero is NaN).
    """
    sign = -1.0 if code & 0x80 else 1.0
    exponent = (code & 0x7F) >> mantissa_bits
    mantissa = code & ((1 << mantissa_bits) - 1)
    if ending == "fnuz" and code == 0x80:
        return float("nan")
    if ending == "fn" and code & 0x7F == 0x7F:
        return float("nan")
    if ending == "ieee" and exponent == (0x7F >> mantissa_bits):
        return sign * float("inf") if mantissa == 0 else float("nan")
    fraction = mantissa / (1 << mantissa_bits)
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    return sign * (1.0 + fraction) * 2.0 ** (exponent - bias)


_FLOAT8: dict[str, Callable[[int], float]] = {
    "float8_e4m3fn": lambda c: _minifloat(c, mantissa_bits=3, bias=7, ending="fn"),
    "float8_e4m3fnuz": lambda c: _minifloat(c, mantissa_bits=3, bias=8, ending="fnuz"),
    "float8_e5m2": lambda c: _minifloat(c, mantissa_bits=2, bias=15, ending="ieee"),
    "float8_e5m2fnuz": lambda c: _minifloat(c, mantissa_bits=2, bias=16, ending="fnuz"),
    "float8_e8m0fnu": lambda c: float("nan") if c == 0xFF else 2.0 ** (c - 127),
}
