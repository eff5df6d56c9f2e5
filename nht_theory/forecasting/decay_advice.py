"""Will stronger weight decay bring the switch on this data set? Advice, and how often it hits."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np

from nht_theory.conventions import DEFAULT_THRESHOLDS, Thresholds
from nht_theory.estimators.results import Estimate, RunEstimate
from nht_theory.estimators.separation import Separation, separation
from nht_theory.estimators.summary import estimate_run
from nht_theory.forecasting.calibration import ObservedRun, observe_all
from nht_theory.forecasting.calibration_set import CalibrationSet, earlier_runs
from nht_theory.forecasting.comparable import comparable
from nht_theory.forecasting.forecast import Basis
from nht_theory.forecasting.forecast_run import forecast_with
from nht_theory.forecasting.grounds import Ground, GroundKind
from nht_theory.forecasting.plan import planned
from nht_theory.runs import columns
from nht_theory.runs.run import Run
from nht_theory.runs.study import Study


class Expectation(StrEnum):
    """What stronger decay is expected to do."""

    HELPS = "expected to bring the switch sooner"
    DOES_NOT = "not expected to bring the switch sooner"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class DecayAdvice:
    """Whether stronger weight decay is expected to bring the switch.

    Attributes:
        expectation: the answer.
        weaker, stronger: weight decays compared.
        separation_score: S over the runs at the weaker decay; None where undefined.
        falling: for the total and each logged group, the share of these runs whose norm fell
            from memorisation to the end of what is known.
        reason: what decided, in words: those of ``ground``.
        n: runs at the weaker decay.
        ground: what decided.
    """

    expectation: Expectation
    weaker: float
    stronger: float
    separation_score: Estimate | None
    falling: Mapping[str, float]
    reason: str
    n: int
    ground: Ground


def advise_decay(
    weaker: Sequence[ObservedRun],
    stronger: float,
    others: Sequence[ObservedRun] = (),
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> DecayAdvice:
    """Whether a stronger weight decay is expected to bring the switch sooner.

    In this order: where earlier runs broke the law at decays beyond those that obeyed it, and the
    stronger decay lies there too, it is not expected to help; where the law is claimed for both,
    the two forecasts (or what the runs at the weaker decay did) are compared; otherwise the
    separation score of the runs at the weaker decay decides by the sign of its interval; and where
    S does not decide, the regime map does: a norm that grows is the weak regime, which stronger
    decay leaves, and one that falls without a switch falls faster under stronger decay.

    Args:
        weaker: runs that share every setting, at the weaker decay (a pilot will do).
        stronger: the decay considered.
        others: further earlier runs, at any settings.
        thresholds: what counts as memorised and as generalised.

    Source: arXiv 2603.07323 (S <= 0 predicts no gain); the order of the rules is ours.
    """
    chosen = weaker[0].run.hyperparameters
    decay = chosen.weight_decay or 0.0
    target = planned(replace(chosen, weight_decay=stronger, seed=None))
    known = tuple(comparable([*weaker, *others], target))
    earlier = earlier_runs(known, target.stated)
    estimated = [(one.run, estimate_run(one.run, thresholds)) for one in weaker]
    score = separation(estimated)
    falling = _falling(estimated)
    told = [one for one in weaker if one.generalization is not None]
    expectation, ground = (
        _decide(target, told, earlier, score, falling)
        if told
        else (Expectation.UNKNOWN, Ground(GroundKind.UNLOGGED_AT_WEAKER))
    )
    return DecayAdvice(
        expectation=expectation,
        weaker=decay,
        stronger=stronger,
        separation_score=score.score if isinstance(score.score, Estimate) else None,
        falling=falling,
        reason=str(ground),
        n=len(weaker),
        ground=ground,
    )


def _decide(
    target: ObservedRun,
    weaker: Sequence[ObservedRun],
    earlier: CalibrationSet,
    score: Separation,
    falling: Mapping[str, float],
) -> tuple[Expectation, Ground]:
    too_strong = earlier.lawfulness.decay_too_strong(target.settings)
    if too_strong is not None:
        return Expectation.DOES_NOT, too_strong
    forecast = forecast_with(target, earlier)
    now = _median_switch(weaker)
    if forecast.basis is Basis.LAW and forecast.median is not None:
        sooner = forecast.median < now
        came = None if math.isinf(now) else now
        ground = Ground(GroundKind.LAW_EXPECTS, value=forecast.median, low=came)
        return (Expectation.HELPS if sooner else Expectation.DOES_NOT), ground
    return _by_score(score) or _by_norm(falling)


def _by_score(score: Separation) -> tuple[Expectation, Ground] | None:
    """What the sign of the separation score's interval says; None where it holds zero."""
    own = score.score
    if not isinstance(own, Estimate) or own.interval is None:
        return None
    low, high = own.interval.low, own.interval.high
    if low > 0:
        kind, expectation = GroundKind.SCORE_POSITIVE, Expectation.HELPS
    elif high <= 0:
        kind, expectation = GroundKind.SCORE_NOT_POSITIVE, Expectation.DOES_NOT
    else:
        return None
    return expectation, Ground(kind, value=own.value, low=low, high=high)


