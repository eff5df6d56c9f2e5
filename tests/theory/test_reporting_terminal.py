"""The story on a terminal: forty lines, and nothing dropped without saying so."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from nht_theory.claims.registry import CLAIMS
from nht_theory.claims.verdict import ThresholdVerdict, Verdict, not_applicable
from nht_theory.conventions import Thresholds, VerdictKind
from nht_theory.estimators.results import Interval
from nht_theory.estimators.summary import estimate_study
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.terminal import IN_FULL, MOST_LINES, print_story

JUDGED = 16


@pytest.fixture(scope="module")
def content(make_study: Any) -> ReportContent:
    """Many categories of runs and most claims judged, each with a long sentence."""
    estimated = estimate_study(
        make_study(
            seeds=1, weight_decays=tuple(0.1 * k for k in range(1, 13)), strengths=(0.5, 0.9)
        )
    )
    kinds = (VerdictKind.SUPPORTED, VerdictKind.REFUTED, VerdictKind.INCONCLUSIVE)
    verdicts = [
        Verdict(
            claim.name, kinds[place % 3], 1234.5, "made up", Interval(1000, 2000, 0.95, ""), 1e-9,
            120, 20, f"a long sentence that decided {claim.name} " * 4,
            details=(f"detail of {claim.name}",),
            stability=(ThresholdVerdict(Thresholds(0.9, 0.9), VerdictKind.REFUTED),),
        )
        for place, claim in enumerate(CLAIMS[:JUDGED])
    ]  # fmt: skip
    verdicts += [not_applicable(c.name, f"needs {c.needs}") for c in CLAIMS[JUDGED:]]
    claims = {claim.name: claim for claim in CLAIMS}
    return ReportContent(estimated, tuple(verdicts), claims, version="0.0")


def story(content: ReportContent, width: int, *, verbose: bool = False) -> str:
    written = io.StringIO()
    print_story(content, Console(file=written, width=width), verbose=verbose)
    return written.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_the_story_fits_forty_lines_and_names_every_claim(
    content: ReportContent, width: int
) -> None:
    shown = story(content, width)
    # The command adds a line about its report.
    assert shown.count("\n") <= MOST_LINES - 1
    assert all(len(line) <= width for line in shown.splitlines())
    for claim in CLAIMS:
        assert re.search(rf"\b{claim.name}\b", shown), claim.name


def test_what_is_not_shown_is_counted_with_the_way_to_see_it(content: ReportContent) -> None:
    shown = story(content, 80)
    said = re.search(rf"(\d+) (?:more )?categories of runs: {IN_FULL}", shown)
    assert said is not None
    listed = len(re.findall(r"^weight decay [\d.]+ ", shown, re.MULTILINE))
    assert listed + int(said[1]) == 12
    assert "Left out (1): broken <b>.json: not JSON (line 3)" in shown


def test_assumptions_are_counted_over_the_runs_that_tell(content: ReportContent) -> None:
    shown = story(content, 160)
    line = next(line for line in shown.splitlines() if line.startswith("Assumptions: "))
    # Alignment is three tenths of decay in every run; a budget of 6,000 steps censors some.
    assert "A2 holds in 0 of 24; A4 holds in " in line
    assert "A5 holds in 24 of 24; cannot be known: A1, A3" in line
    assert "A4: the shortcut's norm exceeds" in story(content, 160, verbose=True)


def test_verbose_holds_everything(content: ReportContent) -> None:
    shown = " ".join(story(content, 160, verbose=True).split())
    for claim in CLAIMS[:JUDGED]:
        assert f"detail of {claim.name}" in shown
        assert claim.against in shown or claim.in_favour in shown
    for own in content.not_applicable:
        assert f"{own.claim}: not applicable" in shown
    for run in content.estimated.study.runs:
        assert run.name in shown
    assert "a: b, c: the same trajectory" in shown
    assert IN_FULL not in shown
