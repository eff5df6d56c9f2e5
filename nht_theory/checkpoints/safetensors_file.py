"""The safetensors format: a JSON header, then the bytes of the tensors without a gap.

Format: https://huggingface.co/docs/safetensors (version 0.4 and later). Every rule that makes a
file unambiguous is checked, so that two readers can never see two models in one file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod

from nht_theory.checkpoints import mapped_file
from nht_theory.checkpoints.elements import ELEMENTS, SAFETENSORS_NAMES
from nht_theory.checkpoints.mapped_file import MappedFile
from nht_theory.checkpoints.notes import LeftOut
from nht_theory.checkpoints.stored_tensor import Piece, StoredTensor
from nht_theory.errors import InputError, UnsafeFileError

_PREFIX = 8
_DAMAGED = "the file is truncated or damaged; save or copy it again"


def read_header(
    file: MappedFile,
) -> tuple[dict[str, StoredTensor], dict[str, str], tuple[LeftOut, ...]]:
    """The tensors of a safetensors file, its metadata, and what its types leave out.

    Raises:
        InputError: the header is cut, is no JSON, or does not describe the bytes that follow.
        UnsafeFileError: it asks for more than is allowed, or its tensors overlap.
    """
    header, start = _parse(file)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict):
        raise InputError("__metadata__ is no mapping", source=file.path, remedy=_DAMAGED)
    tensors: dict[str, StoredTensor] = {}
    left_out: list[LeftOut] = []
    extents: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        kind, shape, begin, end = _entry(file, name, entry, file.size - start)
        extents.append((begin, end, name))
        element_name = SAFETENSORS_NAMES.get(kind)
        if element_name is None:
            left_out.append(LeftOut(name, f"elements of type {kind} are not read"))
            continue
        element = ELEMENTS[element_name]
        if prod(shape) * element.itemsize != end - begin:
            raise InputError(
                f"tensor {name} of shape {list(shape)} and type {kind} takes "
                f"{prod(shape) * element.itemsize} bytes, the header gives it {end - begin}",
                source=file.path,
                remedy=_DAMAGED,
            )
        piece = Piece(file, start + begin, shape)
        tensors[name] = StoredTensor(name, shape, element, (piece,))
    _check_extents(file, extents, file.size - start)
    return tensors, {str(k): str(v) for k, v in metadata.items()}, tuple(left_out)


def _parse(file: MappedFile) -> tuple[dict[str, object], int]:
    if file.size < _PREFIX:
        raise InputError(f"only {file.size} bytes long", source=file.path, remedy=_DAMAGED)
    length = int.from_bytes(file.read(0, _PREFIX), "little")
    if length > file.size - _PREFIX:
        raise InputError(
            f"a header of {length} bytes is announced, the file has {file.size}",
            source=file.path,
            remedy=_DAMAGED,
        )
    if length > mapped_file.HEADER_BYTES:
        raise UnsafeFileError(
            f"a header of {length} bytes, above the limit of {mapped_file.HEADER_BYTES}",
            source=file.path,
            remedy="save the tensors in several files",
        )
    text = file.read(_PREFIX, length)
    header = parse_json(text, file.path)
    if not isinstance(header, dict):
        raise InputError("the header is no mapping", source=file.path, remedy=_DAMAGED)
    return header, _PREFIX + length


def parse_json(text: bytes, source: object) -> object:
    """JSON of bounded size from a file that nobody vouches for.

    Raises:
        InputError: it is no JSON, or a key occurs twice.
        UnsafeFileError: it is larger or deeper than any model needs.
    """
    brackets = text.count(b"{") + text.count(b"[")
    if len(text) > mapped_file.HEADER_BYTES or brackets > mapped_file.HEADER_BRACKETS:
        raise UnsafeFileError(
            f"a header of {len(text)} bytes and {brackets} brackets: no model needs it",
            source=source,
            remedy="save the tensors in several files",
        )
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except RecursionError as error:
        raise UnsafeFileError("the header is nested too deeply", source=source) from error
    except ValueError as error:
        raise InputError(
            f"the header is no JSON ({error})", source=source, remedy=_DAMAGED
        ) from error


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a key occurs twice")
    return mapping


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _entry(
    file: MappedFile, name: str, entry: object, available: int
) -> tuple[str, tuple[int, ...], int, int]:
    fields = entry if isinstance(entry, Mapping) else {}
    kind, shape, offsets = (fields.get(key) for key in ("dtype", "shape", "data_offsets"))
    if (
        not isinstance(kind, str)
        or not isinstance(shape, list)
        or not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(map(_is_count, [*shape, *offsets]))
        or len(shape) > mapped_file.DIMENSIONS
    ):
        raise InputError(
            f"the entry of tensor {name[:200]!r} is no dtype, shape and data_offsets",
            source=file.path,
            remedy=_DAMAGED,
        )
    begin, end = offsets
    if begin > end or end > available:
        raise InputError(
            f"tensor {name} lies at bytes {begin} to {end} of {available}",
            source=file.path,
            remedy=_DAMAGED,
        )
    return kind, tuple(shape), begin, end


def _check_extents(file: MappedFile, extents: list[tuple[int, int, str]], available: int) -> None:
    position, before = 0, ""
    for begin, end, name in sorted(extents):
        if begin < position:
            raise UnsafeFileError(
                f"tensors {before} and {name} overlap", source=file.path, remedy=_DAMAGED
            )
        if begin > position:
            raise InputError(
                f"{begin - position} bytes before tensor {name} belong to none",
                source=file.path,
                remedy=_DAMAGED,
            )
        position, before = end, name
    if position != available:
        raise InputError(
            f"{available - position} bytes at the end belong to no tensor",
            source=file.path,
            remedy=_DAMAGED,
        )