def _by_norm(falling: Mapping[str, float]) -> tuple[Expectation, Ground]:
    """What the norm at the weaker decay says."""
    total = falling.get(columns.SQUARED_NORM)
    if total is None:
        return Expectation.UNKNOWN, Ground(GroundKind.UNKNOWN_AT_WEAKER)
    kind = GroundKind.FALLS_AT_WEAKER if total > 0.5 else GroundKind.GROWS_AT_WEAKER
    return Expectation.HELPS, Ground(kind)


def _median_switch(runs: Sequence[ObservedRun]) -> float:
    """Median generalisation step; infinite where most runs did not switch."""
    steps = [
        math.inf if one.generalization_step is None else float(one.generalization_step)
        for one in runs
    ]
    return float(np.quantile(steps, 0.5, method="inverted_cdf"))


def _falling(estimated: Sequence[tuple[Run, RunEstimate]]) -> dict[str, float]:
    """Share of the runs whose norm fell after memorisation, for the total and each group."""
    fell = defaultdict(list)
    for run, own in estimated:
        if own.memorization_step is None:
            continue
        since = run.steps >= own.memorization_step
        for name, series in run.values.items():
            if name.split(columns.GROUP_SEPARATOR)[0] == columns.SQUARED_NORM:
                kept = series[since & np.isfinite(series)]
                if kept.size > 1:
                    fell[name].append(kept[-1] < kept[0])
    return {name: float(np.mean(told)) for name, told in fell.items()}


@dataclass(frozen=True)
class AdviceScore:
    """How often the advice was right.

    Attributes:
        advice: each piece of advice, made without the runs at the stronger decay.
        helped: whether the switch did come sooner there.
        hits: of the advice that was given (not unknown).
        n: of these.
        always_yes: hits of the answer that stronger decay always helps.
    """

    advice: tuple[DecayAdvice, ...]
    helped: tuple[bool, ...]
    hits: int
    n: int
    always_yes: int


def score_decay_advice(study: Study, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> AdviceScore:
    """Give the advice for every pair of neighbouring weight decays of a study, and check it.

    Configurations that differ in nothing but weight decay are compared, each with the next
    stronger one, whose own runs and all at decays above it are kept from the advice only where
    they are of that family; other settings stay in.
    """
    families: dict[object, dict[float, list[ObservedRun]]] = defaultdict(lambda: defaultdict(list))
    observed = observe_all(study.runs, thresholds)
    for one in observed:
        decay = one.run.hyperparameters.weight_decay
        if decay is not None and one.generalization is not None:
            rest = tuple(pair for pair in one.configuration if pair[0] != "weight_decay")
            families[rest][decay].append(one)
    advice, helped = [], []
    for family in families.values():
        decays = sorted(family)
        for weaker, stronger in pairwise(decays):
            hidden = {one for decay in decays if decay >= stronger for one in family[decay]}
            others = [one for one in observed if one not in hidden]
            advice.append(advise_decay(family[weaker], stronger, others, thresholds))
            helped.append(_median_switch(family[stronger]) < _median_switch(family[weaker]))
    given = [
        (one.expectation is Expectation.HELPS) == truth
        for one, truth in zip(advice, helped, strict=True)
        if one.expectation is not Expectation.UNKNOWN
    ]
    return AdviceScore(tuple(advice), tuple(helped), sum(given), len(given), sum(helped))
