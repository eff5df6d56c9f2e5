"""What real checkpoint directories do to readers: one test for each kind, on real files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from nht_theory.checkpoints import discover, norm_trajectory, squared_norms
from nht_theory.errors import InputError, UnsafeFileError

torch = pytest.importorskip("torch")
nn = torch.nn
from safetensors.torch import save_file  # noqa: E402


class Net(nn.Module):
    """An importable module for whole-object pickles."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.conv = nn.Conv1d(8, 8, 3)
        self.bn = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 11, bias=False)


def make_net(seed=0):
    torch.manual_seed(seed)
    return Net()


def parameters_of(model):
    return {n: float(p.detach().double().norm()) ** 2 for n, p in model.named_parameters()}


def trained(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.8, 0.95), weight_decay=0.3)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return optimizer


def save(thing, path, **options):
    torch.save(thing, path, **options)
    return path


def assert_is(norms, model):
    assert dict(norms) == pytest.approx(parameters_of(model), rel=1e-7)


@pytest.mark.parametrize(
    "nest",
    [
        lambda sd: sd,
        lambda sd: {"state_dict": sd},
        lambda sd: {"model": sd},
        lambda sd: {"model_state_dict": sd},
        lambda sd: {"module": sd},
        lambda sd: {"network": sd},
        lambda sd: {"params": sd},
        lambda sd: {"model": {"state_dict": sd}},
        lambda sd: {"checkpoint": {"model": sd}},
        lambda sd: {"my_own_key": sd},
        lambda sd: [sd, 5],
    ],
)
@pytest.mark.parametrize("legacy", [False, True])
def test_nested_weights_are_found_and_the_rest_is_listed(nest, legacy, tmp_path):
    model = make_net()
    thing = nest(model.state_dict())
    beside = {"optimizer": trained(model).state_dict(), "epoch": 4, "args": argparse.Namespace(a=1)}
    thing = nest(model.state_dict())
    nested = isinstance(thing, dict) and len(thing) == 1
    if nested:
        thing = thing | beside
    path = save(thing, tmp_path / "a.pt", _use_new_zipfile_serialization=not legacy)
    norms = squared_norms(path)
    assert_is(norms, model)
    if nested:
        reasons = {entry.file: entry.reason for entry in norms.left_out}
        assert "optimiser" in reasons["optimizer"]
        assert "argparse.Namespace" in reasons["args"]
        assert "epoch" in reasons
        assert any("weights found under" in note for note in norms.notes)


@pytest.mark.parametrize(
    "prefix", ["module.", "_orig_mod.", "model.", "_forward_module.", "module._orig_mod.model."]
)
def test_prefixes_are_stripped_and_shown_once(prefix, tmp_path):
    model = make_net()
    path = save({prefix + k: v for k, v in model.state_dict().items()}, tmp_path / "a.pt")
    norms = squared_norms(path)
    assert_is(norms, model)
    assert sum("taken off the names" in note for note in norms.notes) == 1


def test_prefix_in_the_middle_and_prefixes_that_would_clash(tmp_path):
    a, b = torch.ones(2, 2), torch.full((2, 2), 2.0)
    path = save({"layers.0._orig_mod.w": a, "layers.1._orig_mod.w": b}, tmp_path / "a.pt")
    assert dict(squared_norms(path)) == {"layers.0.w": 4.0, "layers.1.w": 16.0}
    path = save({"_orig_mod.w": a, "w": b}, tmp_path / "b.pt")
    assert dict(squared_norms(path)) == {"_orig_mod.w": 4.0, "w": 16.0}


def test_whole_object_is_refused_with_the_remedy_and_the_next_file_is_read(tmp_path):
    model = make_net()
    save(model, tmp_path / "step_1.pt")
    save(model.state_dict(), tmp_path / "step_2.pt")
    save({"model": model, "epoch": 3}, tmp_path / "step_3.pt")
    with pytest.raises(InputError, match=r"whole .*Net object .* torch\.save\(model\.state_dict"):
        squared_norms(tmp_path / "step_1.pt")
    series = discover(tmp_path)[0]
    assert [checkpoint.step for checkpoint in series.checkpoints] == [2]
    assert {Path(entry.file).name for entry in series.left_out} == {"step_1.pt", "step_3.pt"}


