"""Groups: the weighted mean of section 5, escape, the carrier, the head's lead; V's definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.estimators.contraction import Window
from nht_theory.estimators.groups import carrier, escape, group_rates, layer_groups
from nht_theory.estimators.head_monitor import HeadLead, head_lead
from nht_theory.estimators.norm_hierarchy import norm_hierarchy
from nht_theory.estimators.results import Crossing, Estimate, Missing, Unavailable
from nht_theory.estimators.summary import estimate_run
from nht_theory.runs.run import ParameterGroup, Run

STEPS = np.arange(0, 1001, 100)
LAYERS = tuple(
    ParameterGroup(name, "layer", (name,), 10, depth)
    for depth, name in enumerate(("embedding", "block", "head"))
)


def layered_run(**squared_norm: np.ndarray) -> Run:
    groups = {f"squared_norm/{name}": series for name, series in squared_norm.items()}
    return Run(
        "r",
        Path("r"),
        STEPS,
        {
            **groups,
            "squared_norm": np.sum(list(groups.values()), axis=0),
            "train_accuracy": np.where(STEPS >= 100, 1.0, 0.0),
            "heldout_accuracy": np.where(STEPS >= 800, 1.0, 0.0),
        },
        groups=LAYERS,
    )


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.floats(0.1, 100), min_size=3, max_size=3),
    st.lists(st.floats(-2e-3, 4e-3), min_size=3, max_size=3),
)
def test_contributions_add_up_to_the_total(starts: list[float], rates: list[float]) -> None:
    names = ("embedding", "block", "head")
    run = layered_run(
        **{
            name: start * np.exp(-rate * STEPS)
            for name, start, rate in zip(names, starts, rates, strict=True)
        }
    )
    found = group_rates(run, Window(0, 1000, "whole run"))
    total = 1 - run.squared_norm[-1] / run.squared_norm[0]
    assert sum(group.contribution for group in found) == pytest.approx(total, abs=1e-9)
    assert sum(group.share for group in found) == pytest.approx(1.0)
    for group, rate in zip(found, rates, strict=True):
        if isinstance(group.rate, Estimate):
            assert group.rate.value == pytest.approx(rate, abs=1e-9)


def test_carrier_and_order_of_layers() -> None:
    run = layered_run(embedding=np.full(11, 8.0), block=np.full(11, 1.0), head=np.full(11, 1.0))
    assert carrier(run, 100) == ("embedding", pytest.approx(0.8))
    assert [group.name for group in layer_groups(run)] == ["embedding", "block", "head"]


def test_escape_is_a_fall_below_nine_tenths_of_the_peak_so_far() -> None:
    run = layered_run(
        embedding=np.linspace(1, 2, 11),
        block=np.exp(-1e-3 * STEPS),
        head=np.exp(-2e-3 * (STEPS - 300.0).clip(0)),
    )
    grown = escape(run, "embedding", 100)
    assert isinstance(grown, Crossing)
    assert grown.censored
    assert grown.earlier_step == 1000
    block, head = escape(run, "block", 100), escape(run, "head", 100)
    assert isinstance(block, Crossing)
    assert isinstance(head, Crossing)
    # exp(-1e-3 t) loses a tenth in 105.4 steps from step 100; the head starts at 300.
    assert (block.step, head.step) == (300, 400)
    missing = escape(run, "attention", 100)
    assert isinstance(missing, Missing)
    assert missing.reason is Unavailable.NO_COLUMN


def test_head_lead() -> None:
    run = layered_run(
        embedding=np.interp(STEPS, [0, 600, 1000], [1, 5, 3]),
        block=np.full(11, 1.0),
        head=np.interp(STEPS, [0, 300, 1000], [1, 2, 1]),
    )
    assert head_lead(run, estimate_run(run)) == HeadLead(300, 300, 500)
    growing = layered_run(
        embedding=np.full(11, 1.0), block=np.full(11, 1.0), head=np.linspace(1, 2, 11)
    )
    lead = head_lead(growing, estimate_run(growing))
    assert isinstance(lead, Missing)
    assert lead.reason is Unavailable.GROWING


def test_every_definition_of_the_hierarchy_and_their_spread() -> None:
    steps = np.arange(0, 6001, 100)
    run = Run(
        "r",
        Path("r"),
        steps,
        {
            "train_accuracy": np.where(steps >= 100, 1.0, 0.0),
            "heldout_accuracy": np.where(steps >= 1000, 1.0, 0.0),
            "squared_norm": 250 + 3750 * np.exp(-1.5e-3 * steps),
        },
    )
    hierarchy = norm_hierarchy(run, estimate_run(run))
    floor, plateau = hierarchy.structured["fitted floor"], hierarchy.structured["final plateau"]
    star = hierarchy.structured["at generalisation"]
    assert isinstance(floor, Estimate)
    assert isinstance(plateau, Estimate)
    assert isinstance(star, Estimate)
    assert floor.value == pytest.approx(250, rel=1e-6)
    assert floor.value < plateau.value < star.value
    start = hierarchy.shortcut["at memorisation"]
    assert isinstance(start, Estimate)
    spread = hierarchy.sensitivity()
    assert spread is not None
    assert spread[0] <= np.log(start.value / star.value) <= spread[1]
    assert spread[1] - spread[0] > 1  # the plateau for V_star overshoots by e, as PAPER.md says
    assert len(hierarchy.log_ratios()) == 9
