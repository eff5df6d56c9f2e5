"""Strata: settings that runs share, told apart by the settings and not by their label."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims.selection import Stratum, block, shortened, stratum
from nht_theory.runs.run import Hyperparameters, Run


def run_with(**extra: object) -> Run:
    chosen = Hyperparameters(weight_decay=1.0, seed=3, extra=extra)
    return Run("a", Path("a"), np.array([], dtype=np.int64), {}, chosen)


def test_the_label_names_every_setting_but_those_left_out() -> None:
    own = stratum(run_with(p=97, operation="add"), "weight_decay")
    assert own == "operation=add, p=97"
    assert own.settings == (("operation", "add"), ("p", "97"))
    assert block(run_with(p=97), "weight_decay") == "p=97 seed=3"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "1, b=2"}, {"a": "1", "b": "2"}),
        ({"a": "1, x", "y": "2"}, {"a": "1", "x, y": "2"}),
        ({"a=b": "c"}, {"a": "b=c"}),
        ({"a": "'1=2'"}, {"a": "1=2"}),
    ],
)
def test_settings_that_hold_the_separators_stay_apart(
    one: dict[str, str], other: dict[str, str]
) -> None:
    first, second = stratum(run_with(**one)), stratum(run_with(**other))
    assert first != second
    assert len({first, second}) == len(np.unique([first, second])) == 2


def test_only_the_settings_that_vary_are_shown_whatever_they_hold() -> None:
    own = stratum(run_with(note="lr=3, weight_decay=9", p=97, p_max=4), "weight_decay")
    assert shortened(own, ("p",)) == "p=97"
    assert shortened(own, ("weight_decay",)) == "all runs"
    assert shortened(own, ("note",)) == "note='lr=3, weight_decay=9'"
    assert shortened(stratum(run_with(milestones=[10, 20])), ("milestones",)) == (
        "milestones=[10, 20]"
    )
    assert shortened("no stratum", ("p",)) == "no stratum"


def test_a_stratum_survives_copies() -> None:
    own = Stratum([("a", "1, b=2")])
    for same in (pickle.loads(pickle.dumps(own)), copy.deepcopy(own)):
        assert same == own
        assert same.settings == own.settings
