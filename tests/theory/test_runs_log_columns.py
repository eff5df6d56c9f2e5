"""Names, units and order of a log's columns; settings; events; run directories."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nht_theory.conventions import DecayForm
from nht_theory.errors import InputError
from nht_theory.runs import column_names, columns, settings
from nht_theory.runs.events import recorded_events
from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.run import Hyperparameters, ParameterGroup, RecordedEvents
from nht_theory.runs.run_format import (
    MetricsLog,
    RunDocument,
    RunState,
    StatusDocument,
    metrics_line,
    read_run,
    read_status,
    write_run,
    write_status,
)
from nht_theory.runs.trajectory import trajectory


def read_cells(cells: dict[str, list[object]]) -> tuple[dict[str, list[float]], tuple[str, ...]]:
    found = trajectory(cells, column_names.resolve(cells, {}))
    values = {name: series.tolist() for name, series in found.values.items()}
    return {"step": found.steps.tolist(), **values}, found.notes


# --- names and units ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("train_acc", columns.TRAIN_ACCURACY),
        ("val/acc", columns.HELDOUT_ACCURACY),
        ("Test Accuracy", columns.HELDOUT_ACCURACY),
        ("eval_loss", columns.HELDOUT_LOSS),
        ("V_t", columns.SQUARED_NORM),
        ("weight_norm", columns.SQUARED_NORM),
        ("wn_embed", "squared_norm/embed"),
        ("weight_norm/layers.0.mlp", "squared_norm/layers.0.mlp"),
        ("avg_acc_group:2", "group_accuracy/2"),
        ("grad_norm", None),
        ("update_norm", None),
        ("train_accuracy_at_mem", None),
    ],
)
def test_what_a_name_means(theirs: str, ours: str | None) -> None:
    assert list(column_names.resolve([theirs], {}).sources) == ([ours] if ours else [])


def test_every_canonical_column_is_read_under_its_own_name() -> None:
    """A column that our own trainer writes, or that a test of a claim asks for, is never unused."""
    names = {
        value
        for key, value in vars(columns).items()
        if key.isupper() and isinstance(value, str) and key != "GROUP_SEPARATOR"
    }
    only_grouped = {columns.GROUP_ACCURACY, columns.GROUP_COUNT}
    logged = [columns.of_group(n, "a") if n in only_grouped else n for n in sorted(names)]
    resolution = column_names.resolve(logged, {})
    assert resolution.unused == ()
    assert {ours: source.name for ours, source in resolution.sources.items()} == {
        name: name for name in logged
    }


def test_a_validation_column_is_preferred_to_a_test_column_and_both_are_named() -> None:
    found = column_names.resolve(["step", "test_acc", "val_acc"], {})
    assert found.sources[columns.HELDOUT_ACCURACY].name == "val_acc"
    assert found.unused == ("test_acc",)


def test_a_map_overrules_the_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("step,val_acc,clean,size,weight_norm\n0,1,0.5,3,9\n")
    options = ReadOptions(column_map={"heldout_accuracy": "clean", "norm": "size"})
    run = load_study(tmp_path, options).runs[0]
    assert run.column("heldout_accuracy").tolist() == [0.5]
    assert run.squared_norm.tolist() == [9.0]
    trusted = ReadOptions(column_map={"squared_norm": "weight_norm"})
    assert load_study(tmp_path, trusted).runs[0].squared_norm.tolist() == [9.0]


def test_a_map_may_name_a_setting(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("step,V\n0,1\n")
    (tmp_path / "a.json").write_text(json.dumps({"strength": 0.3, "lr": 0.1}))
    options = ReadOptions(column_map={"weight_decay": "strength"})
    assert load_study(tmp_path, options).runs[0].hyperparameters.weight_decay == 0.3


def test_what_the_user_gives_fills_and_never_overrules(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("step,V\n0,1\n")
    (tmp_path / "a.json").write_text(json.dumps({"lr": 0.1}))
    options = ReadOptions(hyperparameters={"optimizer": "AdamW", "lr": 9})
    known = load_study(tmp_path, options).runs[0].hyperparameters
    assert (known.optimizer, known.learning_rate) == ("adamw", 0.1)
    assert known.decay_form is DecayForm.DECOUPLED


def test_per_cent_is_decided_for_the_whole_log() -> None:
    """The held-out accuracy never leaves chance: 0.9 is per cent because its neighbour is."""
    values, notes = read_cells({"step": [0, 1], "train_acc": [1, 99.5], "val_acc": [0.9, 1.0]})
    assert values["train_accuracy"] == [0.01, 0.995]
    assert values["heldout_accuracy"] == [0.9 / 100, 0.01]
    assert "per cent" in notes[0]


def test_an_accuracy_above_one_by_round_off_is_no_per_cent() -> None:
    values, notes = read_cells({"step": [0], "train_acc": [1.0000001]})
    assert values["train_accuracy"] == [1.0000001]
    assert notes == ()


def test_the_worst_group_is_derived_from_the_groups() -> None:
    cells = {"step": [0, 1], "acc_group_0": [0.9, 0.8], "acc_group_1": [0.7, 0.95]}
    counted = {**cells, "count_group_0": [10, 10]}
    values, notes = read_cells(counted)
    assert values["worst_group_accuracy"] == [0.7, 0.8]
    assert values["group_count/0"] == [10, 10]
    assert "lowest of 2" in notes[0]


def test_epochs_are_a_clock_of_last_resort() -> None:
    values, notes = read_cells({"epoch": [0, 1], "V": [2.0, 1.0]})
    assert values["step"] == [0, 1]
    assert "rates are per epoch" in notes[0]
    both, _ = read_cells({"epoch": [0, 1], "step": [0, 40], "V": [2.0, 1.0]})
    assert both["step"] == [0, 40]


# --- order ----------------------------------------------------------------------------------


def test_not_a_number_is_counted_and_a_blank_is_not() -> None:
    cells = {"step": [0, 10, 20, 30], "V": [1.0, "NaN", "", float("inf")], "loss": [1, None, 2, 3]}
    values, notes = read_cells(cells)
    assert notes == ("squared_norm: 2 values are NaN or infinite, first at step 10",)
    assert np.isnan(values["squared_norm"][1])
    assert values["squared_norm"][3] == math.inf


@pytest.mark.parametrize("cell", [[1.0], [None], {"a": 1}, "much"])
def test_a_cell_that_is_no_number_is_named(cell: object) -> None:
    with pytest.raises(InputError, match=r"V in row 1 is .*, not a number"):
        read_cells({"step": [0, 1], "V": [cell, cell]})


def test_a_restart_supersedes_what_lies_beyond_it() -> None:
    cells = {"step": [0, 10, 20, 30, 15, 20, 25], "V": [9.0, 8.0, 7.0, 6.0, 7.5, 7.1, 6.6]}
    values, notes = read_cells(cells)
    assert values["step"] == [0, 10, 15, 20, 25]
    assert values["squared_norm"] == [9.0, 8.0, 7.5, 7.1, 6.6]
    assert "2 evaluations logged again after a restart (steps 20 to 30)" in notes[0]


def test_two_writers_of_one_log_are_not_a_restart() -> None:
    cells = {
        "step": [10, 20, 30, 20, 40, 50, 40],
        "train_loss": [5.0, 4.0, 3.0, None, 2.0, 1.0, None],
        "val_loss": [None, None, None, 9.0, None, None, 8.0],
    }
    values, notes = read_cells(cells)
    assert values["step"] == [10, 20, 30, 40, 50]
    assert values["train_loss"] == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert np.array_equal(values["heldout_loss"], [np.nan, 9, np.nan, 8, np.nan], equal_nan=True)
    assert notes == ()


def test_rows_sorted_as_text_lose_nothing() -> None:
    steps = sorted(range(0, 2001, 100), key=str)
    values, notes = read_cells({"step": list(steps), "V": [float(step) for step in steps]})
    assert values["step"] == values["squared_norm"] == list(range(0, 2001, 100))
    assert notes == ("rows were out of order: sorted by step",)


def test_a_step_logged_twice_keeps_the_later_record() -> None:
    values, notes = read_cells({"step": [0, 10, 10, 20], "V": [4.0, 3.0, 2.0, 1.0]})
    assert values["squared_norm"] == [4.0, 2.0, 1.0]
    assert notes == ("1 steps logged twice (first 10): the later record is kept",)


@given(
    steps=st.lists(st.integers(0, 10**6), min_size=1, max_size=30, unique=True),
    data=st.data(),
)
def test_order_of_rows_is_irrelevant_when_no_step_repeats(
    steps: list[int], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(steps))
    values, _ = read_cells({"step": list(shuffled), "V": [float(step) for step in shuffled]})
    assert values["step"] == values["squared_norm"] == sorted(steps)


@given(
    first=st.integers(2, 20),
    back=st.integers(0, 19),
    more=st.integers(1, 20),
    spacing=st.integers(1, 100),
)
def test_a_resumed_log_equals_the_log_of_the_later_records(
    first: int, back: int, more: int, spacing: int
) -> None:
    """The oracle: a dictionary written in order, cut at the restart."""
    assume(back < first)
    oracle = {step * spacing: 1.0 for step in range(first)}
    oracle = {step: value for step, value in oracle.items() if step < back * spacing}
    oracle |= {step * spacing: 2.0 for step in range(back, back + more)}
    steps = [s * spacing for s in [*range(first), *range(back, back + more)]]
    values, _ = read_cells({"step": list(steps), "V": [1.0] * first + [2.0] * more})
    assert dict(zip(values["step"], values["squared_norm"], strict=True)) == oracle


# --- settings and events --------------------------------------------------------------------


def test_nested_settings_are_found_where_their_name_is_unambiguous() -> None:
    stored = {"optimizer": {"name": "AdamW", "lr": 0.1}, "model": {"p": 5}, "device": "cuda"}
    known = settings.hyperparameters(stored)
    assert known.learning_rate == 0.1
    assert dict(known.extra) == {"model.p": 5}


@pytest.mark.parametrize("never", [None, -1, float("nan"), 5000, "inf"])
def test_never_reached_is_written_in_many_ways(never: object) -> None:
    events, _ = recorded_events({"T_mem": 100, "T_grok": never}, total_steps=5000)
    assert events == RecordedEvents(memorization_step=100)


def test_how_a_run_was_watched_is_no_configuration() -> None:
    watched = {"lr": 0.1, "eval_every": 5, "device": "cuda", "grok_thresh": 0.95, "patience": 3}
    assert settings.hyperparameters(watched).configuration() == (("learning_rate", "0.1"),)


# --- run directories ------------------------------------------------------------------------


def write_directory(path: Path, *, state: RunState = RunState.FINISHED) -> Hyperparameters:
    known = Hyperparameters(optimizer="adamw", learning_rate=1e-3, weight_decay=1.0, extra={"p": 7})
    group = ParameterGroup("head", "layer", ("head.weight",), 12, 3)
    write_run(path, RunDocument(hyperparameters=known, seed=4, parameter_count=99, groups=(group,)))
    with MetricsLog(path) as log:
        for step in (0, 10, 20):
            log.append({"step": step, "squared_norm": 0.1 + step, "squared_norm/head": math.nan})
    write_status(path, StatusDocument(state=state, step=20, total_steps=30, error=None))
    return known


def test_a_run_directory_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_directory(tmp_path / "study/a")
    for given_path in (tmp_path / "study", tmp_path / "study/a", tmp_path / "study/a/run.json"):
        run = load_study(given_path).runs[0]
        assert run.name == "a"
        assert run.squared_norm.tolist() == [0.1, 10.1, 20.1]
        assert run.groups[0].parameter_names == ("head.weight",)
        known = run.hyperparameters
        assert (known.seed, known.parameter_count, known.total_steps) == (4, 99, 30)
        assert run.settled
        assert run.notes == ("squared_norm/head: 3 values are NaN or infinite, first at step 0",)


def test_a_running_run_is_not_settled(tmp_path: Path) -> None:
    write_directory(tmp_path, state=RunState.RUNNING)
    assert not load_study(tmp_path).runs[0].settled
    (tmp_path / "status.json").write_text("{")
    assert load_study(tmp_path).runs[0].settled


def test_documents_of_the_run_directory_round_trip(tmp_path: Path) -> None:
    known = write_directory(tmp_path)
    assert read_run(tmp_path).hyperparameters == known
    assert read_status(tmp_path) == StatusDocument(state=RunState.FINISHED, step=20, total_steps=30)
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
        ('{"format_version": 99}', "format version 99; this nht reads up to 1; upgrade nht"),
        ('{"sead": 3}', "sead: Extra inputs are not permitted"),
        ('{"seed": "x"}', "seed: Input should be a valid integer"),
    ],
)
def test_a_wrong_key_of_run_json_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError) as caught:
        read_run(tmp_path)
    assert message in str(caught.value)


@given(
    st.dictionaries(
        st.sampled_from(["squared_norm", "train_loss", "squared_norm/head"]),
        st.floats(allow_nan=True, allow_infinity=True),
        min_size=1,
    )
)
def test_a_metrics_line_keeps_every_bit(row: dict[str, float]) -> None:
    line = metrics_line({"step": 5, **row})
    content = json.loads(line, parse_constant=pytest.fail)
    cells = {name: [cell] for name, cell in content.items()}
    found = trajectory(cells, column_names.resolve(cells, {})).values
    for name, value in row.items():
        assert np.array_equal(found[name], [value], equal_nan=True)


def test_a_metrics_log_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        log.append({"step": 0})
    with pytest.raises(InputError, match="already there"):
        MetricsLog(tmp_path)


def test_resuming_drops_a_cut_last_line(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 0}\n{"step": 5}\n{"step": 1')
    with MetricsLog(tmp_path, resume_after=5) as log:
        log.append({"step": 10})
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 0}\n{"step": 5}\n{"step": 10}\n'


def test_runs_can_be_pickled(tmp_path: Path) -> None:
    write_directory(tmp_path)
    run = load_study(tmp_path).runs[0]
    again = pickle.loads(pickle.dumps(run))
    assert again.to_frame().equals(run.to_frame())
    with pytest.raises(TypeError):
        again.values["squared_norm"] = run.squared_norm


def test_reading_logs_needs_no_torch(tmp_path: Path) -> None:
    write_directory(tmp_path)
    program = (
        "import sys; from nht_theory import load_study; "
        f"load_study({str(tmp_path)!r}); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
