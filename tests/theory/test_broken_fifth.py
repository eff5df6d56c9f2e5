"""A fifth of a directory's files is broken: every estimate and verdict is that of the rest."""

from __future__ import annotations

import io
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from nht_theory.claims.validate import validate
from nht_theory.cli.output import to_jsonable
from nht_theory.runs import columns
from nht_theory.runs.load import load_study
from nht_theory.runs.options import ReadOptions
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study

PATTERN = "wd{weight_decay}_rho{shortcut_strength}_seed{seed}"
LOGGED = (columns.TRAIN_ACCURACY, columns.HELDOUT_ACCURACY, columns.SHORTCUT_ACCURACY)


class Gadget:
    """A pickle that would make a directory in the working directory."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Path.mkdir, (Path("canary-was-here"),)  # type: ignore[return-value]


def cut(data: bytes) -> bytes:
    return data[: len(data) // 3]


def zeroed(data: bytes) -> bytes:
    return bytes(len(data))


def pointer(data: bytes) -> bytes:
    return f"version https://git-lfs.github.com/spec/v1\nsize {len(data)}\n".encode()


def gadget(_: bytes) -> bytes:
    return pickle.dumps({"state_dict": Gadget()})


def page(_: bytes) -> bytes:
    return b"<!DOCTYPE html><title>502 Bad Gateway</title>"


def empty(_: bytes) -> bytes:
    return b""


OF_CHECKPOINTS = (cut, zeroed, pointer, gadget, page, empty)
OF_LOGS = (zeroed, pointer, page, empty)


def as_safetensors(state: dict[str, torch.Tensor], path: Path, step: int) -> Path:
    save_file(state, path / f"step_{step}.safetensors")
    return path / f"step_{step}.safetensors"


def as_zip(state: dict[str, torch.Tensor], path: Path, step: int) -> Path:
    torch.save(state, path / f"step_{step}.pt")
    return path / f"step_{step}.pt"


def as_legacy(state: dict[str, torch.Tensor], path: Path, step: int) -> Path:
    torch.save(state, path / f"step_{step}.pth", _use_new_zipfile_serialization=False)
    return path / f"step_{step}.pth"


def as_trainer(state: dict[str, torch.Tensor], path: Path, step: int) -> Path:
    content = {"state_dict": state, "global_step": step, "pytorch-lightning_version": "2.5.0"}
    torch.save(content, path / f"epoch=0-step={step}.ckpt")
    return path / f"epoch=0-step={step}.ckpt"


WRITERS = (as_safetensors, as_zip, as_legacy, as_trainer)


def state_of(squared_norm: float, seed: int) -> dict[str, torch.Tensor]:
    """Random weights of that squared norm."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"embedding.weight": (11, 6), "hidden.weight": (8, 6), "head.weight": (11, 8)}
    state = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    total = sum(float((tensor.double() ** 2).sum()) for tensor in state.values())
    return {name: tensor * (squared_norm / total) ** 0.5 for name, tensor in state.items()}


def write(run: Run, number: int, root: Path) -> list[Path]:
    """A log without norms, and the weights of every seventh evaluation; the checkpoints' paths."""
    known = run.hyperparameters
    strength = known.extra["shortcut_strength"]
    home = root / f"wd{known.weight_decay:g}_rho{strength:g}_seed{known.seed}"
    (home / "checkpoints").mkdir(parents=True)
    run.to_frame()[[columns.STEP, *LOGGED]].to_csv(home / "metrics.csv", index=False)
    (home / "hparams.yaml").write_text(f"learning_rate: {known.learning_rate}\noptimizer: adamw\n")
    writer = WRITERS[number % len(WRITERS)]
    return [
        writer(state_of(float(run.squared_norm[at]), at), home / "checkpoints", int(run.steps[at]))
        for at in range(0, len(run), 7)
    ]


def said(study: Study) -> dict[str, Any]:
    """Everything that validation says of a study, but for its place and the files left out."""
    content = to_jsonable(validate(study, stability=False).to_dict())
    content["runs"].pop("left_out")
    content.pop("source")
    return content


@pytest.mark.slow
def test_of_logs_and_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_study: Callable[..., Study]
) -> None:
    monkeypatch.chdir(tmp_path)
    whole, clean = tmp_path / "whole", tmp_path / "clean"
    written = [write(run, n, whole) for n, run in enumerate(make_study(seeds=2).runs)]
    shutil.copytree(whole, clean)
    checkpoints = [path for paths in written for path in paths][2::5]
    logs = sorted(whole.glob("*/metrics.csv"))[::5]
    for number, path in enumerate(checkpoints):
        path.write_bytes(OF_CHECKPOINTS[number % len(OF_CHECKPOINTS)](path.read_bytes()))
    for number, path in enumerate(logs):
        path.write_bytes(OF_LOGS[number % len(OF_LOGS)](path.read_bytes()))
    broken = {path.relative_to(whole).as_posix() for path in (*checkpoints, *logs)}
    total = sum(map(len, written)) + len(written)
    assert 0.18 < len(broken) / total < 0.22
    for name in broken:
        (clean / name).unlink()
    options = ReadOptions(pattern=PATTERN)
    with_broken, without = load_study(whole, options), load_study(clean, options)
    left_out = [item.file for item in with_broken.left_out]
    assert broken == set(left_out) - {item.file for item in without.left_out}
    assert all(item.reason for item in with_broken.left_out)
    assert not Path("canary-was-here").exists()
    expected = said(without)
    assert said(with_broken) == expected
    assert expected["runs"]["distinct"] == len(written)
    judged = [own for own in expected["verdicts"] if own["verdict"] != "not applicable"]
    assert len(judged) >= 5
    estimated = [own for own in expected["estimates"] if own["squared_norm_generalization"]]
    assert len(estimated) >= 3


@pytest.mark.slow
def test_of_public_logs(tmp_path: Path, shared_data: Path) -> None:
    names = [f"full_results{number}.json" for number in (7, 9)]
    whole, clean = tmp_path / "whole", tmp_path / "clean"
    whole.mkdir()
    for name in names:
        shutil.copy(shared_data / "companion" / name, whole)
    shutil.copytree(whole, clean)
    (clean / names[0]).unlink()
    content = (whole / names[0]).read_bytes()
    (whole / names[0]).write_bytes(cut(content))
    with_broken, without = load_study(whole), load_study(clean)
    assert [item.file for item in with_broken.left_out] == [names[0]]
    assert said(with_broken) == said(without)


def test_the_damage_is_damage() -> None:
    buffer = io.BytesIO()
    torch.save(state_of(3.0, 0), buffer)
    for damage in OF_CHECKPOINTS[:-1]:
        with pytest.raises(Exception):  # noqa: B017, PT011  # whatever torch itself raises
            torch.load(io.BytesIO(damage(buffer.getvalue())), weights_only=True)
    total = sum(float((t.double() ** 2).sum()) for t in state_of(3.0, 0).values())
    np.testing.assert_allclose(total, 3.0, rtol=1e-6)
