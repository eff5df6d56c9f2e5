"""The optimiser table of THEORY.md section 2 against the real classes of torch.optim."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from nht_theory.conventions import DecayForm, OptimizerKind
from nht_theory.dynamics import OptimizerDynamics
from nht_theory.errors import DomainError
from nht_theory.formulas import (
    emergence,
    floors,
    later_results,
    momentum,
    rates,
    regimes,
    theorems,
    times,
)

torch = pytest.importorskip("torch")

Gradient = Callable[["torch.Tensor"], "torch.Tensor"]


def _norms(
    make: Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer],
    steps: int,
    gradient: Gradient,
    start: torch.Tensor,
) -> list[float]:
    """V at steps 0, ..., ``steps`` of a real optimiser, in float64."""
    parameter = torch.nn.Parameter(start.clone())
    optimizer = make([parameter])
    norms = [float(parameter.detach().square().sum())]
    for _ in range(steps):
        parameter.grad = gradient(parameter.detach())
        optimizer.step()
        norms.append(float(parameter.detach().square().sum()))
    return norms


def _start(count: int = 6) -> torch.Tensor:
    return torch.linspace(1.0, 2.0, count, dtype=torch.float64).reshape(2, -1)


def _silent(theta: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(theta)


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (OptimizerKind.ADAMW, lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.5)),
        (OptimizerKind.SGD, lambda p: torch.optim.SGD(p, lr=1e-2, weight_decay=0.5)),
        (
            OptimizerKind.MUON,
            lambda p: torch.optim.Muon(p, lr=1e-2, weight_decay=0.5, momentum=0.95),
        ),
    ],
)
def test_decoupled_decay_is_exact_with_a_silent_loss(
    kind: OptimizerKind, make: Callable[..., torch.optim.Optimizer]
) -> None:
    norms = _norms(make, 400, _silent, _start())
    dynamics = OptimizerDynamics(kind, 1e-2, 0.5)
    assert -math.log(norms[400] / norms[0]) == pytest.approx(float(dynamics.clock(400)), rel=1e-11)
    first = next(t for t, v in enumerate(norms) if v <= norms[0] / 3.0)
    assert float(dynamics.hitting_time(norms[0], norms[0] / 3.0)) == first


def test_the_papers_penalty_is_torch_weight_decay_of_twice_lambda() -> None:
    lam = 0.2
    norms = _norms(
        lambda p: torch.optim.SGD(p, lr=1e-2, weight_decay=2 * lam), 300, _silent, _start()
    )
    dynamics = OptimizerDynamics(OptimizerKind.SGD, 1e-2, lam, decay_form=DecayForm.L2_PENALTY)
    assert -math.log(norms[300] / norms[0]) == pytest.approx(float(dynamics.clock(300)), rel=1e-11)


@pytest.mark.parametrize(
    ("decay", "mu", "dampening", "nesterov"),
    [
        (5e-4, 0.9, 0.0, False),
        (5e-4, 0.9, 0.5, False),
        (5e-4, 0.9, 0.0, True),
        (2e-2, 0.9, 0.0, False),
        (2e-2, 0.9, 0.5, False),
        (2e-2, 0.5, 0.9, False),
        (2e-2, 0.9, 0.0, True),
        (1.0, 0.5, 0.0, True),
    ],
)
def test_momentum_dampening_and_nesterov_reach_the_larger_root(
    decay: float, mu: float, dampening: float, nesterov: bool
) -> None:
    eta = 0.1
    norms = _norms(
        lambda p: torch.optim.SGD(
            p, lr=eta, weight_decay=decay, momentum=mu, dampening=dampening, nesterov=nesterov
        ),
        400,
        _silent,
        _start(),
    )
    dynamics = OptimizerDynamics(
        OptimizerKind.SGD, eta, decay, momentum=mu, dampening=dampening, nesterov=nesterov
    )
    late = -math.log(norms[400] / norms[399])
    assert late == pytest.approx(float(dynamics.contraction_rate(eta)), rel=1e-6)
    if eta * decay < 0.01 * (1 - mu) ** 2:
        # To first order dampening keeps its share of the decay out, and Nesterov changes nothing.
        assert late == pytest.approx(2 * eta * decay * (1 - dampening) / (1 - mu), rel=0.02)


def test_the_issue_s_dampening_of_a_half() -> None:
    """eta w 0.002, momentum 0.9: torch 0.0224 where the formula without dampening says 0.0537."""
    arguments = {"learning_rate": 0.1, "weight_decay": 0.02, "momentum": 0.9}
    assert momentum.momentum_rate.value(**arguments, dampening=0.5) == pytest.approx(
        0.0224, abs=5e-5
    )
    assert momentum.momentum_rate.value(**arguments, dampening=0.0) == pytest.approx(
        0.0537, abs=5e-5
    )
    assert momentum.nesterov_rate.value(**arguments) == pytest.approx(0.05179, abs=5e-6)


def test_the_root_is_the_factor_of_a_late_step() -> None:
    arguments = {"learning_rate": 0.1, "weight_decay": 0.02, "momentum": 0.9, "dampening": 0.5}
    root = momentum.momentum_root.value(**arguments)
    assert root == pytest.approx(math.exp(-momentum.momentum_rate.value(**arguments) / 2))


@pytest.mark.parametrize(
    ("decay", "dampening", "nesterov"), [(2.0, 0.0, False), (2.0, 0.5, False), (2.0, 0.0, True)]
)
def test_momentum_oscillates_inside_its_envelope(
    decay: float, dampening: float, nesterov: bool
) -> None:
    eta, mu = 0.1, 0.9
    norms = _norms(
        lambda p: torch.optim.SGD(
            p, lr=eta, weight_decay=decay, momentum=mu, dampening=dampening, nesterov=nesterov
        ),
        400 if not nesterov else 120,
        _silent,
        _start(),
    )
    assert any(later > earlier for earlier, later in pairwise(norms))
    dynamics = OptimizerDynamics(
        OptimizerKind.SGD, eta, decay, momentum=mu, dampening=dampening, nesterov=nesterov
    )
    predicted = float(dynamics.contraction_rate(eta))
    # Peaks of V, one period apart, fall by the envelope: fit their slope.
    peaks = [
        (t, math.log(norms[t]))
        for t in range(1, len(norms) - 1)
        if norms[t - 1] < norms[t] >= norms[t + 1]
    ]
    (t_0, first), (t_1, last) = peaks[2], peaks[-1]
    assert (first - last) / (t_1 - t_0) == pytest.approx(predicted, rel=0.03)


def test_pytorch_allows_nesterov_with_momentum_and_without_dampening_only() -> None:
    for settings in ({"momentum": 0.9, "dampening": 0.5}, {"momentum": 0.0}):
        with pytest.raises(ValueError, match="Nesterov"):
            torch.optim.SGD(
                [torch.nn.Parameter(_start())], lr=0.1, weight_decay=0.1, nesterov=True, **settings
            )
        with pytest.raises(DomainError, match="Nesterov"):
            OptimizerDynamics(OptimizerKind.SGD, 0.1, 0.1, nesterov=True, **settings)


def _speeds(theta: float, eta: float, steps: int, decay: float = 1.0) -> list[tuple[float, float]]:
    """(|theta|, decrease of |theta|) at every step of coupled Adam with a silent loss."""
    norms = _norms(
        lambda p: torch.optim.Adam(p, lr=eta, weight_decay=decay, eps=1e-30),
        steps,
        _silent,
        torch.full((1, 1), theta, dtype=torch.float64),
    )
    sizes = [math.sqrt(v) for v in norms]
    return [(later, earlier - later) for earlier, later in pairwise(sizes)]


def test_coupled_adam_falls_at_nearly_constant_speed_far_from_zero() -> None:
    """After several memories of v: the first order is right to its square, eta alone is not."""
    eta, beta_2 = 2e-5, 0.999
    for decay in (1e-2, 1.0):
        theta, speed = _speeds(0.4, eta, 6000, decay)[-1]
        predicted = rates.adam_coupled_speed.value(
            learning_rate=eta, theta=theta, beta_1=0.9, beta_2=beta_2
        )
        second_order = (eta / (1 - beta_2) / theta) ** 2
        assert speed == pytest.approx(predicted, rel=2 * second_order)
        assert speed < 0.94 * eta


def test_coupled_adam_is_far_slower_than_eta_near_zero() -> None:
    """The issue's counter-example: theta 0.05 is not much larger than eta/(1 - beta_2) = 1."""
    eta = 1e-3
    speeds = _speeds(0.05, eta, 101)
    moved = abs(speeds[100][1]) / eta
    assert moved < 0.01
    with pytest.raises(DomainError, match="not much larger than eta"):
        rates.adam_coupled_speed(learning_rate=eta, theta=0.05, beta_1=0.9, beta_2=0.999)


