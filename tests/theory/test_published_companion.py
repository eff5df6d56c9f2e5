"""The companion's own estimators give the figures it published, from the logs it published."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from nht_theory.conventions import DEFAULT_THRESHOLDS
from nht_theory.errors import DomainError
from nht_theory.estimators.published import (
    published_decay,
    published_escape_time,
    published_line,
    published_slope_interval,
    recorded_or_nan,
)
from nht_theory.estimators.results import Missing
from nht_theory.estimators.transitions import generalization, memorization
from nht_theory.runs.load import load_study
from nht_theory.runs.run import Run


@pytest.fixture(scope="module")
def companion(shared_data: Path) -> dict[str, list[Run]]:
    """File stem -> its records, in order."""
    files: dict[str, list[Run]] = {}
    for record in load_study(shared_data / "companion").records:
        files.setdefault(record.source.stem, []).append(record)
    return files


def stored(shared_data: Path, stem: str) -> dict:
    return json.loads((shared_data / "companion" / f"{stem}.json").read_text())


def test_lambda_sweep(companion: dict[str, list[Run]], shared_data: Path) -> None:
    sweep = [r for r in companion["full_results2"] if 0.1 <= r.hyperparameters.weight_decay <= 1]
    x = [1 / run.hyperparameters.weight_decay for run in sweep]
    time = [recorded_or_nan(run) for run in sweep]
    line = published_line(x, time)
    assert (round(line.slope, 2), round(line.intercept, 2)) == (1182.38, 884.46)
    assert round(line.r_squared, 5) == 0.97106
    assert (line.n, line.dropped) == (40, 0)
    interval = published_slope_interval(x, time)
    published = stored(shared_data, "full_results2")["analysis"]["linear_fit"]
    assert interval.low == pytest.approx(published["ci_low"], abs=4)
    assert interval.high == pytest.approx(published["ci_high"], abs=4)


def test_eta_sweep(companion: dict[str, list[Run]]) -> None:
    sweep = companion["full_results5"][:25]
    line = published_line(
        [1 / run.hyperparameters.learning_rate for run in sweep],
        [recorded_or_nan(run) for run in sweep],
    )
    assert round(line.r_squared, 4) == 0.9203
    assert round(line.slope, 4) == 10.7507
    assert line.dropped == 1  # one run at eta 1e-4 never generalised, and the paper leaves it out


@pytest.mark.parametrize("stem", ["full_results1", "full_results3"])
def test_rate_fits(companion: dict[str, list[Run]], shared_data: Path, stem: str) -> None:
    runs = stored(shared_data, stem)["runs"]
    for run, record in zip(companion[stem], runs, strict=True):
        fit = published_decay(run.steps, run.squared_norm, record["T_mem"])
        assert fit.rate == pytest.approx(record["fit"]["rate_fit"], rel=1e-3)
        assert 1 - fit.rate == pytest.approx(1 - record["fit"]["rate_fit"], rel=1e-3)
        assert fit.r_squared == pytest.approx(record["fit"]["R2"], abs=1e-6)


def test_rate_fit_means_of_the_first_study(
    companion: dict[str, list[Run]], shared_data: Path
) -> None:
    records = stored(shared_data, "full_results1")
    fits = [
        published_decay(run.steps, run.squared_norm, record["T_mem"])
        for run, record in zip(companion["full_results1"], records["runs"], strict=True)
    ]
    assert np.mean([f.rate for f in fits]) == pytest.approx(
        records["analysis"]["mean_rate_fit"], abs=1e-6
    )
    assert np.mean([f.r_squared for f in fits]) == pytest.approx(
        records["analysis"]["mean_R2"], abs=1e-6
    )


def test_modulus_sweep_correlates_by_0836_and_not_091(
    companion: dict[str, list[Run]], shared_data: Path
) -> None:
    runs = companion["full_results3"]
    theory = [
        published_escape_time(
            run.recorded.squared_norm_memorization,
            run.recorded.squared_norm_final,
            learning_rate=run.hyperparameters.learning_rate,
            weight_decay=run.hyperparameters.weight_decay,
        )
        for run in runs
    ]
    delay = [run.recorded.generalization_step - run.recorded.memorization_step for run in runs]
    line = published_line(theory, delay)
    published = stored(shared_data, "full_results3")["analysis"]["delay_vs_theory"]
    assert line.slope == pytest.approx(published["slope"], rel=1e-9)
    assert line.intercept == pytest.approx(published["intercept"], rel=1e-9)
    assert round(line.pearson_r, 3) == 0.836


def test_recorded_events_are_those_of_our_thresholds(companion: dict[str, list[Run]]) -> None:
    for stem in ("full_results1", "full_results2", "full_results3", "full_results5"):
        for run in companion[stem]:
            memorized = memorization(run, DEFAULT_THRESHOLDS)
            generalized = generalization(run, DEFAULT_THRESHOLDS)
            assert memorized.step == run.recorded.memorization_step
            assert generalized.step == run.recorded.generalization_step


def test_too_little_to_fit_is_said() -> None:
    assert isinstance(published_decay([0, 1, 2], [3.0, 2.0, 1.0], 0), Missing)
    with pytest.raises(DomainError, match="2 runs have a transition"):
        published_line([1, 2, 3], [1.0, 2.0, np.nan])
    with pytest.raises(DomainError, match="not all positive"):
        published_escape_time(1.0, 0.0, learning_rate=1.0, weight_decay=1.0)


def test_the_committed_figures_are_those_of_the_logs(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(__file__).resolve().parents[2] / "validation" / "companion"
    monkeypatch.syspath_prepend(str(home))
    from published_figures import figures

    data = shared_data / "companion"
    found = [asdict(figure) for figure in figures(load_study(data), data)]
    committed = json.loads((home / "results" / "results.json").read_text())["figures"]
    # The remark of a fit holds its largest difference, which rounding moves.
    assert [{**f, "comment": ""} for f in found] == [{**f, "comment": ""} for f in committed]
    page = (home / "results" / "page.md").read_text()
    for figure in committed:
        assert f"| {figure['name']} | {figure['printed']} | {figure['recomputed']} |" in page
