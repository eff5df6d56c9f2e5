"""Where the separation is clean: S and W of each configuration, computed once a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from nht_theory.estimators.results import Estimate, Missing, StudyEstimates
from nht_theory.estimators.separation import Separation, separation
from nht_theory.predictions import selection
from nht_theory.predictions.rules import CLEAN_SEPARATION, CLEAN_SHARPNESS
from nht_theory.runs.run import Run


def where_ordered(study: StudyEstimates) -> Callable[[Run], bool]:
    """Whether a run belongs to a configuration whose separation is :func:`ordered`."""
    by_name = {name: ordered(own) for name, own in separations(study).items()}
    return lambda run: by_name[selection.stratum(run)]


@lru_cache(maxsize=16)
def separations(study: StudyEstimates) -> Mapping[str, Separation]:
    """Configuration -> its separation, from memorisation on."""
    return {
        name: separation(pairs) for name, pairs in selection.by_configuration(study.pairs()).items()
    }


def upper_limit(score: Estimate) -> float:
    """Upper limit of S; S itself where too few runs gave an interval."""
    return score.value if score.interval is None else score.interval.high


def ordered(own: Separation) -> bool:
    """Whether V orders the two sides: S above 0.8.

    This is where the law lives, not a claim: the few seeds of a configuration rarely make S sure
    (three that agree leave it anywhere above -0.2), and :func:`clean` asks for that.
    Where no run has switched yet S is undefined, and nothing contradicts an order: these
    configurations hold the right-censored runs, which a test of timing may not drop. Where the
    shortcut side was never seen (the run generalises while it memorises) there is no shortcut to
    leave, and the configuration does not qualify.
    """
    if isinstance(own.score, Missing):
        return own.shortcut_seen and not own.structured_seen
    return own.score.value > CLEAN_SEPARATION


def decided_side(own: Separation) -> bool | None:
    """True where S lies surely above 0.8, False where surely below, None where undecided."""
    if isinstance(own.score, Missing) or own.score.interval is None:
        return None
    if own.score.interval.low > CLEAN_SEPARATION:
        return True
    return False if own.score.interval.high < CLEAN_SEPARATION else None


def clean(own: Separation) -> bool:
    """Whether a configuration meets both conditions of THEORY.md section 8."""
    return (
        isinstance(own.score, Estimate)
        and decided_side(own) is True
        and isinstance(own.sharpness, Estimate)
        and own.sharpness.value < CLEAN_SHARPNESS
    )


def described(own: Separation) -> str:
    """S and W of one configuration as text."""
    return f"S = {_text(own.score)}, W = {_text(own.sharpness)}"


def _text(value: Estimate | Missing) -> str:
    if isinstance(value, Missing):
        return f"undefined ({value.detail or value.reason.value})"
    if value.interval is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.interval.low:.3f}, {value.interval.high:.3f}]"
