"""How float arithmetic is set up before a run: threads, denormals, the matrix product."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

FLOAT32_TOLERANCE = 1e-5
"""Largest error of a product of 256 terms of order one that still counts as float32 (bfloat16
and TF32 products are off by 1e-2)."""


@contextmanager
def arithmetic(threads: int, device: str = "cpu") -> Iterator[str]:
    """Fix threads and denormals, and choose the fastest matrix product of float32 accuracy.

    Denormals are flushed to zero: decayed weights pass through them, and they are slow. On a GPU
    only kernels that give the same result every time are used, where torch has them. All of it is
    the whole process's, so on leaving it is as it was: statistics are not to be computed so.

    Yields:
        The float32 matrix product that was chosen, as torch names it.

    Example:
        >>> with arithmetic(threads=1):
        ...     flushes_denormals()
        True
        >>> flushes_denormals()
        False
    """
    before = (
        torch.get_num_threads(),
        flushes_denormals(),
        torch.get_float32_matmul_precision(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    if torch.device(device).type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield choose_matrix_product(device)
    finally:
        torch.set_num_threads(before[0])
        torch.set_flush_denormal(before[1])
        torch.set_float32_matmul_precision(before[2])
        torch.use_deterministic_algorithms(before[3], warn_only=before[4])


def flushes_denormals() -> bool:
    """Whether this thread's arithmetic replaces denormal numbers by zero."""
    smallest = torch.full((), 2.0**-1074, dtype=torch.float64)
    return float(smallest + smallest) == 0.0


def choose_matrix_product(device: str = "cpu") -> str:
    """The fastest setting of torch whose products are as exact as float32.

    On some processors a lower setting selects another library (oneDNN) that is faster and just as
    exact; on others it rounds to bfloat16. So each is tried and its error measured; the choice
    depends on the error alone, hence not on the load of the machine.

    Example:
        >>> choose_matrix_product() in ("medium", "high", "highest")
        True
    """
    for setting in ("medium", "high"):
        torch.set_float32_matmul_precision(setting)
        if matrix_product_error(device) < FLOAT32_TOLERANCE:
            return setting
    torch.set_float32_matmul_precision("highest")
    return "highest"


def matrix_product_error(device: str = "cpu") -> float:
    """Largest error of a float32 product against float64, over the rms of its entries.

    The three layouts of a training step are tried: forward, input gradient, weight gradient.
    """
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(192, 256, generator=generator).to(device)
    right = torch.randn(256, 224, generator=generator).to(device)
    exact = left.double() @ right.double()
    products = (
        left @ right,
        left @ right.T.contiguous().T,
        left.T.contiguous().T @ right,
    )
    error = max(float((product.double() - exact).abs().max()) for product in products)
    return error / float(exact.square().mean().sqrt())
