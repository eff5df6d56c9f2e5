"""What cannot be read: one clear line each, and never a trace in the rest of a study."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from nht_theory.errors import InputError, UnsafeFileError
from nht_theory.runs.load import load_study
from nht_theory.runs.options import DEFAULT_OPTIONS, ReadOptions, parse_map
from nht_theory.runs.plan import plan_reading
from nht_theory.runs.read_plan import Reader
from nht_theory.runs.readers import settings_file

HEADER = "step,train_acc,val_acc,weight_norm\n"
ROWS = "0,0.1,0.0,4\n10,1.0,0.1,3\n20,1.0,1.0,2\n"


def log(path: Path, text: str = HEADER + ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refusal(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> str:
    with pytest.raises(InputError) as caught:
        load_study(path, options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_path(tmp_path: Path) -> None:
    assert "no such file or directory" in refusal(tmp_path / "absent")


def test_an_empty_directory(tmp_path: Path) -> None:
    assert "empty directory" in refusal(tmp_path)


def test_a_directory_of_pictures(tmp_path: Path) -> None:
    for index in range(3):
        (tmp_path / f"{index}.png").write_bytes(b"\x89PNG")
    assert "no log among what it holds (3 .png)" in refusal(tmp_path)


def test_a_single_picture(tmp_path: Path) -> None:
    picture = tmp_path / "cat.png"
    picture.write_bytes(b"\x89PNG")
    assert "no log (.png)" in refusal(picture)


def test_a_broken_middle_line_is_named(tmp_path: Path) -> None:
    rows = [json.dumps({"step": step, "V": 2.0}) for step in range(5)]
    rows[2] = rows[2][:-4]
    path = log(tmp_path / "run.jsonl", "\n".join(rows))
    assert "line 3 is not JSON" in refusal(path)


def test_a_cut_last_line_is_left_out_and_reported(tmp_path: Path) -> None:
    rows = [json.dumps({"step": step, "V": 2.0 + step}) for step in range(5)]
    study = load_study(log(tmp_path / "run.jsonl", "\n".join(rows)[:-4]))
    assert study.runs[0].steps.tolist() == [0, 1, 2, 3]
    assert [(item.file, item.reason) for item in study.left_out] == [
        ("run.jsonl:5", "last line is cut")
    ]


def test_a_cut_last_row_of_a_table_is_left_out_and_reported(tmp_path: Path) -> None:
    study = load_study(log(tmp_path / "run.csv", HEADER + ROWS + "30,1."))
    assert study.runs[0].steps.tolist() == [0, 10, 20]
    assert study.left_out[0].file == "run.csv:5"


def test_a_last_row_without_its_newline_is_kept_with_a_warning(tmp_path: Path) -> None:
    """``30,1.0,1.0,1`` may be the beginning of ``30,1.0,1.0,17``, or whole: nothing can tell."""
    study = load_study(log(tmp_path / "run.csv", HEADER + ROWS + "30,1.0,1.0,1"))
    assert study.runs[0].steps.tolist() == [0, 10, 20, 30]
    assert study.runs[0].notes == ("no newline after the last row: its last cell may be cut",)


@pytest.mark.parametrize("text", ["{", '{"runs": [', "[1, 2", '"' * 3, "[" * 100_000])
def test_truncated_json(tmp_path: Path, text: str) -> None:
    assert "not JSON" in refusal(log(tmp_path / "study.json", text))


def test_a_wrong_name_of_ours_suggests_the_nearest(tmp_path: Path) -> None:
    path = log(tmp_path / "run.csv")
    message = refusal(path, ReadOptions(column_map={"heldout_acuracy": "val_acc"}))
    assert message == ("--map: unknown name 'heldout_acuracy'; did you mean heldout_accuracy?")


def test_a_wrong_name_of_theirs_suggests_the_nearest(tmp_path: Path) -> None:
    path = log(tmp_path / "run.csv")
    message = refusal(path, ReadOptions(column_map={"norm": "weight_nrm"}))
    assert "no log has a column 'weight_nrm' (mapped to norm); did you mean weight_norm?" in message


@pytest.mark.parametrize("pair", ["norm", "=x", "norm=", "a=b"])
def test_a_malformed_map(tmp_path: Path, pair: str) -> None:
    with pytest.raises(InputError, match="--map"):
        load_study(log(tmp_path / "run.csv"), ReadOptions(column_map=parse_map([pair])))


def test_a_pattern_that_fits_no_name(tmp_path: Path) -> None:
    message = refusal(log(tmp_path / "run.csv"), ReadOptions(pattern="wd{weight_decay}"))
    assert message == "--pattern: no run's name matches 'wd{weight_decay}'; the first is 'run'"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("a,b\n1,2\n", "no column holds the step (columns: a, b)"),
        ("step,step\n1,2\n", "column 'step' stands twice"),
        (HEADER, "a header and no evaluation"),
        (HEADER + "0,1,1\n" + ROWS, "row 2 has 3 cells, the header 4"),
        (HEADER + "0,1,1,many\n" + ROWS, "weight_norm in row 1 is 'many', not a number"),
        (HEADER + "0.5,1,1,1\n" + ROWS, "step 0.5 is not a whole number"),
        (HEADER + "5,400,1,1\n" + ROWS, "an accuracy is 400"),
    ],
)
def test_a_table_that_is_no_log(tmp_path: Path, text: str, problem: str) -> None:
    assert problem in refusal(log(tmp_path / "run.csv", text))


def test_a_text_that_is_no_text(tmp_path: Path) -> None:
    for name, data in (("a.jsonl", b"\xff\xfe\x00{"), ("b.csv", b"step\0,V\n1,2\n")):
        (tmp_path / name).write_bytes(data)
    assert "not text" in refusal(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = log(tmp_path / "outside/secret.csv")
    root = tmp_path / "study"
    log(root / "run.csv")
    (root / "loop").symlink_to(root)
    (root / "leaves.csv").symlink_to(outside)
    (root / "again.csv").symlink_to(root / "run.csv")
    (root / "circle").symlink_to(root / "circle")
    study = load_study(root)
    assert [run.name for run in study.runs] == ["run"]
    assert {item.file: item.reason for item in study.left_out} == {
        "again.csv": "a link into the directory: its target is read in its place",
        "circle": "a link that leads nowhere or in a circle",
        "leaves.csv": "a link that leaves the directory: not followed",
        "loop": "a link into the directory: its target is read in its place",
    }


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory of a user who may not read everything, even where the tests run as root."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        was = os.geteuid()
        root.chmod(0o777)
        if was == 0:
            os.seteuid(65534)
        try:
            yield root
        finally:
            os.seteuid(was)


def test_files_without_permission(unprivileged: Path) -> None:
    log(unprivileged / "good.csv")
    log(unprivileged / "closed.csv").chmod(0)
    (unprivileged / "shut").mkdir(mode=0)
    study = load_study(unprivileged)
    assert {item.file: item.reason for item in study.left_out} == {
        "closed.csv": "Permission denied",
        "shut/": "Permission denied",
    }
    assert "Permission denied" in refusal(unprivileged / "shut")
    assert "Permission denied" in refusal(unprivileged / "closed.csv")


def test_our_own_files_beside_the_data_are_no_news(tmp_path: Path) -> None:
    log(tmp_path / "run.csv")
    for name in ("run.lock", ".registered.jsonl", ".report.html.4711.part"):
        log(tmp_path / name, "")
    log(tmp_path / ".other.jsonl")
    assert [(item.file, item.reason) for item in load_study(tmp_path).left_out] == [
        (".other.jsonl", "hidden")
    ]


def test_a_link_is_named_once_where_logs_and_checkpoints_are(tmp_path: Path) -> None:
    log(tmp_path / "run.csv")
    save_file({"w": np.ones((2, 2))}, tmp_path / "step_10.safetensors")
    (tmp_path / "step_20.safetensors").symlink_to(tmp_path / "step_10.safetensors")
    assert [(item.file, item.reason) for item in load_study(tmp_path).left_out] == [
        ("step_20.safetensors", "a link into the directory: its target is read in its place")
    ]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    log(tmp_path / "run.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    study = load_study(tmp_path)
    assert study.left_out[0].reason == "not a regular file"


def damage(path: Path, kind: int) -> None:
    """What a full disk, a crash or an editor does to a file."""
    data = path.read_bytes()
    path.write_bytes(
        [b"", data[: len(data) // 2] + b'\n{"step": ', b"\x00" * 100, b"\x89PNG" + data][kind]
        + (data if kind == 1 else b"")
    )


def test_a_fifth_of_broken_files_changes_nothing_in_the_rest(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for index in range(20):
        norms = 100 * np.exp(-0.1 * (1 + index) * np.arange(6)) + rng.random(6)
        rows = [{"step": 10 * k, "V": float(v), "val_acc": k / 5} for k, v in enumerate(norms)]
        meta = {"_meta": {"lr": 0.1, "wd": index, "seed": index}}
        text = "\n".join(json.dumps(row) for row in [meta, *rows]) + "\n"
        log(tmp_path / f"all/run{index}.jsonl", text)
    broken = [1, 6, 11, 16]
    shutil.copytree(tmp_path / "all", tmp_path / "clean")
    for kind, index in enumerate(broken):
        damage(tmp_path / f"all/run{index}.jsonl", kind)
        (tmp_path / f"clean/run{index}.jsonl").unlink()
    whole, clean = load_study(tmp_path / "all"), load_study(tmp_path / "clean")
    assert [item.file for item in whole.left_out] == [f"run{index}.jsonl" for index in broken]
    assert [run.name for run in whole.runs] == [run.name for run in clean.runs]
    for one, other in zip(whole.runs, clean.runs, strict=True):
        assert one.to_frame().equals(other.to_frame())
        assert one.hyperparameters == other.hyperparameters
        assert one.notes == other.notes


def test_broken_settings_lose_the_settings_and_not_the_run(tmp_path: Path) -> None:
    log(tmp_path / "run.csv")
    log(tmp_path / "run.json", '{"lr": 0.1')
    study = load_study(tmp_path)
    assert study.runs[0].hyperparameters.learning_rate is None
    assert "settings not read" in study.left_out[0].reason


CANARY = "canary-was-here"


@pytest.mark.parametrize(
    "text",
    [
        f"lr: !!python/object/apply:os.system ['touch {CANARY}']",
        f"lr: !!python/object/new:subprocess.Popen [['touch', '{CANARY}']]",
        f"a: !!python/name:os.system\nlr: !!python/object/apply:eval [\"open('{CANARY}','w')\"]",
        f"lr: !!python/module:{CANARY}",
    ],
)
def test_yaml_settings_build_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    log(tmp_path / "metrics.csv")
    log(tmp_path / "hparams.yaml", text + "\nweight_decay: 0.5\nseed: 3\n")
    study = load_study(tmp_path)
    assert not Path(CANARY).exists()
    known = study.runs[0].hyperparameters
    assert (known.learning_rate, known.weight_decay, known.seed) == (None, 0.5, 3)
    assert "objects not built" in study.left_out[0].reason
    assert "python/" in study.left_out[0].reason
    assert "learning_rate is" in study.runs[0].notes[-1]


def test_yaml_bombs_are_refused(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    aliases = log(tmp_path / "aliases.yaml", "\n".join(levels))
    with pytest.raises(UnsafeFileError, match="aliases"):
        settings_file.read(aliases)
    merges = ["b0: &b0 {k: 1}"]
    merges += [f"b{i}: &b{i} {{<<: [*b{i - 1}, *b{i - 1}, *b{i - 1}]}}" for i in range(1, 30)]
    settings_file.read(log(tmp_path / "merges.yaml", "\n".join(merges)))
    log(tmp_path / "deep.csv")
    log(tmp_path / "deep.yaml", "&a\nlr: 0.1\nitself: *a\n")
    assert "nested deeper" in refusal(tmp_path / "deep.csv")


def test_dry_run_names_every_file_once(tmp_path: Path) -> None:
    log(tmp_path / "a/run.csv")
    log(tmp_path / "a/run.json", "{}")
    log(tmp_path / "b/table.csv", "name,colour\nx,red\n")
    log(tmp_path / "notes.txt", "hello")
    plan = plan_reading(tmp_path)
    assert [(item.file, item.reader, item.name) for item in plan.files] == [
        ("a/run.csv", Reader.TABLE, "a/run")
    ]
    assert [path.name for path in plan.files[0].beside] == ["run.json"]
    assert [item.file for item in plan.left_out] == ["notes.txt", "b/table.csv"]
