"""Every attack ends in a clear refusal, runs nothing, and costs under a second and 200 MB."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from attacks import (  # noqa: F401  # each registers its own
    archives,
    code_execution,
    exhaustion,
    headers,
    places,
    tensors,
)
from attacks.registry import ATTACKS

pytest.importorskip("torch")

SECONDS = 1.0
MEGABYTES = 200

# One process reads all attacks in a row; each is timed by its own processor time, and the peak of
# memory is reset before it. Only the reading is measured: attacks are made beforehand. A slow
# reading is tried again, because processor time on a busy machine counts what others take.
READER = r"""
import json, sys, time
from pathlib import Path
from nht_theory.checkpoints import squared_norms
from nht_theory.errors import InputError
import nht_theory.checkpoints.contents

def peak():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1e3

for line in sys.stdin:
    name, path = json.loads(line)
    Path("/proc/self/clear_refs").write_text("5")
    seconds = 1e9
    for _ in range(4):
        start = time.process_time()
        try:
            answer = dict(squared_norms(path))
            outcome, text = "read", str(answer)[:200]
        except InputError as error:
            outcome, text = type(error).__name__, str(error)
        except BaseException as error:
            outcome, text = "crash", repr(error)[:500]
        seconds = min(seconds, time.process_time() - start)
        if seconds < 0.7:
            break
    print(json.dumps([name, outcome, text, seconds, peak()]), flush=True)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("attacks")
    canaries, lines = {}, []
    for name, make in ATTACKS.items():
        folder = root / name
        folder.mkdir()
        canaries[name] = root / f"{name}.canary"
        lines.append(json.dumps([name, str(make(folder, canaries[name]))]))
    done = subprocess.run(
        [sys.executable, "-c", READER],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    found = {entry[0]: entry[1:] for entry in map(json.loads, done.stdout.splitlines())}
    assert len(found) == len(lines), done.stderr[-2000:]
    ran = {name for name, canary in canaries.items() if canary.exists()}
    return found, ran


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(name, results):
    found, ran = results
    outcome, text, seconds, megabytes = found[name]
    assert name not in ran
    assert outcome in ("InputError", "UnsafeFileError"), text
    assert len(text) < 2000
    assert seconds < SECONDS
    assert megabytes < MEGABYTES


@pytest.mark.parametrize(
    "name",
    [
        "os_system_in_a_zip",
        "os_system_in_the_legacy_format",
        "os_system_beside_weights",
        "eval_in_protocol_0",
        "exec_by_inst",
        "exec_by_obj",
        "gadget_through_rebuild_from_type",
        "gadget_through_an_allowed_class",
        "attribute_path_in_a_global",
        "getattr_chain",
        "pickle_inside_a_pickle",
        "torch_load_as_a_call",
        "plain_pickle_called_bin",
        "distributed_metadata",
    ],
)
def test_a_pickle_that_would_run_something_is_reported_as_unsafe(name, results):
    outcome, text, _, _ = results[0][name]
    assert outcome == "UnsafeFileError"
    assert "nothing was run" in text


def test_the_attacks_are_live(tmp_path):
    """The canaries sing when an ordinary unpickler reads the file."""
    import pickle
    import zipfile

    canary = tmp_path / "canary"
    path = ATTACKS["os_system_in_a_zip"](tmp_path, canary)
    pickle.loads(zipfile.ZipFile(path).read("archive/data.pkl"))
    assert canary.exists()
