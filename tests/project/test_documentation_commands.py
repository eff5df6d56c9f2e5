"""Blocks that are for a person's own machine (``bash``) or file (``toml``) name only what exists:
commands with their options, targets of the Makefile, extras of the package, keys of a study."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from nht_theory.cli.application import application
from nht_train.config import TrainConfig
from nht_train.sweep.study_file import read_study

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(bash|toml)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(kind, code, id=f"{page.relative_to(PROJECT)}-{place}")
    for page in PAGES
    for place, (kind, code) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]
NHT = re.compile(r"(?:^|/)nht$")


def commands_of(code: str) -> list[list[str]]:
    """The words of each command, without comments, redirections and background marks."""
    found = []
    for line in code.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\||;", line):
            words = shlex.split(part, comments=True)
            ends = [place for place, word in enumerate(words) if word[0] in "<>&"]
            words = words[: ends[0]] if ends else words
            if words:
                found.append(words)
    return found


def check_nht(words: list[str]) -> None:
    """The command exists and takes these options and arguments."""
    if words[:1] in (["--help"], ["--install-completion"]):
        return
    group = application()
    with group.make_context("nht", list(words), resilient_parsing=True) as context:
        name, command, rest = group.resolve_command(context, list(words))
        command.make_context(name, rest)


@pytest.mark.parametrize(("kind", "code"), BLOCKS)
def test_what_is_named_exists(kind: str, code: str, tmp_path: Path) -> None:
    if kind == "toml":
        path = tmp_path / "example.toml"
        path.write_text(code)
        if "base" in tomllib.loads(code):
            assert read_study(path)[1]
        else:
            TrainConfig.from_toml(path)
        return
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    targets = re.findall(r"^(\w[\w-]*):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    for words in commands_of(code):
        if NHT.search(words[0]):
            check_nht(words[1:])
        elif words[0] == "make":
            assert next(one for one in words[1:] if "=" not in one) in targets, words
        else:
            named = re.findall(r"(?:nht|\.)\[([\w,]+)\]", " ".join(words))
            asked = {one for names in named for one in names.split(",")}
            assert asked <= set(extras["optional-dependencies"]), words


def test_a_wrong_option_is_found() -> None:
    with pytest.raises(Exception, match="no-such-option"):
        check_nht(["validate", "runs", "--no-such-option"])
