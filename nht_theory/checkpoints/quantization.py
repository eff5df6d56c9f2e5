"""Tensors of small integers (or float8) that mean numbers only together with their scale.

Known are symmetric and affine quantisation with one scale, one per output row, or one per block:
``weight_scale``, ``weight_scale_inv`` and ``weight_zero_point`` beside ``weight``
(compressed-tensors, fine-grained float8), ``SCB`` (bitsandbytes, eight bits: rows scaled by
SCB/127), and torch's own quantised tensors. Packed four-bit formats are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nht_theory.checkpoints.stored_tensor import StoredTensor
from nht_theory.checkpoints.summation import sum_of_squares
from nht_theory.errors import InputError

_SCALES = ("_scale_inv", "_scale")
_ZERO_POINTS = ("_zero_point",)
_ROWS_OF_127 = "SCB"
_PACKED = (".qweight", ".weight_packed", ".absmax", ".quant_map", ".nested_absmax", ".qzeros")
_QUANTIZED_NAMES = ("weight", "_weight")
_REMEDY = "give the checkpoint before quantisation, or one that holds the scale beside the tensor"


@dataclass(slots=True)
class QuantizedTensor(StoredTensor):
    """A tensor whose numbers are scale * (stored - zero_point).

    Attributes:
        scale: float64 array that broadcasts by blocks over the tensor's shape.
        zero_point: likewise, or 0.
    """

    scale: NDArray[np.float64] = field(default_factory=lambda: np.ones(()))
    zero_point: NDArray[np.float64] = field(default_factory=lambda: np.zeros(()))

    def float32_windows(self) -> None:
        """None: what is stored is not what it stands for."""

    def squared_norm(
        self, *, exact: bool = False, read: Callable[[int], None] | None = None
    ) -> tuple[float, int]:
        """Sum of squares of the numbers it stands for, in float64."""
        width = self.size // self.shape[0] if self.shape and self.shape[0] else 1
        scale, zero = _Factor(self.scale, self), _Factor(self.zero_point, self)
        total, not_finite, place = 0.0, 0, 0
        for chunk in self.chunks(read):
            numbers = chunk.astype(np.float64)
            while numbers.size:
                row, column = divmod(place, width)
                whole = numbers.size // width
                cut = column > 0 or whole == 0
                shape = (1, min(width - column, numbers.size)) if cut else (whole, width)
                taken = shape[0] * shape[1]
                block = numbers[:taken].reshape(shape) - zero.at(row, column, shape)
                block *= scale.at(row, column, shape)
                value, bad = sum_of_squares(block.ravel(), exact=True)
                total += value
                not_finite += bad
                numbers = numbers[taken:]
                place += taken
        return total, not_finite


class _Factor:
    """A scale or zero point, spread over the rows and columns of its tensor by blocks."""

    def __init__(self, factor: NDArray[np.float64], tensor: StoredTensor) -> None:
        self._table = factor.reshape(factor.shape[0] if factor.size > 1 else 1, -1)
        if factor.size > 1:
            rows = tensor.shape[0]
            self._by_row = _block(rows, self._table.shape[0], tensor)
            self._by_column = _block(tensor.size // rows, self._table.shape[1], tensor)

    def at(self, row: int, column: int, shape: tuple[int, int]) -> NDArray[np.float64]:
        """What broadcasts over a block of that shape from (row, column) on."""
        if self._table.size == 1:
            return self._table
        rows = self._table[np.arange(row, row + shape[0]) // self._by_row]
        if rows.shape[1] == 1:
            return rows
        return rows[:, np.arange(column, column + shape[1]) // self._by_column]


def _block(length: int, parts: int, tensor: StoredTensor) -> int:
    """Size of the blocks of which ``parts`` cover ``length``: a power of two, or an even split."""
    if parts == 1:
        return max(1, length)
    for size in (1 << power for power in range(20)):
        if -(-length // size) == parts:
            return size
    if length % parts == 0:
        return length // parts
    raise InputError(
        f"{parts} scales do not fit a side of {length} of tensor {tensor.name}",
        source=tensor.pieces[0].file.path if tensor.pieces else None,
        remedy=_REMEDY,
    )


def with_scales(
    tensors: Mapping[str, StoredTensor], source: object
) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """Join quantised tensors with their scales.

    Returns:
        The tensors without the scales, and for each scale the tensor it belongs to.

    Raises:
        InputError: a tensor is quantised and its scale is not there, or it is packed.
    """
    joined: dict[str, StoredTensor] = {}
    used: dict[str, str] = {}
    for name, tensor in tensors.items():
        if name.endswith(_PACKED):
            raise InputError(
                f"tensor {name} is packed by quantisation, which is not undone here",
                source=source,
                remedy=_REMEDY,
            )
        narrow = tensor.element.name in ("int8", "uint8") or tensor.element.name.startswith(
            "float8"
        )
        if not narrow or isinstance(tensor, QuantizedTensor):
            joined[name] = tensor
            continue
        scale_name = _scale_of(name, tensors)
        if scale_name is None:
            _refuse_without_scale(name, tensor, source)
            joined[name] = tensor
            continue
        scale = tensors[scale_name].values().astype(np.float64).reshape(tensors[scale_name].shape)
        used[scale_name] = name
        if scale_name.endswith(_ROWS_OF_127):
            scale = scale / 127.0
        zero = np.zeros(())
        for suffix in _ZERO_POINTS:
            if name + suffix in tensors:
                used[name + suffix] = name
                stored = tensors[name + suffix]
                zero = stored.values().astype(np.float64).reshape(stored.shape)
        joined[name] = _quantized(tensor, scale, zero)
    return {name: t for name, t in joined.items() if name not in used}, used


def from_torch(tensor: StoredTensor, quantizer: tuple[Any, ...], read: Any) -> StoredTensor:
    """A tensor that torch quantised itself, from the arguments of its quantiser.

    Args:
        read: gives the values of a tensor that the quantiser refers to, as a float64 array.
    """
    scheme = getattr(quantizer[0], "name", "") if quantizer else ""
    if scheme == "per_tensor_affine" and len(quantizer) >= 3:
        return _quantized(tensor, np.array(float(quantizer[1])), np.array(float(quantizer[2])))
    if scheme == "per_channel_affine" and len(quantizer) >= 4 and quantizer[3] == 0:
        return _quantized(tensor, read(quantizer[1]), read(quantizer[2]))
    raise InputError(
        f"tensor {tensor.name} is quantised by the scheme {scheme or 'without a name'}",
        source=tensor.pieces[0].file.path,
        remedy=_REMEDY,
    )


def _quantized(
    tensor: StoredTensor, scale: NDArray[np.float64], zero: NDArray[np.float64]
) -> QuantizedTensor:
    many = max(scale.size, zero.size) > 1
    if min(scale.size, zero.size) == 0 or (
        many and (not tensor.is_row_major or max(scale.size, zero.size) > tensor.size)
    ):
        raise InputError(f"the scale of tensor {tensor.name} does not fit it", remedy=_REMEDY)
    return QuantizedTensor(
        tensor.name, tensor.shape, tensor.element, tensor.pieces, tensor.storage, scale, zero
    )


def _scale_of(name: str, tensors: Mapping[str, StoredTensor]) -> str | None:
    candidates = [name + suffix for suffix in _SCALES]
    if name.endswith("weight"):
        base = name[: -len("weight")]
        candidates += [base + _ROWS_OF_127, base + "scale"]
    return next((candidate for candidate in candidates if candidate in tensors), None)


def _refuse_without_scale(name: str, tensor: StoredTensor, source: object) -> None:
    integer = tensor.element.kind == "integer"
    if integer and len(tensor.shape) >= 2 and name.endswith(_QUANTIZED_NAMES):
        raise InputError(
            f"tensor {name} is quantised ({tensor.element.name}) and its scale is not in the file",
            source=source,
            remedy=_REMEDY,
        )
