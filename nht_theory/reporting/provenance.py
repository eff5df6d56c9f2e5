"""Which data a result rests on: a hash of every trajectory, and each run's file and steps."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from nht_theory.runs.run import Run
from nht_theory.runs.study import Study


def data_hash(runs: Sequence[Run]) -> str:
    """SHA-256 over the trajectories and settings of ``runs``, whatever their order and paths.

    The same runs read from another directory, format or machine give the same hash as long as
    the numbers are the same to the last bit.

    Example:
        >>> run = Run("a", Path("x"), np.array([0, 1]), {"squared_norm": np.array([2.0, 1.0])})
        >>> renamed = Run("b", Path("y"), run.steps, run.values)
        >>> data_hash([run]) == data_hash([renamed]), len(data_hash([run]))
        (True, 64)
    """
    digests = sorted(_digest(run) for run in runs)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _digest(run: Run) -> str:
    content = hashlib.sha256()
    content.update(repr(run.hyperparameters.configuration()).encode())
    content.update(repr(run.hyperparameters.seed).encode())
    content.update(np.ascontiguousarray(run.steps, dtype="<i8").tobytes())
    for name in sorted(run.values):
        content.update(name.encode())
        content.update(np.ascontiguousarray(run.values[name], dtype="<f8").tobytes())
    return content.hexdigest()


def software_version() -> str:
    """Version of the installed package.

    Example:
        >>> software_version().count(".") >= 1
        True
    """
    return version("nht")


def origin(study: Study, name: str) -> str:
    """File, steps and settings of one run, in a line."""
    run = study.run(name)
    root = study.source if study.source.is_dir() else study.source.parent
    source = Path(os.path.relpath(run.source, root)).as_posix()
    span = f"steps {run.steps[0]} to {run.steps[-1]}, {len(run)} evaluations" if len(run) else "-"
    seed = "" if run.hyperparameters.seed is None else f", seed {run.hyperparameters.seed}"
    return f"{name}: {source}, {span}{seed}"
