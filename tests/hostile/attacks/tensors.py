"""Tensors that are not what they say."""

from __future__ import annotations

import io
import struct

from attacks.registry import attack, torch_zip


def _tensor(size, stride, offset=0, numel=4, kind=b"FloatStorage"):
    """{'w': tensor} over storage 0 of ``numel`` elements."""
    import pickletools

    def number(n):
        return b"\x8a\x08" + struct.pack("<q", n)

    def numbers(values):
        return b"(" + b"".join(number(v) for v in values) + b"t"

    pickled = (
        b"\x80\x02}(X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n("
        b"(X\x07\x00\x00\x00storagectorch\n"
        + kind
        + b"\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
        + number(numel)
        + b"tQ"
        + number(offset)
        + numbers(size)
        + numbers(stride)
        + b"\x89ccollections\nOrderedDict\n)RtRu."
    )
    pickletools.dis(pickled, io.StringIO())
    return pickled


@attack
def expanded_to_an_exabyte(folder, canary):
    pickled = _tensor([1 << 40, 1 << 20, 2], [1, 1, 1], numel=4)
    return torch_zip(folder / "a.pt", pickled, {"0": b"\0" * 16})


@attack
def tensor_beyond_its_storage(folder, canary):
    return torch_zip(folder / "a.pt", _tensor([100], [1]), {"0": b"\0" * 16})


@attack
def storage_that_is_absent(folder, canary):
    return torch_zip(folder / "a.pt", _tensor([4], [1]))


@attack
def storage_shorter_than_announced(folder, canary):
    return torch_zip(folder / "a.pt", _tensor([1000], [1], numel=1000), {"0": b"\0" * 16})


@attack
def negative_offset(folder, canary):
    return torch_zip(folder / "a.pt", _tensor([4], [1], offset=-1), {"0": b"\0" * 16})


@attack
def negative_stride(folder, canary):
    return torch_zip(folder / "a.pt", _tensor([4], [-1], offset=3), {"0": b"\0" * 16})


@attack
def overlapping_strides(folder, canary):
    pickled = _tensor([1 << 30, 4], [0x0, 1], numel=4).replace(
        struct.pack("<q", 0) + b"\x8a\x08" + struct.pack("<q", 1),
        struct.pack("<q", 1) + b"\x8a\x08" + struct.pack("<q", 1),
    )
    return torch_zip(folder / "a.pt", pickled, {"0": b"\0" * 16})


@attack
def a_thousand_dimensions(folder, canary):
    return torch_zip(folder / "a.pt", _tensor([1] * 1000, [1] * 1000), {"0": b"\0" * 16})


@attack
def unknown_storage(folder, canary):
    pickled = _tensor([4], [1], kind=b"EvilStorage")
    return torch_zip(folder / "a.pt", pickled, {"0": b"\0" * 16})
