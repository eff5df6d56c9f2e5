"""The training loop, and what is written when."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nht_theory.conventions import DEFAULT_THRESHOLDS
from nht_theory.errors import InputError, NhtError
from nht_theory.runs import columns
from nht_theory.runs.run_format import RunState, StatusDocument
from nht_train.cadence import checkpoint_steps, evaluation_steps
from nht_train.config import TrainConfig
from nht_train.gradients import gradients_of
from nht_train.interruption import Interruption
from nht_train.live_forecast import Forecast, ForecastLog
from nht_train.numerics import arithmetic
from nht_train.progress import Progress, Silent
from nht_train.run_writer import RunWriter
from nht_train.setup import Setup, build, describe_run
from nht_train.tasks.task import Batch


class TrainingError(NhtError):
    """A run that cannot go on: its loss is not finite, or nothing can be written."""


def train(
    config: TrainConfig,
    directory: Path,
    *,
    resume: bool = False,
    progress: Progress | None = None,
    forecast: Forecast | None = None,
) -> StatusDocument:
    """Train one model and write its run directory.

    Args:
        config: of the run.
        directory: where it is written (docs/run-format.md).
        resume: continue from the last saved state; the metrics come out the same, bit for bit, as
            if the run had never stopped.
        progress: told about steps and evaluations; None is silent.
        forecast: what to log beside each evaluation, from all so far
            (``nht_theory.forecasting.live.live_forecast`` makes one).

    Returns:
        How the run stands: finished, or interrupted by SIGTERM or SIGINT with its state saved.

    Raises:
        InputError: the configuration is wrong, or the directory holds another run.
        TrainingError: the loss is not finite, an evaluation failed or a file cannot be written;
            ``status.json`` says so.
    """
    (loop,) = _run_lanes([config], [directory], resume, [progress or Silent()], forecast)
    if loop.error is not None:
        raise loop.error
    return loop.status


def train_lanes(
    configs: Sequence[TrainConfig],
    directories: Sequence[Path],
    *,
    resume: bool = False,
    progress: Sequence[Progress] | None = None,
) -> tuple[StatusDocument, ...]:
    """Train several runs in lockstep in this process; each is the same as if trained alone.

    With ``runtime.stacked`` they share their kernels (models of one shape; see
    :mod:`nht_train.gradients`). A run that fails or ends leaves the others going.

    Args:
        configs: one a lane, with the same ``runtime`` section.
        directories: one a lane.
        resume: continue those that were begun.
        progress: one a lane; None is silent.

    Returns:
        How each run stands: finished, failed or interrupted.

    Raises:
        InputError: a configuration is wrong, lanes differ in ``runtime`` or cannot be stacked.
    """
    if any(config.runtime != configs[0].runtime for config in configs):
        raise InputError("lanes differ in their runtime section", source="runtime")
    shown = progress or [Silent() for _ in configs]
    return tuple(loop.status for loop in _run_lanes(configs, directories, resume, shown))


def _run_lanes(
    configs: Sequence[TrainConfig],
    directories: Sequence[Path],
    resume: bool,
    progress: Sequence[Progress],
    forecast: Forecast | None = None,
) -> list[Loop]:
    runtime = configs[0].runtime
    with ExitStack() as stack:
        stack.enter_context(arithmetic(runtime.threads, runtime.device))
        setups = [build(config) for config in configs]
        loops = []
        for setup, directory, shown in zip(setups, directories, progress, strict=True):
            writer = RunWriter(directory, describe_run(setup), resume=resume)
            stack.enter_context(writer.lock)
            loops.append(Loop(setup, writer, stack.enter_context(shown), forecast))
        lockstep(loops, stack.enter_context(Interruption()))
    return loops


def lockstep(loops: Sequence[Loop], interruption: Interruption) -> None:
    """Take every run to its end, one step of each at a time."""
    for loop in loops:
        loop.begin()
    active: list[Loop] = []
    while True:
        still = [loop for loop in loops if loop.status.state is RunState.RUNNING]
        if interruption.asked:
            for loop in still:
                loop.interrupt()
            return
        if not still:
            return
        if still != active:  # a lane ended: stack the others anew
            active = still
            gradients = gradients_of([loop.setup for loop in active])
        losses = gradients([loop.next_batch() for loop in active])
        for loop, loss in zip(active, losses, strict=True):
            loop.advance(loss)


class Loop:
    """One run: its place, and what a step consists of apart from the gradient.

    Attributes:
        setup, writer, progress: of the run.
        step: optimiser steps done.
        generalized_at: the first evaluated step past the thresholds, or None so far.
        status: how the run stands, as last written.
        error: why it failed, or None.
    """

    def __init__(
        self, setup: Setup, writer: RunWriter, progress: Progress, forecast: Forecast | None = None
    ) -> None:
        self.setup = setup
        self.writer = writer
        self.progress = progress
        self.forecasts = ForecastLog(forecast, writer.log.rows() if forecast else ())
        config = setup.config
        self.evaluated = evaluation_steps(config.steps, config.evaluate_every)
        self.checkpointed = checkpoint_steps(config.steps, config.checkpoints)
        self.device = torch.device(config.runtime.device)
        self.step = 0
        self.generalized_at: int | None = None
        self.saved_at = time.monotonic()
        self.error: TrainingError | None = None
        self.status = StatusDocument(state=RunState.RUNNING, step=0, total_steps=config.steps)

    def begin(self) -> None:
        """Take up the saved state, or evaluate the start."""
        if self.writer.state is not None:
            self._restore(self.writer.state)
        self._guard(self._begin)

    def next_batch(self) -> Batch:
        """Set the step's learning rate and decay; return its batch."""
        setup = self.setup
        setup.optimizer.set_step(float(setup.schedule[self.step]), setup.weight_decay(self.step))
        inputs, targets = setup.task.batches.next()
        return inputs.to(self.device), targets.to(self.device)

    def advance(self, loss: Tensor) -> None:
        """Update the parameters from their gradients, and do whatever is then due."""
        self._guard(self._advance, loss)

    def interrupt(self) -> None:
        """Save, and stop."""
        self._guard(self._end, RunState.INTERRUPTED)

    def _begin(self) -> None:
        self.status = self.writer.status(RunState.RUNNING, self.step)
        if self.writer.state is None:
            self._after_step()
        if self._complete:
            self._end(RunState.FINISHED)

    def _advance(self, loss: Tensor) -> None:
        # Reading the loss waits for a GPU, so there it is read only where something is written.
        ahead = self.step + 1
        if self.device.type == "cpu" or ahead in self.evaluated or ahead in self.checkpointed:
            self._refuse_non_finite(float(loss))
        self.setup.optimizer.step()
        self.step = ahead
        self._after_step()
        if self._complete:
            self._end(RunState.FINISHED)

    @property
    def _complete(self) -> bool:
        """Whether the steps are done, or those asked for after generalisation."""
        config, generalized = self.setup.config, self.generalized_at
        more = config.steps_after_generalization
        return self.step >= config.steps or (
            more is not None
            and generalized is not None
            and self.step >= generalized + more
            and self.step in self.evaluated
        )

    def _end(self, state: RunState) -> None:
        if state is RunState.FINISHED and self.checkpointed and self.step not in self.checkpointed:
            self.writer.save_parameters(self.step, self.setup.model)
        self._save_state()
        self.writer.log.close()
        self.status = self.writer.status(state, self.step)

    def _refuse_non_finite(self, loss: float) -> None:
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is {loss} at step {self.step + 1}",
                source=self.writer.directory,
                remedy="lower optimizer.learning_rate",
            )

    def _guard(self, action: Any, *arguments: object) -> None:
        """Run an action; a failure becomes the status of this run, and of no other."""
        try:
            action(*arguments)
        except TrainingError as error:
            self._fail(error)
        except OSError as error:
            failure = TrainingError(
                f"cannot write: {error.strerror or error}",
                source=error.filename or self.writer.directory,
                remedy="make room, then --resume",
            )
            failure.__cause__ = error
            self._fail(failure)

    def _fail(self, error: TrainingError) -> None:
        self.error = error
        self.status = self.status.model_copy(
            update={"state": RunState.FAILED, "step": self.step, "error": error.problem}
        )
        try:
            self.writer.status(RunState.FAILED, self.step, error.problem)
            self.writer.log.close()
        except OSError:
            return  # the disk that is full cannot take the status either

    def _after_step(self) -> None:
        """Evaluate, keep parameters, save the state: whatever is due."""
        self.progress.stepped(self.step)
        if self.step in self.checkpointed:
            self.writer.save_parameters(self.step, self.setup.model)
        if self.step in self.evaluated:
            row = self._evaluate()
            row |= self.forecasts.add(row)
            self.writer.log.append(row)
            self.progress.evaluated(row)
            if self.generalized_at is None and _generalized(row):
                self.generalized_at = self.step
            interval = self.setup.config.checkpoints.resume_every_seconds
            if time.monotonic() - self.saved_at >= interval:
                self._save_state()
                self.status = self.writer.status(RunState.RUNNING, self.step)

    def _evaluate(self) -> dict[str, float | int]:
        """One line of metrics: the task's, the norms and the terms of the step just done."""
        setup = self.setup
        setup.model.eval()
        try:
            with torch.no_grad():
                metrics = setup.task.evaluate(setup.model)
        except Exception as error:  # a task may be anyone's code: the run ends with a clear status
            raise TrainingError(
                f"the evaluation at step {self.step} failed ({type(error).__name__}: {error})",
                source=self.writer.directory,
                remedy="mend the task, then --resume",
            ) from error
        setup.model.train()
        reading = setup.monitor.latest
        measured = reading is not None and reading.step == self.step
        last_step = max(self.step - 1, 0)
        return {
            columns.STEP: self.step,
            **metrics,
            columns.LEARNING_RATE: setup.optimizer.param_groups()[0]["lr"],
            columns.WEIGHT_DECAY: setup.weight_decay(last_step),
            **(reading.values if measured else setup.monitor.norms()),
        }

    def _save_state(self) -> None:
        """Everything that the rest of the run depends on."""
        setup = self.setup
        # A stacked parameter is a view, and a saved view drags its neighbours along: hence clone.
        model = {name: tensor.clone() for name, tensor in setup.model.state_dict().items()}
        self.writer.save_state(
            {
                "step": self.step,
                "generalized_at": self.generalized_at,
                "model": model,
                "optimizer": [part.state_dict() for part in setup.optimizer.parts],
                "batches": setup.task.batches.state(),
                "torch_generator": torch.get_rng_state(),
            }
        )
        self.saved_at = time.monotonic()

    def _restore(self, state: dict[str, Any]) -> None:
        setup = self.setup
        self.step = setup.monitor.step = state["step"]
        self.generalized_at = state["generalized_at"]
        setup.model.load_state_dict(state["model"])
        for part, saved in zip(setup.optimizer.parts, state["optimizer"], strict=True):
            part.load_state_dict(saved)
        setup.task.batches.restore(state["batches"])
        torch.set_rng_state(state["torch_generator"])


def _generalized(row: Mapping[str, float | int]) -> bool:
    """Whether an evaluation passes both thresholds by which runs are read."""
    return (
        row.get(columns.TRAIN_ACCURACY, 0.0) >= DEFAULT_THRESHOLDS.train_accuracy
        and row.get(columns.HELDOUT_ACCURACY, 0.0) >= DEFAULT_THRESHOLDS.heldout_accuracy
    )
