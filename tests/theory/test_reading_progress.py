"""ScanProgress of reading: what is counted, where it shows, and that it changes nothing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from nht_theory.checkpoints import norm_cache
from nht_theory.checkpoints.reading import ScanProgress
from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions

STEPS = (0, 100, 200)
RUNS = 4
BYTES = 300 * 300 * 4
READ = """
import sys
from nht_theory.cli.reading import read_study
for run in read_study(sys.argv[1]).runs:
    print(run.name, run.squared_norm)
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(norm_cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    for run in range(RUNS):
        for step in STEPS:
            path = tmp_path / f"study/saved{run}/step_{step}.safetensors"
            path.parent.mkdir(parents=True, exist_ok=True)
            weight = np.full((300, 300), 1.0 + run + step / 100, dtype=np.float32)
            save_file({"head.weight": weight}, path)
        log = "step,train_acc,V\n" + "".join(f"{s},1.0,{run + 9 - s / 50}\n" for s in STEPS)
        (tmp_path / f"study/logged{run}.csv").write_text(log)
    return tmp_path / "study"


@pytest.mark.parametrize("workers", [None, 2])
def test_bytes_and_logs_add_up_and_change_nothing(directory: Path, workers: int | None) -> None:
    logs: list[tuple[int, int]] = []
    seen: list[ScanProgress] = []
    options = ReadOptions(workers=workers)
    study = load_study(
        directory, options, of_logs=lambda *now: logs.append(now), of_checkpoints=seen.append
    )
    assert logs == [(done, RUNS) for done in range(1, RUNS + 1)]
    files = RUNS * len(STEPS)
    assert (seen[-1].files_done, seen[-1].files_total) == (files, files)
    # Another process reports whole files, headers included.
    headers = 0 if workers is None else files * 100
    assert files * BYTES <= seen[-1].bytes_read <= files * BYTES + headers
    assert seen[-1].bytes_total == seen[-1].bytes_read
    assert [now.bytes_read for now in seen] == sorted(now.bytes_read for now in seen)
    assert seen[-1].seconds_left == 0
    plain = load_study(directory)
    assert plain.left_out == study.left_out == ()
    for one, other in zip(plain.runs, study.runs, strict=True):
        assert one.name == other.name
        assert one.to_frame().equals(other.to_frame())


def test_what_is_remembered_is_not_waited_for(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(norm_cache, "_SETTLED_NS", -(10**15))  # files count as settled at once
    load_study(directory)
    seen: list[ScanProgress] = []
    load_study(directory, of_checkpoints=seen.append)
    assert (seen[-1].bytes_read, seen[-1].bytes_total) == (0, 0)
    assert seen[-1].files_done == RUNS * len(STEPS)


def test_a_bar_on_a_terminal_and_silence_in_a_pipe(directory: Path) -> None:
    command = [sys.executable, "-c", READ, str(directory)]
    piped = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (piped.returncode, piped.stderr) == (0, "")
    master, slave = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, text=True) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # how Linux says that the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        assert process.stdout.read() == piped.stdout
    os.close(master)
    assert b"checkpoints" in shown
    assert f"{RUNS * len(STEPS)}/{RUNS * len(STEPS)}".encode() in shown
