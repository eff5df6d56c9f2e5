"""``nht fetch`` against a real HTTP server that serves the files as published."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nht_theory.cli import main
from nht_theory.errors import InputError
from nht_theory.runs.public_logs import COMPANION, fetch, public_logs


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """A test's output stays its own."""


def serve(directory: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(directory)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def mirror(shared_data: Path) -> Iterator[str]:
    yield from serve(shared_data / "companion")


@pytest.fixture
def forged(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "forged").mkdir()
    for name in COMPANION.sha256:
        (tmp_path / "forged" / name).write_text("[]")
    yield from serve(tmp_path / "forged")


def test_the_published_files_pass_their_hashes(
    mirror: str, tmp_path: Path, shared_data: Path
) -> None:
    lines: list[str] = []
    paths = fetch(COMPANION, tmp_path, address=mirror, say=lines.append)
    assert len(paths) == len(lines) == 10
    for path in paths:
        assert path.read_bytes() == (shared_data / "companion" / path.name).read_bytes()
    fetch(COMPANION, tmp_path, address="http://127.0.0.1:9", say=lines.append)
    assert lines[10:] == [f"{path.name}: already there" for path in paths]


def test_a_changed_file_is_not_written(forged: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hash of the download"):
        fetch(COMPANION, tmp_path / "out", address=forged)
    assert not list(tmp_path.glob("out/*"))


def test_a_file_of_the_users_own_is_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "full_results1.json"
    mine.write_text("[1]")
    with pytest.raises(InputError, match="another content"):
        fetch(COMPANION, tmp_path, address="http://127.0.0.1:9")
    assert mine.read_text() == "[1]"


def test_no_connection_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fetch", "companion", "-o", str(tmp_path / "x"), "--mirror", "http://127.0.0.1:9"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(InputError, match="known are companion"):
        public_logs("compagnon")


def test_the_command_fetches(
    mirror: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fetch", "companion", "-o", str(tmp_path / "logs"), "--mirror", mirror])
    assert ended.value.code == 0
    assert "10 files" in capsys.readouterr().out
    assert len(list((tmp_path / "logs").iterdir())) == 10
