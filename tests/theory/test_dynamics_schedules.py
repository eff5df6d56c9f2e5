"""Schedules against torch's own, the clock against the product of shrink factors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.conventions import DecayForm, OptimizerKind
from nht_theory.dynamics import (
    ArraySchedule,
    Constant,
    Cosine,
    LinearWarmup,
    OptimizerDynamics,
    Schedule,
    StepDecay,
    schedule_from_name,
)
from nht_theory.dynamics.clock import Clock
from nht_theory.errors import DomainError, InputError
from nht_theory.formulas import schedules

SCHEDULES: tuple[Schedule, ...] = (
    Constant(),
    Cosine(200),
    Cosine(200, final_multiple=0.1),
    LinearWarmup(50),
    LinearWarmup(50, Cosine(150)),
    StepDecay((60, 120), factor=0.2),
    ArraySchedule(np.linspace(1.0, 0.0, 150)),
)


def adamw(schedule: Schedule, weight_decay: float = 1.0) -> OptimizerDynamics:
    return OptimizerDynamics(OptimizerKind.ADAMW, 1e-2, weight_decay, schedule=schedule)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: type(s).__name__)
def test_the_clock_is_minus_the_log_of_the_simulated_norm(schedule: Schedule) -> None:
    dynamics = adamw(schedule)
    norm, norms = 1.0, [1.0]
    for multiple in schedule.multiples(0, 300):
        norm *= (1.0 - 1e-2 * multiple) ** 2
        norms.append(norm)
    assert dynamics.clock(np.arange(301)) == pytest.approx(-np.log(norms), rel=1e-12, abs=1e-15)
    assert dynamics.shrink_factors(0, 5) == pytest.approx(1 - 1e-2 * schedule.multiples(0, 5))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: type(s).__name__)
@given(start=st.integers(0, 400), length=st.integers(1, 100))
def test_a_window_of_a_schedule_is_a_slice_of_it(
    schedule: Schedule, start: int, length: int
) -> None:
    whole = schedule.multiples(0, start + length)
    assert np.array_equal(schedule.multiples(start, start + length), whole[start:])


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: type(s).__name__)
@settings(max_examples=30)
@given(fraction=st.floats(0.001, 1.5))
def test_the_inverse_of_the_clock_is_the_first_step_that_reaches(
    schedule: Schedule, fraction: float
) -> None:
    dynamics = adamw(schedule)
    target = fraction * float(dynamics.clock(300))
    table = dynamics.clock(np.arange(2001))
    reached = np.flatnonzero(table >= target * (1 - 1e-12))
    made = float(dynamics.steps_to(target))
    if reached.size:
        assert made == reached[0]
    else:
        assert made == math.inf or made > 2000


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Cosine(40), lambda t, o: t.optim.lr_scheduler.CosineAnnealingLR(o, 40)),
        (
            Cosine(40, final_multiple=0.1),
            lambda t, o: t.optim.lr_scheduler.CosineAnnealingLR(o, 40, eta_min=0.02),
        ),
        (
            StepDecay((10, 25), factor=0.3),
            lambda t, o: t.optim.lr_scheduler.MultiStepLR(o, [10, 25], gamma=0.3),
        ),
        (
            LinearWarmup(10),
            lambda t, o: t.optim.lr_scheduler.LinearLR(o, 0.1, 1.0, total_iters=9),
        ),
    ],
)
def test_schedules_are_torchs(ours: Schedule, theirs: object) -> None:
    torch = pytest.importorskip("torch")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.2)
    scheduler = theirs(torch, optimizer)  # type: ignore[operator]
    rates = []
    for _ in range(40):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    assert 0.2 * ours.multiples(0, 40) == pytest.approx(rates, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 50, 1000])
@pytest.mark.parametrize("decay", [1e-6, 1e-3, 0.3, 0.99])
def test_the_cosine_clock_in_closed_form(steps: int, decay: float) -> None:
    dynamics = OptimizerDynamics(OptimizerKind.ADAMW, decay, 1.0, schedule=Cosine(steps))
    closed = schedules.cosine_clock.value(learning_rate=decay, weight_decay=1.0, total_steps=steps)
    assert float(dynamics.clock(steps)) == pytest.approx(closed, rel=1e-9)


def test_schedules_by_name() -> None:
    assert schedule_from_name("constant").multiples(0, 2) == pytest.approx([1, 1])
    made = schedule_from_name("cosine", total_steps=100, warmup_steps=20)
    assert made.horizon == 100
    for name, arguments in (
        ("cosine", {}),
        ("linear_warmup", {}),
        ("step", {}),
        ("triangle", {}),
        ("cosine", {"total_steps": 10, "warmup_steps": 10}),
    ):
        with pytest.raises(InputError):
            schedule_from_name(name, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Cosine(0),
        lambda: Cosine(10, final_multiple=2.0),
        lambda: LinearWarmup(0),
        lambda: StepDecay((5, 3)),
        lambda: StepDecay((), 0.1),
        lambda: StepDecay((5,), factor=-1.0),
        lambda: ArraySchedule([]),
        lambda: ArraySchedule([1.0, math.nan]),
        lambda: ArraySchedule([[1.0]]),
        lambda: Clock(Constant(), lambda m: m).at(-1),
        lambda: Clock(Constant(), lambda m: m).at(0.5),
        lambda: Clock(Constant(), lambda m: m).steps_to(math.nan),
        lambda: adamw(Constant()).weak_boundary(math.nan, 10),
        lambda: adamw(Constant(), weight_decay=100.0),
        lambda: adamw(Constant(), weight_decay=-1.0),
        lambda: OptimizerDynamics(OptimizerKind.ADAM, 1e-3, 1e-2),
    ],
)
def test_nonsense_is_refused(wrong: object) -> None:
    with pytest.raises(DomainError):
        wrong()  # type: ignore[operator]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: type(s).__name__)
@settings(max_examples=15, deadline=None)
@given(log_ratio=st.floats(1e-6, 3.0))
def test_the_weak_boundary_just_covers_the_log_ratio(schedule: Schedule, log_ratio: float) -> None:
    edge = adamw(schedule).weak_boundary(log_ratio, total_steps=250)
    assert float(adamw(schedule, edge).clock(250)) == pytest.approx(log_ratio, rel=1e-10)


def test_a_boundary_beyond_every_weight_decay_is_infinite() -> None:
    assert adamw(Constant()).weak_boundary(1e6, total_steps=1) == math.inf


def test_the_penalty_counts_twice() -> None:
    penalty = OptimizerDynamics(OptimizerKind.SGD, 1e-3, 1.0, decay_form=DecayForm.L2_PENALTY)
    decoupled = OptimizerDynamics(OptimizerKind.ADAMW, 1e-3, 2.0)
    assert float(penalty.clock(100)) == pytest.approx(float(decoupled.clock(100)), rel=1e-14)
    assert float(penalty.hitting_time(10.0, 1.0)) == float(decoupled.hitting_time(10.0, 1.0))
    assert penalty.noise_floor(5.0) == decoupled.noise_floor(5.0)


def test_the_expected_norm_follows_the_closed_form_at_a_constant_rate() -> None:
    from nht_theory.formulas.floors import expected_squared_norm

    dynamics = adamw(Constant())
    made = dynamics.expected_squared_norm(50.0, noise_trace=30.0, steps=400)
    closed = expected_squared_norm(
        learning_rate=1e-2,
        weight_decay=1.0,
        squared_norm_initial=50.0,
        squared_norm_floor=dynamics.noise_floor(30.0),
        step=np.arange(401),
    )
    assert made == pytest.approx(closed, rel=1e-12)


def test_no_floor_is_invented_for_momentum() -> None:
    momentum = OptimizerDynamics(OptimizerKind.SGD, 0.1, 1e-3, momentum=0.9)
    with pytest.raises(InputError, match="no noise floor is known"):
        momentum.noise_floor(1.0)
