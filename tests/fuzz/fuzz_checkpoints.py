"""Fuzz target of the checkpoint readers.

With atheris (``pip install nht[fuzz]``), coverage-guided, from real files as seeds::

    python tests/fuzz/fuzz_checkpoints.py -max_total_time=600 -timeout=5 -rss_limit_mb=1500

Without it, ``tests/fuzz/test_fuzz_checkpoints.py`` runs the same target under hypothesis.

A finding is anything but a value or an :class:`nht_theory.errors.InputError`: another exception,
more than ``-timeout`` seconds, more memory than the limit, or one of the audited events that
executing something from a file would raise.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import tempfile
import zipfile
from pathlib import Path

FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "pickle.find_class",
    "marshal.loads",
    "ctypes.dlopen",
    "socket.connect",
    "code.__new__",
)
KINDS = ("safetensors", "torch", "pickle in a zip", "legacy pickle", "index", "distributed")
_LEGACY_START = b"".join(
    pickle.dumps(part, 2)
    for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True, "protocol_version": 1001})
)
_SCRATCH = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


class ForbiddenEventError(BaseException):
    """The reader did what only running code from a file would do."""


_armed = False


def _audit(event: str, _arguments: object) -> None:
    if _armed and event in FORBIDDEN:
        raise ForbiddenEventError(event)


def write_input(data: bytes) -> Path:
    """The checkpoint that an input stands for: its first byte is the kind, the rest the bytes."""
    kind = KINDS[data[0] % len(KINDS)] if data else KINDS[0]
    body = data[1:]
    if kind == "distributed":
        (_SCRATCH / "dcp").mkdir(exist_ok=True)
        (_SCRATCH / "dcp" / ".metadata").write_bytes(body)
        (_SCRATCH / "dcp" / "__0_0.distcp").write_bytes(body)
        return _SCRATCH / "dcp"
    if kind == "index":
        path = _SCRATCH / "model.safetensors.index.json"
        path.write_bytes(body)
        return path
    if kind == "safetensors":
        path = _SCRATCH / "a.safetensors"
        path.write_bytes(body)
        return path
    path = _SCRATCH / "a.pt"
    if kind == "pickle in a zip":
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            archive.writestr("archive/data.pkl", body)
            archive.writestr("archive/data/0", bytes(range(256)))
            archive.writestr("archive/byteorder", b"little")
        body = held.getvalue()
    elif kind == "legacy pickle":
        body = _LEGACY_START + body
    path.write_bytes(body)
    return path


def one_input(data: bytes) -> None:
    """Read one hostile input; returns if the readers behaved."""
    global _armed  # noqa: PLW0603
    from nht_theory.checkpoints import squared_norms
    from nht_theory.errors import InputError

    path = write_input(data)
    _armed = True
    try:
        squared_norms(path)
    except InputError:
        pass
    finally:
        _armed = False


def seeds() -> list[bytes]:
    """Inputs made from files of the real libraries."""
    import warnings

    import numpy as np
    import torch
    import torch.distributed.checkpoint as checkpointing
    from safetensors.numpy import save

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 2)).sum().backward()
    optimizer.step()
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 3}
    found = [bytes([0]) + save({"w": np.ones((2, 3), np.float32), "b": np.ones(3, np.int8)})]
    for legacy in (False, True):
        held = io.BytesIO()
        torch.save(saved, held, _use_new_zipfile_serialization=not legacy)
        found.append(bytes([1]) + held.getvalue())
        if legacy:
            found.append(bytes([3]) + held.getvalue()[len(_LEGACY_START) :])
        else:
            with zipfile.ZipFile(held) as archive:
                found.append(bytes([2]) + archive.read("archive/data.pkl"))
    for protocol in range(6):
        thing = {"a": [1, 2.5, None, True, b"x", "y", (1, 2), {3}, 10**30], "model": {"w": 1}}
        found.append(bytes([2]) + pickle.dumps(thing, protocol))
    found.append(bytes([4]) + json.dumps({"weight_map": {"w": "a.safetensors"}}).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpointing.save({"w": torch.ones(2, 2), "step": 1}, checkpoint_id=str(_SCRATCH / "seed"))
    found.append(bytes([5]) + (_SCRATCH / "seed" / ".metadata").read_bytes())
    return found


def listen() -> None:
    """From now on :func:`one_input` raises where something from a file would be executed."""
    for seed in seeds():  # what is imported late is imported before events are watched
        one_input(seed)
    sys.addaudithook(_audit)


def main() -> None:
    """Run atheris on the target, the seeds first."""
    import atheris

    corpus = Path(tempfile.mkdtemp())
    for number, seed in enumerate(seeds()):
        (corpus / f"seed{number}").write_bytes(seed)
    with atheris.instrument_imports(include=["nht_theory.checkpoints"]):
        import nht_theory.checkpoints.contents
        import nht_theory.checkpoints.norms  # noqa: F401
    listen()
    atheris.Setup([*sys.argv, str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
