"""Short runs that ``nht predict --pilot`` trains, with the real trainer in its own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from nht_theory.cli.pilot import train_until_switch
from nht_theory.conventions import DEFAULT_THRESHOLDS
from nht_theory.errors import InputError
from nht_theory.estimators.transitions import generalization
from nht_theory.runs.load import load_study
from nht_theory.runs.run_format import RunState, read_status

CONFIG = """\
steps = 3000
evaluate_every = 50
batch_size = 64
[task]
name = "sparse_parity"
n = 8
k = 2
[model]
name = "mlp"
[optimizer]
name = "adamw"
learning_rate = 1e-2
weight_decay = 0.1
[checkpoints]
schedule = "none"
"""


def test_a_run_ends_at_the_evaluation_at_which_it_generalises(tmp_path: Path) -> None:
    config = tmp_path / "long.toml"
    config.write_text(CONFIG)
    train_until_switch(config, ["seed=1"], tmp_path / "run")
    status = read_status(tmp_path / "run")
    assert status is not None
    assert status.state is RunState.FINISHED
    run = load_study(tmp_path / "run").runs[0]
    event = generalization(run, DEFAULT_THRESHOLDS)
    assert event is not None
    assert event.step == run.steps[-1] == status.step < 3000


def test_a_configuration_that_is_refused_is_named(tmp_path: Path) -> None:
    config = tmp_path / "long.toml"
    config.write_text(CONFIG.replace("sparse_parity", "dense_parity"))
    with pytest.raises(InputError, match="dense_parity"):
        train_until_switch(config, [], tmp_path / "run")
