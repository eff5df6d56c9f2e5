"""The typer application: loads the one command that is run, turns usage errors into one line."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from nht_theory.cli import COMMANDS, EXIT_DONE, entry_points, load
from nht_theory.errors import InputError


class _Commands(TyperGroup):
    """A group that lists its commands from the table and loads the one that is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(dict.fromkeys([*COMMANDS, *entry_points()]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command for a listing (completion): its name and summary, without its module."""

        def listed() -> None:
            """Never run."""

        listed.__doc__ = COMMANDS[cmd_name].summary if cmd_name in COMMANDS else cmd_name
        return _command(cmd_name, listed)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str, Any, list[str]]:
        """The command that is run or whose options are completed, with its arguments."""
        name, *rest = args
        # What other packages provide is looked for only when it is asked for: that takes a while.
        if name not in COMMANDS and name not in (names := self.list_commands(ctx)):
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]}?" if close else f"commands: {', '.join(names)}"
            raise InputError(f"no command named {name!r}", remedy=hint)
        return name, _command(name, load(name)), rest


def _command(name: str, function: Any) -> Any:
    known = COMMANDS.get(name)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    epilog = f"\b\nExample:\n  nht {known.example}" if known else None
    single.command(name, epilog=epilog)(function)
    return get_command(single)


def application() -> Any:
    """The whole command line as one typer command."""
    app = typer.Typer(cls=_Commands, rich_markup_mode=None)

    @app.callback()
    def nht() -> None:
        """When will a network leave its shortcut?"""

    return get_command(app)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code.

    Raises:
        InputError: the command, an option or an argument does not exist or is malformed.
    """
    try:
        outcome = application().main(args=arguments, prog_name="nht", standalone_mode=False)
    except typer.TyperException as error:
        name = next((word for word in arguments if not word.startswith("-")), "")
        remedy = f"see nht {name} --help" if name in COMMANDS else "see nht --help"
        raise InputError(error.format_message().rstrip("."), remedy=remedy) from None
    except typer.Abort:
        raise InputError("aborted") from None
    return outcome if isinstance(outcome, int) else EXIT_DONE
