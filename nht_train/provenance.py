"""Where a run's numbers come from: code revision and package versions."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

NUMERICAL_PACKAGES = ("nht", "torch", "numpy", "safetensors")


def package_versions() -> dict[str, str]:
    """Versions of the packages that the numbers depend on."""
    return {name: version(name) for name in NUMERICAL_PACKAGES}


def git_revision(directory: Path = Path(__file__).parent) -> str | None:
    """Commit of the training code, with ``-dirty`` when changed; None outside a git checkout."""
    try:
        tracked = _git(directory, "ls-files", "--error-unmatch", Path(__file__).name)
        return (
            _git(directory, "describe", "--always", "--dirty", "--abbrev=40") if tracked else None
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()
