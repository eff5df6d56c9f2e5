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
