"""The report in headless Chromium: what a reader sees, hovers, sorts, prints and hears."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nht_theory.claims.registry import CLAIMS
from nht_theory.claims.verdict import ThresholdVerdict, Verdict, not_applicable
from nht_theory.conventions import Thresholds, VerdictKind
from nht_theory.estimators.summary import estimate_study
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.html import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here; apt install chromium"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
]
GOLDEN = Path(__file__).parent / "golden_report_figures.json"
GRID = (24, 12)
OLDEST_AXE = (4, 12, 1)
"""Of axe-core: what axe-playwright-python 0.1.8 bundles; it checks WCAG 2.2."""


@pytest.fixture(scope="module")
def report(make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    estimated = estimate_study(make_study(seeds=2))
    kinds = list(VerdictKind)[:3]
    judged = tuple(
        Verdict(
            claim.name,
            kinds[place % 3],
            0.5,
            "made up",
            None,
            0.01,
            12,
            2,
            "made up",
            details=("one", "two"),
            stability=(ThresholdVerdict(Thresholds(0.9, 0.9), VerdictKind.SUPPORTED),),
        )
        for place, claim in enumerate(CLAIMS[:6])
    )
    verdicts = (*judged, not_applicable("P4", "needs layers"))
    claims = {claim.name: claim for claim in CLAIMS}
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(ReportContent(estimated, verdicts, claims, version="0.0"), path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The report, opened; fails when anything was printed to the console or fetched."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "request",
        lambda request: (
            complaints.append(request.url)
            if not request.url.startswith(("file:", "data:"))
            else None
        ),
    )
    opened.goto(report.as_uri())
    yield opened
    opened.close()
    assert complaints == []


def test_every_figure_is_drawn_inside_its_frame(page: Any) -> None:
    drawn = page.evaluate(
        """() => [...document.querySelectorAll("figure")].map((figure) => {
          const svg = figure.querySelector(".drawing svg");
          const frame = svg.getBoundingClientRect();
          const marks = [...svg.querySelectorAll(".line, .point, rect:not(clipPath rect)")];
          const texts = [...svg.querySelectorAll("text")];
          const outside = texts.filter((text) => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left - 2 || box.right > frame.right + 2
              || box.top < frame.top - 2 || box.bottom > frame.bottom + 2;
          });
          return {
            name: figure.id, area: frame.width * frame.height, marks: marks.length,
            outside: outside.map((text) => text.textContent),
            nan: svg.outerHTML.includes("NaN") || svg.outerHTML.includes("nan"),
          };
        })"""
    )
    assert len(drawn) == 10  # all but the forecasts, of which this report has none
    for figure in drawn:
        assert figure["area"] > 1e5, figure
        assert figure["marks"] > 0, figure
        assert figure["outside"] == [], figure
        assert not figure["nan"], figure


def test_links_inside_the_page_are_live(page: Any) -> None:
    dead = page.evaluate(
        """() => [...document.querySelectorAll("a[href^='#']")]
          .filter((link) => !document.getElementById(link.hash.slice(1)))
          .map((link) => link.hash)"""
    )
    assert dead == []


def test_hover_names_the_run_and_picks_it_out_everywhere(page: Any) -> None:
    place = page.evaluate(
        """() => {
          const line = document.querySelector("#figure-trajectories-box .drawing .line");
          line.scrollIntoView({ block: "center" });
          const point = line.getPointAtLength(line.getTotalLength() * 0.4);
          const matrix = line.getScreenCTM();
          return { x: point.x * matrix.a + matrix.e, y: point.y * matrix.d + matrix.f };
        }"""
    )
    page.mouse.move(place["x"], place["y"])
    key = page.locator("#tip strong").inner_text()
    assert page.locator("#tip").is_visible()
    assert "T_mem" in page.locator("#tip").inner_text()
    picked = page.evaluate("() => [...document.querySelectorAll('.on')].map((e) => e.dataset.key)")
    assert set(picked) == {key}
    assert page.locator("svg.picked").count() > 5
    page.mouse.move(5, 5)
    assert not page.locator("#tip").is_visible()


def test_the_filter_hides_runs_and_their_marks(page: Any) -> None:
    assert page.locator("#kept").inner_text() == "12 of 12 runs shown"
    page.fill("#filter", "decay 0.5 0.95")
    assert page.locator("#kept").inner_text() == "2 of 12 runs shown"
    visible = page.locator("#figure-trajectories-box .drawing .line:visible").count()
    assert visible == 2
    page.fill("#filter", "")
    assert page.locator("#runs tbody tr:visible").count() == 12


def test_tables_sort_by_value_with_censored_runs_last(page: Any) -> None:
    head = page.locator("#runs th:nth-child(4)")
    assert head.inner_text().startswith("T_gen")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    cells = page.locator("#runs tbody tr td:nth-child(4)").all_inner_texts()
    numbers = [float(cell.replace("> ", "").replace(",", "")) for cell in cells]
    assert numbers == sorted(numbers)
    censored = [cell.startswith(">") for cell in cells]
    assert censored == sorted(censored)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"


def test_everything_works_from_the_keyboard(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the verdicts"
    page.keyboard.press("Enter")
    assert page.evaluate("() => location.hash") == "#claims"
    button = page.locator("#runs td button").first
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert page.locator("#figure-trajectories-box svg.picked").count() == 1
    page.keyboard.press("Enter")
    assert page.locator("svg.picked").count() == 0


def test_the_page_follows_the_theme_and_can_be_switched(page: Any) -> None:
    background = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(background) == "rgb(20, 23, 28)"
    page.click(".theme")
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_a_narrow_screen_scrolls_figures_not_the_page(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_print_is_white_complete_and_without_controls(page: Any) -> None:
    page.click(".theme")
    page.emulate_media(media="print")
    background = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(page: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    # The Python package bundles axe-core; NHT_AXE names another, such as npm's newest.
    own = os.environ.get("NHT_AXE")
    checker = axe.Axe(Path(own).read_text(encoding="utf-8")) if own else axe.Axe()
    page.emulate_media(color_scheme=scheme)
    page.evaluate("() => { for (const d of document.querySelectorAll('details')) d.open = true; }")
    response = checker.run(page).response
    version = tuple(int(part) for part in response["testEngine"]["version"].split("."))
    assert version >= OLDEST_AXE
    found = response["violations"]
    serious = [
        f"{fault['id']}: {node['html'][:120]} ({node['failureSummary']})"
        for fault in found
        for node in fault["nodes"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_figures_look_as_they_did(page: Any, tmp_path: Path) -> None:
    """Each figure, seen from afar, against the recorded look; NHT_UPDATE_GOLDEN=1 records anew."""
    from PIL import Image

    seen = {}
    for box in page.locator("figure").all():
        shot = tmp_path / "figure.png"
        box.locator(".drawing").screenshot(path=shot)
        small = Image.open(shot).convert("L").resize(GRID, Image.Resampling.BOX)
        seen[box.get_attribute("id")] = np.asarray(small).tolist()
    if os.environ.get("NHT_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(seen) + "\n")
    recorded = json.loads(GOLDEN.read_text())
    assert seen.keys() == recorded.keys()
    for name, look in seen.items():
        difference = np.abs(np.array(look, float) - np.array(recorded[name], float))
        # Fonts differ between machines; a mark that moved or vanished changes a whole cell.
        assert difference.mean() < 2.0, name
        assert difference.max() < 30.0, name


def test_empty_and_live_studies_open_without_complaint(
    browser: Any, make_study: Any, tmp_path: Path
) -> None:
    live = make_study(seeds=1, weight_decays=(1.0,), strengths=(0.9,))
    young = tuple(replace(run.until(900), notes=()) for run in live.runs)
    studies = {"empty": make_study(seeds=0), "live": replace(live, runs=young, records=young)}
    for name, study in studies.items():
        path = tmp_path / f"{name}.html"
        write_report(ReportContent(estimate_study(study), (), version="0.0"), path)
        opened = browser.new_page()
        complaints: list[str] = []
        opened.on("console", lambda message, kept=complaints: kept.append(message.text))
        opened.on("pageerror", lambda error, kept=complaints: kept.append(str(error)))
        opened.goto(path.as_uri())
        assert opened.locator("h1").is_visible()
        assert complaints == []
        opened.close()
