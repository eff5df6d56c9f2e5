"""``python -m validation.studies NAME``: train a study, judge it, write its page."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from nht_theory.errors import NhtError

COMPANION = Path("../shared/data/companion")
RUNS = Path("studies")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 2 and one line where something is missing."""
    chosen = _parse(arguments)
    from validation.studies.catalogue import STUDIES, study_plan
    from validation.studies.judge import judge
    from validation.studies.page import write_page
    from validation.studies.results import HERE
    from validation.studies.training import train_study

    try:
        if chosen.pages:
            for plan in STUDIES:
                write_page(plan, HERE / plan.name)
            return 0
        plan = study_plan(chosen.name)
        place = chosen.output or (RUNS / "toy" if chosen.toy else RUNS)
        runs = place / plan.name
        results = chosen.results or (place / "results" if chosen.toy else HERE) / plan.name
        if not chosen.judge_only:
            train_study(
                plan,
                runs,
                results,
                overrides=chosen.overrides,
                workers=chosen.workers,
                earlier=chosen.earlier,
                toy=chosen.toy,
            )
        if not chosen.train_only:
            judge(plan, runs, results, stability=not chosen.toy)
            write_page(plan, results)
            print(f"{results}: README.md, runs.csv, verdicts.json")
    except NhtError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m validation.studies", description=__doc__)
    parser.add_argument("name", nargs="?", help="of the study: a TOML file of validation/studies")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="for every run")
    parser.add_argument("-o", "--output", type=Path, help="directory of the runs [studies]")
    parser.add_argument("--results", type=Path, help="what is committed [validation/studies/NAME]")
    parser.add_argument("--workers", type=int, default=2, help="processes; 0: in this one")
    parser.add_argument(
        "--earlier",
        type=Path,
        default=Path(os.environ.get("NHT_COMPANION", COMPANION)),
        help="runs to forecast from: the companion's [%(default)s, or NHT_COMPANION]",
    )
    parser.add_argument("--toy", action="store_true", help="a few steps, into studies/toy")
    parser.add_argument("--train-only", action="store_true", help="do not judge")
    parser.add_argument("--judge-only", action="store_true", help="do not train")
    parser.add_argument("--pages", action="store_true", help="only write the pages again")
    chosen = parser.parse_args(arguments)
    if chosen.name is None and not chosen.pages:
        parser.error("name a study, or give --pages")
    return chosen


if __name__ == "__main__":
    sys.exit(main())
