"""The report as text: complete, self-contained, the same bytes twice, and small."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nht_theory.claims.registry import CLAIMS, claim_named
from nht_theory.claims.verdict import Claim, ThresholdVerdict, Verdict, not_applicable
from nht_theory.conventions import Thresholds, VerdictKind
from nht_theory.errors import InputError
from nht_theory.estimators.results import Interval, StudyEstimates
from nht_theory.estimators.summary import estimate_study
from nht_theory.forecasting.backtest import ScoredForecast
from nht_theory.forecasting.forecast import Basis, Forecast, Stage
from nht_theory.formulas import catalogue
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.html import render, write_report
from nht_theory.reporting.summary import answers, stability_in_words
from nht_theory.reporting.what_would_change import what_would_change

INTERVAL = Interval(0.3, 0.6, 0.95, "made up")


def forecast_of(own, factor: float) -> ScoredForecast:
    """A forecast that misses by a known factor."""
    start = own.memorization_step
    happened = own.generalization_step
    median = start + factor * ((happened or start + 4000) - start)
    forecast = Forecast(
        run=own.run,
        stage=Stage.MEMORIZATION,
        made_at=start,
        basis=Basis.LAW,
        median=median,
        interval=Interval(start + 0.5 * (median - start), 2 * median, 0.9, "made up"),
        probability_within_budget=None,
        reason="made up",
        remedy="",
        calibration=("a",),
        method="made up",
    )
    return ScoredForecast(forecast, happened, 6000, start)


def content_of(estimated: StudyEstimates) -> ReportContent:
    refuted = Verdict(
        claim="necessity",
        verdict=VerdictKind.REFUTED,
        statistic=0.45,
        statistic_name="share of counter-examples",
        interval=INTERVAL,
        p_value=0.0012,
        n=18,
        n_censored=3,
        rule="8 of 18 runs are counter-examples",
        details=("counter-example: <run> & others",),
        holm_p_value=0.0024,
        stability=(
            ThresholdVerdict(Thresholds(0.9, 0.9), VerdictKind.REFUTED),
            ThresholdVerdict(Thresholds(0.95, 0.95), VerdictKind.INCONCLUSIVE),
        ),
    )
    claim = Claim("necessity", "The norm must fall.", "runs", "binomial", (), lambda _: refuted)
    scored = [forecast_of(own, 1.25) for own in estimated.estimates if own.memorization_step]
    return ReportContent(
        estimated,
        (refuted, not_applicable("P4", "needs layers")),
        {"necessity": claim},
        tuple(scored),
        "Made up.",
        "0.0",
    )


@pytest.fixture(scope="module")
def content(make_study) -> ReportContent:
    return content_of(estimate_study(make_study()))


class Links(HTMLParser):
    """Identifiers, links inside the page, and everything that would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.identifiers: list[str] = []
        self.anchors: list[str] = []
        self.fetched: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.identifiers.append(value or "")
            elif name in ("src", "href", "xlink:href") and value and not value.startswith("data:"):
                (self.anchors if value.startswith("#") else self.fetched).append(value)


def links(page: str) -> Links:
    parser = Links()
    parser.feed(page)
    return parser


def test_the_page_needs_nothing_else(content: ReportContent) -> None:
    found = links(render(content))
    assert found.fetched == []
    assert "@import" not in render(content)
    assert not re.search(r"url\((?!#)", render(content))


def test_links_lead_somewhere_and_identifiers_are_unique(content: ReportContent) -> None:
    found = links(render(content))
    assert {anchor.removeprefix("#") for anchor in found.anchors} <= set(found.identifiers)
    assert len(set(found.identifiers)) == len(found.identifiers)


def test_the_same_content_gives_the_same_bytes(content: ReportContent) -> None:
    assert render(content) == render(content)


def test_what_was_left_out_and_merged_is_there_in_full(content: ReportContent) -> None:
    page = render(content)
    assert "broken &lt;b&gt;.json" in page
    assert "not JSON (line 3)" in page
    assert "the same trajectory" in page
    assert "counter-example: &lt;run&gt; &amp; others" in page
    assert "norms were squared (18 runs)" in page
    assert "The paper's assumptions on these runs" in page
    assert "the shortcut&#39;s norm exceeds the structured one&#39;s" in page


def test_a_verdict_shows_effect_rule_and_claim(content: ReportContent) -> None:
    page = render(content)
    for text in (
        "0.45 [0.3, 0.6] (95%)",
        "8 of 18 runs are counter-examples",
        "The norm must fall.",
        "0.0012 (0.0024 by Holm)",
        "needs layers",
        "inconclusive at (0.95, k = 1); refuted at the other 1",
    ):
        assert text in page


def test_the_first_screen_answers_in_numbers(content: ReportContent) -> None:
    when, holds, cite = answers(content)
    estimates = content.estimated.estimates
    delays = sorted(own.delay for own in estimates if own.delay is not None)
    assert f"median of {len(delays)}" in when.headline
    assert "missed the delay by 25% at the median" in " ".join(when.sentences)
    assert holds.headline == "1 refuted, 1 not applicable"
    assert cite.headline == f"n = 18 distinct runs, {sum(o.censored for o in estimates)} censored"


