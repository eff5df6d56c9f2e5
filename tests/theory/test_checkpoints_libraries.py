"""Checkpoints written by Lightning, Transformers and torch.distributed.checkpoint themselves."""

from __future__ import annotations

import argparse
import warnings

import pytest

from nht_theory.checkpoints import discover, norm_trajectory, squared_norms

torch = pytest.importorskip("torch")


def parameters_of(model):
    return {n: float(p.detach().double().norm()) ** 2 for n, p in model.named_parameters()}


@pytest.fixture(scope="module")
def lightning_run(tmp_path_factory):
    lightning = pytest.importorskip("lightning")
    omegaconf = pytest.importorskip("omegaconf")
    folder = tmp_path_factory.mktemp("lightning")

    class Module(lightning.LightningModule):
        def __init__(self, conf, namespace):
            super().__init__()
            self.save_hyperparameters()
            self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))

        def training_step(self, batch, _):
            return self.net(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=0.02, weight_decay=0.5)

    torch.manual_seed(0)
    conf = omegaconf.OmegaConf.create({"lr": 0.02, "deep": {"list": [1, 2]}})
    module = Module(conf, argparse.Namespace(width=8))
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(24, 4)), 4)
    trainer = lightning.Trainer(
        max_epochs=3,
        default_root_dir=folder,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=lightning.pytorch.loggers.CSVLogger(folder),
        callbacks=[lightning.pytorch.callbacks.ModelCheckpoint(save_top_k=-1, save_last=True)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(module, data)
    return folder, module


def test_lightning(lightning_run):
    folder, module = lightning_run
    series = discover(folder)
    assert len(series) == 1
    assert series[0].name == "lightning_logs/version_0"
    assert [c.step for c in series[0].checkpoints] == [6, 12, 18]
    last = squared_norms(series[0].checkpoints[-1].path)
    assert dict(last) == pytest.approx(parameters_of(module), rel=1e-7)
    assert (last.optimizer.optimizer, last.optimizer.weight_decay) == ("adamw", 0.5)
    assert last.step == 18
    unopened = {entry.file for entry in last.left_out if "neither imported nor run" in entry.reason}
    assert {"argparse.Namespace", "omegaconf.dictconfig.DictConfig"} <= unopened
    trajectory = norm_trajectory(series[0])
    assert trajectory.optimizer.learning_rate == 0.02
    assert trajectory.learning_rates.tolist() == [0.02] * 3


@pytest.fixture(scope="module")
def tiny_gpt2():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=2, n_embd=16, n_head=2, vocab_size=31, n_positions=9, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config)


@pytest.mark.parametrize("shard_size", ["50GB", "10KB"])
def test_transformers_save_pretrained(tiny_gpt2, shard_size, tmp_path):
    tiny_gpt2.save_pretrained(tmp_path, max_shard_size=shard_size)
    assert any(tmp_path.glob("*.index.json")) == (shard_size == "10KB")
    norms = squared_norms(tmp_path)
    expected = parameters_of(tiny_gpt2)
    found = {f"transformer.{n}" if n not in expected else n: v for n, v in norms.items()}
    assert found == pytest.approx(expected, rel=1e-7)


def test_transformers_state_dict_has_a_true_tie(tiny_gpt2, tmp_path):
    torch.save(tiny_gpt2.state_dict(), tmp_path / "pytorch_model.bin")
    norms = squared_norms(tmp_path / "pytorch_model.bin")
    assert dict(norms) == pytest.approx(parameters_of(tiny_gpt2), rel=1e-7)
    assert dict(norms.ties) == {"lm_head.weight": "transformer.wte.weight"}


def test_transformers_trainer(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, index):
            ids = torch.tensor([index % 7, (index * 3) % 7, 1])
            return {"input_ids": ids, "labels": index % 2}

    config = transformers.BertConfig(
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        vocab_size=11,
        max_position_embeddings=8,
    )
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=4,
        save_steps=2,
        per_device_train_batch_size=4,
        weight_decay=0.25,
        learning_rate=1e-3,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    transformers.Trainer(model=model, args=arguments, train_dataset=Data()).train()
    series = discover(tmp_path)
    assert [[c.step for c in s.checkpoints] for s in series] == [[2, 4]]
    trajectory = norm_trajectory(series[0])
    assert trajectory.squared_norm[-1] == pytest.approx(sum(parameters_of(model).values()))
    settings = trajectory.optimizer
    assert (settings.optimizer, settings.weight_decay) == ("adamw", 0.25)
    assert settings.initial_learning_rate == 1e-3
    decayed = set(settings.decayed)
    assert decayed == {
        n for n, p in model.named_parameters() if p.dim() >= 2 and not n.endswith("bias")
    }


@pytest.fixture
def distributed(tmp_path):
    checkpointing = pytest.importorskip("torch.distributed.checkpoint")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.Linear(30, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.125, weight_decay=0.5)
    model(torch.randn(3, 40)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optim": optimizer.state_dict(), "step": 7}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpointing.save(state, checkpoint_id=str(tmp_path / "step-7"))
    return model, tmp_path / "step-7"


def test_distributed_checkpoint(distributed):
    model, folder = distributed
    norms = squared_norms(folder)
    assert dict(norms) == pytest.approx(parameters_of(model), rel=1e-7)
    assert dict(squared_norms(folder, exact=True)) == pytest.approx(parameters_of(model), rel=1e-12)
    assert norms.step == 7
    assert (norms.optimizer.learning_rate, norms.optimizer.weight_decay) == (0.125, 0.5)
    assert [c.step for c in discover(folder.parent)[0].checkpoints] == [7]


def test_distributed_checkpoint_without_a_shard(distributed):
    _, folder = distributed
    next(folder.glob("*.distcp")).unlink()
    with pytest.raises(Exception, match=r"names the shard .*distcp, which is absent"):
        squared_norms(folder)


WORKER = """
import sys, warnings, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
warnings.simplefilter("ignore")
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor, Shard, Replicate
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", rank=rank, world_size=2, init_method=f"file://{folder}/meet")
mesh = init_device_mesh("cpu", (2,))
torch.manual_seed(0)
full = {"a": torch.randn(7, 5), "b": torch.randn(6, 4), "c": torch.randn(3)}
places = {"a": [Shard(0)], "b": [Shard(1)], "c": [Replicate()]}
state = {n: distribute_tensor(t, mesh, places[n]) for n, t in full.items()}
dcp.save({"model": state}, checkpoint_id=f"{folder}/step-3")
if rank == 0:
    torch.save({n: t.double().norm() ** 2 for n, t in full.items()}, f"{folder}/expected.norms")
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_distributed_checkpoint_of_two_ranks(tmp_path):
    import subprocess
    import sys

    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(rank), str(tmp_path)])
        for rank in range(2)
    ]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0]
    expected = {n: float(v) for n, v in torch.load(tmp_path / "expected.norms").items()}
    assert len(list((tmp_path / "step-3").glob("*.distcp"))) == 2
    assert dict(squared_norms(tmp_path / "step-3")) == pytest.approx(expected, rel=1e-7)
