"""From a configuration to the objects of a run, and to the document that describes it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from nht_theory.conventions import OptimizerKind
from nht_theory.errors import InputError
from nht_theory.runs.run import Hyperparameters
from nht_theory.runs.run_format import LOSS, RunDocument
from nht_train.cadence import evaluation_steps
from nht_train.config import TrainConfig
from nht_train.interventions import decayed_names, norm_clamp_hook
from nht_train.models.registry import MODELS
from nht_train.monitor import NormMonitor
from nht_train.optimizers import OPTIMIZERS, ChosenOptimizer
from nht_train.options import check_options, look_up
from nht_train.provenance import git_revision, package_versions
from nht_train.schedules import SCHEDULES, Multiples
from nht_train.seeds import derived_seed
from nht_train.tasks.registry import TASKS
from nht_train.tasks.task import Loss, Task


@dataclass(frozen=True)
class Setup:
    """Everything a run is made of, built from its configuration.

    Attributes:
        config: with every option filled in.
        task, model, optimizer: built, in their initial state.
        schedule: learning rate of each update over the configured one, shape [steps].
        monitor: attached to the optimiser.
    """

    config: TrainConfig
    task: Task
    model: nn.Module
    optimizer: ChosenOptimizer
    schedule: Multiples
    monitor: NormMonitor

    def weight_decay(self, step: int) -> float:
        """The coefficient of the step after ``step`` steps."""
        chosen: float = self.config.optimizer.options["weight_decay"]
        return self.config.intervention.weight_decay(chosen, step)


def build(config: TrainConfig) -> Setup:
    """Build task, model, optimiser, schedule and monitor.

    Raises:
        InputError: an unknown name or option, or a model that does not fit the task.
    """
    task, task_options = _choose(
        config, "task", TASKS, {"batch_size": config.batch_size, "seed": config.seed}
    )
    with torch.random.fork_rng():
        torch.manual_seed(derived_seed(config.seed, "weights"))
        model, model_options = _choose(config, "model", MODELS, dict(task.model_arguments))
    model.to(config.runtime.device)
    decayed = decayed_names(model, config.intervention.decay_on)
    optimizer, optimizer_options = _choose(
        config, "optimizer", OPTIMIZERS, {"model": model, "decayed": decayed}
    )
    schedule, schedule_options = _choose(
        config, "schedule", SCHEDULES, {"total_steps": config.steps}
    )
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
    monitor = _attach_monitor(complete, model, optimizer)
    return Setup(complete, task, model, optimizer, schedule, monitor)


def _choose(
    config: TrainConfig, section: str, table: dict[str, str], supplied: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """What a section names, called with its options and what the trainer supplies."""
    chosen = getattr(config, section)
    function = look_up(chosen.name, table, section)
    foreign = [name for name in supplied if name not in inspect.signature(function).parameters]
    if foreign:  # a model made for other inputs, or a function that is none of ours
        raise InputError(
            f"{section} {chosen.name!r} has no parameter {foreign[0]!r}",
            source=f"{section}.name",
            remedy=f"choose a {section} that fits the task",
        )
    options = check_options(function, chosen.options, section=section, supplied=supplied)
    return function(**options, **supplied), options


def _attach_monitor(
    config: TrainConfig, model: nn.Module, optimizer: ChosenOptimizer
) -> NormMonitor:
    """The monitor, after any clamp: what it measures is the step as it really ends."""
    clamp = config.intervention.norm_clamp
    if clamp is not None:
        hook = norm_clamp_hook(model, clamp, lambda: monitor.step)
        optimizer.parts[-1].register_step_post_hook(hook)
    evaluated = evaluation_steps(config.steps, config.evaluate_every)
    monitor = NormMonitor(model, optimizer.parts, every=lambda step: step in evaluated)
    return monitor


def _named_loss(loss: Loss) -> dict[str, str]:
    """The loss by the name of its function (``cross_entropy``); nothing where it has none."""
    name = getattr(loss, "__name__", "")
    return {LOSS: name} if name.isidentifier() else {}


def describe_run(setup: Setup) -> RunDocument:
    """The content of ``run.json``."""
    config = setup.config
    optimizer = config.optimizer.options
    parameter_count = sum(p.numel() for p in setup.model.parameters())
    extra = {
        **_named_loss(setup.task.loss),
        **setup.task.facts,
        "model": config.model.name,
        **config.model.options,
        **config.schedule.options,
        **config.intervention.model_dump(mode="json", exclude_defaults=True),
    }
    if setup.optimizer.kind is OptimizerKind.SGD and optimizer.get("nesterov"):
        extra["nesterov"] = True  # the rate of pure decay depends on it
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
            parameter_count=parameter_count,
            seed=config.seed,
            task=setup.task.name,
            extra=extra,
            **setup.optimizer.constants,
        ),
        seed=config.seed,
        git_revision=git_revision(),
        package_versions=package_versions(),
        parameter_count=parameter_count,
        groups=setup.monitor.groups,
        data_hash=setup.task.data_hash,
    )
