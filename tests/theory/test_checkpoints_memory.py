"""Peak memory stays small whatever the size of the file."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

READER = """
import sys
import nht_theory.checkpoints.norms as norms

def peak():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1e3

before = peak()
total = norms.squared_norms(sys.argv[1]).total
print(total, peak() - before)
"""


def hole(path, kind, shape, nbytes, start=b""):
    """A file of one tensor that takes no room on the disk beyond ``start``."""
    header = {"w": {"dtype": kind, "shape": shape, "data_offsets": [0, nbytes]}}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + start)
        file.truncate(8 + len(text) + nbytes)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", ["F32", "BF16", "F64"])
def test_peak_memory_of_a_large_file(kind, tmp_path):
    nbytes = 800_000_000
    itemsize = {"F32": 4, "BF16": 2, "F64": 8}[kind]
    some = np.ones(1_000_000, "<f4").tobytes() if kind == "F32" else b""
    hole(tmp_path / "a.safetensors", kind, [nbytes // itemsize], nbytes, some)
    done = subprocess.run(
        [sys.executable, "-c", READER, str(tmp_path / "a.safetensors")],
        capture_output=True,
        text=True,
        check=True,
    )
    total, megabytes = map(float, done.stdout.split())
    assert total == (1e6 if kind == "F32" else 0.0)
    assert megabytes < 150
