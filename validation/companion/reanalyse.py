"""Judge the companion's public runs again, and write the results that are committed here.

nht fetch companion -o DATA
python validation/companion/reanalyse.py DATA
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from claims import claims, separation_rows
from page import page
from plots import draw
from published_figures import HERE, SETTINGS, figures

from nht_theory.claims.validate import validate
from nht_theory.cli.output import progress, to_jsonable
from nht_theory.conventions import Thresholds
from nht_theory.reporting.citation import cite
from nht_theory.runs.load import load_study


def main(data: Path, out: Path = HERE / "results") -> None:
    """Read, validate, and write page.md, results.json, the citation and the figures to ``out``."""
    study = load_study(data)
    with progress() as say:
        validation = validate(study, Thresholds(**SETTINGS["thresholds"]), say)
    printed, judged = figures(study, data), claims(validation)
    separation, citation = separation_rows(validation), cite(validation)
    results = {"figures": printed, "claims": judged, "separation": separation}
    written = {
        "results.json": json.dumps(to_jsonable(results), indent=1) + "\n",
        "page.md": page(printed, judged, separation, citation, validation),
        "citation.tex": citation.to_latex(),
        "citation.txt": citation.to_apa() + "\n",
        "citation.bib": citation.to_bibtex() + "\n",
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        (out / name).write_text(text)
    draw(validation, out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