def test_true_ties_count_once(tmp_path):
    model = make_net()
    model.head.weight = model.embed.weight
    norms = squared_norms(save(model.state_dict(), tmp_path / "a.pt"))
    assert_is(norms, model)
    assert dict(norms.ties) == {"head.weight": "embed.weight"}
    assert any("head.weight shares its memory with embed.weight" in n for n in norms.notes)


def test_a_format_that_stores_both_copies_is_told_apart(tmp_path):
    embed = torch.randn(11, 8)
    save_file({"embed.weight": embed, "head.weight": embed.clone()}, tmp_path / "a.safetensors")
    norms = squared_norms(tmp_path / "a.safetensors")
    assert set(norms) == {"embed.weight"}
    assert any("holds the same bytes as" in note for note in norms.notes)
    # Copies that are no embedding and head (layers start as copies of one another) are separate.
    save_file({"layers.0.w": embed, "layers.1.w": embed.clone()}, tmp_path / "b.safetensors")
    assert set(squared_norms(tmp_path / "b.safetensors")) == {"layers.0.w", "layers.1.w"}
    # Two that start equal and part later were never tied, and a trajectory counts both.
    for step in (0, 1):
        both = {"embed.weight": embed, "head.weight": embed + step}
        save_file(both, tmp_path / f"run_step_{step}.safetensors")
    series = next(s for s in discover(tmp_path) if len(s.checkpoints) == 2)
    trajectory = norm_trajectory(series)
    assert trajectory.squared_norm[0] == pytest.approx(2 * float(embed.double().norm()) ** 2)


def test_buffers_are_no_parameters(tmp_path):
    weights = {
        "h.0.attn.weight": torch.ones(4, 4),
        "h.0.attn.bias": torch.tril(torch.ones(6, 6)).view(1, 1, 6, 6),
        "h.0.attn.masked_bias": torch.tensor(-1e4),
        "bn.running_mean": torch.ones(4),
        "bn.running_var": torch.ones(4),
        "bn.num_batches_tracked": torch.tensor(9),
        "pos_encoder.pe": torch.ones(5, 1, 4),
        "rotary.inv_freq": torch.ones(4),
        "position_ids": torch.arange(4),
        "causal_mask": torch.ones(4, 4, dtype=torch.bool),
    }
    norms = squared_norms(save(weights, tmp_path / "a.pt"))
    assert dict(norms) == {"h.0.attn.weight": 16.0}
    assert {entry.file for entry in norms.left_out} == set(weights) - {"h.0.attn.weight"}


def test_averages_beside_live_weights(tmp_path):
    live, averaged = make_net(0), make_net(1)
    both = {"model": live.state_dict(), "model_ema": averaged.state_dict()}
    path = save(both, tmp_path / "a.pt")
    norms = squared_norms(path)
    assert_is(norms, live)
    assert any("live weights taken" in note for note in norms.notes)
    assert_is(squared_norms(path, weights="ema"), averaged)
    named = {f"model.{k}": v for k, v in live.state_dict().items()}
    named |= {f"model_ema.{k}": v for k, v in averaged.state_dict().items()}
    path = save({"state_dict": named}, tmp_path / "b.ckpt")
    assert_is(squared_norms(path), live)
    assert any("moving averages" in note for note in squared_norms(path).notes)
    averages = squared_norms(path, weights="ema")
    assert sum(averages.values()) == pytest.approx(sum(parameters_of(averaged).values()))


def test_the_user_names_the_set_of_weights(tmp_path):
    first, second = make_net(0), make_net(1)
    both = {"generator": first.state_dict(), "discriminator": second.state_dict()}
    path = save(both, tmp_path / "a.pt")
    assert_is(squared_norms(path, weights="discriminator"), second)
    with pytest.raises(InputError, match="'critic'"):
        squared_norms(path, weights="critic")


def test_averaged_model_of_torch(tmp_path):
    averaged = torch.optim.swa_utils.AveragedModel(make_net())
    norms = squared_norms(save(averaged.state_dict(), tmp_path / "a.pt"))
    assert_is(norms, averaged.module)


