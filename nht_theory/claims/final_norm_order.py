"""P1: the stronger the weight decay, the smaller the final norm."""

from __future__ import annotations

from nht_theory.claims import selection
from nht_theory.claims.ordering import OrderedOutcome, test_order, within_levels
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.estimators.results import Missing, StudyEstimates

NAME = "P1"
FEWEST_LEVELS = 3
NEEDS = (
    f"the norm of runs at {FEWEST_LEVELS} or more weight decays, of which two or more share every "
    "other setting"
)


def test(study: StudyEstimates) -> Verdict:
    """Trend of final V over weight decay, over configurations of equal other settings."""
    rows = within_levels(
        [
            OrderedOutcome(
                selection.stratum(run, "weight_decay"),
                run.hyperparameters.weight_decay,
                own.squared_norm_final.value,
                (run.name,),
            )
            for run, own in study.pairs()
            if run.hyperparameters.weight_decay is not None
            and not isinstance(own.squared_norm_final, Missing)
        ],
        FEWEST_LEVELS,
    )
    if not rows:
        return not_applicable(NAME, f"needs {NEEDS}")
    return test_order(
        NAME,
        rows,
        falls=True,
        statistic_name="share of pairs in which more decay leaves the smaller final V",
        details=(
            "final V is read at each run's last evaluation, whenever that was",
            f"left out: {len(study.estimates) - sum(len(row.runs) for row in rows)} runs without "
            "a partner at another weight decay, or without a norm",
        ),
    )


CLAIM = Claim(
    name=NAME,
    statement="Final norms are ordered by weight decay: the stronger the decay, the smaller V.",
    needs=NEEDS,
    rule="Jonckheere-Terpstra over configurations (each the mean of its seeds) within equal other "
    "settings, two-sided: supported when the falling trend is significant, refuted when the rising "
    "one is",
    references=("arXiv:2603.07323", "jonckheere1954"),
    formulas=("expected_squared_norm", "adamw_noise_floor"),
    against="configurations in which the stronger decay leaves the larger final norm",
    in_favour="configurations in which the stronger decay leaves the smaller final norm",
    undecidable="one group of equal settings at four weight decays or fewer, however many seeds",
    test=test,
    uses_thresholds=False,
)
