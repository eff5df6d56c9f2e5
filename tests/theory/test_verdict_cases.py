"""Inputs on which judging once ended in an error: every claim gets its verdict, and exit code 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nht_theory.claims.registry import CLAIMS
from nht_theory.cli import main


@pytest.mark.parametrize(
    ("name", "options", "runs"),
    [
        ("crash_equal_delays.csv", (), 40),
        (
            "crash_same_delay",
            ("--pattern", "n{parameter_count}_wd{weight_decay}_seed{seed}"),
            24,
        ),
        ("crash_same_delay", (), 24),
    ],
)
def test_equal_delays_end_no_judgement(
    name: str,
    options: tuple[str, ...],
    runs: int,
    shared_cases: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All delays are equal on their grid: the fits have no maximum, and some claims no verdict."""
    with pytest.raises(SystemExit) as stop:
        main(["validate", str(shared_cases / "verdicts" / name), *options, "--json"])
    assert stop.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"]["distinct"] == runs
    assert {own["prediction"] for own in found["verdicts"]} == {one.name for one in CLAIMS}
    assert [own["failure"] for own in found["verdicts"] if own["failure"]] == []
    law = next(own for own in found["verdicts"] if own["prediction"] == "law_everywhere")
    assert law["verdict"] == "not applicable"
