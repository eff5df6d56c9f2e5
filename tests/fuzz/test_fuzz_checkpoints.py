"""The fuzz target under hypothesis: real files, mutated."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

_SPEC = importlib.util.spec_from_file_location(
    "fuzz_checkpoints", Path(__file__).parent / "fuzz_checkpoints.py"
)
fuzz = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fuzz)
SEEDS = fuzz.seeds()
fuzz.listen()


@st.composite
def mutated(draw):
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["change", "delete", "insert", "splice", "number", "cut"]))
        if kind == "change" and place < len(data):
            data[place] = draw(st.integers(0, 255))
        elif kind == "delete":
            del data[place : place + draw(st.integers(1, 8))]
        elif kind == "insert":
            data[place:place] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "splice":
            other = draw(st.sampled_from(SEEDS))
            start = draw(st.integers(0, len(other)))
            data[place:place] = other[start : start + draw(st.integers(1, 64))]
        elif kind == "number":
            value = draw(st.sampled_from([0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1]))
            data[place : place + 8] = value.to_bytes(8, "little")
        elif kind == "cut":
            del data[place:]
    return bytes(data)


@given(mutated())
@settings(
    max_examples=400, deadline=5000, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
def test_mutated_files_are_read_or_refused(data):
    fuzz.one_input(data)


@given(st.integers(0, 5), st.binary(max_size=200))
@settings(max_examples=200, deadline=5000, derandomize=True)
def test_arbitrary_bytes_are_read_or_refused(kind, data):
    fuzz.one_input(bytes([kind]) + data)


def test_the_target_would_hear_an_execution(monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz, "_armed", True)
    with pytest.raises(fuzz.ForbiddenEventError):
        os.system(f"touch {tmp_path / 'ran'}")
    monkeypatch.setattr(fuzz, "_armed", False)
    assert not (tmp_path / "ran").exists()
