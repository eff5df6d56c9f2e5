"""The verdicts on simulated studies whose truth is known, and the committed tables of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # validation/ is no part of the installed package

from validation.statistics import adversarial_truths, verdict_calibration  # noqa: E402
from validation.statistics.resumable import outcomes  # noqa: E402
from validation.statistics.truths import THE_LAW, TRUTHS  # noqa: E402

STATISTICS = ROOT / "validation" / "statistics"


def test_the_committed_calibration_never_errs_more_than_one_study_in_twenty() -> None:
    """Refuted under the law, or supported under a rival."""
    rows = [
        row
        for row in json.loads((STATISTICS / "verdict_calibration.json").read_text())
        if row["prediction"] in ("law", "law_everywhere", "rival_laws")
    ]
    assert len(rows) == 18
    for row in rows:
        assert row["wrong"] <= 0.05


def test_the_committed_adversarial_table_errs_no_more_than_one_study_in_twenty() -> None:
    rows = json.loads((STATISTICS / "adversarial_truths.json").read_text())
    assert {row["truth"] for row in rows} == {truth.name for truth in TRUTHS}
    assert min(row["studies"] for row in rows) >= 200
    for row in rows:
        assert row["wrong_after_holm"] <= 0.05 * row["studies"], (row["truth"], row["claim"])
        # A test of exactly 5 % errs in more than 5 % of half of all samples.
        chance = stats.binom.sf(row["wrong"] - 1, row["studies"], 0.05)
        assert chance > 0.01, (row["truth"], row["claim"])


def test_the_law_is_recognised_where_it_holds() -> None:
    """In at least half of the studies of six configurations by four seeds."""
    rows = json.loads((STATISTICS / "adversarial_truths.json").read_text())
    own = {row["claim"]: row["by_configurations"]["6"] for row in rows if row["truth"] == THE_LAW}
    for claim in ("law", "P6"):
        assert own[claim]["right"] >= own[claim]["studies"] / 2


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.name)
def test_no_claim_errs_often_under_an_adversarial_truth(truth: adversarial_truths.Truth) -> None:
    """One study of each number of configurations: three errors of six have p = 0.002 at 5 %."""
    said = outcomes([truth.name], adversarial_truths.judged, 6)
    for row in adversarial_truths.table(said):
        assert row["wrong"] <= 2, row["claim"]


def test_a_simulated_study_has_what_its_truth_says() -> None:
    by_name = {truth.name: truth for truth in TRUTHS}
    generator = np.random.default_rng(0)
    never = by_name["nothing ever switches"].simulate(generator, 4)
    assert all(own.censored and own.memorization_step for own in never.estimates)
    half = by_name["half of the runs censored"].simulate(generator, 8)
    share = np.mean([own.censored for own in half.estimates])
    assert 0.3 < share < 0.7
    constant = by_name["delay independent of lambda"].simulate(generator, 8)
    delays = {}
    for run, own in constant.pairs():
        delays.setdefault(run.hyperparameters.weight_decay, []).append(own.delay)
    means = [np.mean(np.log(values)) for values in delays.values()]
    assert np.ptp(means) < 0.5  # over a factor of thirty in weight decay


def test_a_calibration_goes_on_where_it_stopped(tmp_path: Path) -> None:
    calls = []

    def judged(truth: str, simulation: int) -> dict[str, str]:
        calls.append((truth, simulation))
        return {"law": f"{truth} {simulation}"}

    whole = outcomes(["a", "b"], judged, 2)
    kept = tmp_path / "kept.jsonl"
    outcomes(["a", "b"], judged, 1, kept)
    kept.write_text(kept.read_text() + '\n{"truth": "a')  # cut while it was written
    calls.clear()
    assert outcomes(["a", "b"], judged, 2, kept) == whole
    assert calls == [("a", 1), ("b", 1)]


@pytest.mark.slow
def test_a_small_calibration_errs_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_calibration, "JUDGED", ("law_everywhere",))
    monkeypatch.setattr(verdict_calibration, "SLOW", ())
    said = outcomes(list(verdict_calibration.TRUTHS), verdict_calibration.judged, 8)
    for row in verdict_calibration.table(said):
        assert row["wrong"] <= 1 / 8  # one of eight is within chance at 5 %
