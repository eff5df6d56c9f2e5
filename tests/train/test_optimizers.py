"""Decay forms, interventions and schedules against what they say they do."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from nht_theory.conventions import DecayForm
from nht_theory.errors import InputError
from nht_train.config import TrainConfig
from nht_train.interventions import decayed_names
from nht_train.models.transformer import Transformer
from nht_train.optimizers import adam, adamw, lion, muon, sgd
from nht_train.schedules import cosine, linear_warmup
from nht_train.schedules import step as step_decay
from nht_train.setup import build, describe_run
from nht_train.trainer import train

BASE = {
    "task": {"name": "modular_addition", "p": 11},
    "model": {"name": "transformer", "width": 16, "heads": 2, "feed_forward": 24},
    "steps": 30,
    "batch_size": 32,
    "evaluate_every": 1,
    "checkpoints": {"schedule": "none"},
}


def rows(tmp_path: Path, **changes: object) -> list[dict[str, float]]:
    train(TrainConfig.from_mapping({**BASE, **changes}), tmp_path / "run")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def decay_only(chosen: object, model: nn.Linear, steps: int) -> torch.Tensor:
    """The weights after steps whose loss gradient is zero."""
    for _ in range(steps):
        chosen.zero_grad()
        (0.0 * model.weight.sum()).backward()
        chosen.step()
    return model.weight.detach()


def one_weight() -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 2.0)
    return model


@pytest.mark.parametrize(
    ("make", "form", "factor"),
    [
        (adamw, DecayForm.DECOUPLED, 1 - 0.1 * 0.2),
        (sgd, DecayForm.DECOUPLED, 1 - 0.1 * 0.2),
        (lion, DecayForm.DECOUPLED, 1 - 0.1 * 0.2),
        (lambda *a, **k: sgd(*a, decay="l2_penalty", **k), DecayForm.L2_PENALTY, 1 - 2 * 0.1 * 0.2),
    ],
)
def test_each_decay_form_shrinks_as_the_theory_says(
    make: object, form: DecayForm, factor: float
) -> None:
    model = one_weight()
    chosen = make(model, {"weight"}, learning_rate=0.1, weight_decay=0.2)
    assert chosen.decay_form is form
    assert decay_only(chosen, model, 5).item() == pytest.approx(2.0 * factor**5, rel=1e-6)


def test_momentum_follows_the_companion_root_of_its_recursion() -> None:
    rate, decay, momentum = 0.01, 0.2, 0.9
    model = one_weight()
    chosen = sgd(model, {"weight"}, learning_rate=rate, weight_decay=decay, momentum=momentum)
    assert chosen.decay_form is DecayForm.COUPLED
    late = decay_only(chosen, model, 300).item()
    later = decay_only(chosen, model, 1).item()
    middle = 1 + momentum - rate * decay
    root = (middle + math.sqrt(middle**2 - 4 * momentum)) / 2  # THEORY.md section 2
    assert later / late == pytest.approx(root, rel=1e-5)


def test_coupled_adam_moves_at_constant_speed_on_the_manifold() -> None:
    speeds = []
    for decay in (0.1, 1.0):
        model = one_weight()
        chosen = adam(model, {"weight"}, learning_rate=1e-3, weight_decay=decay)
        assert chosen.decay_form is DecayForm.COUPLED
        speeds.append((2.0 - decay_only(chosen, model, 50).item()) / 50)
    assert speeds == pytest.approx([1e-3, 1e-3], rel=0.02)


def test_muon_takes_the_inner_matrices_and_adamw_the_rest() -> None:
    model = Transformer(vocabulary=11, length=2, classes=11, width=16, heads=2, feed_forward=24)
    names = {id(p): name for name, p in model.named_parameters()}
    chosen = muon(model, set(names.values()))
    inner, rest = (
        {names[id(p)] for group in part.param_groups for p in group["params"]}
        for part in chosen.parts
    )
    assert inner == {
        "layers.0.self_attn.in_proj_weight",
        "layers.0.self_attn.out_proj.weight",
        "layers.0.linear1.weight",
        "layers.0.linear2.weight",
    }
    assert inner | rest == set(names.values())
    assert not inner & rest


@pytest.mark.parametrize("name", ["muon", "adam", "sgd", "lion"])
def test_every_optimiser_satisfies_the_identity_between_evaluations(
    tmp_path: Path, name: str
) -> None:
    momentum = {"momentum": 0.9} if name == "sgd" else {}
    log = rows(tmp_path, optimizer={"name": name, "weight_decay": 0.1, **momentum})
    for before, after in pairwise(log):
        contraction = 1 - after["squared_norm"] / before["squared_norm"]
        parts = after["decay"] + after["alignment"] + after["diffusion"]
        assert parts == pytest.approx(contraction, rel=1e-4, abs=1e-12)


def test_decay_can_be_switched_off_at_a_step(tmp_path: Path) -> None:
    log = rows(tmp_path, intervention={"decay_switch": {"step": 12, "weight_decay": 0.0}})
    for row in log[1:]:
        on = row["step"] <= 12
        assert row["weight_decay"] == (1.0 if on else 0.0)
        assert row["decay"] == pytest.approx(1 - (1 - 1e-3) ** 2 if on else 0.0)


def test_decay_on_a_subset_of_groups(tmp_path: Path) -> None:
    log = rows(tmp_path, intervention={"decay_on": ["embedding"]})
    last = log[-1]
    assert last["decay/embedding"] == pytest.approx(1 - (1 - 1e-3) ** 2)
    assert last["decay/head"] == 0.0
    model = Transformer(vocabulary=5, length=2, classes=5, width=8, heads=1, feed_forward=8)
    matrices = decayed_names(model, "matrices")
    assert matrices == {n for n, p in model.named_parameters() if p.ndim == 2}
    with pytest.raises(InputError, match="did you mean embedding"):
        decayed_names(model, ["embeding"])


@pytest.mark.parametrize("mode", ["ceiling", "hold"])
def test_a_clamp_keeps_the_norm_and_the_terms_include_it(tmp_path: Path, mode: str) -> None:
    clamp = {"squared_norm": 150.0, "mode": mode, "from_step": 5}
    log = rows(tmp_path, intervention={"norm_clamp": clamp})
    assert log[4]["squared_norm"] > 200
    for row in log[5:]:
        assert row["squared_norm"] <= 150.0 * (1 + 1e-6)
        if mode == "hold" or row["step"] == 5:
            assert row["squared_norm"] == pytest.approx(150.0, rel=1e-6)
        parts = row["decay"] + row["alignment"] + row["diffusion"]
        assert parts == pytest.approx(row["contraction"], rel=1e-4, abs=1e-9)


def test_a_wrong_intervention_key_is_named() -> None:
    wrong = {**BASE, "intervention": {"norm_clamp": {"squared_nrom": 3.0}}}
    with pytest.raises(InputError, match="did you mean squared_norm"):
        TrainConfig.from_mapping(wrong)


def test_learning_rates_are_those_of_torchs_schedulers(tmp_path: Path) -> None:
    parameter = nn.Parameter(torch.zeros(1))
    for ours, theirs in (
        (
            cosine(total_steps=20),
            lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=20),
        ),
        (
            step_decay(total_steps=20, milestones=[5, 9], factor=0.3),
            lambda o: torch.optim.lr_scheduler.MultiStepLR(o, milestones=[5, 9], gamma=0.3),
        ),
        (
            linear_warmup(total_steps=20, warmup_steps=8),
            lambda o: torch.optim.lr_scheduler.LinearLR(o, start_factor=1 / 8, total_iters=7),
        ),
    ):
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        scheduler = theirs(optimizer)
        for step in range(20):
            assert 0.5 * ours[step] == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-12)
            optimizer.step()
            scheduler.step()
    log = rows(tmp_path, schedule={"name": "cosine"})
    for row in log[1:]:
        expected = 1e-3 * (1 + math.cos(math.pi * (row["step"] - 1) / 30)) / 2
        assert row["learning_rate"] == pytest.approx(expected)


def test_the_run_document_tells_interventions_apart() -> None:
    changed = {**BASE, "intervention": {"decay_on": "matrices"}}
    plain = describe_run(build(TrainConfig.from_mapping(BASE))).hyperparameters
    other = describe_run(build(TrainConfig.from_mapping(changed))).hyperparameters
    assert plain.configuration() != other.configuration()
