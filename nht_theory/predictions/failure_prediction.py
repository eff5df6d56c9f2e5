"""Failure prediction: where S is not positive, weight decay brings no robustness."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nht_theory.estimators.results import Estimate, StudyEstimates
from nht_theory.estimators.separation import separation
from nht_theory.predictions import selection
from nht_theory.predictions.clean_separation import described, upper_limit
from nht_theory.predictions.p3 import RESOLUTION, structured_accuracy
from nht_theory.predictions.rules import decide, power_of
from nht_theory.predictions.verdict import Prediction, Verdict, not_applicable

NAME = "failure_prediction"
NO_GAIN = 0.02
"""Gain in accuracy up to which decay counts as having brought nothing."""
NEEDS = (
    "settings whose S, over all weight decays, is not above zero (its upper limit), with final "
    "worst-group or clean accuracy at two or more weight decays and two or more seeds"
)


@dataclass(frozen=True)
class Setting:
    """Runs that differ in weight decay and seed only.

    Attributes:
        label: of the settings held equal.
        description: S and W as text.
        hopeless: whether S predicts that decay brings nothing.
        gains: for each seed, accuracy at the decay that is best over the other seeds, less that
            at the weakest decay.
        runs: names of the runs.
    """

    label: str
    description: str
    hopeless: bool
    gains: tuple[float, ...]
    runs: tuple[str, ...]


def judge(study: StudyEstimates) -> Verdict:
    """Gain in robustness of the settings for which S predicts none."""
    tested = [own for own in settings(study) if own.hopeless and len(own.gains) > 1]
    if not tested:
        return not_applicable(NAME, f"needs {NEEDS}")
    gains = [gain for own in tested for gain in own.gains]
    error = max(float(np.std(gains, ddof=1)), RESOLUTION) / math.sqrt(len(gains))
    decision = decide(float(np.mean(gains)), error, len(gains) - 1, (-math.inf, NO_GAIN))
    return Verdict(
        prediction=NAME,
        verdict=decision.verdict,
        statistic=float(np.mean(gains)),
        statistic_name="gain in worst-group (or clean) accuracy from more decay, mean over seeds",
        interval=decision.interval,
        p_value=decision.p_value,
        n=len(gains),
        n_censored=0,
        rule=f"95 % interval of the gain over {len(gains)} seeds in {len(tested)} settings with S "
        f"not above zero [{decision.interval.low:.3f}, {decision.interval.high:.3f}] against at "
        f"most {NO_GAIN}; p = {decision.p_value:.3g}",
        power=power_of(decision, len(gains), "seeds"),
        details=tuple(f"{own.label}: {own.description}" for own in tested),
        runs=tuple(name for own in tested for name in own.runs),
    )


def settings(study: StudyEstimates) -> list[Setting]:
    """Every group of runs that differ in weight decay and seed only, with S over all of them."""
    found = []
    groups = selection.by_configuration(study.pairs(), without=("weight_decay",))
    for label, pairs in groups.items():
        if len({run.hyperparameters.weight_decay for run, _ in pairs}) < 2:
            continue
        own = separation(pairs)
        accuracy: dict[object, dict[float, float]] = {}
        for run, _ in pairs:
            value, decay = structured_accuracy(run), run.hyperparameters.weight_decay
            if value is not None and decay is not None:
                accuracy.setdefault(run.hyperparameters.seed, {})[decay] = value
        found.append(
            Setting(
                label=label,
                description=described(own),
                hopeless=isinstance(own.score, Estimate)
                and own.score.value <= 0
                and upper_limit(own.score) <= 0,
                gains=tuple(cross_fitted_gains(list(accuracy.values()))),
                runs=tuple(run.name for run, _ in pairs),
            )
        )
    return found


def cross_fitted_gains(seeds: list[dict[float, float]]) -> list[float]:
    """Gain of each seed at the decay that is best over the other seeds.

    Choosing the best decay on the seed it is scored on would make a gain out of noise.

    Example:
        >>> cross_fitted_gains([{0.0: 0.5, 1.0: 0.6}, {0.0: 0.5, 1.0: 0.7}])
        [0.09999999999999998, 0.19999999999999996]
    """
    gains = []
    for place, own in enumerate(seeds):
        others = [seed for other, seed in enumerate(seeds) if other != place]
        levels = sorted(set(own).intersection(*others)) if others else []
        if len(levels) > 1:
            best = max(levels[1:], key=lambda level: np.mean([seed[level] for seed in others]))
            gains.append(own[best] - own[levels[0]])
    return gains


PREDICTION = Prediction(
    name=NAME,
    claim="S at or below zero predicts that regularisation brings no robustness.",
    needs=NEEDS,
    rule=f"supported when the 95 % interval of the gain lies below {NO_GAIN}, refuted when above; "
    "the best decay is chosen on the other seeds",
    references=("arXiv:2603.07323",),
    against="settings with S at or below zero in which a weight decay raises the worst "
    f"group surely by more than {NO_GAIN}",
    in_favour="settings with S at or below zero in which no weight decay raises the worst "
    f"group by {NO_GAIN}",
    judge=judge,
)
