"""Every example of the README and the documentation is run as written.

Two kinds of fenced block are run, in the order of the page and in one empty directory a page:
``python`` blocks (one namespace a page) and ``console`` blocks, where each line that starts with
``$ `` is a command and every following line must appear in its output (``...`` stands for
anything). ``bash`` blocks are instructions for a person's own machine and are not run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")
COMMAND_LIMIT_SECONDS = 300


def _examples(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text())


def _run_command(command: str, directory: Path) -> str:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "120",
    }
    done = subprocess.run(
        command,
        shell=True,
        cwd=directory,
        env=environment,
        text=True,
        capture_output=True,
        timeout=COMMAND_LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def _run_console(block: str, directory: Path) -> None:
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    for entry in commands:
        command, _, expected = entry.replace("\\\n", "").partition("\n")
        output = _run_command(command, directory)
        for line in expected.splitlines():
            pattern = r".*".join(re.escape(part.strip()) for part in line.split("..."))
            assert re.search(pattern, output), f"{command}\nprinted no {line!r} but\n{output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_examples_run(page: Path, tmp_path: Path) -> None:
    examples = _examples(page)
    if not examples:
        pytest.skip("no example on this page")
    if any("shared/data" in code for _, code in examples):
        data = PROJECT.parent / "shared" / "data"
        if not data.is_dir():
            pytest.skip("the public logs of ../shared/data are absent")
        (tmp_path / "shared").symlink_to(data.parent)
    directory = tmp_path / "project"
    directory.mkdir()
    namespace: dict[str, object] = {"__name__": page.stem}
    before = Path.cwd()
    try:
        os.chdir(directory)
        for kind, code in examples:
            if kind == "python":
                exec(compile(code, str(page), "exec"), namespace)
            else:
                _run_console(code, directory)
    finally:
        os.chdir(before)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_to_files_of_the_project(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not missing
