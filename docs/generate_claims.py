"""MkDocs hook: reference/claims.md says how each claim is judged."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from nht_theory.claims.registry import CLAIMS
from nht_theory.claims.rules import ALPHA
from nht_theory.claims.verdict import Claim

INTRODUCTION = f"""
A verdict is *supported*, *refuted*, *inconclusive* or *not applicable*. Each claim is judged by
the rule below, at a level of {ALPHA:.0%} in all, and then corrected by Holm over every claim that
the study lets be judged. The unit is the configuration (runs that differ in nothing but the seed),
unless the rule says otherwise. A claim whose test ends in an error is not applicable and names the
error; the others are judged all the same. How often each rule errs on studies whose truth is known
stands in `validation/statistics`.
"""


def section(claim: Claim) -> str:
    """The part of the page about one claim."""
    facts = {
        "Needs": claim.needs,
        "Rule": claim.rule,
        "Would refute it": claim.against,
        "Would support it": claim.in_favour,
        "Cannot be decided on": claim.undecidable,
        "Depends on the thresholds": "yes" if claim.uses_thresholds else "no",
        "Derived from": ", ".join(f"`nht derive {name}`" for name in claim.formulas),
        "References": ", ".join(claim.references),
    }
    lines = [
        f"| {term} | {text.replace('|', chr(92) + '|')} |" for term, text in facts.items() if text
    ]
    return "\n".join([f"## {claim.name}", "", claim.statement, "", "| | |", "|---|---|", *lines])


def claims_page() -> str:
    """The page of all claims."""
    parts = ["# Claims, and how each is judged", INTRODUCTION.strip()]
    return "\n\n".join([*parts, *map(section, CLAIMS)]) + "\n"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the page to the files that MkDocs builds."""
    files.append(File.generated(config, "reference/claims.md", content=claims_page()))
    return files
