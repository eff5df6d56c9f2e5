"""``nht train``: one run from a configuration file. Heavy imports wait until it is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nht_train.config import TrainConfig


def train(
    config: Annotated[Path, typer.Argument(help="TOML file that describes the run.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Such as optimizer.weight_decay=0.5."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Run directory [default: runs/NAME].")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last saved state.")
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option(help="Such as 0,1,2: train them together, each in DIRECTORY/seed-N."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the final status as JSON.")] = False,
) -> int:
    """Train one model; SIGTERM or Ctrl-C saves and stops, --resume continues bit for bit."""
    from nht_theory.runs.run_format import RunState
    from nht_train.config import TrainConfig
    from nht_train.progress import Silent, for_this_output
    from nht_train.trainer import train as train_run

    chosen = TrainConfig.from_toml(config, overrides or ())
    directory = output or Path("runs") / config.stem
    with _naming(config):
        if seeds is not None:
            return _train_seeds(chosen, _numbers(seeds), directory, resume, json)
        progress = Silent() if json else for_this_output(chosen.steps)
        status = train_run(chosen, directory, resume=resume, progress=progress)
    if json:
        print(status.model_dump_json(indent=2))
    else:
        print(f"{status.state.value} at step {status.step} of {chosen.steps}: {directory}")
    return EXIT_INTERRUPTED if status.state is RunState.INTERRUPTED else EXIT_DONE


@contextmanager
def _naming(config: Path) -> Iterator[None]:
    """A problem with a section of the configuration names its file too."""
    from nht_theory.errors import InputError
    from nht_train.config import TrainConfig

    try:
        yield
    except InputError as error:
        section = (error.source or "").split(".")[0]
        if section not in TrainConfig.model_fields:
            raise
        source = f"{config}: {error.source}"
        raise InputError(error.problem, source=source, remedy=error.remedy) from error


def _train_seeds(
    config: TrainConfig, seeds: Sequence[int], directory: Path, resume: bool, json: bool
) -> int:
    from nht_theory.runs.run_format import RunState
    from nht_train.progress import PlainLines, Silent
    from nht_train.trainer import train_lanes

    names = [f"seed-{seed}" for seed in seeds]
    statuses = train_lanes(
        [config.model_copy(update={"seed": seed}) for seed in seeds],
        [directory / name for name in names],
        resume=resume,
        progress=[Silent() if json else PlainLines(f"{name}  ") for name in names],
    )
    if json:
        lines = [status.model_dump_json(indent=2) for status in statuses]
        print("[" + ",\n".join(lines) + "]")
    else:
        for name, status in zip(names, statuses, strict=True):
            problem = f": {status.error}" if status.error else ""
            print(f"{name}: {status.state.value} at step {status.step}{problem}")
    states = {status.state for status in statuses}
    if RunState.INTERRUPTED in states:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if RunState.FAILED in states else EXIT_DONE


def _numbers(text: str) -> list[int]:
    from nht_theory.errors import InputError

    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 0 or len(set(numbers)) < len(numbers):
        raise InputError(
            f"{text!r} is not a list of distinct seeds", source="--seeds", remedy="write 0,1,2"
        )
    return numbers


class Executor(StrEnum):
    """Where the runs of a sweep are trained."""

    LOCAL = "local"
    SLURM = "slurm"


def sweep(
    study: Annotated[Path, typer.Argument(help="TOML file that describes the runs.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="For every run, such as steps=200."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Study directory [default: studies/NAME].")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes at the same time [default: one a core].")
    ] = None,
    executor: Annotated[Executor, typer.Option(help="This machine or a cluster.")] = Executor.LOCAL,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Start failed runs once more.")
    ] = False,
    register: Annotated[
        list[Path] | None,
        typer.Option(
            help="Record this file's hash and the time before the first run (repeatable): a"
            " forecast to be scored later."
        ),
    ] = None,
) -> int:
    """Train every run of a study; finished ones are skipped, so it can be started again.

    Example: nht sweep weight_decay.toml -o studies/weight_decay --workers 2
    """
    from nht_train.sweep.run import outcome
    from nht_train.sweep.run import sweep as sweep_runs
    from nht_train.sweep.state import Standing

    complete, runs, directory = sweep_runs(
        study,
        output,
        overrides=tuple(overrides or ()),
        workers=workers,
        executor=executor.value,
        retry_failed=retry_failed,
        registered=tuple(register or ()),
    )
    print(outcome(runs, directory))
    if not complete:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if any(run.standing is Standing.FAILED for run in runs) else EXIT_DONE


EXIT_DONE = 0
EXIT_FAILED = 1
"""A run of the sweep failed; the others were trained."""
EXIT_INTERRUPTED = 143
"""As a shell reports a process ended by SIGTERM: not done, but resumable."""
