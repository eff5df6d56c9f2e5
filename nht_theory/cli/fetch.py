"""``nht fetch``: public logs at a pinned revision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nht_theory.cli.output import print_json
from nht_theory.runs.public_logs import fetch as download
from nht_theory.runs.public_logs import public_logs


def fetch(
    name: Annotated[str, typer.Argument(help="Which logs: companion.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Directory (default: the name).")
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Address of a mirror; the hashes stay the same.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Download public logs from their authors at a pinned revision and check their hashes."""
    logs = public_logs(name)
    directory = Path(name) if output is None else output
    quiet = json
    paths = download(logs, directory, address=mirror, say=(lambda line: None) if quiet else print)
    if json:
        print_json(
            {
                "name": logs.name,
                "address": mirror or logs.address,
                "licence": logs.licence,
                "reference": logs.reference,
                "files": [str(path) for path in paths],
            }
        )
        return
    print(f"{len(paths)} files in {directory} ({logs.licence} licence; cite {logs.reference})")
    print(f"Next: nht validate {directory}")
