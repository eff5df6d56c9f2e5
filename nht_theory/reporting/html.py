"""The report as one self-contained HTML file, readable offline, printed and without a mouse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from nht_theory.claims.verdict import Verdict
from nht_theory.conventions import FORMULA_CONVENTION, VerdictKind
from nht_theory.errors import InputError
from nht_theory.reporting import colours, svg, tables
from nht_theory.reporting.content import ReportContent
from nht_theory.reporting.derivations import derivations
from nht_theory.reporting.figures.catalogue import draw_all
from nht_theory.reporting.figures.stability import SIGNS
from nht_theory.reporting.marks import Figure, Line, Undrawn, legend
from nht_theory.reporting.summary import Answer, answers, effect, plural, stability_in_words
from nht_theory.reporting.what_would_change import what_would_change
from nht_theory.runs.run_format import write_atomically

CROWDED = 60
"""Lines in a figure above which each is drawn thinner."""
SECTIONS = (
    ("claims", "Verdicts"),
    ("figures", "Figures"),
    ("runs", "Runs"),
    ("left-out", "Left out"),
    ("merges", "Merged"),
    ("derivations", "Derivations"),
    ("method", "Method"),
)


@dataclass(frozen=True)
class _LegendEntry:
    label: str
    swatch: Markup


@dataclass(frozen=True)
class _Drawing:
    figure: Figure
    svg: Markup
    legend: tuple[_LegendEntry, ...]
    crowded: bool


@dataclass(frozen=True)
class _Card:
    name: str
    kind: VerdictKind
    sign: str
    claim: str
    facts: tuple[tuple[str, str], ...]
    formulas: tuple[tuple[str, str], ...]
    details: tuple[str, ...]


def render(content: ReportContent) -> str:
    """The whole page. The same content gives the same text."""
    environment = Environment(
        loader=PackageLoader("nht_theory.reporting", "page"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = draw_all(content)
    judged = [content.claims[v.claim] for v in content.judged if v.claim in content.claims]
    appendix = derivations(judged)
    titles = {shown.name: shown.title for shown in appendix}
    style = environment.get_template("report.css").render(
        light=colours.LIGHT, dark=colours.DARK, dark_page=colours.DARK_PAGE
    )
    script = environment.get_template("report.js").render()
    study = content.estimated.study
    return environment.get_template("report.html.j2").render(
        content=content,
        study=study,
        # Both are our own files, without a closing tag of the element that holds them.
        css=Markup(style),
        script=Markup(script),
        sections=SECTIONS,
        answers=[_linked(answer, [v.claim for v in content.judged]) for answer in answers(content)],
        cards=[_card(verdict, content, titles) for verdict in content.judged],
        derivations=appendix,
        verdicts=tables.verdicts_table(content),
        not_judged=tables.not_applicable_table(content),
        assumptions=tables.assumptions_table(content),
        drawings=[_drawing(figure) for figure in drawn if isinstance(figure, Figure)],
        undrawn=[missing for missing in drawn if isinstance(missing, Undrawn)],
        runs=tables.runs_table(content),
        forecasts=tables.forecasts_table(content.forecasts),
        left_out=tables.left_out_table(content),
        merges=tables.merges_table(content),
        notes=_notes(content),
        convention=FORMULA_CONVENTION,
    )


def write_report(content: ReportContent, path: Path) -> None:
    """Write the page to ``path``, replacing what is there only once it is complete.

    Raises:
        InputError: the directory does not exist.
    """
    if not path.parent.is_dir():
        raise InputError("no such directory", source=path.parent, remedy="create it first")
    write_atomically(path, render(content))


def _notes(content: ReportContent) -> list[str]:
    """Notes of the study, then those of runs, each once with how many runs it holds for."""
    study = content.estimated.study
    by_note: dict[str, list[str]] = {}
    for run in study.runs:
        for note in run.notes:
            by_note.setdefault(note, []).append(run.name)
    of_runs = [
        f"{note} ({names[0] if len(names) == 1 else f'{len(names)} runs'})"
        for note, names in by_note.items()
    ]
    return [*study.notes, *of_runs]


def _linked(answer: Answer, claims: Iterable[str]) -> tuple[str, str, list[Markup]]:
    """Question, headline and sentences of an answer; a claim that has a card links to it."""
    with_card = set(claims)
    link = Markup('<a href="#claim-{0}">{0}</a>').format
    linked = [
        escape(f"{one.heading}: ")
        + Markup(", ").join(link(name) if name in with_card else name for name in one.claims)
        + "."
        for one in answer.claims
    ]
    return answer.question, answer.headline, [*map(escape, answer.sentences), *linked]


def _card(verdict: Verdict, content: ReportContent, titles: Mapping[str, str]) -> _Card:
    known = content.claims.get(verdict.claim)
    adjusted = "" if verdict.holm_p_value is None else f" ({verdict.holm_p_value:.3g} by Holm)"
    facts = (
        ("effect", effect(verdict)),
        ("p", "" if verdict.p_value is None else f"{verdict.p_value:.3g}{adjusted}"),
        ("interval", "" if verdict.interval is None else verdict.interval.method),
        ("n", f"{plural(verdict.n, 'run')}, {verdict.n_censored} censored"),
        ("independent units", verdict.rests_on),
        ("decided by", verdict.rule),
        ("rule", "" if known is None else known.rule),
        ("would change it", "" if known is None else what_would_change(verdict, known)),
        ("cannot be decided on", "" if known is None else known.undecidable),
        ("thresholds", stability_in_words(verdict)),
    )
    return _Card(
        name=verdict.claim,
        kind=verdict.verdict,
        sign=SIGNS[verdict.verdict],
        claim="" if known is None else known.statement,
        facts=tuple((term, text) for term, text in facts if text),
        formulas=() if known is None else tuple((name, titles[name]) for name in known.formulas),
        details=verdict.details,
    )


def _drawing(figure: Figure) -> _Drawing:
    lines = max(sum(isinstance(m, Line) for m in panel.marks) for panel in figure.panels)
    entries = tuple(
        _LegendEntry(label, Markup(svg.swatch(mark))) for label, mark in legend(figure).items()
    )
    return _Drawing(figure, Markup(svg.draw(figure)), entries, lines > CROWDED)
