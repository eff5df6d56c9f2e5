"""Squared norms of files written by the real libraries, against torch in float64."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from nht_theory.checkpoints import squared_norms
from nht_theory.errors import InputError, UnsafeFileError

torch = pytest.importorskip("torch")
from safetensors.torch import save_file  # noqa: E402


def expected(tensors):
    wide = {
        n: t.to(torch.complex128 if t.is_complex() else torch.float64) for n, t in tensors.items()
    }
    return {name: float((t.abs() ** 2).sum()) for name, t in wide.items()}


def assert_norms(found, tensors, rel=1e-7):
    want = expected(tensors)
    assert set(found) == set(want)
    for name, value in want.items():
        assert found[name] == pytest.approx(value, rel=rel), name


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(0)
    make = lambda *shape: torch.randn(*shape, generator=generator)  # noqa: E731
    return {
        "fc.weight": make(300, 257),
        "fc.bias": make(300),
        "scale": make(1)[0],
        "none": make(0, 4),
    }


SAVERS = {
    "safetensors": save_file,
    "zip": torch.save,
    "legacy": lambda t, p: torch.save(t, p, _use_new_zipfile_serialization=False),
}


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("exact", [False, True])
def test_formats(tensors, saver, exact, tmp_path):
    path = tmp_path / ("a.safetensors" if saver == "safetensors" else "a.pt")
    SAVERS[saver](tensors, path)
    norms = squared_norms(path, exact=exact)
    assert_norms(norms, tensors, 1e-12 if exact else 1e-7)
    assert norms.total == pytest.approx(sum(expected(tensors).values()))
    assert norms.shapes["fc.weight"] == (300, 257)


@pytest.mark.parametrize(
    "kind", ["float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64"]
)
@pytest.mark.parametrize("saver", SAVERS)
def test_element_types(kind, saver, tmp_path):
    dtype = getattr(torch, kind)
    wide = torch.complex64 if kind == "complex64" else torch.float32
    tensor = torch.randn(70, 1000, generator=torch.Generator().manual_seed(1), dtype=wide).to(dtype)
    if saver == "legacy" and kind.startswith("float8"):
        pytest.skip("the legacy format has no float8")
    path = tmp_path / ("a.safetensors" if saver == "safetensors" else "a.pt")
    SAVERS[saver]({"w": tensor}, path)
    assert_norms(squared_norms(path), {"w": tensor})


def test_views_transposed_sliced_and_expanded(tmp_path):
    base = torch.randn(40, 50, generator=torch.Generator().manual_seed(2))
    views = {
        "a.weight": base.T,
        "b.weight": base[3:30:2, 5:40:3],
        "c.weight": torch.arange(3.0).expand(7, 3),
        "d.weight": torch.randn(4, 5, 6).permute(2, 0, 1),
    }
    torch.save(views, tmp_path / "a.pt")
    assert_norms(squared_norms(tmp_path / "a.pt"), views)


def test_unaligned_safetensors(tmp_path):
    import json

    values = np.random.default_rng(0).standard_normal(100_000).astype("<f4")
    header = {
        "odd": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "w": {"dtype": "F32", "shape": [100_000], "data_offsets": [1, 400_001]},
    }
    text = json.dumps(header).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\0" + values.tobytes())
    exact = float((values.astype(np.float64) ** 2).sum())
    assert squared_norms(path)["w"] == pytest.approx(exact, rel=1e-7)


def test_neither_torch_nor_safetensors_is_imported(tensors, tmp_path):
    save_file(tensors, tmp_path / "a.safetensors")
    torch.save({"state_dict": tensors}, tmp_path / "a.pt")
    code = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['safetensors'] = None\n"
        "from nht_theory.checkpoints import squared_norms\n"
        f"a = squared_norms({str(tmp_path / 'a.safetensors')!r})\n"
        f"b = squared_norms({str(tmp_path / 'a.pt')!r})\n"
        "assert dict(a) == dict(b) and len(a) == 4\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nan_and_infinity_are_named_and_counted(tmp_path):
    torch.save(
        {"a": torch.ones(3), "b": torch.tensor([1.0, float("nan"), float("inf")])},
        tmp_path / "a.pt",
    )
    norms = squared_norms(tmp_path / "a.pt")
    assert norms["a"] == 3.0
    assert np.isnan(norms["b"])
    assert dict(norms.not_finite) == {"b": 2}
    assert any("2 of b" in note for note in norms.notes)


@pytest.mark.parametrize("name", ["a.safetensors", "a.pt"])
@pytest.mark.parametrize("keep", [0, 3, 50, 0.5, 0.99])
def test_truncated_files_are_refused(tensors, name, keep, tmp_path):
    path = tmp_path / name
    (save_file if name.endswith("rs") else torch.save)(tensors, path)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(InputError) as caught:
        squared_norms(path)
    assert str(path) in str(caught.value)


def test_not_a_file(tmp_path):
    import os

    with pytest.raises(InputError, match="no such file"):
        squared_norms(tmp_path / "absent.pt")
    os.mkfifo(tmp_path / "pipe.pt")
    with pytest.raises(UnsafeFileError, match="not a regular file"):
        squared_norms(tmp_path / "pipe.pt")
