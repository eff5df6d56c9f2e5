"""Shortcut strength: the stronger the shortcut, the harder the transition."""

from __future__ import annotations

from nht_theory.claims import selection
from nht_theory.claims.intermediate_decay import structured_accuracy
from nht_theory.claims.ordering import OrderedOutcome, test_order, within_levels
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.estimators.results import StudyEstimates

NAME = "shortcut_strength"
SETTINGS = ("shortcut_strength", "rho")
FEWEST_LEVELS = 2
NEEDS = "held-out (clean) accuracy of runs at two or more strengths of the shortcut, all else equal"


def test(study: StudyEstimates) -> Verdict:
    """Trend of the final clean accuracy over rho, over configurations of equal other settings."""
    rows = within_levels(
        [
            OrderedOutcome(selection.stratum(run, *SETTINGS), strength, accuracy, (run.name,))
            for run, _ in study.pairs()
            if (strength := selection.number(run, *SETTINGS)) is not None
            and (accuracy := structured_accuracy(run)) is not None
        ],
        FEWEST_LEVELS,
    )
    if not rows:
        return not_applicable(NAME, f"needs {NEEDS}")
    return test_order(
        NAME,
        rows,
        falls=True,
        statistic_name="share of pairs in which the stronger shortcut leaves less clean accuracy",
    )


CLAIM = Claim(
    name=NAME,
    statement="The stronger the shortcut, the harder the transition: clean accuracy falls with "
    "rho.",
    needs=NEEDS,
    rule="Jonckheere-Terpstra over configurations (each the mean of its seeds) within equal other "
    "settings, two-sided: supported when clean accuracy falls with rho, refuted when it rises",
    references=("arXiv:2603.07323", "jonckheere1954"),
    against="configurations in which the stronger shortcut leaves the higher clean accuracy",
    in_favour="configurations in which the stronger shortcut leaves the lower clean accuracy",
    undecidable="one group of equal settings at four strengths or fewer, however many seeds",
    test=test,
    uses_thresholds=False,
)
