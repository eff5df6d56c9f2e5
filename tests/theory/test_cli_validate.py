"""`nht validate`: what it prints, its JSON, its exit codes and its refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nht_theory.cli import main

KEYS = {
    "run",
    "memorization_step",
    "generalization_step",
    "censored",
    "contraction_rate",
    "efficiency",
    "squared_norm_memorization",
    "squared_norm_generalization",
    "regime",
}
VERDICT_KEYS = {
    "prediction", "verdict", "statistic", "interval", "p_value", "n", "n_censored", "rule",
}  # fmt: skip


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


def write_log(path: Path, rows: list[tuple[int, float, float, float]]) -> Path:
    lines = ["step,train_accuracy,heldout_accuracy,squared_norm"]
    lines += [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A run that memorises at 200, generalises at 800, with V falling by half every 200."""
    rows = [
        (100 * k, float(k >= 2), 1.0 if k >= 8 else 0.1, 4000.0 * 0.5 ** (k / 2)) for k in range(13)
    ]
    return write_log(tmp_path / "run.csv", rows)


def test_json_holds_what_others_rely_on(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("validate", str(log), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {"read", "left_out", "censored"} <= found["runs"].keys()
    (own,) = found["estimates"]
    assert own.keys() >= KEYS
    assert (own["memorization_step"], own["generalization_step"]) == (200, 800)
    # V halves every 200 steps, so the rate is ln 2 / 200.
    assert own["contraction_rate"] == pytest.approx(0.6931471805599453 / 200, rel=1e-6)
    assert all(verdict.keys() >= VERDICT_KEYS for verdict in found["verdicts"])


def test_the_same_command_twice_gives_the_same_bytes(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages, printed = [], []
    for name in ("a.html", "b.html"):
        assert call("validate", str(log), "--report", str(tmp_path / name), "--json") == 0
        printed.append(capsys.readouterr().out)
        pages.append((tmp_path / name).read_bytes())
    assert printed[0] == printed[1]
    assert pages[0] == pages[1]


def test_the_story_fits_a_screen(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("validate", str(log)) == 0
    printed = capsys.readouterr().out
    assert "600 steps after memorising (median of 1)" in printed
    assert "n = 1 distinct run, 0 censored" in printed
    assert "\x1b[" not in printed  # piped: plain text
    assert len(printed.splitlines()) <= 40


def test_a_verdict_can_fail_a_build(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("validate", str(log), "--json", "--fail-on", "not applicable") == 1
    assert call("validate", str(log), "--json", "--fail-on", "supported") == 0
    capsys.readouterr()


def test_a_dry_run_only_says_what_would_be_read(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("validate", str(log), "--dry-run") == 0
    assert "run.csv" in capsys.readouterr().out


def pictures(directory: Path) -> Path:
    directory.mkdir()
    (directory / "photo.png").write_bytes(b"\x89PNG\r\n")
    return directory


def cut_line(directory: Path) -> Path:
    path = directory / "log.jsonl"
    path.write_text('{"step": 0, "squared_norm": 1.0}\n{"step": 1, "squared')
    return path


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda d: d / "absent.csv", "absent.csv"),
        (lambda d: (d / "empty").mkdir() or d / "empty", "empty"),
        (lambda d: pictures(d / "pictures"), "pictures"),
    ],
)
def test_nothing_to_read_is_one_line(
    make, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("validate", str(make(tmp_path))) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert expected in printed.err
    assert "Traceback" not in printed.err


def test_a_cut_last_line_is_reported_and_the_rest_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("validate", str(cut_line(tmp_path)), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"]["read"] == 1
    assert any(
        "line 2" in item["reason"] or "cut" in item["reason"] for item in found["runs"]["left_out"]
    )


def test_a_wrong_map_names_what_there_is(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("validate", str(log), "--map", "squared_norm=weight") == 2
    assert "weight" in capsys.readouterr().err
