"""Indices, links and special files; and bytes of no format at all."""

from __future__ import annotations

import io
import json
import os
import pickle

from attacks.registry import Calls, attack


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
        payload = pickle.dumps(Calls(os.system, f"touch {canary}"))
        member.size = len(payload)
        archive.addfile(member, io.BytesIO(payload))
    return path
