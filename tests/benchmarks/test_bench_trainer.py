"""Speed of a training step of the paper's transformer, against the code people use today.

``make bench`` prints the table. CPU time is measured, so that other processes disturb less; one
thread. ``extra_info`` holds steps per second and the share of the matrix-product peak, measured in
the same process on the largest product of the step.

Figures, interleaved in one process: one thread of an AMD EPYC at 2.45 GHz (AVX2), torch 2.14, on
two cores shared with some ten busy processes; model steps per second of CPU time, best of 14:

=================================  =======  =====  ====================
step                               steps/s  ratio  share of matrix peak
=================================  =======  =====  ====================
plain module, default AdamW           24.5    1.0                  0.18
ours, eager                           53.5    2.2                  0.38
ours, compiled                        62.4    2.5                  0.45
ours, four stacked lanes, compiled    57.4    2.3                  0.41
=================================  =======  =====  ====================

The share counts only the arithmetic that ours needs (44 % of the plain module's), against a peak of
76 GFLOP/s; 59 % of the compiled step is matrix products, so 4.4 is the most this processor allows.
A reading of the monitor every hundred steps costs 0.2 % of them.

More is gained where torch's default float32 product is slow and oneDNN's is exact (AVX-512): the
choice made at start-up (:mod:`nht_train.numerics`) takes it; here both run at four fifths of the
processor's peak. Without bfloat16 instructions that precision is emulated, twelve times slower, so
its benchmark is skipped.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator

import pytest
import torch
from torch.nn import functional

from nht_train.config import TrainConfig
from nht_train.gradients import gradients_of
from nht_train.monitor import DEFAULT_EVERY, NormMonitor
from nht_train.numerics import arithmetic
from nht_train.setup import build

BATCH = 512
Step = Callable[[], object]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with arithmetic(1):
        yield


def plain_step() -> Step:
    """An ordinary module with the default optimiser, in an ordinary loop."""
    setup = build(config())
    model = copy.deepcopy(setup.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1.0)

    def step() -> float:
        inputs, targets = setup.task.batches.next()
        loss = functional.cross_entropy(model.reference_forward(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def our_step(lanes: int = 1, **runtime: object) -> Step:
    """The step of the trainer's loop."""
    setups = [build(config(seed, **runtime)) for seed in range(lanes)]
    for setup in setups:
        setup.monitor.close()
    gradients = gradients_of(setups)

    def step() -> list[float]:
        losses = gradients([setup.task.batches.next() for setup in setups])
        for setup in setups:
            setup.optimizer.step()
        return [float(loss) for loss in losses]

    return step


def config(seed: int = 0, **runtime: object) -> TrainConfig:
    return TrainConfig.from_mapping(
        {"task": {"name": "modular_addition"}, "seed": seed, "runtime": runtime}
    )


def step_operations() -> float:
    """Multiplications and additions of the products in one step of ours (forward, backward)."""
    width, hidden, p = 128, 512, 97
    rows = 2 * p * 3 * width * width  # queries, keys, values of the distinct rows
    after = BATCH * (width * width + 2 * width * hidden + width * p)
    return 3 * 2.0 * (rows + after)


def peak() -> float:
    """Operations per second of the largest product, best of several."""
    left, right = torch.randn(BATCH, 128), torch.randn(128, 512)
    best = min(_seconds(lambda: left @ right, 20) for _ in range(20))
    return 2.0 * BATCH * 128 * 512 / best


def _seconds(function: Step, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - start) / repeats


def measure(benchmark: object, step: Step, models: int = 1) -> None:
    for _ in range(3):
        step()
    benchmark.pedantic(step, rounds=15, iterations=4, warmup_rounds=1)
    if benchmark.stats is None:  # run once, as a test
        return
    rate = models / benchmark.stats["min"]
    benchmark.extra_info["model_steps_per_second"] = round(rate, 1)
    benchmark.extra_info["share_of_matrix_peak"] = round(step_operations() * rate / peak(), 2)


pytestmark = pytest.mark.benchmark(group="training step", timer=time.process_time)


def test_plain_module_and_default_adamw(benchmark: object) -> None:
    measure(benchmark, plain_step())


def test_ours_eager(benchmark: object) -> None:
    measure(benchmark, our_step())


@pytest.mark.slow
def test_ours_compiled(benchmark: object) -> None:
    measure(benchmark, our_step(compile=True))


@pytest.mark.slow
def test_four_stacked_lanes_compiled_in_bfloat16(benchmark: object) -> None:
    if not torch.cpu._is_avx512_bf16_supported():
        pytest.skip("this processor has no bfloat16 instructions")
    step = our_step(lanes=4, stacked=True, compile=True, precision="bfloat16")
    measure(benchmark, step, models=4)


def test_a_reading_of_the_monitor(benchmark: object) -> None:
    """One reading a hundred steps (the default) must cost less than three steps."""
    setup = build(config())
    setup.monitor.close()
    inputs, targets = setup.task.batches.next()
    gradients_of([setup])([(inputs, targets)])
    NormMonitor(setup.model, setup.optimizer.parts, every=1)
    measure(benchmark, setup.optimizer.step)
    if benchmark.stats is not None:
        without = min(_seconds(our_step(), 4) for _ in range(8))
        share = benchmark.stats["min"] / (DEFAULT_EVERY * without)
        benchmark.extra_info["share_of_training_at_default_cadence"] = round(share, 4)


def test_the_four_ways_compute_the_same_losses() -> None:
    plain, eager, stacked = plain_step(), our_step(), our_step(stacked=True)
    for _ in range(10):
        reference = plain()
        assert eager()[0] == pytest.approx(reference, abs=1e-5)
        assert stacked()[0] == pytest.approx(reference, abs=1e-5)
