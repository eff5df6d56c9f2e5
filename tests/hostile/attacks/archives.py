"""Zip archives that are traps."""

from __future__ import annotations

import pickle
import re
import struct
import zipfile

from attacks.registry import attack, torch_zip


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
