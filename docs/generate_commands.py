"""MkDocs hook: reference/commands.md holds the help of every command, as it is printed."""

from __future__ import annotations

import contextlib
import io

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from nht_theory.cli import COMMANDS, main

EXIT_CODES = """
Every command exits with 0 when done, 1 when a check that was asked for failed, and 2 on bad input,
which one line on standard error names together with its remedy. `--debug` shows the traceback.
"""


def help_of(*arguments: str) -> str:
    """What ``nht ARGUMENTS --help`` prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*arguments, "--help"])
    return printed.getvalue().rstrip()


def commands_page() -> str:
    """The page of all commands."""
    parts = ["# Commands", EXIT_CODES, f"```text\n{help_of()}\n```"]
    for name, command in COMMANDS.items():
        parts += [f"## nht {name}", command.summary, f"```text\n{help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the page to the files that MkDocs builds."""
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    return files