def shard_up(folder, form):
    model = make_net()
    tensors = dict(model.state_dict())
    names = list(tensors)
    suffix = "safetensors" if form == "safetensors" else "bin"
    base = "model" if form == "safetensors" else "pytorch_model"
    files = {n: f"{base}-0000{1 + (i >= 3)}-of-00002.{suffix}" for i, n in enumerate(names)}
    for file in set(files.values()):
        part = {name: tensors[name] for name in names if files[name] == file}
        (save_file if form == "safetensors" else torch.save)(part, folder / file)
    index = folder / f"{base}.{suffix}.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": files}))
    return model, index


@pytest.mark.parametrize("form", ["safetensors", "bin"])
def test_shards_are_read_whole_or_refused(form, tmp_path):
    model, index = shard_up(tmp_path, form)
    assert_is(squared_norms(index), model)
    assert_is(squared_norms(tmp_path), model)
    stray = tmp_path / index.name.replace(".index.json", "")
    (save_file if form == "safetensors" else torch.save)({"other": torch.ones(2, 2)}, stray)
    series = discover(tmp_path)
    assert [c.path for s in series for c in s.checkpoints] == [index]
    assert any("stands beside the shards" in e.reason for e in series[0].left_out)
    missing = sorted(tmp_path.glob("*-00002-of-00002.*"))[0]
    missing.unlink()
    with pytest.raises(InputError, match=f"names the shard {missing.name}, which is absent"):
        squared_norms(index)
    index.unlink()
    stray.unlink()
    with pytest.raises(InputError, match="not whole"):
        discover(tmp_path)


def test_shard_of_another_checkpoint(tmp_path):
    _, index = shard_up(tmp_path, "safetensors")
    save_file({"other": torch.ones(2)}, tmp_path / "model-00002-of-00002.safetensors")
    with pytest.raises(InputError, match="is not in the shard"):
        squared_norms(index)


@pytest.mark.parametrize("name", ["../escape.safetensors", "/etc/passwd", "a/b.safetensors", ""])
def test_an_index_cannot_leave_its_directory(name, tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": name}}))
    save_file({"w": torch.ones(2)}, tmp_path.parent / "escape.safetensors")
    with pytest.raises(UnsafeFileError, match="leaves the directory"):
        squared_norms(index)


def test_a_link_cannot_leave_the_directory(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    save_file({"w": torch.ones(2)}, tmp_path / "out.safetensors")
    (inside / "model-1.safetensors").symlink_to(tmp_path / "out.safetensors")
    (inside / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"w": "model-1.safetensors"}})
    )
    with pytest.raises(UnsafeFileError, match="link that leaves"):
        squared_norms(inside / "model.safetensors.index.json")
    save_file({"w": torch.ones(2)}, inside / "step_3.safetensors")
    left_out = {e.file: e.reason for s in discover(inside) for e in s.left_out}
    assert "leaves the directory" in left_out["model-1.safetensors"]


def test_quantized_tensors(tmp_path):
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(64, 300, generator=generator)
    scale = weight.abs().amax(dim=1, keepdim=True) / 127
    rows = {"fc.weight": (weight / scale).round().to(torch.int8), "fc.weight_scale": scale}
    expected = float((rows["fc.weight"].double() * scale.double()).norm()) ** 2
    save_file(rows, tmp_path / "rows.safetensors")
    norms = squared_norms(tmp_path / "rows.safetensors")
    assert dict(norms) == {"fc.weight": pytest.approx(expected, rel=1e-7)}
    absmax = weight.abs().amax(dim=1)
    bits8 = {"fc.weight": rows["fc.weight"], "fc.SCB": absmax}
    expected = float((rows["fc.weight"].double() * absmax.double()[:, None] / 127).norm()) ** 2
    torch.save(bits8, tmp_path / "bnb.pt")
    assert squared_norms(tmp_path / "bnb.pt")["fc.weight"] == pytest.approx(expected, rel=1e-7)
    blocks = torch.rand(1, 3, generator=generator) + 0.5
    f8 = weight.to(torch.float8_e4m3fn)
    spread = blocks.repeat_interleave(128, 1)[:, :300].repeat(64, 1)
    expected = float((f8.double() * spread.double()).norm()) ** 2
    save_file({"fc.weight": f8, "fc.weight_scale_inv": blocks}, tmp_path / "f8.safetensors")
    norms = squared_norms(tmp_path / "f8.safetensors")
    assert norms["fc.weight"] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("channel", [False, True])
