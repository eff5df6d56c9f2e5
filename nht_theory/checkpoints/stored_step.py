"""The training step that a checkpoint itself records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nht_theory.checkpoints.stored_numbers import ReadNumber

STEP_KEYS = (
    "global_step",
    "step",
    "steps",
    "global_steps",
    "current_step",
    "training_step",
    "train_step",
    "iteration",
    "iterations",
    "iter",
    "it",
    "iter_num",
    "n_iter",
    "num_updates",
    "num_steps",
    "update",
)
"""Keys that hold the number of optimiser steps taken, the surest first."""


def step_in_metadata(metadata: Mapping[str, str]) -> int | None:
    """The step in the metadata of a safetensors file.

    Example:
        >>> step_in_metadata({"format": "pt", "step": "1200"})
        1200
    """
    for key in STEP_KEYS:
        text = metadata.get(key, "")
        if text.strip().isdecimal() and len(text) < 16:
            return int(text)
    return None


def step_in_object(root: Any, read_number: ReadNumber) -> int | None:
    """The step among the top-level entries of a saved object, or None.

    Args:
        read_number: reads a number that may lie in a tensor.
    """
    if not isinstance(root, dict):
        return None
    for key in STEP_KEYS:
        if key in root:
            number = read_number(root[key])
            if number is not None and 0 <= number < 1 << 53 and number == int(number):
                return int(number)
    return None


def step_in_trainer_state(text: bytes) -> int | None:
    """The step in the ``trainer_state.json`` of Transformers.

    Example:
        >>> step_in_trainer_state(b'{"epoch": 2.0, "global_step": 500, "log_history": []}')
        500
    """
    found = re.search(rb'"global_step":\s*(\d{1,15})\b', text)
    return None if found is None else int(found[1])
