"""Where a tensor lies in its file, and the sum of its squares read from there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from nht_theory.checkpoints.elements import Element, as_numbers
from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.summation import WINDOW, sum_of_squares
from nht_theory.errors import InputError, UnsafeFileError

Shape = tuple[int, ...]

WINDOW_BYTES = 4 * WINDOW
"""Bytes of a file touched before they are given back."""
_VIEWED = ("float32", "float64")
_CONVERTED_BYTES = 1 << 18
"""Bytes of a narrow type converted at a time."""


# Not frozen, as the other records of which a checkpoint has one a tensor: a frozen dataclass takes
# four times as long to make.
@dataclass(slots=True)
class Piece:
    """A strided block of one file.

    Attributes:
        file: where it lies.
        offset: byte of its first element.
        shape: its extent.
        strides: in elements; None when it is contiguous in row-major order.
    """

    file: MappedFile
    offset: int
    shape: Shape
    strides: Shape | None = None

    def extent(self, element: Element) -> tuple[int, int]:
        """First byte and number of bytes from the first element to the last."""
        if prod(self.shape) == 0:
            return self.offset, 0
        if self.strides is None:
            return self.offset, prod(self.shape) * element.itemsize
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset, (last + 1) * element.itemsize


@dataclass(slots=True)
class StoredTensor:
    """A tensor of a checkpoint, not yet read.

    Attributes:
        name: its name in the state dictionary.
        shape: its shape.
        element: its element type.
        pieces: where it lies; several for a tensor that was saved in parts.
        storage: equal for tensors that share memory in the file; None where a format cannot tell.
    """

    name: str
    shape: Shape
    element: Element
    pieces: tuple[Piece, ...]
    storage: Hashable = None

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return self.size * self.element.itemsize

    def float32_windows(self) -> list[tuple[MappedFile, NDArray[np.float32]]] | None:
        """Views of the file that hold the elements, none of them read yet.

        Returns:
            One-dimensional views with the file that each looks at; None where the elements must
            be converted, lie with gaps or count more than once.
        """
        if self.element.name != "float32":
            return None
        windows: list[tuple[MappedFile, NDArray[np.float32]]] = []
        for piece in self.pieces:
            repeats, shape, strides = _without_repeats(piece)
            if repeats > 1 or not (strides is None or _is_dense(shape, strides)):
                return None
            raw = piece.file.bytes_at(piece.offset, prod(shape) * self.element.itemsize)
            values = raw.view(np.float32)
            windows += [
                (piece.file, values[start : start + WINDOW])
                for start in range(0, values.size, WINDOW)
            ]
        return windows

    def squared_norm(
        self, *, exact: bool = False, read: Callable[[int], None] | None = None
    ) -> tuple[float, int]:
        """Sum of squares in float64, and the number of elements that are not finite.

        Args:
            exact: float64 throughout; see :func:`nht_theory.checkpoints.summation.sum_of_squares`.
            read: called with the number of bytes read, as they are.

        Raises:
            InputError: the bytes are not there.
        """
        total, not_finite = 0.0, 0
        for piece in self.pieces:
            for numbers, repeats in _numbers(piece, self, read):
                value, bad = sum_of_squares(numbers, exact=exact)
                total += repeats * value
                not_finite += repeats * bad
        return total, not_finite

    def chunks(self, read: Callable[[int], None] | None = None) -> Iterator[NDArray[np.floating]]:
        """The elements as float32 or float64, flat in the order they are stored."""
        for piece in self.pieces:
            for numbers, _ in _numbers(piece, self, read):
                yield numbers

    def values(self) -> NDArray[np.floating]:
        """All elements at once: for small tensors such as scales and steps."""
        parts = [chunk.copy() for chunk in self.chunks()]
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def is_row_major(self) -> bool:
        """Whether the elements are stored in one piece in row-major order."""
        if len(self.pieces) != 1:
            return False
        strides = self.pieces[0].strides
        return strides is None or is_contiguous(self.shape, strides)


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Whether strides are those of row-major order without gaps.

    Example:
        >>> is_contiguous((2, 3), (3, 1)), is_contiguous((2, 3), (1, 2))
        (True, False)
    """
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def _numbers(
    piece: Piece, tensor: StoredTensor, read: Callable[[int], None] | None
) -> Iterator[tuple[NDArray[np.floating], int]]:
    """The elements of a piece in flat windows, with how often each counts."""
    element = tensor.element
    repeats, shape, strides = _without_repeats(piece)
    size = prod(shape)
    if size == 0:
        return
    if strides is None or _is_dense(shape, strides):
        start, count = piece.offset, size * element.itemsize
        viewed = element.name in _VIEWED or element.kind == "complex"
        step = WINDOW_BYTES if viewed else _CONVERTED_BYTES
        for begin in range(start, start + count, WINDOW_BYTES):
            length = min(WINDOW_BYTES, start + count - begin)
            piece.file.touching(length)
            raw = piece.file.bytes_at(begin, length)
            for inner in range(0, length, step):
                yield as_numbers(raw[inner : inner + step], element), repeats  # type: ignore[misc]
            if read is not None:
                read(length)
        return
    yield from (
        (as_numbers(block, element), repeats)  # type: ignore[misc]
        for block in _strided(piece, tensor, shape, strides, read)
    )