def test_forecasts_are_scored_against_what_happened() -> None:
    made = Forecast(
        "a", Stage.MEMORIZATION, 100, Basis.LAW, 300.0, Interval(200, 400, 0.9, ""), None,
        "", "", (), "",
    )  # fmt: skip
    assert ScoredForecast(made, 200, 1000, 100).relative_error == pytest.approx(1.0)
    assert ScoredForecast(made, 400, 1000, 100).inside is True
    assert ScoredForecast(made, 401, 1000, 100).inside is False
    assert ScoredForecast(made, None, 350, 100).inside is None
    assert ScoredForecast(made, None, 500, 100).inside is False
    refused = replace(made, median=None, interval=None, basis=Basis.REFUSED)
    assert ScoredForecast(refused, 200, 1000, 100).relative_error is None
    assert ScoredForecast(refused, 200, 1000, 100).inside is None


def test_an_empty_study_makes_sense(make_study) -> None:
    page = render(ReportContent(estimate_study(make_study(seeds=0)), (), version="0.0"))
    assert "No run was read" in page
    assert "No claim can be judged on these data" in page
    assert "broken &lt;b&gt;.json" in page
    assert "<figure" not in page


def test_one_run_makes_sense(make_study) -> None:
    study = make_study(seeds=1, weight_decays=(1.0,), strengths=(0.9,))
    page = render(content_of(estimate_study(study)))
    assert page.count('<tr data-key="decay 1 ρ 0.9 seed 0"') == 2  # runs and forecasts


def test_a_thousand_runs_stay_below_ten_megabytes(content: ReportContent) -> None:
    few = content.estimated
    copies = [(run, own, f"{run.name} copy {k}") for k in range(56) for run, own in few.pairs()]
    runs = tuple(replace(run, name=name) for run, _, name in copies)
    estimates = tuple(replace(own, run=name) for _, own, name in copies)
    many = StudyEstimates(replace(few.study, records=runs, runs=runs), estimates)
    assert len(runs) == 1008
    page = render(content_of(many))
    assert page.count('class="line ') > 5 * 1008
    assert len(page.encode()) < 10e6


def test_a_report_is_written_whole_or_not_at_all(content: ReportContent, tmp_path: Path) -> None:
    write_report(content, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render(content)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(InputError, match="no such directory"):
        write_report(content, tmp_path / "absent" / "report.html")


def test_stability_in_words() -> None:
    own = not_applicable("a", "b")
    assert stability_in_words(own) == ""
    all_other = replace(
        own,
        stability=tuple(
            ThresholdVerdict(Thresholds(level, level), VerdictKind.REFUTED) for level in (0.8, 0.9)
        ),
    )
    assert stability_in_words(all_other) == "refuted at all 2 of them"


def test_every_claim_names_its_derivation_and_what_would_overturn_it() -> None:
    for claim in CLAIMS:
        assert set(claim.formulas) <= set(catalogue.names()), claim.name
        assert claim.against, claim.name
        assert claim.in_favour, claim.name
        assert claim.against != claim.in_favour, claim.name


def test_a_card_leads_to_the_derivation_and_back(content: ReportContent) -> None:
    """The law's card links to its formulas, drawn as MathML with every step of their proofs."""
    law = replace(content.judged[0], claim="law")
    page = render(replace(content, verdicts=(law,), claims={"law": claim_named("law")}))
    start = page.index('id="claim-law"')
    card = page[start : page.index("</article>", start)]
    for name in claim_named("law").formulas:
        assert f'href="#formula-{name}"' in card
        formula = catalogue.find(name)
        start = page.index(f'id="formula-{name}"')
        shown = page[start : page.index("</article>", start)]
        assert shown.count("<math ") > len(formula.derivation)
        assert formula.source in shown
        assert 'href="#claim-law"' in shown
    assert "would change it" in card
    assert "both lie surely within" in card


def test_what_would_change_a_verdict(content: ReportContent) -> None:
    refuted = content.judged[0]
    claim = claim_named("necessity")
    assert what_would_change(refuted, claim) == (
        f"{claim.in_favour}; open once p after Holm exceeds 0.05 (now 0.0024)"
    )
    supported = replace(refuted, verdict=VerdictKind.SUPPORTED, holm_p_value=None)
    assert what_would_change(supported, claim) == claim.against
    still_open = replace(refuted, verdict=VerdictKind.INCONCLUSIVE, power="40 more runs")
    assert what_would_change(still_open, claim) == "40 more runs"
    both = what_would_change(replace(still_open, power=""), claim)
    assert claim.against in both
    assert claim.in_favour in both
    assert what_would_change(not_applicable("P4", "x"), claim_named("P4")).startswith("data with ")
