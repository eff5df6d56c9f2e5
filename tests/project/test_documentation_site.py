"""The built documentation: no warning, no network, formulas drawn, search from a disk."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mkdocs", reason="the documentation's packages are not installed")
PROJECT = Path(__file__).resolve().parents[2]
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=[\"']?(https?:[^\"' >]+)")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as ``make docs`` builds it."""
    place = tmp_path_factory.mktemp("documentation") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        # Material's advertisement of its successor is no warning about these pages.
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stderr
    return place


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    # A canonical link or one that the reader follows is not loaded.
    loaded = {
        (page.relative_to(site).as_posix(), url)
        for page in site.rglob("*.html")
        for url in LOADED.findall(page.read_text(encoding="utf-8"))
        if "canonical" not in url
    }
    assert not loaded


def test_every_formula_is_drawn(site: Path) -> None:
    drawn = 0
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "arithmatex" not in text, page
        drawn += text.count("<math ")
    assert drawn > 300
    assert "<mi>γ</mi>" in (site / "explanation/conventions.html").read_text(
        encoding="utf-8"
    ).replace("&#x003B3;", "γ")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here; apt install chromium")
def test_search_answers_from_a_disk(site: Path) -> None:
    playwright: Any = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.locator("input[name='query']").click()
        page.keyboard.type("censored")
        page.wait_for_selector(".md-search-result__link", timeout=60_000)
        found = page.locator(".md-search-result__link").all_inner_texts()
        browser.close()
    assert any("censored" in text.lower() for text in found)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
