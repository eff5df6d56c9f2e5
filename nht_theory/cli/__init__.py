"""The command ``nht``: finds the command that was asked for and loads nothing else.

``nht --help`` must answer at once, so this module imports neither typer nor any of the
commands. A command is a function annotated for typer, named in ``COMMANDS`` or in the entry
point group ``nht.commands`` (through which a package that nht_theory never imports, such as
nht_train, adds its own).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nht_theory.errors import InputError, NhtError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMPLETION_VARIABLE = "_NHT_COMPLETE"
"""Set by the shell while it asks for completions (typer's convention)."""
ENTRY_POINT_GROUP = "nht.commands"
COLLECTIONS = (50_000, 20, 20)
"""Thresholds of the garbage collector: imports and logs make many objects and no garbage, and
looking for it takes a tenth of a short command."""
EXIT_DONE, EXIT_CHECK_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130


class Command(NamedTuple):
    """One command: where its function is, what it does in a line, and how it is called.

    A named tuple, because importing dataclasses costs a tenth of the time ``--help`` may take.

    Attributes:
        summary: one line of ``nht --help``.
        example: arguments of a typical call, shown in the command's own help.
        target: ``module:function``, or "" when an entry point provides it.
    """

    summary: str
    example: str
    target: str = ""


COMMANDS = {
    "demo": Command(
        "Train small runs, forecast each switch before it happens, write a report.",
        "demo -o demo",
        "nht_theory.cli.demo:demo",
    ),
    "predict": Command(
        "Transition time and regime before training.",
        "predict --lr 1e-3 --weight-decay 1 --v-sc 3900 --v-st 1150",
        "nht_theory.cli.predict:predict",
    ),
    "train": Command("Train one run from a TOML configuration.", "train config.toml -o runs/a"),
    "sweep": Command("Train a grid of runs; resumable.", "sweep study.toml -o runs --workers 2"),
    "validate": Command(
        "Judge every claim of the theory on a directory of runs, logs or checkpoints.",
        "validate runs --report report.html",
        "nht_theory.cli.validate:validate",
    ),
    "forecast": Command(
        "When a run will generalise, from what is known now.",
        "forecast runs/a --from earlier-runs",
        "nht_theory.cli.forecast:forecast",
    ),
    "plot": Command(
        "Draw one figure for a paper, with its data beside it.",
        "plot trajectories runs -o fig.pdf",
        "nht_theory.cli.plot:plot",
    ),
    "derive": Command(
        "Show a formula with its derivation, or re-verify every step.",
        "derive exact_hitting_time --check",
        "nht_theory.cli.derive:derive",
    ),
    "cite": Command(
        "Statistics of a study, ready to paste into a paper.",
        "cite runs --style latex",
        "nht_theory.cli.cite:cite",
    ),
    "fetch": Command(
        "Download public logs at a pinned revision.",
        "fetch companion -o data",
        "nht_theory.cli.fetch:fetch",
    ),
}

USAGE = """\
Usage: nht COMMAND [ARGUMENTS]

When will a network leave its shortcut? Forecasts, tests and citable statistics
for the Norm-Hierarchy Transition law.

Commands:
{commands}

Options:
  --help                Show this, or the help of a command: nht COMMAND --help
  --version             Show the version.
  --debug               Show the traceback of an error.
  --install-completion  Install completion for the current shell.
  --show-completion     Show completion for the current shell.

Exit code: 0 done, 1 a check that was asked for failed, 2 bad input.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``nht`` with ``arguments`` (those of the process by default) and exit.

    Raises:
        SystemExit: always; its code is 0 (done), 1 (a check asked for failed), 2 (bad input)
            or 130 (interrupted).
    """
    gc.set_threshold(*COLLECTIONS)
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        code = _dispatch([argument for argument in given if argument != "--debug"])
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (head, less) left: nothing to say, and nobody to hear it.
        sys.stderr.close()
        code = EXIT_DONE
    except (NhtError, OSError, ModuleNotFoundError) as error:
        message = _message(error)
        if debug or message is None:
            raise
        print(f"nht: error: {message}", file=sys.stderr)
        code = EXIT_BAD_INPUT
    sys.exit(code)


def _message(error: Exception) -> str | None:
    """The line shown for an error, or None for a fault of ours, which keeps its traceback."""
    if isinstance(error, NhtError):
        return " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        if (error.name or "").partition(".")[0] in ("torch", "torchvision"):
            return f"{error.name} is not installed; pip install 'nht[train]'"
        return None
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return None


def _dispatch(arguments: list[str]) -> int:
    """Answer --help and --version at once; hand everything else to typer."""
    completing = COMPLETION_VARIABLE in os.environ
    if not completing and (not arguments or arguments[0] in ("-h", "--help")):
        names = {**{name: entry.summary for name, entry in COMMANDS.items()}, **_foreign()}
        width = max(map(len, names))
        lines = "\n".join(f"  {name:{width}}  {summary}" for name, summary in names.items())
        sys.stdout.write(USAGE.format(commands=lines))
        return EXIT_DONE
    if arguments[:1] == ["--version"]:
        from importlib.metadata import version

        print(f"nht {version('nht')}")
        return EXIT_DONE
    from nht_theory.cli.application import run

    return run(arguments)


def entry_points() -> dict[str, EntryPoint]:
    """Commands that installed packages provide, by name."""
    from importlib.metadata import entry_points as installed

    return {point.name: point for point in installed(group=ENTRY_POINT_GROUP)}


def _foreign() -> dict[str, str]:
    """Commands of other packages that the table does not know, with where they come from."""
    return {
        name: f"(from {point.dist.name if point.dist else point.module})"
        for name, point in entry_points().items()
        if name not in COMMANDS
    }


def load(name: str) -> Callable[..., Any]:
    """The function of a command.

    Raises:
        InputError: a package that provides it is not installed.
        ModuleNotFoundError: it needs a library that is not installed (torch).
    """
    target = COMMANDS[name].target if name in COMMANDS else ""
    if target:
        from importlib import import_module

        module, _, function = target.partition(":")
        loaded: Callable[..., Any] = getattr(import_module(module), function)
        return loaded
    found = entry_points().get(name)
    if found is None:
        raise InputError(f"no installed package provides `nht {name}`", remedy="pip install nht")
    provided: Callable[..., Any] = found.load()
    return provided
