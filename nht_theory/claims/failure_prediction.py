"""Failure prediction: where S is not positive, weight decay brings no robustness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nht_theory.claims import selection
from nht_theory.claims.intermediate_decay import RESOLUTION, structured_accuracy
from nht_theory.claims.rules import CLEAN_SEPARATION, Decision, decide, power_of
from nht_theory.claims.separations import described
from nht_theory.claims.verdict import Claim, Verdict, not_applicable
from nht_theory.estimators.results import Estimate, StudyEstimates
from nht_theory.estimators.separation import separation

NAME = "failure_prediction"
NO_GAIN = 0.02
"""Gain in accuracy up to which decay counts as having brought nothing."""
NO_SEPARATION = 0.25
"""S surely below it counts as "at or below zero": no data show that S is exactly zero. It lies half
way to the smallest S at which the paper has decay help (0.5, coloured CIFAR-10), and leaves a norm
picked from either side in the right order in at most five cases of eight."""
NEEDS = (
    f"settings whose S, over all weight decays, is surely below {NO_SEPARATION} (the upper limit "
    "of its 95 % interval), with final worst-group or clean accuracy at two or more weight decays "
    "and two or more seeds"
)


@dataclass(frozen=True)
class Setting:
    """Runs that differ in weight decay and seed only.

    Attributes:
        label: of the settings held equal.
        description: S and W as text.
        hopeless: whether S predicts that decay brings nothing.
        hopeful: whether S is surely high, so that decay may bring something.
        gains: for each seed, accuracy at the decay that is best over the other seeds, less that
            at the weakest decay.
        runs: names of the runs.
    """

    label: str
    description: str
    hopeless: bool
    hopeful: bool
    gains: tuple[float, ...]
    runs: tuple[str, ...]


def test(study: StudyEstimates) -> Verdict:
    """Gain in robustness of the settings for which S predicts none."""
    every = [own for own in settings(study) if len(own.gains) > 1]
    tested = [own for own in every if own.hopeless]
    if not tested:
        return not_applicable(NAME, f"needs {NEEDS}")
    value, decision = mean_gain([own.gains for own in tested])
    seeds = sum(len(own.gains) for own in tested)
    units, unit = (len(tested), "settings") if len(tested) > 1 else (seeds, "seeds of one setting")
    return Verdict(
        claim=NAME,
        verdict=decision.verdict,
        statistic=value,
        statistic_name="gain in worst-group (or clean) accuracy from more decay, mean over "
        + ("settings" if len(tested) > 1 else "the seeds of one setting"),
        interval=decision.interval,
        p_value=decision.p_value,
        n=seeds,
        n_censored=0,
        rule=f"95 % interval of the gain over {seeds} seeds in {len(tested)} "
        f"{'settings' if len(tested) > 1 else 'setting'} with S surely "
        f"below {NO_SEPARATION} [{decision.interval.low:.3f}, {decision.interval.high:.3f}] "
        f"against at most {NO_GAIN}; p = {decision.p_value:.3g}"
        + ("" if len(tested) > 1 else "; it speaks of this one setting only"),
        power=power_of(decision, units, unit),
        details=(
            *(f"{own.label or 'all runs'}: {own.description}" for own in tested),
            _contrast([own for own in every if own.hopeful]),
        ),
        runs=tuple(name for own in tested for name in own.runs),
        units=units,
        unit=unit,
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
        known = own.score if isinstance(own.score, Estimate) else None
        found.append(
            Setting(
                label=label,
                description=described(own),
                hopeless=known is not None
                and known.interval is not None
                and known.interval.high < NO_SEPARATION,
                hopeful=known is not None
                and known.interval is not None
                and known.interval.low > CLEAN_SEPARATION,
                gains=tuple(cross_fitted_gains(list(accuracy.values()))),
                runs=tuple(run.name for run, _ in pairs),
            )
        )
    return found


def mean_gain(gains: Sequence[Sequence[float]]) -> tuple[float, Decision]:
    """Mean gain over settings, and whether it is at most 0.02.

    Args:
        gains: of the two or more seeds of each setting.

    The variance of the mean is the larger of that between settings and the mean variance that
    their seeds leave within one, over the number of settings; Student with the settings less
    one. A single setting has the error of its seeds. Accuracies are no closer than half a point.

    Example:
        >>> value, decision = mean_gain([[0.01, -0.01, 0.0]])
        >>> value, decision.verdict.value, decision.interval.method
        (0.0, 'inconclusive', 'Student, 2 degrees of freedom')
    """
    means = [float(np.mean(own)) for own in gains]
    within = [max(float(np.std(own, ddof=1)), RESOLUTION) ** 2 / len(own) for own in gains]
    variance, freedom = float(np.mean(within)), len(gains[0]) - 1
    if len(gains) > 1:
        variance = max(variance, float(np.var(means, ddof=1))) / len(gains)
        freedom = len(gains) - 1
    value = float(np.mean(means))
    return value, decide(value, math.sqrt(variance), freedom, (-math.inf, NO_GAIN))


def _contrast(hopeful: Sequence[Setting]) -> str:
    """The gain where S is surely high: without one there, S predicts nothing."""
    if not hopeful:
        return (
            f"no setting with S surely above {CLEAN_SEPARATION} to compare with: whether S tells "
            "where decay helps is not shown"
        )
    value, decision = mean_gain([own.gains for own in hopeful])
    return (
        f"where S is surely above {CLEAN_SEPARATION} decay brings {value:.3f} "
        f"[{decision.interval.low:.3f}, {decision.interval.high:.3f}], mean over "
        f"{len(hopeful)} settings"
    )


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


CLAIM = Claim(
    name=NAME,
    statement="S at or below zero predicts that regularisation brings no robustness.",
    needs=NEEDS,
    rule=f"in settings with S surely below {NO_SEPARATION} supported when the 95 % interval of the "
    f"gain lies below {NO_GAIN}, refuted when above; settings are the units and seeds their "
    "replicates (a single setting is judged over its seeds, for itself); the best decay is chosen "
    "on the other seeds",
    references=("arXiv:2603.07323",),
    against=f"settings with S surely below {NO_SEPARATION} in which a weight decay raises the "
    f"worst group surely by more than {NO_GAIN}",
    in_favour=f"settings with S surely below {NO_SEPARATION} in which no weight decay raises the "
    f"worst group by {NO_GAIN}",
    undecidable=f"settings whose S may be {NO_SEPARATION} or more, or unknown because one side was "
    "never seen; one seed a setting; seeds whose accuracies differ by more than the gain asked for",
    test=test,
)
