"""The front door: what `nht` loads, how it answers and how it refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nht_theory.cli import COMMANDS, ENTRY_POINT_GROUP, entry_points, load, main

HEAVY = ("numpy", "pandas", "scipy", "sympy", "matplotlib", "torch", "typer", "rich", "pydantic")


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--help") == 0
    shown = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name} " in shown
        assert command.summary in shown


def test_help_loads_no_library() -> None:
    program = (
        "import sys\n"
        "from nht_theory.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stderr.strip() == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(name, "--help") == 0
    shown = capsys.readouterr().out
    assert f"nht {COMMANDS[name].example}" in shown


def test_training_commands_come_through_entry_points() -> None:
    assert {"train", "sweep"} <= set(entry_points())
    assert entry_points()["train"].group == ENTRY_POINT_GROUP
    assert load("train").__module__.startswith("nht_train")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["valdate", "x"], "did you mean validate?"),
        (["validate", "--reprot", "x"], "--report"),
        (["validate"], "PATH"),
        (["validate", "absent-directory"], "absent-directory"),
        (["predict", "--lr", "fast"], "--lr"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("nht: error: ")
    assert printed.err.count("\n") == 1
    assert expected.lower() in printed.err.lower()


def test_debug_shows_where_an_error_arose(capsys: pytest.CaptureFixture[str]) -> None:
    from nht_theory.errors import InputError

    with pytest.raises(InputError):
        main(["validate", "absent-directory", "--debug"])


def test_missing_torch_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("nht_train")]:
        monkeypatch.delitem(sys.modules, name)
    config = tmp_path / "run.toml"
    config.write_text('[task]\nname = "modular_addition"\n')
    assert call("train", str(config), "-o", str(tmp_path / "run")) == 2
    assert "pip install 'nht[train]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("nht va", {"validate"}), ("nht validate --re", {"--report"}), ("nht pr", {"predict"})],
)
def test_completion_offers_commands_and_options(typed: str, offered: set[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "nht_theory.cli"],
        env={
            "PATH": "",
            "_NHT_COMPLETE": "complete_bash",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(len(typed.split()) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(ran.stdout.split()) == offered, ran.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_completion_installs_in_bash(tmp_path: Path) -> None:
    """As a user does it: install, start a new shell, press Tab after ``nht validate --th``."""
    command = Path(sys.executable).parent / "nht"
    here = {"HOME": str(tmp_path), "PATH": f"{command.parent}:/usr/bin:/bin"}

    def in_bash(script: str) -> str:
        ran = subprocess.run(
            ["bash", "-c", script], env=here, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    # A command after it, so that bash stays its parent, by which the shell is known.
    assert "completion installed" in in_bash("nht --install-completion; true")
    pressed = in_bash(
        "source ~/.bashrc; complete -p nht; COMP_WORDS=(nht validate --th); COMP_CWORD=2; "
        '_nht_completion nht --th validate; echo "${COMPREPLY[@]}"'
    )
    assert pressed.splitlines()[-1] == "--threshold"


def test_a_reader_that_leaves_early_is_no_error(shared_data: Path) -> None:
    command = f"{sys.executable} -m nht_theory.cli validate {shared_data / 'porth'} --json"
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | head -1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "{\n"
    assert "Traceback" not in ran.stderr


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    from nht_theory.cli.output import console

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with console().capture() as captured:
        console().print("[red]refuted[/red]")
    assert "\x1b[" not in captured.get()


def test_json_is_standard_json() -> None:
    import numpy as np

    from nht_theory.cli.output import to_jsonable
    from nht_theory.conventions import Thresholds, VerdictKind

    value = {
        "float": np.float64("nan"),
        "infinite": float("-inf"),
        "array": np.array([[1, 2]]),
        "enum": VerdictKind.NOT_APPLICABLE,
        "dataclass": Thresholds(),
        "path": Path("a/b"),
        "tuple": (np.int64(3), np.bool_(True), None),
    }
    assert json.loads(json.dumps(to_jsonable(value), allow_nan=False)) == {
        "float": None,
        "infinite": None,
        "array": [[1, 2]],
        "enum": "not applicable",
        "dataclass": {"train_accuracy": 0.99, "heldout_accuracy": 0.99, "persistence": 1},
        "path": "a/b",
        "tuple": [3, True, None],
    }
    with pytest.raises(TypeError, match="object has no JSON form"):
        to_jsonable(object())