@pytest.mark.slow
def test_coupled_adam_under_noise_decays_at_twice_eta_w_over_root_v() -> None:
    """Many coordinates of noise of size s: the mean of theta decays at eta w/s."""
    eta, decay, size, count, steps = 2e-2, 0.05, 2.0, 10_000, 1500
    generator = torch.Generator().manual_seed(0)
    parameter = torch.nn.Parameter(torch.full((count,), 1.0, dtype=torch.float64))
    optimizer = torch.optim.Adam([parameter], lr=eta, weight_decay=decay)
    for _ in range(steps):
        noise = torch.randn(count, generator=generator, dtype=torch.float64)
        parameter.grad = size * noise
        optimizer.step()
    rate = rates.adam_coupled_noise_rate.value(
        learning_rate=eta, weight_decay=decay, second_moment=size**2
    )
    mean = float(parameter.detach().mean())
    error = float(parameter.detach().std()) / math.sqrt(count)
    expected = math.exp(-rate * steps / 2)
    assert abs(mean - expected) < 3 * error + 0.02 * expected


def test_sgd_under_noise_settles_at_its_floor() -> None:
    eta, decay, size, count = 0.05, 1.0, 0.7, 40_000
    generator = torch.Generator().manual_seed(1)

    def noise(theta: torch.Tensor) -> torch.Tensor:
        return size * torch.randn(theta.shape, generator=generator, dtype=torch.float64)

    norms = _norms(
        lambda p: torch.optim.SGD(p, lr=eta, weight_decay=decay),
        200,
        noise,
        torch.zeros(count, dtype=torch.float64),
    )
    floor = floors.noise_floor.value(
        learning_rate=eta, weight_decay=decay, noise_trace=count * size**2
    )
    # V/floor is chi-square over its d degrees of freedom: relative error sqrt(2/d).
    assert norms[-1] == pytest.approx(floor, rel=3 * math.sqrt(2 / count))


