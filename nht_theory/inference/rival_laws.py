"""Rival laws of one set of times: AICc, Vuong's test, and error on configurations left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nht_theory.errors import ConvergenceError, DomainError
from nht_theory.inference.censored_regression import CensoredRegression, fit_censored_regression
from nht_theory.inference.censored_times import CensoredTimes
from nht_theory.inference.information import akaike_weights, vuong_test
from nht_theory.inference.likelihood_model import Link
from nht_theory.inference.location_scale import Distribution
from nht_theory.inference.results import HypothesisTest
from nht_theory.inference.samples import Vector, group_codes


@dataclass(frozen=True, eq=False)
class RivalLaw:
    """One law of the transition time, as a censored regression.

    Attributes:
        name: as printed ("T_0 + A/lambda").
        design: shape [n, k].
        names: of the k coefficients.
        link: log, or identity for a sum of terms in steps.
        offset: known part of ln T (a slope fixed at its predicted value), shape [n] or a number.
    """

    name: str
    design: Vector
    names: tuple[str, ...]
    link: Link = Link.LOG
    offset: Vector | float = 0.0

    def shift(self) -> Vector:
        """The offset of each row, shape [n]."""
        return np.broadcast_to(np.asarray(self.offset, dtype=np.float64), len(self.design))


@dataclass(frozen=True)
class HeldOutError:
    """Error of predictions for configurations that the fit has not seen.

    Attributes:
        percentage_error: mean of |predicted - reached| / reached over runs that switched, in
            per cent; the predicted time is the median, the reached one the first evaluation
            after the switch.
        percentage_error_by_group: the same of the geometric means of each configuration.
        log_score: mean log-likelihood of a left-out run, censored runs included; larger is
            better, and it is the only one of the three that no censoring distorts.
        n: runs scored, censored ones included.
        n_censored: right-censored runs among them.
        groups: configurations left out in turn.
        failed: configurations whose fit without them, or prediction, was impossible.
    """

    percentage_error: float
    percentage_error_by_group: float
    log_score: float
    n: int
    n_censored: int
    groups: int
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RivalFit:
    """One law fitted to all runs, beside the others.

    Attributes:
        law: the law.
        fit: to all runs.
        aicc: of the fit.
        weight: Akaike weight among the laws compared.
        against_best: Vuong's test of this law against the one with the lowest AICc; None for
            that one itself.
        held_out: error leaving one configuration out.
    """

    law: RivalLaw
    fit: CensoredRegression
    aicc: float
    weight: float
    against_best: HypothesisTest | None
    held_out: HeldOutError


def compare_rival_laws(
    times: CensoredTimes,
    laws: Sequence[RivalLaw],
    groups: ArrayLike,
    *,
    distribution: Distribution = Distribution.LOG_NORMAL,
) -> tuple[RivalFit, ...]:
    """Fit each law to the same times; the result is sorted by AICc, the best first.

    Args:
        times: shape [n].
        laws: with designs of n rows.
        groups: configuration of each run, shape [n].

    Raises:
        DomainError, ConvergenceError: a law cannot be fitted to all runs.

    Example:
        >>> decay = np.repeat([0.1, 0.3, 1.0, 3.0], 3)
        >>> t = 1000 / decay * np.tile([0.9, 1.0, 1.1], 4)
        >>> one = np.ones((12, 1))
        >>> fits = compare_rival_laws(CensoredTimes.of(t, t), [
        ...     RivalLaw("constant", one, ("ln T",)),
        ...     RivalLaw("A/lambda", one, ("ln A",), offset=-np.log(decay))], decay)
        >>> [fit.law.name for fit in fits]
        ['A/lambda', 'constant']
    """
    if not laws:
        raise DomainError("no law to compare", source="laws")
    fits = [_fit(times, law, distribution) for law in laws]
    weights = akaike_weights([fit.aicc for fit in fits])
    best = int(np.argmin([fit.aicc for fit in fits]))
    rows = []
    for place, (law, fit) in enumerate(zip(laws, fits, strict=True)):
        test = None
        if place != best:
            test = vuong_over_groups(fit, fits[best], groups)
        held_out = leave_one_group_out(times, law, groups, distribution=distribution)
        rows.append(RivalFit(law, fit, fit.aicc, float(weights[place]), test, held_out))
    return tuple(sorted(rows, key=lambda row: row.aicc))


def vuong_over_groups(
    first: CensoredRegression, second: CensoredRegression, groups: ArrayLike
) -> HypothesisTest:
    """Vuong's test on log-likelihoods summed over the runs of a configuration, which err together.

    Args:
        first, second: fits to the same runs; a positive statistic favours the first.
        groups: configuration of each run, shape [n].

    Example:
        >>> t, group = np.array([90.0, 110, 95, 105, 100, 120]), list("aabbcc")
        >>> times, one = CensoredTimes.of(t, t), np.ones((6, 1))
        >>> fits = [fit_censored_regression(times, one, ("ln T",), distribution=own)
        ...         for own in (Distribution.LOG_NORMAL, Distribution.WEIBULL)]
        >>> vuong_over_groups(*fits, group).n
        3
    """
    codes, labels = group_codes(groups, "groups")
    sums = [
        np.bincount(codes, weights=fit.log_likelihood_by_row, minlength=len(labels))
        for fit in (first, second)
    ]
    return vuong_test(*sums, first_parameters=first.parameters, second_parameters=second.parameters)


def leave_one_group_out(
    times: CensoredTimes,
    law: RivalLaw,
    groups: ArrayLike,
    *,
    distribution: Distribution = Distribution.LOG_NORMAL,
) -> HeldOutError:
    """Predict each configuration from a fit to the others (arguments as above).

    Raises:
        DomainError: fewer than two configurations, or none could be predicted.
    """
    codes, labels = group_codes(groups, "groups")
    if len(labels) < 2 or codes.size != times.n:
        raise DomainError(
            f"{codes.size} labels in {len(labels)} configurations for {times.n} runs",
            source="groups",
            remedy="give one label per run and at least two configurations",
        )
    predicted, score = np.full(times.n, np.nan), np.full(times.n, np.nan)
    failed = []
    for code, label in enumerate(labels):
        out = codes == code
        try:
            fit = _fit(times, law, distribution, rows=~out)
            predicted[out] = fit.quantile(law.design[out], 0.5, law.shift()[out])
            score[out] = fit.log_score(times.take(out), law.design[out], law.shift()[out])
        except (ConvergenceError, DomainError):
            failed.append(label)
    scored = np.isfinite(predicted)
    seen = scored & ~times.is_right_censored
    if not seen.any():
        raise DomainError(
            "no configuration could be predicted from the others",
            source=law.name,
            remedy="vary the settings in more steps, or fit fewer coefficients",
        )
    error = np.abs(predicted[seen] / times.upper[seen] - 1)
    by_group = [
        abs(_geometric_mean(predicted[seen & (codes == code)], times.upper[seen & (codes == code)]))
        for code in np.unique(codes[seen])
    ]
    return HeldOutError(
        percentage_error=100 * float(error.mean()),
        percentage_error_by_group=100 * float(np.mean(by_group)),
        log_score=float(score[scored].mean()),
        n=int(scored.sum()),
        n_censored=int((scored & times.is_right_censored).sum()),
        groups=len(labels),
        failed=tuple(failed),
    )


def _fit(
    times: CensoredTimes,
    law: RivalLaw,
    distribution: Distribution,
    rows: NDArray[np.bool_] | None = None,
) -> CensoredRegression:
    chosen = np.ones(times.n, dtype=bool) if rows is None else rows
    return fit_censored_regression(
        times.take(chosen),
        law.design[chosen],
        law.names,
        distribution=distribution,
        link=law.link,
        offset=law.shift()[chosen],
    )


def _geometric_mean(predicted: Vector, reached: Vector) -> float:
    """Ratio of the geometric means, less one."""
    return float(np.exp(np.mean(np.log(predicted / reached)))) - 1
