"""Figures hold the numbers they claim, and say why when they cannot be drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nht_theory.claims.verdict import ThresholdVerdict, not_applicable
from nht_theory.conventions import Thresholds, VerdictKind
from nht_theory.estimators.results import StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.reporting import colours, svg
from nht_theory.reporting.categories import categorize
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.figures import regimes, trajectories
from nht_theory.reporting.figures.catalogue import FIGURES, build
from nht_theory.reporting.figures.decomposition import rate_decomposition
from nht_theory.reporting.figures.layers import layer_heat_map
from nht_theory.reporting.figures.separation import separation_plot
from nht_theory.reporting.figures.stability import threshold_stability
from nht_theory.reporting.figures.survival import survival
from nht_theory.reporting.marks import (
    Axis,
    Band,
    Cells,
    Figure,
    Line,
    Panel,
    Points,
    Rule,
    Undrawn,
    style,
)
from nht_theory.reporting.scales import Scale, limits, ticks
from nht_theory.reporting.thinning import thin

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def estimated(make_study) -> StudyEstimates:
    return estimate_study(make_study())


@pytest.fixture(scope="module")
def nothing(make_study) -> StudyEstimates:
    return estimate_study(make_study(seeds=0))


def marks(figure: Figure | Undrawn, kind: type) -> list:
    assert isinstance(figure, Figure), figure
    return [mark for panel in figure.panels for mark in panel.marks if isinstance(mark, kind)]


def parsed(figure: Figure) -> ET.Element:
    text = svg.draw(figure).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return ET.fromstring(text)


@given(st.integers(4, 60), st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_thinning_keeps_ends_extremes_and_invents_nothing(most: int, size: int, seed: int) -> None:
    x = np.arange(size, dtype=float)
    y = np.random.default_rng(seed).normal(size=size)
    kept_x, kept_y = thin(x, y, most)
    assert kept_x.size <= most
    assert (kept_y.min(), kept_y.max()) == (y.min(), y.max())
    assert kept_x[0] == x[0]
    assert kept_x[-1] == x[-1]
    assert np.all(np.diff(kept_x) > 0)
    assert np.array_equal(kept_y, y[kept_x.astype(int)])


@settings(deadline=None)
@given(
    st.floats(1e-6, 1e6),
    st.floats(1.01, 1e6),
    st.booleans(),
    st.integers(2, 10),
)
def test_ticks_lie_on_the_axis(low: float, factor: float, log: bool, most: int) -> None:
    scale = Scale(low, low * factor, log, 0.0, 500.0)
    found = np.array(ticks(Axis("x", log=log), scale, most))
    places = scale.place(found)
    assert np.all((places > -1e-3) & (places < 500.001))
    assert np.all(np.diff(places) > 0)


def test_a_log_axis_places_decades_evenly_and_drops_what_has_no_logarithm() -> None:
    scale = Scale(1.0, 1e4, True, 0.0, 400.0)
    assert scale.place(np.array([1.0, 10.0, 1e4])) == pytest.approx([0, 100, 400])
    assert np.isnan(scale.place(np.array([0.0, -1.0]))).all()


def test_limits_hold_every_mark_and_its_interval() -> None:
    drawn = Points(("a",), np.array([1.0]), np.array([5.0]), np.array([2.0]), np.array([9.0]))
    low, high = limits(Axis("y"), [drawn, Rule("y", 12.0, "")], "y")
    assert low < 2
    assert high > 12


def test_palettes_stand_out_from_their_pages() -> None:
    for palette, page in ((colours.LIGHT, "#ffffff"), (colours.DARK, colours.DARK_PAGE)):
        assert min(colours.contrast(colour, page) for colour in palette) >= 3.0


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
EYES = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(linear: np.ndarray) -> np.ndarray:
    """CIELAB of linear sRGB, D65."""
    xyz = (
        linear
        @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
        / [0.9505, 1.0, 1.089]
    )
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("palette", [colours.LIGHT, colours.DARK])
def test_palettes_stay_apart_for_every_eye(palette: tuple[str, ...], eye: str) -> None:
    shown = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in palette])
    linear = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    seen = lab(np.clip(linear @ np.array(EYES[eye]).T, 0, 1))
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)
    assert apart[~np.eye(len(palette), dtype=bool)].min() >= 20


def test_no_two_categories_look_alike() -> None:
    looks = [style(category) for category in range(32)]
    assert len(set(looks)) == 32


def test_trajectories_draw_every_run_with_its_events(estimated: StudyEstimates) -> None:
    figure = trajectories.norm_trajectories(estimated)
    lines = marks(figure, Line)
    assert {line.key for line in lines} == {run.name for run in estimated.study.runs}
    events = {points.legend: points for points in marks(figure, Points)}
    switched = [own for own in estimated.estimates if own.generalization_step is not None]
    assert 0 < len(switched) < len(estimated.estimates)
    drawn = events["generalises (T_gen)"]
    assert dict(zip(drawn.keys, drawn.x, strict=True)) == {
        own.run: own.generalization_step for own in switched
    }
    assert [panel.y.log for panel in figure.panels] == [True]


def test_one_line_a_run_reaches_the_page(estimated: StudyEstimates) -> None:
    root = parsed(trajectories.norm_trajectories(estimated))
    keys = [
        path.get("data-key") for path in root.iter(f"{SVG}path") if "line" in path.get("class", "")
    ]
    assert sorted(keys) == sorted(run.name for run in estimated.study.runs)


def test_names_cannot_break_the_page() -> None:
    nasty = '"><script>alert(1)</script>&'
    line = Line(nasty, np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    figure = Figure("a", nasty, nasty, (Panel(Axis(nasty), Axis("y"), (line,), title=nasty),))
    root = parsed(figure)
    assert not list(root.iter(f"{SVG}script"))
    assert [e.get("data-key") for e in root.iter() if e.get("data-key")] == [nasty]


def test_missing_values_break_a_line_and_draw_nothing_else() -> None:
    y = np.array([1.0, 2.0, np.nan, 3.0, 4.0])
    line = Line("a", np.arange(5.0), y)
    root = parsed(Figure("a", "t", "c", (Panel(Axis("x"), Axis("y"), (line,)),)))
    (path,) = [e for e in root.iter(f"{SVG}path") if e.get("data-key") == "a"]
    assert path.get("d").count("M") == 2
    assert "nan" not in ET.tostring(root, encoding="unicode").lower()


def test_survival_is_the_share_not_switched(estimated: StudyEstimates) -> None:
    figure = survival(estimated)
    categories = categorize(estimated.study)
    for line in marks(figure, Line):
        place = categories.names.index(line.key)
        own = [e for e in estimated.estimates if categories.of_run[e.run] == place]
        switched = sum(not e.censored for e in own)
        assert line.y[0] == 1.0
        # Without ties between censored and observed runs the curve ends at the plain share.
        assert line.y[-1] == pytest.approx(1 - switched / len(own))
        assert np.all(np.diff(line.y) <= 0)
    band_free = [mark for mark in marks(figure, Band) if np.any(mark.low > mark.high)]
    assert band_free == []


def test_the_weak_boundary_is_the_clock_that_just_suffices(estimated: StudyEstimates) -> None:
    figure = regimes.regime_map(estimated)
    (weak,) = [line for line in marks(figure, Line) if line.key == "weak"]
    delayed = [own for own in estimated.estimates if own.delay]
    ratio = np.median([o.squared_norm_memorization.value for o in delayed]) / np.median(
        [o.squared_norm_generalization.value for o in delayed]
    )
    # At the edge the clock of 6,000 steps equals ln(V_sc/V_star): -2 T ln(1 - eta lambda).
    clock = -2 * 6000 * np.log1p(-weak.x * weak.y)
    assert clock == pytest.approx(np.full(weak.x.shape, np.log(ratio)), rel=1e-6)


def test_the_phase_diagram_holds_means_over_seeds(estimated: StudyEstimates) -> None:
    (cells,) = marks(regimes.phase_diagram(estimated), Cells)
    assert cells.values.shape == (2, 3)
    strongest = [run for run in estimated.study.runs if run.hyperparameters.weight_decay == 1.0]
    final = np.mean([run.column("heldout_accuracy")[-1] for run in strongest])
    assert cells.values[:, 2] == pytest.approx([final, final], abs=1e-3)


def test_layers_escape_at_once_where_they_fall_together(estimated: StudyEstimates) -> None:
    figure = layer_heat_map(estimated)
    for line in marks(figure, Line):
        assert np.ptp(line.y) == 0
    (cells,) = marks(figure, Cells)
    assert cells.values.max() == pytest.approx(1.0)
    assert cells.values == pytest.approx(np.tile(cells.values[0], (3, 1)))


def test_the_terms_add_up_to_the_sum(estimated: StudyEstimates) -> None:
    figure = rate_decomposition(estimated)
    assert isinstance(figure, Figure)
    for panel in figure.panels:
        lines = [mark for mark in panel.marks if isinstance(mark, Line)]
        *terms, total = lines
        assert np.sum([line.y for line in terms], axis=0) == pytest.approx(total.y)


def test_separation_shows_one_path_a_run(estimated: StudyEstimates) -> None:
    lines = marks(separation_plot(estimated), Line)
    assert len(lines) == len(estimated.study.runs)
    assert all(np.all((line.y >= 0) & (line.y <= 1)) for line in lines)


def test_stability_shows_what_validation_found(estimated: StudyEstimates) -> None:
    verdict = replace(
        not_applicable("law", "needs more"),
        stability=(
            ThresholdVerdict(Thresholds(0.9, 0.9), VerdictKind.SUPPORTED),
            ThresholdVerdict(Thresholds(persistence=3), VerdictKind.REFUTED),
        ),
    )
    figure = threshold_stability(estimated, (verdict,))
    (cells,) = marks(figure, Cells)
    assert cells.values.tolist() == [[1.0, -1.0]]
    assert figure.panels[-1].x.categories == ("0.9, k = 1", "0.99, k = 3")


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_from_a_full_study(name: str, estimated: StudyEstimates) -> None:
    if name == "forecasts":
        pytest.skip("drawn from forecasts, in test_reporting_page")
    figure = build(name, ReportContent(estimated, ()))
    assert isinstance(figure, Figure), figure
    assert figure.name == name
    root = parsed(figure)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == figure.title


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_why_it_cannot_be_drawn(name: str, nothing: StudyEstimates) -> None:
    missing = build(name, ReportContent(nothing, ()))
    assert isinstance(missing, Undrawn)
    assert missing.name == name
    assert len(missing.reason) > 10