def test_adamw_under_noise_settles_at_d_whatever_the_noise() -> None:
    eta, decay, count = 5e-3, 1.0, 4000
    for size in (1e-3, 10.0):
        generator = torch.Generator().manual_seed(2)

        def noise(
            theta: torch.Tensor, size: float = size, generator: torch.Generator = generator
        ) -> torch.Tensor:
            return size * torch.randn(theta.shape, generator=generator, dtype=torch.float64)

        norms = _norms(
            lambda p: torch.optim.AdamW(p, lr=eta, weight_decay=decay),
            1500,
            noise,
            torch.zeros(count, dtype=torch.float64),
        )
        floor = floors.adamw_noise_floor.value(
            learning_rate=eta, weight_decay=decay, parameter_count=count
        )
        assert sum(norms[-500:]) / 500 == pytest.approx(floor, rel=0.06)


def test_no_adam_update_exceeds_its_bound() -> None:
    """The gradient that meets Cauchy's inequality with equality, late in training."""
    beta_1, beta_2, eta = 0.9, 0.999, 1e-3
    parameter = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = torch.optim.AdamW(
        [parameter], lr=eta, weight_decay=0.0, betas=(beta_1, beta_2), eps=1e-300
    )
    bound = floors.adam_update_bound.value(beta_1=beta_1, beta_2=beta_2)
    steps, growth = 6_000, beta_2 / beta_1
    largest = 0.0
    for t in range(steps):
        gradient = growth ** (t - steps) if (t - steps) * math.log(growth) > -600 else 1e-260
        parameter.grad = torch.full((1,), gradient * 1e100, dtype=torch.float64)
        before = float(parameter.detach())
        optimizer.step()
        largest = max(largest, abs(float(parameter.detach()) - before) / eta)
    assert largest <= bound * (1 + 1e-3)
    assert largest == pytest.approx(bound, rel=0.01)


def test_the_papers_bound_without_a_floor_is_broken_by_noise() -> None:
    """The paper's penalty under torch's SGD with noise: the mean of V passes V_st too late."""
    eta, lam, count, start, end = 0.01, 1.0, 4000, 2.0, 1.0
    sigma2 = 3.8 * lam / eta
    generator = torch.Generator().manual_seed(5)

    def noise(theta: torch.Tensor) -> torch.Tensor:
        drawn = torch.randn(theta.shape, generator=generator, dtype=torch.float64)
        return drawn * math.sqrt(sigma2 / count)

    def first_below(gradient: Gradient) -> int:
        norms = _norms(
            lambda p: torch.optim.SGD(p, lr=eta, weight_decay=2 * lam),
            150,
            gradient,
            torch.full((count,), math.sqrt(start / count), dtype=torch.float64),
        )
        return next((t for t, v in enumerate(norms) if v <= end), 151)

    bound = times.paper_upper_bound.value(
        learning_rate=eta,
        weight_decay=lam,
        squared_norm_shortcut=start,
        squared_norm_structured=end,
    )
    assert first_below(_silent) <= bound < first_below(noise)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.5),
        lambda p: torch.optim.SGD(p, lr=1e-2, weight_decay=0.5),
    ],
)
def test_pure_decay_meets_the_premise_path_by_path(
    make: Callable[..., torch.optim.Optimizer],
) -> None:
    norms = _norms(make, 300, _silent, _start())
    first = next(t for t, v in enumerate(norms) if v <= norms[0] / 3.0)
    bound = theorems.pathwise_lower_bound.value(
        learning_rate=1e-2,
        weight_decay=0.5,
        squared_norm_shortcut=norms[0],
        squared_norm_structured=norms[0] / 3.0,
        contraction_factor=2.0,
    )
    assert bound <= first < 1.02 * bound + 1


