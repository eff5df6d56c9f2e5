"""Hostile checkpoints, made by code: each must be refused quickly, cheaply and inertly.

Every attack writes one file or directory and returns its path. ``CANARY`` in a payload is a file
that exists afterwards if anything in the attack was run.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

ATTACKS: dict[str, Callable[[Path, Path], Path]] = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


class _Calls:
    """Pickles as a call of ``function``."""

    def __init__(self, function, *arguments):
        self.parts = (function, arguments)

    def __reduce__(self):
        return self.parts


def torch_zip(path: Path, pickled: bytes, storages: dict[str, bytes] | None = None) -> Path:
    """What torch.save writes, around any pickle."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", b"little")
        for key, data in (storages or {}).items():
            archive.writestr(f"archive/data/{key}", data)
        archive.writestr("archive/version", b"3\n")
    return path


def legacy(path: Path, pickled: bytes) -> Path:
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True, "protocol_version": 1001}]
    path.write_bytes(b"".join(pickle.dumps(p, 2) for p in parts) + pickled + pickle.dumps([], 2))
    return path


def safetensors(path: Path, header: object, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


# Pickles that run something when they are loaded.


@attack
def os_system_in_a_zip(folder, canary):
    return torch_zip(folder / "a.pt", pickle.dumps(_Calls(os.system, f"touch {canary}"), 2))


@attack
def os_system_in_the_legacy_format(folder, canary):
    return legacy(folder / "a.pt", pickle.dumps(_Calls(os.system, f"touch {canary}"), 2))


@attack
def os_system_beside_weights(folder, canary):
    import torch

    path = folder / "a.pt"
    torch.save({"w": torch.ones(2, 2), "x": _Calls(os.system, f"touch {canary}")}, path)
    return path


@attack
def eval_in_protocol_0(folder, canary):
    code = f"open({str(canary)!r}, 'w')"
    return torch_zip(folder / "a.pt", pickle.dumps(_Calls(eval, code), 0))


@attack
def exec_by_inst(folder, canary):
    pickled = b"(S\"open('%s','w')\"\nibuiltins\nexec\n." % str(canary).encode()
    return torch_zip(folder / "a.pt", pickled)


@attack
def exec_by_obj(folder, canary):
    pickled = b"(cbuiltins\nexec\nS\"open('%s','w')\"\no." % str(canary).encode()
    return torch_zip(folder / "a.pt", pickled)


@attack
def gadget_through_rebuild_from_type(folder, canary):
    """torch's own rebuild function calls the function it is given."""
    import torch

    call = _Calls(torch._tensor._rebuild_from_type_v2, os.system, dict, (f"touch {canary}",), {})
    return torch_zip(folder / "a.pt", pickle.dumps({"w": call}, 2))


@attack
def gadget_through_an_allowed_class(folder, canary):
    """An OrderedDict whose state sets a method; a hook that an allowed class would call."""
    from collections import OrderedDict

    inner = pickle.dumps(_Calls(os.system, f"touch {canary}"), 2)[2:-1]
    pickled = b"\x80\x02ccollections\nOrderedDict\n)R(U\x04hook" + inner + b"ub."
    assert OrderedDict
    return torch_zip(folder / "a.pt", pickled)


@attack
def attribute_path_in_a_global(folder, canary):
    """Protocol 4 reaches os through an innocent module."""
    name, path = b"os.system", f"touch {canary}".encode()
    pickled = (
        b"\x80\x04\x8c\x13torch.serialization\x8c" + bytes([len(name)]) + name + b"\x93"
        b"X" + len(path).to_bytes(4, "little") + path + b"\x85R."
    )
    return torch_zip(folder / "a.pt", pickled)


@attack
def getattr_chain(folder, canary):
    call = _Calls(getattr, _Calls(__import__, "os"), "system")
    return torch_zip(folder / "a.pt", pickle.dumps(call, 2))


@attack
def pickle_inside_a_pickle(folder, canary):
    inner = pickle.dumps(_Calls(os.system, f"touch {canary}"))
    return torch_zip(folder / "a.pt", pickle.dumps(_Calls(pickle.loads, inner), 2))


@attack
def torch_load_as_a_call(folder, canary):
    import torch

    return torch_zip(folder / "a.pt", pickle.dumps(_Calls(torch.load, str(canary)), 2))


@attack
def extension_registry(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02\x82\x01)R.")


@attack
def plain_pickle_called_bin(folder, canary):
    path = folder / "pytorch_model.bin"
    path.write_bytes(pickle.dumps(_Calls(os.system, f"touch {canary}")))
    return path


@attack
def distributed_metadata(folder, canary):
    (folder / "dcp").mkdir()
    payload = pickle.dumps(_Calls(os.system, f"touch {canary}"))
    (folder / "dcp" / ".metadata").write_bytes(payload)
    (folder / "dcp" / "__0_0.distcp").write_bytes(b"")
    return folder / "dcp"


# Pickles that exhaust the reader.


@attack
def memo_index_of_two_billion(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02]r\xff\xff\xff\x7f.")


@attack
def hash_of_nested_tuples(folder, canary):
    """t = (t, t) sixty times, as the key of a dictionary: 2^60 hashes."""
    pickled = b"\x80\x02}K\x01" + b"2\x86" * 60 + b"K\x01s."
    return torch_zip(folder / "a.pt", pickled)


@attack
def shared_lists_sixty_deep(folder, canary):
    """A tree of 2^60 paths in 200 bytes."""
    return torch_zip(folder / "a.pt", b"\x80\x02" + b"]" + b"q\x00]h\x00ah\x00a" * 60 + b".")


@attack
def list_that_holds_itself(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02]q\x00h\x00a.")


@attack
def endless_instructions(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02" + b"]" * 5_000_000 + b".")


@attack
def a_million_deep(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02N" + b"\x85" * 1_000_000 + b".")


@attack
def marks_without_end(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02" + b"(" * 2_000_000)


@attack
def quadratic_marks(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02" + b"N" * 400_000 + b"(1" * 400_000 + b".")


@attack
def duplicated_keys(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02}(" + b"K\x01K\x02" * 400_000 + b"u.")


@attack
def announced_string_of_4_gb(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02X\xff\xff\xff\xff.")


@attack
def announced_string_of_16_eb(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.")


@attack
def integer_of_a_million_digits(folder, canary):
    return torch_zip(folder / "a.pt", b"I" + b"9" * 1_000_000 + b"\n.")


@attack
def long_integer(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02\x8b\x00\x00\x10\x00" + b"\x7f" * 0x100000 + b".")


# Tensors that are not what they say.


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


# Zip archives.


@attack
def zip_bomb(folder, canary):
    path = folder / "a.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 100_000_000)
    return path


@attack
def zip_with_overlapping_members(folder, canary):
    path = torch_zip(folder / "a.pt", pickle.dumps({}, 2), {"0": b"1" * 64, "1": b"1" * 64})
    data = bytearray(path.read_bytes())
    entries = [match.start() for match in re.finditer(b"PK\x01\x02", bytes(data))]
    first, second = (e for e in entries if b"archive/data/" in data[e : e + 60])
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    data[second + 46 : second + 60] = data[first + 46 : first + 60]
    path.write_bytes(data)
    return path


@attack
def zip_with_a_million_members(folder, canary):
    """A directory of 46 MB that names the same empty member again and again."""
    entry = struct.pack("<4s42x", b"PK\x01\x02")
    directory = entry * 1_000_000
    size = len(directory)
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 10**6, 10**6, size, 30)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 30 + size, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    path = folder / "a.pt"
    path.write_bytes(b"PK\x03\x04" + b"\0" * 26 + directory + end64 + locator + end)
    return path


@attack
def zip_directory_of_4_gb(folder, canary):
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 3, 3, 0xFFFFFFF0, 10, 0)
    path = folder / "a.pt"
    path.write_bytes(b"PK\x03\x04" + b"\0" * 26 + end)
    return path


@attack
def zip_names_that_differ(folder, canary):
    path = torch_zip(folder / "a.pt", pickle.dumps({}, 2))
    path.write_bytes(path.read_bytes().replace(b"archive/data.pkl", b"archive/DATA.pkl", 1))
    return path


@attack
def zip_member_twice(folder, canary):
    import warnings

    path = folder / "a.pt"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("archive/data.pkl", pickle.dumps({}, 2))
        archive.writestr("archive/data.pkl", pickle.dumps({"other": 1}, 2))
    return path


@attack
def zip_of_torchscript(folder, canary):
    path = folder / "a.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}, 2))
        archive.writestr("archive/constants.pkl", pickle.dumps((), 2))
        archive.writestr("archive/code/run.py", f"open({str(canary)!r}, 'w')")
    return path


# Safetensors.


@attack
def header_of_100_mb(folder, canary):
    return safetensors(folder / "a.safetensors", b"{" + b" " * 100_000_000 + b"}")


@attack
def announced_header_of_an_exabyte(folder, canary):
    path = folder / "a.safetensors"
    path.write_bytes((1 << 62).to_bytes(8, "little") + b"{}")
    return path


@attack
def header_of_brackets(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"a":' + b"[" * 7_000_000 + b"}")


@attack
def header_nested_deeply(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@attack
def header_of_short_strings(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"a":[' + b'"ab",' * 1_590_000 + b'"a"]}')


@attack
def header_of_numbers(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"a":[' + b"1.1," * 1_990_000 + b"1]}")


@attack
def number_of_a_million_digits_in_a_header(folder, canary):
    header = b'{"a":{"dtype":"F32","shape":[' + b"9" * 1_000_000 + b'],"data_offsets":[0,4]}}'
    return safetensors(folder / "a.safetensors", header, b"\0" * 4)


@attack
def a_million_tensors(folder, canary):
    entry = '"%d":{"dtype":"F32","shape":[],"data_offsets":[0,0]}'
    header = "{" + ",".join(entry % i for i in range(1_000_000)) + "}"
    return safetensors(folder / "a.safetensors", header.encode())


@attack
def overlapping_tensors(folder, canary):
    header = {
        "a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
        "b": {"dtype": "F32", "shape": [4], "data_offsets": [8, 24]},
    }
    return safetensors(folder / "a.safetensors", header, b"\0" * 24)


@attack
def a_thousand_tensors_over_the_same_bytes(folder, canary):
    entry = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    return safetensors(folder / "a.safetensors", {str(i): entry for i in range(1000)}, b"\0" * 16)


@attack
def hidden_bytes(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [4], "data_offsets": [8, 24]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 24)


@attack
def bytes_after_the_end(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 1000)


@attack
def tensor_beyond_the_file(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 16)


@attack
def shape_that_does_not_fit(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [1 << 60, 1 << 60], "data_offsets": [0, 16]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 16)


@attack
def negative_shape(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [-2, -2], "data_offsets": [0, 16]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 16)


@attack
def offsets_that_are_true(folder, canary):
    header = {"a": {"dtype": "U8", "shape": [True], "data_offsets": [False, True]}}
    return safetensors(folder / "a.safetensors", header, b"\0")


@attack
def name_twice(folder, canary):
    entry = b'{"dtype":"F32","shape":[4],"data_offsets":[0,16]}'
    return safetensors(
        folder / "a.safetensors", b'{"a":' + entry + b',"a":' + entry + b"}", b"\0" * 16
    )


@attack
def header_that_is_no_text(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"\xff\xfe": 1}')


# Indices, links, special files.


def _index(folder, document):
    path = folder / "model.safetensors.index.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@attack
def index_to_the_password_file(folder, canary):
    return _index(folder, {"weight_map": {"w": "../../../../etc/passwd"}})


@attack
def index_to_an_absolute_path(folder, canary):
    return _index(folder, {"weight_map": {"w": "/etc/passwd"}})


@attack
def index_to_itself(folder, canary):
    return _index(folder, {"weight_map": {"w": "model.safetensors.index.json"}})


@attack
def index_to_its_directory(folder, canary):
    return _index(folder, {"weight_map": {"w": "."}})


@attack
def index_with_a_null_byte(folder, canary):
    return _index(folder, {"weight_map": {"w": "a\0b"}})


@attack
def index_of_a_million_entries(folder, canary):
    return _index(folder, {"weight_map": {str(i): "a.safetensors" for i in range(1_000_000)}})


@attack
def index_without_map(folder, canary):
    return _index(folder, "[]")


@attack
def distributed_shard_elsewhere(folder, canary):
    import torch
    import torch.distributed.checkpoint as checkpointing

    place = folder / "dcp"
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpointing.save({"w": torch.ones(2, 2)}, checkpoint_id=str(place))
    data = (place / ".metadata").read_bytes()
    (place / ".metadata").write_bytes(data.replace(b"__0_0.distcp", b"../../passwd"))
    return place


@attack
def a_pipe(folder, canary):
    os.mkfifo(folder / "a.pt")
    return folder / "a.pt"


@attack
def a_link_to_a_device(folder, canary):
    (folder / "a.pt").symlink_to("/dev/zero")
    return folder / "a.pt"


@attack
def a_link_to_itself(folder, canary):
    (folder / "a.pt").symlink_to(folder / "a.pt")
    return folder / "a.pt"


@attack
def random_bytes(folder, canary):
    import random

    path = folder / "a.ckpt"
    path.write_bytes(random.Random(0).randbytes(1_000_000))
    return path


@attack
def a_tar_of_the_oldest_format(folder, canary):
    import tarfile

    path = folder / "a.pt"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("pickle")
        payload = pickle.dumps(_Calls(os.system, f"touch {canary}"))
        member.size = len(payload)
        archive.addfile(member, io.BytesIO(payload))
    return path
