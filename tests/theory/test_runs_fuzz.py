"""Whatever stands in a log, reading ends in runs or in one clear line: never in a trace.

By default a few seconds; ``NHT_FUZZ_EXAMPLES=200000 pytest tests/theory/test_runs_fuzz.py`` goes on
for as long as one likes.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nht_theory.errors import InputError
from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.readers import settings_file
from nht_theory.runs.study import Study

EXAMPLES = int(os.environ.get("NHT_FUZZ_EXAMPLES", "50"))
fuzz = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])

NAMES = st.sampled_from(
    ["step", "epoch", "V", "V_t", "weight_norm", "wn_a", "train_acc", "val_acc", "loss", "logs",
     "runs", "config", "lr", "wd", "seed", "betas", "optimizer", "T_mem", "T_grok", "_meta",
     "_summary", "log_history", "max_steps", "steps", "run", "acc_group_0", "acc_group_1", ""]
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "NaN", "1e999", "-1", "adamw", "0x10", "١"])
    | st.text(max_size=5)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(NAMES, inner, max_size=8),
    max_leaves=25,
)
ROWS = st.lists(st.dictionaries(NAMES, SCALARS | JSON, max_size=6), max_size=8)

VALID = {
    "a.jsonl": '{"_meta": {"lr": 0.1, "betas": [0.9, 0.99]}}\n'
    + "".join(f'{{"step": {k}, "V": {9.0 - k}, "val_acc": 0.{k}}}\n' for k in range(5)),
    "a.csv": "step,val_acc,weight_norm\n" + "".join(f"{k},0.{k},{9.0 - k}\n" for k in range(5)),
    "a.json": json.dumps(
        [{"eta": 0.1, "T_mem": 3, "logs": {"steps": [0, 1], "V_t": [2.0, 1.0]}}] * 2
    ),
    "trainer_state.json": json.dumps(
        {"max_steps": 4, "log_history": [{"step": 1, "loss": 2.0}, {"step": 2, "eval_loss": 3.0}]}
    ),
    "run.json": json.dumps(
        {"format_version": 1, "seed": 3, "hyperparameters": {"extra": {"p": 5}}}
    ),
    "status.json": json.dumps({"state": "finished", "step": 3}),
    "metrics.jsonl": '{"step": 0, "squared_norm": 1.5}\n{"step": 1, "squared_norm": "NaN"}\n',
    "hparams.yaml": "lr: 0.1\nmodel: {depth: 3}\nspace: !!python/tuple [1, 2]\n",
}


def check(files: dict[str, bytes], options: ReadOptions | None = None) -> Study | None:
    """Read files together; the study, if there is one, keeps the promises of its types."""
    with tempfile.TemporaryDirectory() as directory:
        for name, data in files.items():
            (Path(directory) / name).write_bytes(data)
        refusal = ""
        try:
            study = load_study(directory, options or ReadOptions())
        except InputError as error:
            refusal = str(error)
        if refusal:
            assert "\n" not in refusal
            return None
        names = [record.name for record in study.records]
        assert len(set(names)) == len(names)
        for run in study.runs:
            assert len(run) > 0
            assert run.steps.dtype == np.int64
            assert np.all(np.diff(run.steps) > 0)
            assert all(series.dtype == np.float64 for series in run.values.values())
            run.hyperparameters.configuration()
        return study


@fuzz
@given(JSON)
def test_any_json_study(content: object) -> None:
    check({"a.json": json.dumps(content).encode()})


@fuzz
@given(ROWS, st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_any_json_lines(rows: list[object], newline: str) -> None:
    check({"a.jsonl": newline.join(map(json.dumps, rows)).encode()})


@fuzz
@given(
    st.lists(NAMES, min_size=1, max_size=6),
    st.lists(st.lists(SCALARS, max_size=6), max_size=8),
    st.sampled_from([",", ";", "\t"]),
)
def test_any_table(header: list[str], rows: list[list[object]], delimiter: str) -> None:
    lines = [delimiter.join(header), *(delimiter.join(map(str, row)) for row in rows)]
    check({"a.csv": "\n".join(lines).encode("utf-8", "surrogatepass")})


@fuzz
@given(st.dictionaries(NAMES, JSON, max_size=6))
def test_any_settings_beside_a_log(stored: dict[str, object]) -> None:
    study = check({"a.csv": VALID["a.csv"].encode(), "a.json": json.dumps(stored).encode()})
    assert study is not None
    assert study.runs[0].steps.tolist() == [0, 1, 2, 3, 4]


@fuzz
@given(
    name=st.sampled_from(sorted(VALID)),
    place=st.floats(0, 1),
    length=st.integers(0, 12),
    inserted=st.binary(max_size=12)
    | st.sampled_from([b"{", b"[", b'"', b"\n", b",", b"\0", b"&a"]),
)
def test_damage_anywhere_in_any_file(name: str, place: float, length: int, inserted: bytes) -> None:
    files = {key: text.encode() for key, text in VALID.items()}
    data = files[name]
    at = int(place * len(data))
    files[name] = data[:at] + inserted + data[at + length :]
    untouched = check({key: data for key, data in files.items() if key != name})
    damaged = check(files)
    assert damaged is not None
    assert untouched is not None


@fuzz
@given(st.binary(max_size=200))
def test_any_bytes_under_any_name(data: bytes) -> None:
    for name in (*VALID, "a.parquet", "a.tsv", "events.out.tfevents.1.a"):
        check({name: data})


@fuzz
@given(
    st.text(max_size=60) | st.sampled_from(["&a [*a]", "!!map []", "<<: 1", "? [a]: b", "a: !b"])
)
def test_any_yaml(text: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "hparams.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        found, left_out = settings_file.read_all([path])
        assert all(isinstance(key, str) for key in found)
        assert all("\n" not in item.reason for item in left_out)


@fuzz
@given(st.text(max_size=20), st.text(max_size=30))
def test_any_pattern_and_map(pattern: str, theirs: str) -> None:
    files = {"wd1_seed0.csv": VALID["a.csv"].encode()}
    check(files, ReadOptions(pattern=pattern))
    check(files, ReadOptions(column_map={"norm": theirs}))
