"""``python -m nht_train train CONFIG.toml``: the training commands without the rest."""

from __future__ import annotations

import sys

import typer

from nht_theory.errors import NhtError
from nht_train import cli


def main() -> int:
    """Run a training command; 2 for a problem the user can mend."""
    application = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
    application.command("train")(cli.train)

    @application.callback()
    def nht_train() -> None:
        """Training commands of nht."""

    try:
        outcome = application(standalone_mode=False)
    except NhtError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except typer.TyperException as error:
        print(f"error: {error.format_message()}", file=sys.stderr)
        return 2
    return outcome if isinstance(outcome, int) else 0


if __name__ == "__main__":
    sys.exit(main())
