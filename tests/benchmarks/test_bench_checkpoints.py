"""Speed of reading checkpoints: 100 MB of float32, one core, warm page cache.

    pytest tests/benchmarks/test_bench_checkpoints.py --benchmark-enable
    python tests/benchmarks/test_bench_checkpoints.py

The second form interleaves the ways and takes processor time, so that a busy machine slows all of
them alike, and prints the ratios. ``plain`` loads the file and takes
``float(p.double().norm())**2`` of each tensor; ``bare`` is one float32 dot product over the same
bytes, mapped and touched before; ``mapping included`` maps them anew, as a reader must.

The machine is shared, so the last lines give the ratios twice: between the best rounds of each way,
and the median of the ratios within a round, which bursts of other load move less.

Figures of five runs of 60 rounds on a shared two-core virtual machine (AMD EPYC, numpy 2.4.6,
torch 2.14.1), median round: safetensors 2.5-2.6 times the plain way and 66-68 % of the bare
product, .pt 8.9-9.8 times and 61-63 %. Best rounds: bare 15.6-17.3 GB/s, mapping included 13-14,
``squared_norms`` 10.2-11.2 (safetensors) and 9.7-10.5 (.pt), plain way 4.2-5.3 and 1.0-3.0, with
``exact=True`` 4.3-4.5: 2.1-2.6 and 3.6-10 times the plain way, 64-69 % and 58-64 % of bare. While
neighbours slow the processor down (``exact=True`` at 2.9 GB/s, a few minutes later) three more runs
gave 58-64 % and 47-60 % in the median round, 2.5-2.7 and 5.0-8.9 times the plain way.
Peak memory above the interpreter's: 100-101 MB for files of 520 MB. One thread reads checkpoints of
2 MB at 1.3, 1.2, 1.2, 1.2 ms each for 10, 40, 100, 400 of them (safetensors) and at 2.0, 1.9, 1.9,
2.0 ms (.pt), finding them included.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pytest

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

from nht_theory.checkpoints import discover, norm_trajectory, squared_norms  # noqa: E402

torch = pytest.importorskip("torch")
from safetensors.torch import load_file, save_file  # noqa: E402

LAYERS = 25
SIDE = 1000


def write(folder: Path) -> tuple[Path, Path]:
    """The same 100 MB in both formats."""
    generator = torch.Generator().manual_seed(0)
    tensors = {
        f"layers.{i}.weight": torch.randn(SIDE, SIDE, generator=generator) for i in range(LAYERS)
    }
    save_file(tensors, folder / "a.safetensors")
    torch.save(tensors, folder / "a.pt")
    return folder / "a.safetensors", folder / "a.pt"


def plain(path: Path) -> dict[str, float]:
    tensors = load_file(path) if path.suffix == ".safetensors" else torch.load(path)
    return {name: float(p.double().norm()) ** 2 for name, p in tensors.items()}


def bare_on_a_fresh_map(path: Path) -> float:
    """A dot product that has to map the file first, as every reader must."""
    whole = np.memmap(path, np.uint8, "r")
    size = 4 * LAYERS * SIDE**2
    start = (whole.size - size) // 4 * 4
    values = np.asarray(whole)[start : start + size].view(np.float32)
    return float(np.dot(values, values))


def mapped(path: Path) -> np.ndarray:
    """The 100 MB of tensors as one mapped float32 array, touched once."""
    whole = np.memmap(path, np.uint8, "r")
    size = 4 * LAYERS * SIDE**2
    start = (whole.size - size) // 4 * 4
    values = np.asarray(whole)[start : start + size].view(np.float32)
    np.dot(values, values)
    return values


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("bench"))


@pytest.mark.parametrize("index", [0, 1], ids=["safetensors", "pt"])
def test_bench_squared_norms(benchmark, files, index):
    torch.set_num_threads(1)
    norms = benchmark(squared_norms, files[index])
    assert dict(norms) == pytest.approx(plain(files[index]), rel=1e-7)


@pytest.mark.parametrize("index", [0, 1], ids=["safetensors", "pt"])
def test_bench_plain_way(benchmark, files, index):
    torch.set_num_threads(1)
    assert len(benchmark(plain, files[index])) == LAYERS


def test_bench_bare_dot_product(benchmark, files):
    values = mapped(files[0])
    assert benchmark(np.dot, values, values) > 0


def test_bench_forty_small_checkpoints(benchmark, tmp_path):
    for step in range(40):
        save_file(
            {"w": torch.full((250, 1000), float(step))}, tmp_path / f"step_{step}.safetensors"
        )
    series = discover(tmp_path)[0]
    trajectory = benchmark(norm_trajectory, series, cache=False, workers=1)
    assert len(trajectory.steps) == 40


def compare(rounds: int) -> None:
    """Print gigabytes per second of every way, from interleaved rounds."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        safetensors, pt = write(Path(name))
        values = mapped(safetensors)
        ways = {
            "bare float32 dot product": lambda: np.dot(values, values),
            "the same, mapping included": lambda: bare_on_a_fresh_map(safetensors),
            "squared_norms(.safetensors)": lambda: squared_norms(safetensors),
            "plain way    (.safetensors)": lambda: plain(safetensors),
            "squared_norms(.pt)": lambda: squared_norms(pt),
            "plain way    (.pt)": lambda: plain(pt),
            "exact=True   (.safetensors)": lambda: squared_norms(safetensors, exact=True),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, run in ways.items():
                start = time.process_time()
                run()
                seconds[way].append(time.process_time() - start)
        gigabytes = 4 * LAYERS * SIDE**2 / 1e9
        best = {way: gigabytes / min(taken) for way, taken in seconds.items()}
        for way, taken in seconds.items():
            print(
                f"{way:30s} best {best[way]:6.2f} GB/s  median "
                f"{gigabytes / statistics.median(taken):6.2f} GB/s"
            )
        bare = "bare float32 dot product"
        for form in ("(.safetensors)", "(.pt)"):
            ours = next(w for w in ways if w.startswith("squared") and form in w)
            theirs = next(w for w in ways if w.startswith("plain") and form in w)
            print(
                f"{form:15s} {best[ours] / best[theirs]:5.2f} x plain, "
                f"{100 * best[ours] / best[bare]:5.1f} % of bare by the best round; "
                f"{_paired(seconds[theirs], seconds[ours]):5.2f} x plain, "
                f"{100 * _paired(seconds[bare], seconds[ours]):5.1f} % of bare in the median round"
            )


def _paired(slower: list[float], faster: list[float]) -> float:
    """Median over the rounds of how many times faster one way was than the other."""
    return statistics.median(a / b for a, b in zip(slower, faster, strict=True))


if __name__ == "__main__":
    compare(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
