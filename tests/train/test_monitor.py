"""The three measured terms against the optimisers' own formulas and exact arithmetic."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from nht_theory.errors import InputError
from nht_train.monitor import NormMonitor

LEARNING_RATE = 1e-3
WEIGHT_DECAY = 1.0


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        inputs = torch.randn(16, 6, generator=generator)
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()


def exact_squared_norm(parameters: list[torch.Tensor]) -> float:
    return math.fsum(float(x) ** 2 for p in parameters for x in p.detach().double().flatten())


def adamw_update(parameter: nn.Parameter, state: dict[str, torch.Tensor]) -> torch.Tensor:
    step = float(state["step"])
    first = state["exp_avg"].double() / (1 - 0.9**step)
    second = state["exp_avg_sq"].double() / (1 - 0.999**step)
    return first / (second.sqrt() + 1e-8)


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_terms_equal_the_optimisers_own_update(name: str) -> None:
    model = small_model()
    if name == "adamw":
        optimizer: torch.optim.Optimizer = torch.optim.AdamW(
            model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY
        )
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    train(model, optimizer, 4)
    monitor = NormMonitor(model, optimizer, every=1)
    before = [p.detach().clone() for p in model.parameters()]
    train(model, optimizer, 1)
    if name == "adamw":
        updates = [adamw_update(p, optimizer.state[p]) for p in model.parameters()]
    else:
        updates = [p.grad.double() for p in model.parameters()]

    squared_norm = exact_squared_norm(before)
    shrink = 1 - LEARNING_RATE * WEIGHT_DECAY
    dot = sum(float((b.double() * u).sum()) for b, u in zip(before, updates, strict=True))
    squared_update = sum(float((u * u).sum()) for u in updates)
    assert monitor.latest is not None
    terms = monitor.latest.values
    assert terms["decay"] == pytest.approx(1 - shrink**2, rel=1e-12)
    # u is recovered from float32 parameters: rounding 6e-8 |theta| against eta |u|.
    assert terms["alignment"] == pytest.approx(
        2 * LEARNING_RATE * shrink * dot / squared_norm, rel=1e-3, abs=1e-7
    )
    assert terms["update_squared_norm"] == pytest.approx(squared_update, rel=1e-3)
    assert terms["diffusion"] == pytest.approx(
        -(LEARNING_RATE**2) * squared_update / squared_norm, rel=1e-3
    )
    after = exact_squared_norm(list(model.parameters()))
    assert terms["squared_norm"] == pytest.approx(after, rel=1e-14)
    total = terms["decay"] + terms["alignment"] + terms["diffusion"]
    assert total == pytest.approx(1 - after / squared_norm, rel=1e-9)


def test_groups_sum_to_the_total_and_each_satisfies_the_identity() -> None:
    model = small_model()
    decayed = [p for p in model.parameters() if p.ndim == 2]
    free = [p for p in model.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": 0.5},
            {"params": free, "weight_decay": 0.0, "lr": 1e-2},
        ],
        lr=LEARNING_RATE,
    )
    monitor = NormMonitor(model, optimizer, every=5)
    train(model, optimizer, 5)
    assert monitor.latest is not None
    assert monitor.latest.step == 5
    values = monitor.latest.values
    names = {group.name for group in monitor.groups}
    assert {"decayed", "not_decayed", "head"} <= names
    for name in names:
        parts = sum(values[f"{column}/{name}"] for column in ("decay", "alignment", "diffusion"))
        assert parts == pytest.approx(values[f"contraction/{name}"], rel=1e-9)
    assert values["decay/not_decayed"] == 0.0
    assert values["decay/decayed"] == pytest.approx(1 - (1 - LEARNING_RATE * 0.5) ** 2)
    layers = [group.name for group in monitor.groups if group.partition == "layer"]
    for column in ("squared_norm", "update_squared_norm"):
        total = math.fsum(values[f"{column}/{name}"] for name in layers)
        assert total == pytest.approx(values[column], rel=1e-12)


def test_momentum_and_coupled_adam_keep_the_identity_with_the_decay_inside_u() -> None:
    for make in (
        lambda p: torch.optim.SGD(p, lr=0.01, weight_decay=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1),
    ):
        model = small_model()
        optimizer = make(model.parameters())
        monitor = NormMonitor(model, optimizer, every=1)
        train(model, optimizer, 3)
        assert monitor.latest is not None
        values = monitor.latest.values
        assert values["decay"] == 0.0
        assert values["alignment"] + values["diffusion"] == pytest.approx(
            values["contraction"], rel=1e-9
        )


def test_a_learning_rate_of_zero_has_no_update_to_name() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, weight_decay=1.0)
    monitor = NormMonitor(model, optimizer, every=1)
    train(model, optimizer, 1)
    assert monitor.latest is not None
    assert monitor.latest.values["contraction"] == 0.0
    assert math.isnan(monitor.latest.values["update_squared_norm"])


def test_a_foreign_parameter_is_refused() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    with pytest.raises(InputError, match="not one of the model"):
        NormMonitor(small_model(), optimizer)


def test_closed_monitor_reads_nothing() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = NormMonitor(model, optimizer, every=1)
    monitor.close()
    train(model, optimizer, 2)
    assert monitor.latest is None


def test_a_frozen_parameter_in_the_optimiser_is_left_aside() -> None:
    model = small_model()
    model[0].weight.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = NormMonitor(model, optimizer, every=1)
    train(model, optimizer, 1)
    assert monitor.latest is not None
    trained = [p for p in model.parameters() if p.requires_grad]
    assert monitor.latest.values["squared_norm"] == pytest.approx(exact_squared_norm(trained))


def test_a_loaded_optimiser_state_is_followed() -> None:
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)
    monitor = NormMonitor(model, optimizer, every=1)
    optimizer.load_state_dict(optimizer.state_dict())  # replaces the parameter groups
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    train(model, optimizer, 1)
    assert monitor.latest is not None
    assert monitor.latest.values["decay"] == pytest.approx(1 - (1 - 0.01 * 0.5) ** 2)
