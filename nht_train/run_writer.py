"""Writes a run directory: every file is replaced whole, the metrics grow line by line."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import nn

from nht_theory.errors import InputError
from nht_theory.runs.run_format import (
    CHECKPOINT_DIRECTORY,
    LATEST_DIRECTORY,
    MetricsLog,
    RunDocument,
    RunState,
    StatusDocument,
    checkpoint_name,
    is_run_directory,
    read_run,
    write_atomically,
    write_run,
    write_status,
)
from nht_train.lock import RunLock

STATE_FILE = "state.pt"
State = dict[str, Any]


class RunWriter:
    """The files of one run.

    Args:
        directory: of the run; created.
        document: what was chosen.
        resume: continue a run that is there (or start one that never began).

    Raises:
        InputError: a run is there and ``resume`` is False, or its configuration differs, or
            another process is training it.

    Attributes:
        lock: held from the start; the trainer gives it back.
        state: what the last :meth:`save_state` stored, when resuming; None from the start.
    """

    def __init__(self, directory: Path, document: RunDocument, *, resume: bool) -> None:
        self.directory = directory
        self.lock = RunLock(directory)
        self.total_steps = document.hyperparameters.total_steps
        self.state: State | None = None
        if is_run_directory(directory):
            if not resume:
                raise InputError(
                    "a run is already there",
                    source=directory,
                    remedy="resume it with --resume, or choose another directory",
                )
            _refuse_another_configuration(directory, document)
            self.state = read_state(directory)
        else:
            write_run(directory, document)
        resume_after = self.state["step"] if self.state else -1
        self.log = MetricsLog(directory, resume_after=resume_after)

    def save_parameters(self, step: int, model: nn.Module) -> None:
        """Keep the parameters of a step (``checkpoints/step_*.safetensors``)."""
        tensors = {n: p.detach().cpu().contiguous() for n, p in model.named_parameters()}
        content = save(tensors, metadata={"step": str(step)})
        write_atomically(self.directory / CHECKPOINT_DIRECTORY / checkpoint_name(step), content)

    def save_state(self, state: State) -> None:
        """Replace what resuming needs; ``state["step"]`` says where it stands."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_atomically(self.directory / LATEST_DIRECTORY / STATE_FILE, buffer.getvalue())

    def status(self, state: RunState, step: int, error: str | None = None) -> StatusDocument:
        """Write and return how the run stands."""
        document = StatusDocument(state=state, step=step, total_steps=self.total_steps, error=error)
        write_status(self.directory, document)
        return document


def read_state(directory: Path) -> State | None:
    """The saved state of a run; None when it was never saved.

    Raises:
        InputError: the file is not one that torch can read safely.
    """
    path = directory / LATEST_DIRECTORY / STATE_FILE
    if not path.exists():
        return None
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises what the broken part raises
        raise InputError(
            f"the saved state cannot be read ({type(error).__name__})",
            source=path,
            remedy="delete it to start the run anew",
        ) from error


def _refuse_another_configuration(directory: Path, document: RunDocument) -> None:
    stored = _flat(read_run(directory).config)
    wanted = _flat(document.config)
    for key in sorted(stored.keys() | wanted.keys()):
        if stored.get(key) != wanted.get(key):
            raise InputError(
                f"{key} is {wanted.get(key)!r}, but the run was started with {stored.get(key)!r}",
                source=directory,
                remedy="resume with the same configuration, or choose another directory",
            )


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