def _strided(
    piece: Piece,
    tensor: StoredTensor,
    shape: Shape,
    strides: Shape,
    read: Callable[[int], None] | None,
) -> Iterator[NDArray[np.uint8]]:
    """The bytes of a view with gaps, copied in the order of the file."""
    element = tensor.element
    first, span = piece.extent(element)
    if prod(shape) * element.itemsize > span:
        raise UnsafeFileError(
            f"tensor {tensor.name} overlaps itself: {prod(shape)} elements over {span} bytes",
            source=piece.file.path,
        )
    axes = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    view = as_strided(
        piece.file.bytes_at(first, span),
        (*(shape[axis] for axis in axes), element.itemsize),
        (*(strides[axis] * element.itemsize for axis in axes), 1),
        writeable=False,
    )
    sparseness = -(-span // view.nbytes)
    for block in _blocks(view, piece, sparseness):
        yield block
        if read is not None:
            read(block.nbytes)


def _without_repeats(piece: Piece) -> tuple[int, Shape, Shape | None]:
    """Axes of stride zero (an expanded tensor) become a multiplicity."""
    if piece.strides is None:
        return 1, piece.shape, None
    repeats, shape, strides = 1, [], []
    for length, stride in zip(piece.shape, piece.strides, strict=True):
        if stride < 0:
            raise InputError("negative stride", source=piece.file.path)
        if stride == 0 and length > 1:
            repeats *= length
        elif length != 1:
            shape.append(length)
            strides.append(stride)
    return repeats, tuple(shape), tuple(strides)


def _is_dense(shape: Shape, strides: Shape) -> bool:
    """Whether the elements fill one contiguous range, in any order of the axes."""
    expected = 1
    for stride, length in sorted(zip(strides, shape, strict=True)):
        if stride != expected:
            return False
        expected *= length
    return True


def _blocks(view: NDArray[np.uint8], piece: Piece, sparseness: int) -> Iterator[NDArray[np.uint8]]:
    """Contiguous copies of a strided view, a bounded number of bytes each."""
    per_entry = view.nbytes // view.shape[0]
    if per_entry > _CONVERTED_BYTES:
        for entry in view:
            yield from _blocks(entry, piece, sparseness)
        return
    step = max(1, _CONVERTED_BYTES // per_entry)
    for start in range(0, view.shape[0], step):
        part = view[start : start + step]
        piece.file.touching(part.nbytes * sparseness)
        yield np.ascontiguousarray(part).reshape(-1)