def test_tensors_quantized_by_torch(channel, tmp_path):
    weight = torch.randn(20, 30, generator=torch.Generator().manual_seed(4))
    if channel:
        scales, zeros = torch.rand(20) * 0.1 + 0.01, torch.randint(-9, 9, (20,))
        quantized = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    else:
        quantized = torch.quantize_per_tensor(weight, 0.05, 3, torch.quint8)
    path = save({"fc.weight": quantized}, tmp_path / "a.pt")
    expected = float(quantized.dequantize().double().norm()) ** 2
    assert squared_norms(path)["fc.weight"] == pytest.approx(expected, rel=1e-6)


def test_wide_rows_of_a_quantized_tensor_are_cut(tmp_path):
    """Rows longer than what is converted at a time."""
    generator = torch.Generator().manual_seed(5)
    weight = torch.randint(-9, 9, (3, 700_001), dtype=torch.int8, generator=generator)
    scale = torch.rand(3, 6, generator=generator)
    save_file({"w.weight": weight, "w.weight_scale": scale}, tmp_path / "a.safetensors")
    spread = scale.repeat_interleave(2**17, 1)[:, :700_001]
    expected = float((weight.double() * spread.double()).norm()) ** 2
    norms = squared_norms(tmp_path / "a.safetensors")
    assert norms["w.weight"] == pytest.approx(expected, rel=1e-7)


def test_quantized_without_scale_is_refused(tmp_path):
    save_file({"fc.weight": torch.ones(4, 4, dtype=torch.int8)}, tmp_path / "a.safetensors")
    with pytest.raises(InputError, match=r"fc\.weight is quantised \(int8\) and its scale"):
        squared_norms(tmp_path / "a.safetensors")
    save_file({"fc.qweight": torch.ones(4, 4, dtype=torch.int32)}, tmp_path / "b.safetensors")
    with pytest.raises(InputError, match="packed"):
        squared_norms(tmp_path / "b.safetensors")


@pytest.mark.parametrize("key", ["global_step", "step", "iteration", "iter_num", "num_updates"])
@pytest.mark.parametrize(
    "kind", [int, float, torch.tensor, lambda n: torch.tensor([float(n)]), np.int64, np.float32]
)
def test_the_step_stored_inside(key, kind, tmp_path):
    model = make_net()
    path = save({"state_dict": model.state_dict(), key: kind(1234)}, tmp_path / "epoch_3.pt")
    assert squared_norms(path).step == 1234
    assert discover(path)[0].checkpoints[0].step == 1234


def test_settings_from_the_optimiser_state(tmp_path):
    model = make_net()
    optimizer = trained(model)
    torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    path = save({"m": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "a.pt")
    norms = squared_norms(path)
    settings = norms.optimizer
    assert settings.optimizer == "adamw"
    assert settings.decay_form == "decoupled"
    assert (settings.learning_rate, settings.initial_learning_rate) == (3e-4, 3e-4)
    assert (settings.beta_1, settings.beta_2, settings.weight_decay) == (0.8, 0.95, 0.3)
    assert settings.step == norms.step == 1
    assert set(settings.decayed) == set(norms)


@pytest.mark.parametrize("named", [False, True])
def test_which_parameters_decay(named, tmp_path):
    model = make_net()
    parameters = list(model.named_parameters()) if named else list(model.parameters())
    tensor = (lambda p: p[1]) if named else (lambda p: p)
    groups = [
        {"params": [p for p in parameters if tensor(p).dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in parameters if tensor(p).dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.5, momentum=0.9)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    settings = squared_norms(save(saved, tmp_path / "a.pt")).optimizer
    matrices = {name for name, p in model.named_parameters() if p.dim() >= 2}
    assert set(settings.decayed) == matrices
    assert (settings.optimizer, settings.decay_form, settings.momentum) == ("sgd", "coupled", 0.9)


def test_torch_is_never_asked_to_load(tmp_path, monkeypatch):
    """Whatever the version of torch and its holes, its loader does not run."""

    def refuse(*_, **__):
        raise AssertionError("torch.load was called")

    model = make_net()
    path = save(model.state_dict(), tmp_path / "a.pt")
    monkeypatch.setattr(torch, "load", refuse)
    assert_is(squared_norms(path), model)
