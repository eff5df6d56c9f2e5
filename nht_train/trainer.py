"""One run: build what the configuration names, one loop, and what is written when."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nht_theory.errors import NhtError
from nht_theory.runs import columns
from nht_theory.runs.run import Hyperparameters
from nht_theory.runs.run_format import RunDocument, RunState, StatusDocument
from nht_train.cadence import checkpoint_steps, evaluation_steps
from nht_train.config import TrainConfig
from nht_train.interruption import Interruption
from nht_train.models.registry import MODELS
from nht_train.monitor import NormMonitor
from nht_train.numerics import set_up_arithmetic
from nht_train.optimizers import OPTIMIZERS, ChosenOptimizer
from nht_train.options import check_options, look_up
from nht_train.progress import Progress, Silent
from nht_train.provenance import git_revision, package_versions
from nht_train.run_writer import RunWriter
from nht_train.schedules import SCHEDULES, Schedule
from nht_train.seeds import derived_seed
from nht_train.tasks.registry import TASKS
from nht_train.tasks.task import Task


class TrainingError(NhtError):
    """A run that cannot go on: its loss is not finite, or nothing can be written."""


@dataclass(frozen=True)
class Setup:
    """Everything a run is made of, built from its configuration.

    Attributes:
        config: with every option filled in.
        task, model, optimizer, schedule: built, in their initial state.
        monitor: attached to the optimiser.
    """

    config: TrainConfig
    task: Task
    model: nn.Module
    optimizer: ChosenOptimizer
    schedule: Schedule
    monitor: NormMonitor


def build(config: TrainConfig) -> Setup:
    """Build task, model, optimiser, schedule and monitor.

    Raises:
        InputError: an unknown name or option, or a model that does not fit the task.
    """
    make_task = look_up(config.task.name, TASKS, "task")
    task_options = check_options(
        make_task, config.task.options, section="task", supplied=("batch_size", "seed")
    )
    task: Task = make_task(**task_options, batch_size=config.batch_size, seed=config.seed)

    make_model = look_up(config.model.name, MODELS, "model")
    model_options = check_options(
        make_model, config.model.options, section="model", supplied=task.model_arguments
    )
    with torch.random.fork_rng():
        torch.manual_seed(derived_seed(config.seed, "weights"))
        model: nn.Module = make_model(**model_options, **task.model_arguments)

    make_optimizer = look_up(config.optimizer.name, OPTIMIZERS, "optimizer")
    optimizer_options = check_options(
        make_optimizer,
        config.optimizer.options,
        section="optimizer",
        supplied=("model", "decayed"),
    )
    decayed = [name for name, _ in model.named_parameters()]
    optimizer: ChosenOptimizer = make_optimizer(model, decayed, **optimizer_options)

    make_schedule = look_up(config.schedule.name, SCHEDULES, "schedule")
    schedule_options = check_options(
        make_schedule, config.schedule.options, section="schedule", supplied=("total_steps",)
    )
    schedule: Schedule = make_schedule(total_steps=config.steps, **schedule_options)

    filled = {
        "task": task_options,
        "model": model_options,
        "optimizer": optimizer_options,
        "schedule": schedule_options,
    }
    complete = config.model_copy(
        update={
            section: type(config.task)(name=getattr(config, section).name, **options)
            for section, options in filled.items()
        }
    )
    evaluated = evaluation_steps(config.steps, config.evaluate_every)
    monitor = NormMonitor(model, optimizer.parts, every=lambda step: step in evaluated)
    return Setup(complete, task, model, optimizer, schedule, monitor)


def describe_run(setup: Setup) -> RunDocument:
    """The content of ``run.json``."""
    config = setup.config
    optimizer = config.optimizer.options
    return RunDocument(
        config=config.model_dump(mode="json"),
        hyperparameters=Hyperparameters(
            optimizer=setup.optimizer.kind.value,
            learning_rate=optimizer["learning_rate"],
            weight_decay=optimizer["weight_decay"],
            decay_form=setup.optimizer.decay_form,
            schedule=config.schedule.name,
            total_steps=config.steps,
            batch_size=config.batch_size,
            parameter_count=sum(p.numel() for p in setup.model.parameters()),
            seed=config.seed,
            task=setup.task.name,
            extra={**setup.task.facts, "model": config.model.name, **config.model.options},
            **setup.optimizer.constants,
        ),
        seed=config.seed,
        git_revision=git_revision(),
        package_versions=package_versions(),
        parameter_count=sum(p.numel() for p in setup.model.parameters()),
        groups=setup.monitor.groups,
        data_hash=setup.task.data_hash,
    )


def train(
    config: TrainConfig,
    directory: Path,
    *,
    resume: bool = False,
    progress: Progress | None = None,
) -> StatusDocument:
    """Train one model and write its run directory.

    Args:
        config: of the run.
        directory: where it is written (docs/run-format.md).
        resume: continue from the last saved state; the metrics come out the same, bit for bit, as
            if the run had never stopped.
        progress: told about steps and evaluations; None is silent.

    Returns:
        How the run stands: finished, or interrupted by SIGTERM or SIGINT with its state saved.

    Raises:
        InputError: the configuration is wrong, or the directory holds another run.
        TrainingError: the loss is not finite or a file cannot be written; ``status.json`` says so.
    """
    set_up_arithmetic(config.runtime.threads)
    setup = build(config)
    writer = RunWriter(directory, describe_run(setup), resume=resume)
    loop = Loop(setup, writer, progress or Silent())
    try:
        with Interruption() as interruption, writer.lock, writer.log, loop.progress:
            return loop.run(interruption)
    except TrainingError as error:
        loop.fail(error.problem)
        raise
    except OSError as error:
        problem = f"cannot write: {error.strerror or error}"
        loop.fail(problem)
        raise TrainingError(
            problem, source=error.filename or directory, remedy="make room, then --resume"
        ) from error


class Loop:
    """The training loop with its place in the run."""

    def __init__(self, setup: Setup, writer: RunWriter, progress: Progress) -> None:
        self.setup = setup
        self.writer = writer
        self.progress = progress
        config = setup.config
        self.evaluated = evaluation_steps(config.steps, config.evaluate_every)
        self.checkpointed = checkpoint_steps(config.steps, config.checkpoints)
        self.base_rates = [group["lr"] for group in setup.optimizer.param_groups()]
        self.step = 0
        self.saved_at = time.monotonic()

    def run(self, interruption: Interruption) -> StatusDocument:
        """From the saved state, or the start, to the end or an interruption."""
        if self.writer.state is None:
            self.writer.status(RunState.RUNNING, 0)
            self.after_step()
        else:
            self.restore(self.writer.state)
            self.writer.status(RunState.RUNNING, self.step)
        while self.step < self.setup.config.steps:
            if interruption.asked:
                self.save_state()
                return self.writer.status(RunState.INTERRUPTED, self.step)
            self.train_step()
            self.after_step()
        self.save_state()
        return self.writer.status(RunState.FINISHED, self.step)

    def train_step(self) -> None:
        """One optimiser step."""
        setup = self.setup
        factor = setup.schedule(self.step)
        for group, rate in zip(setup.optimizer.param_groups(), self.base_rates, strict=True):
            group["lr"] = rate * factor
        inputs, targets = setup.task.batches.next()
        loss = setup.task.loss(setup.model(inputs), targets)
        setup.optimizer.zero_grad()
        loss.backward()
        if not math.isfinite(loss.item()):
            raise TrainingError(
                f"the loss is {loss.item()} at step {self.step + 1}",
                source=self.writer.directory,
                remedy="lower optimizer.learning_rate",
            )
        setup.optimizer.step()
        self.step += 1

    def after_step(self) -> None:
        """Evaluate, keep parameters, save the state: whatever is due."""
        self.progress.stepped(self.step)
        if self.step in self.checkpointed:
            self.writer.save_parameters(self.step, self.setup.model)
        if self.step in self.evaluated:
            row = self.evaluate()
            self.writer.log.append(row)
            self.progress.evaluated(row)
            interval = self.setup.config.checkpoints.resume_every_seconds
            if time.monotonic() - self.saved_at >= interval:
                self.save_state()
                self.writer.status(RunState.RUNNING, self.step)

    def evaluate(self) -> dict[str, float | int]:
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
        norms = reading.values if measured else setup.monitor.norms()
        groups = setup.optimizer.param_groups()
        return {
            columns.STEP: self.step,
            **metrics,
            columns.LEARNING_RATE: groups[0]["lr"],
            columns.WEIGHT_DECAY: setup.config.optimizer.options["weight_decay"],
            **norms,
        }

    def save_state(self) -> None:
        """Everything that the rest of the run depends on."""
        setup = self.setup
        self.writer.save_state(
            {
                "step": self.step,
                "model": setup.model.state_dict(),
                "optimizer": [part.state_dict() for part in setup.optimizer.parts],
                "batches": setup.task.batches.state(),
                "torch_generator": torch.get_rng_state(),
            }
        )
        self.saved_at = time.monotonic()

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a saved state."""
        setup = self.setup
        self.step = setup.monitor.step = state["step"]
        setup.model.load_state_dict(state["model"])
        for part, saved in zip(setup.optimizer.parts, state["optimizer"], strict=True):
            part.load_state_dict(saved)
        setup.task.batches.restore(state["batches"])
        torch.set_rng_state(state["torch_generator"])

    def fail(self, problem: str) -> None:
        """Record a failure, where even that can still be written."""
        try:
            self.writer.status(RunState.FAILED, self.step, problem)
        except OSError:
            return
