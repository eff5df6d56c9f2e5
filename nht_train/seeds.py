"""One seed in the configuration, an independent one for each use."""

from __future__ import annotations

import hashlib


def derived_seed(seed: int, use: str) -> int:
    """A seed for one use (``split``, ``batches``, ``weights``), independent of the others.

    So a change in how many numbers one use draws leaves the others as they were.

    Example:
        >>> derived_seed(0, "split") == derived_seed(0, "split")
        True
        >>> derived_seed(0, "split") == derived_seed(0, "batches")
        False
    """
    return int.from_bytes(hashlib.sha256(f"{seed}/{use}".encode()).digest()[:7], "big")
