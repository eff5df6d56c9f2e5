"""A second look costs nothing and is never stale; reading reports how far it is."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from safetensors.numpy import save_file

from nht_theory.checkpoints import discover, norm_cache, norm_trajectory, squared_norms
from nht_theory.checkpoints.norm_cache import cache_key, load, store


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv(norm_cache.CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache")))


def write(path, value, age=10.0):
    save_file({"w": np.full((300, 300), value, dtype=np.float32)}, path)
    if age:
        then = time.time() - age
        os.utime(path, (then, then))


@pytest.fixture
def settled(monkeypatch):
    """Files count as settled at once: their status time cannot be set back."""
    monkeypatch.setattr(norm_cache, "_SETTLED_NS", -(10**15))


def key(path, **options):
    return cache_key(path, **({"exact": False, "weights": "live"} | options))


def test_an_entry_gives_back_everything(tmp_path, settled):
    path = tmp_path / "step_1.safetensors"
    write(path, 2.0)
    norms = squared_norms(path)
    store(key(path), norms)
    again = load(key(path), path)
    assert dict(again) == dict(norms)
    for name in ("format", "shapes", "ties", "not_finite", "step", "left_out", "notes"):
        assert getattr(again, name) == getattr(norms, name)


def test_a_second_look_reads_no_tensor(tmp_path, settled):
    for step in (1, 2):
        write(tmp_path / f"step_{step}.safetensors", float(step))
    series = discover(tmp_path)[0]
    reports = []
    first = norm_trajectory(series, progress=reports.append)
    assert reports[-1].bytes_read == 2 * 300 * 300 * 4
    second = norm_trajectory(series, progress=reports.append)
    assert reports[-1].bytes_read == 0
    np.testing.assert_array_equal(first.squared_norm, second.squared_norm)


def test_changed_content_of_equal_size_and_time_is_seen(tmp_path, settled):
    path = tmp_path / "step_1.safetensors"
    write(path, 1.0)
    series = discover(tmp_path)[0]
    assert norm_trajectory(series).squared_norm[0] == 90_000.0
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[5000:5004] = np.float32(3.0).tobytes()  # between the samples
    with open(path, "r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert norm_trajectory(series).squared_norm[0] != 90_000.0


def test_fresh_files_are_not_kept(tmp_path):
    path = tmp_path / "step_1.safetensors"
    write(path, 1.0, age=None)
    assert key(path) is None


def test_exact_and_fast_answers_are_apart(tmp_path, settled):
    path = tmp_path / "step_1.safetensors"
    write(path, 1.0)
    assert len({key(path), key(path, exact=True), key(path, weights="ema")}) == 3


def test_a_spoilt_entry_is_a_miss(tmp_path, settled):
    path = tmp_path / "step_1.safetensors"
    write(path, 1.0)
    store(key(path), squared_norms(path))
    for entry in norm_cache.cache_directory().glob("??/*.json"):
        entry.write_text('{"format": 3')
    assert load(key(path), path) is None


def test_pruning_keeps_the_newest(tmp_path, settled):
    for number in range(5):
        path = tmp_path / f"step_{number}.safetensors"
        write(path, 1.0)
        store(key(path), squared_norms(path))
        (place,) = [p for p in norm_cache.cache_directory().glob("??/*") if p.stem == key(path)]
        os.utime(place, (number, number))
    norm_cache.prune(limit=2)
    assert len(list(norm_cache.cache_directory().glob("??/*.json"))) == 2
    assert load(key(path), path) is not None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, settled, monkeypatch):
    (tmp_path / "blocked").write_text("a file where the directory should be")
    monkeypatch.setenv(norm_cache.CACHE_VARIABLE, str(tmp_path / "blocked"))
    write(tmp_path / "step_1.safetensors", 1.0)
    assert norm_trajectory(discover(tmp_path)[0]).squared_norm[0] == 90_000.0


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_give_the_same_and_report_progress(workers, tmp_path):
    for step in range(6):
        write(tmp_path / f"step_{step}.safetensors", float(step), age=None)
    reports = []
    trajectory = norm_trajectory(
        discover(tmp_path)[0], workers=workers, cache=False, progress=reports.append
    )
    np.testing.assert_allclose(trajectory.squared_norm, [90_000.0 * s**2 for s in range(6)])
    last = reports[-1]
    assert (last.files_done, last.files_total) == (6, 6)
    assert last.bytes_read == last.bytes_total == 6 * 300 * 300 * 4
    assert last.bytes_per_second > 0
    assert last.seconds_left == 0


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "step_1.safetensors"
    save_file({f"w{i}": np.ones((2000, 2000), dtype=np.float32) for i in range(3)}, path)

    def truncate(_):
        os.truncate(path, 1000)

    with pytest.raises(Exception, match="changed while it was read"):
        squared_norms(path, read=truncate)