def test_a_radial_loss_sets_kappa() -> None:
    """A loss that pushes the norm up at 0.3 lambda: kappa 0.7, as torch's SGD has it."""
    eta, lam = 1e-3, 0.5
    norms = _norms(
        lambda p: torch.optim.SGD(p, lr=eta, weight_decay=lam),
        2000,
        lambda theta: -0.3 * lam * theta,
        _start(),
    )
    first = next(t for t, v in enumerate(norms) if v <= norms[0] / 3.0)
    made = later_results.kappa_delay.value(
        learning_rate=eta,
        weight_decay=lam,
        efficiency=0.7,
        squared_norm_memorised=norms[0],
        squared_norm_critical=norms[0] / 3.0,
    )
    assert first == pytest.approx(made, abs=2)


def test_beyond_the_strong_edge_adamw_holds_the_norm_only_from_outside_the_box() -> None:
    """A gradient that pushes every coordinate outwards as hard as Adam can: u = -1 throughout."""
    eta, count, v_sc = 0.01, 50, 200.0
    edge = regimes.strong_boundary.value(
        update_bound=1.0, parameter_count=count, squared_norm_shortcut=v_sc
    )
    lam = 2 * edge
    held = {}
    for place, start in (("inside", 1.0 / lam), ("outside", 6.0)):
        norms = _norms(
            lambda p: torch.optim.AdamW(p, lr=eta, weight_decay=lam, eps=1e-30),
            400,
            lambda theta: -torch.ones_like(theta),
            torch.full((count,), start, dtype=torch.float64),
        )
        held[place] = sum(v >= v_sc for v in norms)
        last = regimes.box_norm_from_outside.value(
            learning_rate=eta,
            weight_decay=lam,
            update_bound=1.0,
            parameter_count=count,
            largest_coordinate=start,
            step=400,
        )
        assert norms[-1] == pytest.approx(last, rel=1e-9)
    assert held["inside"] == 0
    assert held["outside"] > 50


def test_the_critical_size_moves_as_its_slope_says() -> None:
    """r(N) = exp(g lambda) 1e4 N^-0.8 against the decay of torch's AdamW over the budget."""
    eta, steps, exponent = 1e-2, 200, 0.8

    def log_critical(lam: float, sensitivity: float) -> float:
        norms = _norms(
            lambda p: torch.optim.AdamW(p, lr=eta, weight_decay=lam), steps, _silent, _start()
        )
        return (math.log(1e4) + sensitivity * lam + math.log(norms[-1] / norms[0])) / exponent

    for sensitivity in (0.0, 6.0):
        slope = (log_critical(1.001, sensitivity) - log_critical(0.999, sensitivity)) / 2e-3
        made = emergence.critical_size_slope.value(
            learning_rate=eta,
            weight_decay=1.0,
            ratio_exponent=exponent,
            total_steps=float(steps),
            ratio_sensitivity=sensitivity,
        )
        assert made == pytest.approx(slope, rel=1e-5)
        assert (made < 0) == (sensitivity == 0.0)


def test_no_adam_update_exceeds_its_bound_early_either() -> None:
    """The worst gradients of the first steps: g_k proportional to (beta_1/beta_2)^(t - k)."""
    beta_1, beta_2, eta = 0.9, 0.95, 1e-3
    bound = floors.adam_update_bound.value(beta_1=beta_1, beta_2=beta_2)
    largest = []
    for last in (1, 2, 5, 20, 100):
        parameter = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        optimizer = torch.optim.AdamW(
            [parameter], lr=eta, weight_decay=0.0, betas=(beta_1, beta_2), eps=1e-300
        )
        for step in range(1, last + 1):
            before = float(parameter.detach())
            parameter.grad = torch.full((1,), (beta_1 / beta_2) ** (last - step)).double()
            optimizer.step()
        largest.append(abs(float(parameter.detach()) - before) / eta)
    assert largest == sorted(largest)
    assert max(largest) <= bound * (1 + 1e-9)
    assert largest[-1] == pytest.approx(bound, rel=0.01)
