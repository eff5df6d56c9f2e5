"""The rules by which verdicts are given, and how often they err on studies whose truth is known."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from nht_theory.conventions import VerdictKind
from nht_theory.inference.censored_regression import fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.predictions.delays import Delays
from nht_theory.predictions.judging import family_wise
from nht_theory.predictions.law import _ratio_term
from nht_theory.predictions.ordering import Observation, judge_order
from nht_theory.predictions.rules import decide, more_data
from nht_theory.predictions.verdict import Verdict

SUPPORTED, REFUTED, INCONCLUSIVE = (
    VerdictKind.SUPPORTED,
    VerdictKind.REFUTED,
    VerdictKind.INCONCLUSIVE,
)


def test_holm_overrules_a_single_small_p_value() -> None:
    own = judge_order(
        "x",
        [Observation("a", float(level), float(level)) for level in range(5)],
        falls=False,
        statistic_name="share",
    )
    assert own.verdict is SUPPORTED
    assert own.p_value == pytest.approx(2 / 120)
    family = family_wise(
        [own, *(Verdict(f"y{i}", INCONCLUSIVE, 0.0, "", None, 0.5, 9, 0, "") for i in range(3))]
    )
    assert family[0].verdict is INCONCLUSIVE
    assert family[0].holm_p_value == pytest.approx(8 / 120)
    assert "Holm" in family[0].rule


def test_an_interval_decides_as_often_as_it_should() -> None:
    """On the limit the claim is refuted in one study of forty, and never more."""
    generator = np.random.default_rng(1)
    kinds = [
        decide(generator.normal(0.8, 0.05), 0.05, math.inf, (0.8, 1.25)).verdict
        for _ in range(2000)
    ]
    assert kinds.count(REFUTED) / 2000 == pytest.approx(0.025, abs=0.012)
    assert kinds.count(SUPPORTED) / 2000 == pytest.approx(0.025, abs=0.012)


def test_the_note_on_power_is_the_normal_sample_size() -> None:
    own = decide(0.9, 0.1, math.inf, (0.8, math.inf))
    needed = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2
    assert own.more == pytest.approx(needed)
    assert "about 79 runs" in more_data(own.more, 10, "runs")


def calibration() -> ModuleType:
    path = Path(__file__).parents[2] / "validation" / "statistics" / "verdict_calibration.py"
    spec = importlib.util.spec_from_file_location("verdict_calibration", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_calibration_never_errs_more_than_one_study_in_twenty() -> None:
    """Refuted under the law, or supported under a rival."""
    path = Path(calibration().__file__ or "").with_suffix(".json")
    rows = [
        row
        for row in json.loads(path.read_text())
        if row["prediction"] in ("law", "law_everywhere", "rival_laws")
    ]
    assert len(rows) == 18
    for row in rows:
        assert row["wrong"] <= 0.05


def test_a_calibration_goes_on_where_it_stopped(tmp_path: Path) -> None:
    script = calibration()
    script.JUDGED, script.SLOW = ("necessity",), ()
    script.TRUTHS = dict(list(script.TRUTHS.items())[:2])
    whole = script.outcomes(2)
    kept = tmp_path / "kept.jsonl"
    script.outcomes(1, kept)
    kept.write_text(kept.read_text() + '\n{"truth": "ln')  # cut while it was written
    assert script.outcomes(2, kept) == whole
    script.judged = None  # everything is there already
    assert script.outcomes(2, kept) == whole


@pytest.mark.slow
def test_the_law_is_not_refuted_under_the_law_nor_supported_under_a_rival() -> None:
    script = calibration()
    script.JUDGED, script.SLOW = ("law_everywhere",), ()
    for row in script.table(script.outcomes(8)):
        assert row["wrong"] <= 1 / 8  # one of eight is within chance at 5 %


def test_a_fit_without_the_ratio_that_has_no_maximum_is_a_remark_not_an_error() -> None:
    """Found by the optimisers' study: every delay fits into its evaluation interval."""
    rate = np.array([0.0, 0.0, 0.0, 0.1, 0.1, 0.1])
    rows = Delays(
        runs=(None,) * 6,  # type: ignore[arg-type]
        times=CensoredTimes.of([100.0] * 6, [200.0] * 6),
        log_inverse_rate=rate,
        log_log_ratio=rate,
        configurations=("a",) * 6,
        squared_norm_start=np.ones(6),
        squared_norm_star=np.ones(6),
        outside=(),
        left_out=(),
    )
    exact = np.array([100.0, 130.0, 90.0, 120.0, 150.0, 110.0])
    fit = fit_censored_regression(
        CensoredTimes.of(exact, exact), np.column_stack([np.ones(6), rate]), ("constant", "rate")
    )
    assert _ratio_term(rows, fit).startswith("none: censored log-normal regression: no maximum")
