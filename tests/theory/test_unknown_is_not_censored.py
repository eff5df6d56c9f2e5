"""Unknown, censored and reached are three answers, counted apart wherever they are printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nht_theory.claims import selection
from nht_theory.claims.registry import claim_named
from nht_theory.claims.validate import Validation, validate
from nht_theory.conventions import EventStatus, VerdictKind
from nht_theory.estimators.summary import estimate_run, estimate_study
from nht_theory.forecasting.at_memorization import forecast_at_memorization
from nht_theory.forecasting.calibration import observe_all
from nht_theory.forecasting.decay_advice import Expectation, advise_decay
from nht_theory.forecasting.empirical_model import fit_empirical_model
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_run
from nht_theory.forecasting.score_study import score_study
from nht_theory.reporting.assemble import report_content
from nht_theory.reporting.citation import cite
from nht_theory.reporting.figures.survival import survival
from nht_theory.reporting.marks import Figure
from nht_theory.reporting.summary import answers
from nht_theory.runs.run import Hyperparameters, ParameterGroup, Run
from nht_theory.runs.study import Study

STEPS = np.arange(0, 4001, 100)
LAYERS = tuple(
    ParameterGroup(name, "layer", (name,), 10, depth)
    for depth, name in enumerate(("first", "second", "head"))
)
ACCURACIES = ("train_accuracy", "heldout_accuracy")


def run(
    seed: int,
    *,
    switched: int | None = 2000,
    decay: float = 1.0,
    without: tuple[str, ...] = (),
) -> Run:
    """Memorises at 500; its layers escape one after the other, the head first."""
    never = STEPS[-1] + 1
    values = {
        "squared_norm": 4000 * np.exp(-1e-3 * decay * STEPS),
        "train_accuracy": (STEPS >= 500).astype(float),
        "heldout_accuracy": ((never if switched is None else switched) <= STEPS).astype(float),
    } | {
        f"squared_norm/{layer.name}": np.exp(-2e-3 * (STEPS - 1500 + 400 * place).clip(0))
        for place, layer in enumerate(LAYERS)
    }
    return Run(
        f"wd{decay:g}_seed{seed}",
        Path("made"),
        STEPS,
        {name: series for name, series in values.items() if name not in without},
        Hyperparameters("adamw", 1e-3, decay, seed=seed, total_steps=4000),
        groups=LAYERS,
    )


def study(*runs: Run) -> Study:
    return Study(Path("made"), runs, runs)


@pytest.fixture(scope="module")
def mixed() -> Validation:
    """Of each outcome another number: 4 reached, 3 censored, 2 unknown."""
    return validate(
        study(
            *(run(seed) for seed in range(4)),
            *(run(seed, switched=None) for seed in range(4, 7)),
            *(run(seed, without=("heldout_accuracy",)) for seed in range(7, 9)),
        ),
        stability=False,
    )


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (run(0), EventStatus.REACHED),
        (run(0, switched=None), EventStatus.CENSORED),
        (run(0, without=ACCURACIES), EventStatus.UNKNOWN),
    ],
)
def test_a_run_gives_one_of_three_answers(made: Run, status: EventStatus) -> None:
    own = estimate_run(made)
    assert own.generalization_status is status
    assert own.censored is (status is EventStatus.CENSORED)
    assert own.unknown is (status is EventStatus.UNKNOWN)


def test_weights_alone_do_not_speak_of_the_order_of_layers() -> None:
    """Six runs whose layers all escape the head first: with accuracies that is evidence."""
    logged = estimate_study(study(*map(run, range(6))))
    alone = estimate_study(study(*(run(seed, without=ACCURACIES) for seed in range(6))))
    assert len(selection.with_transition(logged)) == 6
    assert selection.with_transition(alone) == []
    assert len(selection.of_unknown_transition(alone)) == 6
    assert selection.of_unknown_transition(logged) == []
    for name in ("P4", "head_monitor", "emergence_events"):
        assert claim_named(name).test(alone).verdict is VerdictKind.NOT_APPLICABLE


def test_either_accuracy_is_needed_to_know_of_a_transition() -> None:
    for missing in ACCURACIES:
        own = estimate_study(study(run(0, without=(missing,))))
        assert selection.with_transition(own) == []
    waiting = estimate_study(study(run(0, switched=None)))
    assert len(selection.with_transition(waiting)) == 1
    assert len(selection.memorized_but_censored(waiting)) == 1


def test_json_counts_the_three_apart(mixed: Validation) -> None:
    told = mixed.to_dict()
    assert (told["runs"]["censored"], told["runs"]["unknown"]) == (3, 2)
    statuses = [own["generalization_status"] for own in told["estimates"]]
    assert statuses == ["reached"] * 4 + ["censored"] * 3 + ["unknown"] * 2
    assert sum(own["censored"] for own in told["estimates"]) == 3


def test_a_citation_counts_the_three_apart(mixed: Validation) -> None:
    citation = cite(mixed)
    assert (citation.facts.censored, citation.facts.unknown) == (3, 2)
    for text in (citation.to_apa(), citation.to_latex()):
        assert "3 runs had not generalised when last seen" in text
        assert "2 runs log no held-out accuracy" in text
    alone = validate(study(*(run(s, without=ACCURACIES) for s in range(6))), stability=False)
    assert "0 runs had not generalised" in cite(alone).to_apa()
    assert "6 runs log no held-out accuracy" in cite(alone).to_apa()


def test_a_report_counts_the_three_apart(mixed: Validation) -> None:
    content = report_content(mixed)
    when, _, cited = answers(content)
    said = " ".join(when.sentences)
    assert "4 generalised; 3 had not when last seen" in said
    assert "Unknown, for want of a held-out accuracy: 2" in said
    assert cited.headline == "n = 9 distinct runs, 3 censored, 2 unknown"
    drawn = survival(content.estimated)
    assert isinstance(drawn, Figure)
    assert "7 runs that memorised, 3 of them censored" in drawn.caption
    assert "2 that log no held-out accuracy" in drawn.caption


def test_a_regression_of_delays_leaves_out_what_is_unknown() -> None:
    """A run without held-out accuracy is not one that waited to its end and never switched."""
    known = [run(seed, decay=decay) for seed in range(2) for decay in (0.5, 1.0, 2.0)]
    unknown = [run(seed, without=("heldout_accuracy",)) for seed in range(10, 16)]
    models = [
        fit_empirical_model(observe_all(runs), ("weight_decay",), clock=False)
        for runs in (known, known + unknown)
    ]
    assert models[0] is not None
    assert models[1] is not None
    assert models[0].method == models[1].method
    np.testing.assert_array_equal(models[0].held_out, models[1].held_out)


def test_a_run_that_logs_no_accuracy_is_not_forecast_as_one_still_waiting() -> None:
    earlier = study(*(run(seed, decay=d) for seed in range(3) for d in (0.5, 1.0, 2.0)))
    for missing in ACCURACIES:
        made = forecast_run(run(9, without=(missing,)).until(1000), earlier)
        assert made.basis is Basis.REFUSED
        assert "unknown whether" in made.reason
        assert made.remedy == f"--map {missing}=COLUMN"
    silent = forecast_at_memorization(run(9, without=ACCURACIES), earlier)
    assert "unknown whether the run has memorised" in silent.reason


def test_stronger_decay_is_not_advised_on_an_unknown_outcome() -> None:
    weaker = observe_all([run(s, without=("heldout_accuracy",)) for s in range(3)])
    assert advise_decay(weaker, 2.0).expectation is Expectation.UNKNOWN


def test_an_unscored_run_says_unknown_and_not_never() -> None:
    runs = [run(seed, decay=d) for seed in range(2) for d in (0.5, 1.0)]
    runs.append(replace(run(7, without=("train_accuracy",)), name="silent"))
    scored = score_study(study(*runs), stages=["memorisation"])
    assert scored.unscored == ("silent: unknown, an accuracy is not logged",)
