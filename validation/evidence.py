"""The table of all claims, from the committed verdicts: ``python -m validation.evidence``.

Writes the generated part of validation/README.md. The verdicts are those of the studies'
``verdicts.json`` and of the companion's ``results.json``; what the papers report stands in
``published_claims.toml``. Nothing else enters, so that no verdict can be changed by hand.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nht_theory.claims.registry import CLAIMS
from nht_theory.errors import InputError
from validation.studies.catalogue import STUDIES
from validation.studies.markdown import table, with_blocks
from validation.studies.page import statistic
from validation.studies.results import HERE as STUDIES_FOLDER
from validation.studies.results import PAGE, read_results

HERE = Path(__file__).parent
COMPANION = "companion"
COMPANION_RESULTS = HERE / "companion" / "results" / "results.json"
NOT_RUN = "not run yet"
HEADER = ("claim", "domain", "paper", "ours", "verdict", "runs (censored)", "from")


@dataclass(frozen=True)
class Source:
    """Where verdicts come from.

    Attributes:
        name: as in published_claims.toml.
        domain: as people read it.
        page: relative to validation/.
        answers: predictions that it was made to judge.
        verdicts: prediction -> cells "ours", "verdict" and "runs"; None where it was not run.
    """

    name: str
    domain: str
    page: str
    answers: Sequence[str]
    verdicts: Mapping[str, tuple[str, str, str]] | None


def sources() -> list[Source]:
    """The companion's public runs, then every study."""
    return [_companion(), *(_study(plan.name) for plan in STUDIES)]


def _companion() -> Source:
    claims = json.loads(COMPANION_RESULTS.read_text(encoding="utf-8"))["claims"]
    names = {own.statement: own.name for own in CLAIMS}
    verdicts = {
        names[one["claim"]]: (one["ours"].split(", n = ")[0], one["verdict"], _count(one["ours"]))
        for one in claims
        if one["claim"] in names
    }
    return Source(
        COMPANION,
        "modular addition, the companion's public runs",
        "companion/results/page.md",
        tuple(verdicts),
        verdicts,
    )


def _count(ours: str) -> str:
    """``n = 122, 20 right-censored`` as ``122 (20)``."""
    runs, _, censored = ours.rpartition("n = ")[2].partition(", ")
    return f"{runs} ({censored.split()[0]})" if censored else runs


def _study(name: str) -> Source:
    plan = next(one for one in STUDIES if one.name == name)
    found = read_results(STUDIES_FOLDER / name)
    verdicts = None
    if found is not None:
        verdicts = {
            own["prediction"]: (
                own["rule"]
                if own["verdict"] == "not applicable"
                else f"{own['statistic_name']} = {statistic(own)}",
                own["verdict"],
                f"{own['n']} ({own['n_censored']})" if own["n"] else "",
            )
            for own in found.verdicts["verdicts"]
            if own["verdict"] != "not applicable" or own["prediction"] in plan.answers
        }
    return Source(name, plan.domain, f"studies/{name}/{PAGE}", plan.answers, verdicts)


def rows() -> Iterator[tuple[str, ...]]:
    """One row for each claim and each domain that judged it, or is meant to."""
    published = _published()
    everything = sources()
    for own in CLAIMS:
        claim = f"**{own.name}** {own.statement}"
        for source in everything:
            paper = published.get(own.name, {}).get(source.name, "")
            link = f"[page]({source.page})"
            if source.verdicts is None:
                if own.name in source.answers:
                    yield claim, source.domain, paper, "", NOT_RUN, "", link
                    claim = ""
            elif own.name in source.verdicts:
                ours, verdict, runs = source.verdicts[own.name]
                yield claim, source.domain, paper, ours, f"**{verdict}**", runs, link
                claim = ""
    yield from _beyond_the_registry(everything[0])


def _beyond_the_registry(companion: Source) -> Iterator[tuple[str, ...]]:
    """Claims of the companion that ``nht validate`` does not judge, from its re-analysis."""
    known = {own.statement for own in CLAIMS}
    for one in json.loads(COMPANION_RESULTS.read_text(encoding="utf-8"))["claims"]:
        if one["claim"] not in known:
            ours, runs = one["ours"].split(", n = ")[0], _count(one["ours"])
            link = f"[page]({companion.page})"
            verdict = f"**{one['verdict']}**"
            yield one["claim"], companion.domain, one["paper"], ours, verdict, runs, link


def _published() -> Mapping[str, Mapping[str, str]]:
    path = HERE / "published_claims.toml"
    content: dict[str, dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {own.name for own in CLAIMS}
    places = {COMPANION, *(plan.name for plan in STUDIES)}
    for claim, reported in content.items():
        if claim not in known or not reported.keys() <= places:
            raise InputError(
                f"an unknown claim or domain in [{claim}]",
                source=path,
                remedy=f"claims: {', '.join(sorted(known))}; domains: {', '.join(sorted(places))}",
            )
    return content


def evidence_table() -> str:
    """The table, as Markdown."""
    return table(HEADER, rows())


def main() -> None:
    """Write the generated part of validation/README.md."""
    path = HERE / "README.md"
    page = with_blocks(path.read_text(encoding="utf-8"), {"evidence": evidence_table()}, path)
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
