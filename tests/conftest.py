"""Fixtures that every area shares."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The directory of public logs, which is never part of the project's own tree."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public logs of ../shared/data are absent")
    return SHARED_DATA


@pytest.fixture(scope="session")
def shared_cases(shared_data: Path) -> Path:
    """The directory of inputs that once failed."""
    cases = shared_data.parent / "cases"
    if not cases.is_dir():
        pytest.skip("the cases of ../shared/cases are absent")
    return cases
